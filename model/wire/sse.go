// Server-sent events, as the HTML standard describes the stream; of the ends
// of lines that it allows, a lone \r, which no provider sends, is not one here.

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
	line  []byte
	data  []byte
	name  []byte
	begun bool
}

// NewEvents reads from r, which bounds the length of the stream.
func NewEvents(r io.Reader) *Events { return &Events{in: bufio.NewReader(r)} }

// Next returns the next event that has data: its name ("" without one) and its
// data, the lines joined by line breaks. Both are good until the next call.
// The error is io.EOF at the end, or the reader's; an event whose last line is
// broken off is dropped, one that only lacks the empty line behind it is not.
func (e *Events) Next() (name, data []byte, err error) {
	e.name, e.data = e.name[:0], e.data[:0]
	has := false
	for {
		line, err := e.readLine()
		if err != nil {
			if has && errors.Is(err, io.EOF) {
				return e.name, e.data, nil
			}
			return nil, nil, err
		}
		if len(line) == 0 {
			if has {
				return e.name, e.data, nil
			}
			e.name = e.name[:0]
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if has {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
			has = true
		case "event":
			e.name = append(e.name[:0], value...)
		}
	}
}

// readLine returns a line without its end, \n or \r\n. A last line without an
// end was broken off: it is io.EOF.
func (e *Events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.in.ReadSlice('\n')
		if !e.begun {
			part, e.begun = bytes.TrimPrefix(part, []byte("\ufeff")), true
		}
		if err == nil && len(e.line) == 0 {
			return trimEnd(part), nil // the usual line is not copied
		}
		e.line = append(e.line, part...)
		switch {
		case err == nil:
			return trimEnd(e.line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
