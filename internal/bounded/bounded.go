// Package bounded reads the files that flows, flags and settings name: never
// more than a limit, never for longer than a while, and never from a device or
// a named pipe where a file is meant.
package bounded

import (
	"bytes"
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

// Sizes in bytes: that of a text which is read whole, and that of a recording,
// which graphrun writes itself and has to be able to read.
const (
	Text      = 16 << 20
	Recording = 256 << 20
)

// fileTime is for how long a regular file may keep its reader waiting, as one on
// a network that is gone does; streamTime is that of a stream, whose writer may
// be a program that works.
const (
	fileTime   = 30 * time.Second
	streamTime = 10 * time.Minute
)

// ReadFile reads a regular file of at most limit bytes. The error names the path
// and is fs.ErrNotExist when there is none.
func ReadFile(path string, limit int64) ([]byte, error) {
	return within(fileTime, path, func() ([]byte, error) { return read(path, limit, false) })
}

// ReadArgument reads a file that the command line names: a regular one, or a
// stream that the caller has opened for this process, as a shell does for <(…).
func ReadArgument(path string, limit int64) ([]byte, error) {
	if !inherited(path) {
		return ReadFile(path, limit)
	}
	return ReadStream(path, limit)
}

// ReadStream reads a file or what a pipe or a device has to say, up to its end.
func ReadStream(path string, limit int64) ([]byte, error) {
	return within(streamTime, path, func() ([]byte, error) { return read(path, limit, true) })
}

// ReadAll reads a stream that is open; name is what the error calls it.
func ReadAll(r io.Reader, name string, limit int64) ([]byte, error) {
	return readAll(r, 0, name, limit)
}

// readAll does so for a stream that is expected to have some bytes.
func readAll(r io.Reader, size int64, name string, limit int64) ([]byte, error) {
	var text bytes.Buffer
	text.Grow(int(size) + bytes.MinRead)
	_, err := text.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && int64(text.Len()) > limit {
		return nil, fmt.Errorf("%s is larger than %s, the most that is read", name, Size(limit))
	}
	return text.Bytes(), err
}

// inherited reports whether a path means a file that is open in this process.
func inherited(path string) bool {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/proc/") {
		return false // as mostly, without the time that the pattern takes
	}
	return regexp.MustCompile(`^(/dev/stdin|/dev/fd/\d+|/proc/self/fd/\d+)$`).MatchString(path)
}

// within gives up when reading takes too long. The reader is left behind: nothing
// can take back a call of the system that does not return.
func within(patience time.Duration, path string, read func() ([]byte, error)) ([]byte, error) {
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

// read looks at what the path is before it is opened: opening a named pipe waits
// for somebody who writes.
func read(path string, limit int64, stream bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, asOpen(err)
	}
	if err := refusal(path, info.Mode(), stream); err != nil {
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
	if err := refusal(path, info.Mode(), stream); err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Size() > limit {
		return nil, fmt.Errorf("%q has %s; at most %s are read", path, Size(info.Size()), Size(limit))
	}
	return readAll(file, info.Size(), fmt.Sprintf("%q", path), limit)
}

// asOpen gives an error the words of opening a file.
func asOpen(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return &fs.PathError{Op: "open", Path: of.Path, Err: of.Err}
	}
	return err
}

// refusal says what a path is that can't be read; nil: it can.
func refusal(path string, mode fs.FileMode, stream bool) error {
	what := Kind(mode)
	if what == "" || stream && !mode.IsDir() {
		return nil
	}
	return fmt.Errorf("%q is %s; a regular file is needed", path, what)
}

// Kind names what is no regular file: "a folder", "a named pipe"; "": it is one.
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

// Size writes a number of bytes for people: 16 MiB.
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
