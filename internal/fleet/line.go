// Events as those who look on get them.

package fleet

import (
	"strconv"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// Line is an event of a run. It is shared: nobody changes it.
type Line struct {
	Seq  int64
	Type runner.EventType
	// Frame is the event as server-sent events have it, with its number as id; JSON is
	// the part of it that is one object without a line break, as runs events prints it.
	Frame, JSON []byte
	// End says that the run has ended with it: a paused one has not.
	End bool
}

// Frames are those of the first n of lines, as far as they lie one behind the other in
// memory, which those of a roll mostly do: many are then written by one call, and no
// reader has a copy of its own.
func Frames(lines []Line) (text []byte, n int) {
	text = lines[0].Frame
	for n = 1; n < len(lines); n++ {
		next := lines[n].Frame
		if cap(text)-len(text) < len(next) || &text[:len(text)+1][len(text)] != &next[0] {
			break
		}
		text = text[:len(text)+len(next)]
	}
	return text, n
}

// smallBlock and largeBlock are the bytes of the first block of a roll, and of later
// ones at most, unless an event is larger.
const (
	smallBlock = 4 << 10
	largeBlock = 256 << 10
)

// roll writes events one behind the other. Its zero value is ready.
type roll struct {
	block []byte
	event []byte
}

// line is an event as those who look on get it.
func (r *roll) line(e *runner.Event) Line {
	end := e.Type == runner.RunFinished && e.Result != nil && e.Result.Status != machine.Paused
	r.event = append(strconv.AppendInt(append(r.event[:0], "id: "...), e.Seq, 10), "\ndata: "...)
	from := len(r.event)
	r.event = e.AppendJSON(r.event)
	to := len(r.event)
	r.event = append(r.event, "\n\n"...)
	if cap(r.block)-len(r.block) < len(r.event) {
		r.block = make([]byte, 0, max(len(r.event), min(max(2*cap(r.block), smallBlock), largeBlock)))
	}
	at := len(r.block)
	r.block = append(r.block, r.event...)
	frame := r.block[at:]
	if cap(r.event) > largeBlock {
		r.event = nil
	}
	return Line{Seq: e.Seq, Type: e.Type, Frame: frame, JSON: frame[from:to], End: end}
}
