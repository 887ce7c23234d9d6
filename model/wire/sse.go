// Server-sent events, as the HTML standard describes the stream; lines end in \n or
// \r\n, not in a lone \r, which no provider sends.

package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Events reads a stream of events. It belongs to one goroutine.
type Events struct {
	in    *bufio.Reader
	begun bool
}

// NewEvents reads from r, which bounds the length of the stream.
func NewEvents(r io.Reader) *Events { return &Events{in: bufio.NewReader(r)} }

// Next returns the next event that has data: its name ("" without one) and its lines
// of data, joined by line breaks. The error is io.EOF at the end, or the reader's. An
// event whose last line was cut is dropped; the empty line behind it may be missing.
func (e *Events) Next() (name string, data []byte, err error) {
	for {
		line, err := e.in.ReadBytes('\n')
		if err != nil {
			if data != nil && errors.Is(err, io.EOF) {
				return name, data[1:], nil
			}
			return "", nil, err
		}
		if !e.begun {
			line, e.begun = bytes.TrimPrefix(line, []byte("\ufeff")), true
		}
		line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
		if len(line) == 0 {
			if data != nil {
				return name, data[1:], nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			data = append(append(data, '\n'), value...)
		case "event":
			name = string(value)
		}
	}
}
