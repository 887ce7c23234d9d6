// The sink that writes JSON lines.

package runner

import (
	"io"

	"github.com/graphrun/graphrun/runner/machine"
)

// JSONSink writes every event as a line of JSON. Not for concurrent use.
type JSONSink struct {
	w    io.Writer
	room roomy // w, when it is one
	enc  encoder
	line []byte
	last int // bytes of the last notes
}

// roomy is a buffer that lends the room it has, as a bufio.Writer does: lines
// that are made there need not be copied.
type roomy interface {
	Available() int
	AvailableBuffer() []byte
}

// NewJSONSink returns a sink that writes to w, best a buffered writer, which
// the caller flushes.
func NewJSONSink(w io.Writer) *JSONSink {
	room, _ := w.(roomy)
	return &JSONSink{w: w, room: room}
}

// Event writes one line.
func (s *JSONSink) Event(e *Event) error {
	if e.Type == RunFinished {
		s.enc.run = nil // it may be large
	}
	s.line = append(e.AppendJSON(s.line[:0]), '\n')
	_, err := s.w.Write(s.line)
	return err
}

// notes writes a line for each of the machine's notes: the same lines as Event
// would, but without an Event in between.
func (s *JSONSink) notes(d *driver, notes []machine.Note, at int64) error {
	if s.room != nil && s.room.Available() > s.last+s.last/4 {
		lines := s.enc.notes(s.room.AvailableBuffer(), d, notes, at)
		s.last = len(lines)
		_, err := s.w.Write(lines)
		return err
	}
	s.line = s.enc.notes(s.line[:0], d, notes, at)
	s.last = len(s.line)
	_, err := s.w.Write(s.line)
	return err
}
