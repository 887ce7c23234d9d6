// Lines on a server's stdout that are no messages: a print that was left in the
// program, or a banner. They are skipped, and somebody is told.

package tool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// messages reads the lines of a server's stdout that are messages. It belongs to
// one goroutine.
type messages struct {
	io.Closer
	in   *bufio.Reader
	rest []byte // of the line that is being read
	// stray gets the lines that are none; when it is full they are dropped.
	stray chan<- string
}

func newMessages(stdout io.ReadCloser, stray chan<- string) *messages {
	return &messages{Closer: stdout, in: bufio.NewReaderSize(stdout, 64<<10), stray: stray}
}

// Read gives whole lines. A last one without an end goes on as it is: what follows
// judges it.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if err != nil && len(line) == 0 {
			return 0, err
		}
		if err != nil || isMessage(line) {
			m.rest = line
			break
		}
		if text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD")); text != "" {
			select {
			case m.stray <- head(text, 200):
			default:
			}
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line is the next line with its end. One that is longer than any message is cut,
// which makes it none.
func (m *messages) line() ([]byte, error) {
	var out []byte
	for {
		part, err := m.in.ReadSlice('\n')
		if out = append(out, part...); len(out) > maxLine {
			out = append(out[:0], "a line of many bytes"...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return out, err
		}
	}
}

// maxLine is how many bytes a message may have.
const maxLine = 64 << 20

// isMessage reports whether a line is a JSON object, or a list of them.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] == '{' || line[0] == '[') && json.Valid(line)
}
