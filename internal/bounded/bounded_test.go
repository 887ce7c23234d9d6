package bounded

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path string
		limit      int64
		want, err  string
	}{
		{"fits", file, 10, "0123456789", ""},
		{"too large", file, 9, "", `has 10 bytes; at most 9 bytes are read`},
		{"folder", dir, 9, "", "is a folder; a regular file is needed"},
		{"absent", filepath.Join(dir, "absent"), 9, "", "open " + filepath.Join(dir, "absent")},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ReadFile(test.path, test.limit)
			if string(got) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q, %v; want %q, %q", got, err, test.want, test.err)
			}
		})
	}
	if _, err := ReadFile(filepath.Join(dir, "absent"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

func TestReadAll(t *testing.T) {
	if _, err := ReadAll(strings.NewReader("0123"), "stdin", 3); err == nil || err.Error() != "stdin is larger than 3 bytes, the most that is read" {
		t.Errorf("%v", err)
	}
	if got, err := ReadAll(strings.NewReader("012"), "stdin", 3); err != nil || string(got) != "012" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", Text: "16 MiB", 1536: "1.5 KiB", Recording: "256 MiB", 3 << 30: "3 GiB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
