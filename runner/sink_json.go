// The sink that writes JSON lines.

package runner

import (
	"io"

	"github.com/graphrun/graphrun/runner/machine"
)

// JSONSink writes every event as a line of JSON. Not for concurrent use.
type JSONSink struct {
	w    io.Writer
	enc  encoder
	line []byte
}

// NewJSONSink returns a sink that writes to w, best a buffered writer, which
// the caller flushes.
func NewJSONSink(w io.Writer) *JSONSink { return &JSONSink{w: w} }

// Event writes one line.
func (s *JSONSink) Event(e *Event) error {
	s.line = append(e.AppendJSON(s.line[:0]), '\n')
	_, err := s.w.Write(s.line)
	return err
}

// notes writes a line for each of the machine's notes: the same lines as Event
// would, but without an Event in between.
func (s *JSONSink) notes(d *driver, notes []machine.Note, at int64) error {
	s.line = s.enc.notes(s.line[:0], d, notes, at)
	_, err := s.w.Write(s.line)
	return err
}
