// What keeps a user from a file.

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// obstacle says what keeps this user from reading and writing the file at a path, and
// what to do about it. SQLite needs the folder, too: it keeps two files beside its own.
func obstacle(path string) string {
	var folders []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		folders = append(folders, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range slices.Backward(folders) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Sprintf("there is no folder %s, and it can't be made; name another file", dir)
		case err != nil:
			return fmt.Sprintf("%v; name another file", err)
		case !info.IsDir():
			return fmt.Sprintf("%s is no folder; name another file", dir)
		case !may(dir, enter):
			return fmt.Sprintf("the folder %s is closed to this user; %s, or name another file", dir, remedy(dir, info, "x"))
		}
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		switch {
		case err != nil:
		case onReadOnlyDisk(name):
			return fmt.Sprintf("the disk of %s is read-only; name a file on another", name)
		case !may(name, read):
			return fmt.Sprintf("this user may not read %s; %s, or name another file", name, remedy(name, info, "rw"))
		case !may(name, write):
			return fmt.Sprintf("this user may not write %s; %s, or name another file", name, remedy(name, info, "w"))
		}
	}
	dir := folders[0]
	if info, err := os.Stat(dir); err == nil && !may(dir, write) {
		return fmt.Sprintf("this user may not write the folder %s, where two files are kept beside the store; %s, or copy %s elsewhere and name the copy",
			dir, remedy(dir, info, "w"), path)
	}
	return "see who may read and write it, its folder, and the files beside it that begin with its name; or name another file"
}

// remedy is what gives a right: the owner can take it, others ask them.
func remedy(path string, info fs.FileInfo, right string) string {
	owner, mine := ownerOf(info)
	if mine {
		return fmt.Sprintf("its mode is %04o: chmod u+%s %s", info.Mode().Perm(), right, path)
	}
	return fmt.Sprintf("it belongs to %s and its mode is %04o: be that user", owner, info.Mode().Perm())
}
