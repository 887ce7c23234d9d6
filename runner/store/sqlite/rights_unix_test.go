//go:build unix

package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// A user without access to a store gets a clear error.
func TestRights(t *testing.T) {
	const nobody = 65534
	root := os.Getuid() == 0
	top := t.TempDir()
	program := filepath.Join(top, "program")
	if root { // who may do everything: somebody else tries
		copyFile(t, os.Args[0], program)
		for dir := top; dir != os.TempDir(); dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
	} else {
		program = os.Args[0]
	}
	for _, test := range []struct {
		name, change     string // a shell's
		writing, reading string
	}{
		{"file can't be written", "chmod 400 runs.db", "the file can't be written; check the modes of the file", ""},
		{"file can't be read", "chmod 000 runs.db", "the file can't be opened; check the modes of the file", "the file can't be opened"},
		{"log can't be read", "touch runs.db-wal; chmod 000 runs.db-wal", "the file can't be", "the file can't be"},
		{"folder can't be entered", "chmod 000 .", "permission denied", "permission denied"},
		{"folder can't be written", "rm -f runs.db-*; chmod 500 .", "the file can't be", "the file can't be"},
		{"folder is a file", "cd ..; rm -r \"$OLDPWD\"; touch \"$OLDPWD\"", "DIR/runs.db: not a directory", "not a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(top, strings.ReplaceAll(test.name, " ", "-"))
			path := filepath.Join(dir, "runs.db")
			if err := open(t, path, sqlite.Options{}).Close(); err != nil {
				t.Fatal(err)
			}
			try := exec.Command(program)
			if root {
				try.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
				test.change = "chown -R 65534 . && " + test.change
			}
			change := exec.Command("sh", "-c", test.change)
			change.Dir = dir
			if out, err := change.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
			try.Dir, try.Env = top, append(os.Environ(), rightsEnv+"="+path)
			out, err := try.CombinedOutput()
			if errors.Is(err, fs.ErrPermission) {
				t.Skip("others can't come to the folder of this test")
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			lines := strings.Split(strings.ReplaceAll(string(out), dir, "DIR"), "\n")
			for i, want := range []string{test.writing, test.reading} {
				if !strings.Contains(lines[i], want) {
					t.Errorf("got  %s\nwant %s", lines[i], want)
				}
			}
		})
	}
}
