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

// What keeps a user from a store is named, with what to do about it.
func TestObstacles(t *testing.T) {
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
		{"file can't be written", "chmod 400 runs.db", "the file can't be written: this user may not write DIR/runs.db; its mode is 0400: chmod u+w DIR/runs.db, or name another file", ""},
		{"file can't be read", "chmod 000 runs.db", "the file can't be opened: this user may not read DIR/runs.db; its mode is 0000: chmod u+rw DIR/runs.db, or", "this user may not read DIR/runs.db;"},
		{"log can't be read", "chmod 000 runs.db-wal", "this user may not read DIR/runs.db-wal; its mode is 0000: chmod u+rw", "this user may not read DIR/runs.db-wal;"},
		{"folder can't be entered", "chmod 000 .", "the folder DIR is closed to this user; its mode is 0000: chmod u+x DIR, or", "the folder DIR is closed to this user"},
		{
			"folder can't be written", "rm runs.db-*; chmod 500 .", "this user may not write the folder DIR, where two files are kept beside the store; its mode is 0500: chmod u+w DIR, or copy",
			"this user may not write the folder DIR",
		},
		{"folder is a file", "cd ..; rm -r \"$OLDPWD\"; touch \"$OLDPWD\"", "DIR is no folder; name another file", "DIR is no folder"},
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
			try.Dir, try.Env = top, append(os.Environ(), obstacleEnv+"="+path)
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
