// Folders for what lasts as long as this process, and the sweeping of those whose
// process was killed.

package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// tempPrefix begins the name of a temporary folder. The space of process numbers,
// the process's number and its beginning follow, and what keeps names apart.
const tempPrefix = "graphrun-"

// TempDir makes a folder that nobody else can enter, and removes those of
// processes that are gone.
func TempDir() (string, error) {
	dir := TempName()
	return dir, os.Mkdir(dir, 0o700)
}

// TempName is the path of a folder that nobody can guess and that is there when
// somebody makes it.
func TempName() string {
	sweep(os.TempDir())
	_, began := State(os.Getpid())
	name := tempPrefix
	if Known() && began != "" {
		name += fmt.Sprintf("%s-%d-%s-", strings.ReplaceAll(Place(), " ", "."), os.Getpid(), began)
	}
	return filepath.Join(os.TempDir(), name+rand.Text())
}

// sweep removes the folders of processes of this space that are gone. Those of
// other users can't be removed, and stay.
func sweep(dir string) {
	if !Known() {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	mine := tempPrefix + strings.ReplaceAll(Place(), " ", ".") + "-"
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), mine)
		fields := strings.SplitN(rest, "-", 3)
		if !ok || !entry.IsDir() || len(fields) < 3 {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil && pid > 0 && ended(pid, fields[1]) && EndLeft(filepath.Join(dir, entry.Name())) == nil {
			continue
		}
	}
}

// ended reports whether the process that has or had a number since it began is gone.
func ended(pid int, began string) bool {
	state, now := State(pid)
	if now == "" {
		return errors.Is(signalNone(pid), syscall.ESRCH)
	}
	return state == "Z" || state == "X" || now != began
}
