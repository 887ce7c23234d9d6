//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// What a user may do with a file or folder.
const (
	enter = 1
	write = 2
	read  = 4
)

func may(path string, do uint32) bool { return syscall.Access(path, do) == nil }

func onReadOnlyDisk(path string) bool { return errors.Is(syscall.Access(path, write), syscall.EROFS) }

// ownerOf is the name of the user whose file it is, and whether that is this one.
func ownerOf(info fs.FileInfo) (name string, mine bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "somebody", false
	}
	name = "user " + strconv.FormatUint(uint64(stat.Uid), 10)
	if u, err := user.LookupId(strconv.FormatUint(uint64(stat.Uid), 10)); err == nil {
		name = u.Username
	}
	return name, int64(stat.Uid) == int64(os.Getuid())
}
