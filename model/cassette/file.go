// Recordings as files: a line of JSON for the format and for each call.

package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/spec"
)

// header is the first line of a recording.
const header = `{"recording":"v1"}`

// Open reads a recording and starts to play it. The error is one of the file system or
// a *spec.InvalidError.
func Open(path string) (*Cassette, error) {
	src, err := bounded.ReadFile(path, bounded.Recording)
	if err != nil {
		return nil, err
	}
	return Parse(path, src)
}

// Parse starts to play a recording, which may have been edited. Messages call it by its
// name. The error is a *spec.InvalidError.
func Parse(name string, src []byte) (*Cassette, error) {
	out := &Cassette{name: name, playing: true}
	offset := 0
	for line := range bytes.Lines(src) {
		if err := out.readLine(bytes.TrimSpace(line), offset == 0); err != nil {
			return nil, invalid(name, src, offset, err)
		}
		offset += len(line)
	}
	if offset == 0 {
		return nil, invalid(name, src, 0, errNoHeader)
	}
	return out, nil
}

var errNoHeader = fmt.Errorf("not a recording: its first line must be %s", header)

func (c *Cassette) readLine(text []byte, isFirst bool) error {
	if isFirst && string(text) != header {
		return errNoHeader
	}
	if isFirst || len(text) == 0 {
		return nil
	}
	var out call
	err := eval.DecodeJSON(text, &out)
	switch {
	case err != nil:
		return fmt.Errorf("this call can't be read: %w", err)
	case !slices.Contains([]string{modelCall, toolCall, toolList}, out.Kind):
		return fmt.Errorf("kind is %q, not model, tool or tools", out.Kind)
	case out.Request == nil || out.Answer == nil:
		return errors.New("it lacks a request or an answer")
	}
	c.calls = append(c.calls, out.masked(nil))
	return nil
}

func invalid(name string, src []byte, offset int, err error) error {
	return &spec.InvalidError{Findings: spec.Diagnostics{{
		File: spec.NewFile(name, src), Rule: "invalid-value", Severity: spec.Error, Span: spec.Span{From: offset, To: offset}, Message: err.Error(),
	}}}
}

// Check reports why a recording could not be written to a file, before anything is paid
// for. It leaves the file as it is.
func Check(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	file, err := createBeside(path)
	if err != nil {
		return err
	}
	_ = file.Close()
	return os.Remove(file.Name())
}

func createBeside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
}

// Save writes the recording to a file that only its owner can read: prompts and answers
// may be confidential. It replaces the file as a whole or, on an error, not at all.
func (c *Cassette) Save(path string) error {
	text, err := c.Encode()
	if err == nil {
		err = replaceFile(path, text)
	}
	if err != nil {
		return fmt.Errorf("the recording can't be written: %w", err)
	}
	return nil
}

func replaceFile(path string, text []byte) error {
	file, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // after the rename it is gone
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Encode returns the recording as text without secrets. Calls are sorted, so the text
// does not tell which parallel branch was quicker; equal calls keep their order.
func (c *Cassette) Encode() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return encode(c.calls, c.secrets)
}

func encode(calls []*call, secrets []string) ([]byte, error) {
	clean := make([]*call, len(calls))
	for i, one := range calls {
		clean[i] = one.masked(secrets)
	}
	slices.SortStableFunc(clean, compareCalls)
	out := []byte(header + "\n")
	for _, one := range clean {
		var err error
		if out, err = eval.AppendJSON(out, one); err != nil {
			return nil, err
		}
		out = append(out, '\n')
	}
	return out, nil
}

// Take returns what was recorded since the last time, for Add; nil if nothing was.
func (c *Cassette) Take() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken == len(c.calls) {
		return nil, nil
	}
	part := c.calls[c.taken:]
	c.taken = len(c.calls)
	return encode(part, c.secrets)
}

// Add adds what Take returned to a recording.
func (c *Cassette) Add(taken []byte) error {
	part, err := Parse("a part of the recording", taken)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, part.calls...)
	return nil
}

// Rewound returns the recording with only the calls of some numbers marked as played.
func (c *Cassette) Rewound(played []int) *Cassette {
	out := &Cassette{name: c.name, playing: true}
	for i, recorded := range c.calls {
		own := *recorded
		own.used = slices.Contains(played, i)
		out.calls = append(out.calls, &own)
	}
	return out
}

// Played returns the numbers of the calls that were played.
func (c *Cassette) Played() (out []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, recorded := range c.calls {
		if recorded.used {
			out = append(out, i)
		}
	}
	return out
}
