// Package bounded reads files with a limit on size. It refuses devices and named pipes where a
// file is expected.
package bounded

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Limits in bytes, for texts and for recordings.
const (
	Text      = 16 << 20
	Recording = 256 << 20
)

// ReadFile reads a regular file of at most limit bytes. Errors name the path and wrap
// fs.ErrNotExist if it does not exist.
func ReadFile(path string, limit int64) ([]byte, error) { return readPath(path, limit, false) }

// ReadStream reads a file, a pipe or a device to its end.
func ReadStream(path string, limit int64) ([]byte, error) { return readPath(path, limit, true) }

// ReadArgument reads a file named on the command line. It may be a stream that the shell opened
// for this process, as for <(…).
func ReadArgument(path string, limit int64) ([]byte, error) {
	folder, name := filepath.Split(filepath.ToSlash(path))
	isInherited := folder == "/dev/fd/" || folder == "/proc/self/fd/" || folder == "/dev/" && name == "stdin"
	return readPath(path, limit, isInherited)
}

// ReadAll reads an open stream. name is its name in errors.
func ReadAll(r io.Reader, name string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is larger than %s, the most that is read", name, Size(limit))
	}
	return text, err
}

// readPath checks the kind of the file before it opens it: opening a named pipe waits for a writer.
func readPath(path string, limit int64, stream bool) ([]byte, error) {
	info, err := os.Stat(path)
	if of, ok := err.(*fs.PathError); ok {
		return nil, &fs.PathError{Op: "open", Path: of.Path, Err: of.Err}
	}
	if err := checkKind(path, info.Mode(), stream); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Mode().IsRegular() && info.Size() > limit {
		return nil, fmt.Errorf("%q has %s; at most %s are read", path, Size(info.Size()), Size(limit))
	}
	return ReadAll(file, fmt.Sprintf("%q", path), limit)
}

// checkKind returns an error if the path is not a readable kind of file.
func checkKind(path string, mode fs.FileMode, stream bool) error {
	kind := "a device"
	switch {
	case mode.IsRegular(), stream && !mode.IsDir():
		return nil
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return fmt.Errorf("%q is %s; a regular file is needed", path, kind)
}

// Size formats a number of bytes: 16 MiB.
func Size(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(unit.size)), ".0") + " " + unit.name
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
