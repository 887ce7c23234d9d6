// The sink that writes JSON lines.

package runner

import (
	"io"
	"time"
)

// JSONSink writes every event as a line of JSON. Not for concurrent use.
type JSONSink struct {
	w    io.Writer
	line []byte
	// stamp is the text of the run and the time, which the events of a superstep share.
	stamp []byte
	runID string
	time  time.Time
}

// NewJSONSink returns a sink that writes to w, best a buffered writer, which
// the caller flushes.
func NewJSONSink(w io.Writer) *JSONSink { return &JSONSink{w: w} }

// Event writes one line.
func (s *JSONSink) Event(e *Event) error {
	if e.Type == RunFinished {
		s.line = e.AppendJSON(s.line[:0])
	} else {
		if len(s.stamp) == 0 || e.Time != s.time || e.RunID != s.runID {
			s.time, s.runID, s.stamp = e.Time, e.RunID, e.appendStamp(s.stamp[:0])
		}
		s.line = e.appendJSON(s.line[:0], s.stamp)
	}
	s.line = append(s.line, '\n')
	_, err := s.w.Write(s.line)
	return err
}
