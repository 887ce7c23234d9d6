//go:build unix

package bounded

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Nobody writes to the pipe, so opening it would block forever.
func TestANamedPipeIsRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "is a named pipe; a regular file is needed", "/dev/zero": "is a device; a regular file is needed"} {
		for name, read := range map[string]func(string, int64) ([]byte, error){"file": ReadFile, "argument": ReadArgument} {
			if _, err := read(path, Text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", name, path, err, want)
			}
		}
	}
	if _, err := ReadStream("/dev/zero", 1<<20); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("an endless stream: %v", err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("said"), 0) }()
	if got, err := ReadStream(pipe, Text); err != nil || string(got) != "said" {
		t.Errorf("%q, %v", got, err)
	}
}
