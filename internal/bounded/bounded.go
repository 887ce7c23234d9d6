// Package bounded reads files with a limit on size and time. It refuses devices and named pipes
// where a file is expected.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Limits in bytes, for texts and for recordings.
const (
	Text      = 16 << 20
	Recording = 256 << 20
)

// fileTime bounds the time to read a file, which may be on a lost network; streamTime bounds
// the time for a stream, whose writer may be a busy program.
const (
	fileTime   = 30 * time.Second
	streamTime = 10 * time.Minute
)

// ReadFile reads a regular file of at most limit bytes. Errors name the path and wrap
// fs.ErrNotExist if it does not exist.
func ReadFile(path string, limit int64) ([]byte, error) {
	return withTimeout(fileTime, path, func() ([]byte, error) { return read(path, limit, false) })
}

// ReadArgument reads a file named on the command line. It may be a stream that the shell opened
// for this process, as for <(…).
func ReadArgument(path string, limit int64) ([]byte, error) {
	if !isInherited(path) {
		return ReadFile(path, limit)
	}
	return ReadStream(path, limit)
}

// ReadStream reads a file, a pipe or a device to its end.
func ReadStream(path string, limit int64) ([]byte, error) {
	return withTimeout(streamTime, path, func() ([]byte, error) { return read(path, limit, true) })
}

// ReadAll reads an open stream. name is its name in errors.
func ReadAll(r io.Reader, name string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is larger than %s, the most that is read", name, Size(limit))
	}
	return text, err
}

// isInherited reports whether a path names an open file of this process.
func isInherited(path string) bool {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/proc/") {
		return false // the usual case, without the cost of the pattern
	}
	return regexp.MustCompile(`^(/dev/stdin|/dev/fd/\d+|/proc/self/fd/\d+)$`).MatchString(path)
}

// withTimeout returns an error if reading takes too long. The reading goroutine stays: a blocked
// system call can't be cancelled.
func withTimeout(patience time.Duration, path string, read func() ([]byte, error)) ([]byte, error) {
	type outcome struct {
		text []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		text, err := read()
		done <- outcome{text, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.text, o.err
	case <-timer.C:
		return nil, fmt.Errorf("%q could not be read within %s", path, patience)
	}
}

// read checks the kind of the file before it opens it: opening a named pipe waits for a writer.
func read(path string, limit int64, stream bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, toOpenError(err)
	}
	if err := checkKind(path, info.Mode(), stream); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if err := checkKind(path, info.Mode(), stream); err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Size() > limit {
		return nil, fmt.Errorf("%q has %s; at most %s are read", path, Size(info.Size()), Size(limit))
	}
	return ReadAll(file, fmt.Sprintf("%q", path), limit)
}

// toOpenError converts an error to one of opening a file.
func toOpenError(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return &fs.PathError{Op: "open", Path: of.Path, Err: of.Err}
	}
	return err
}

// checkKind returns an error if the path is not a readable kind of file.
func checkKind(path string, mode fs.FileMode, stream bool) error {
	what := Kind(mode)
	if what == "" || stream && !mode.IsDir() {
		return nil
	}
	return fmt.Errorf("%q is %s; a regular file is needed", path, what)
}

// Kind describes a file that is not regular: "a folder", "a named pipe". It returns "" for a
// regular file.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return ""
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
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
