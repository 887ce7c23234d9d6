// The latest events of a drive, for watchers.

package fleet

import (
	"sort"
	"sync"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// Line is an event of a run. Readers share it and must not change it.
type Line struct {
	Seq  int64
	Type runner.EventType
	// JSON is the event as one line of JSON, as runs events prints it.
	JSON []byte
	// End says that the event ends the run. A pause does not.
	End bool
}

func lineOf(e *runner.Event) Line {
	end := e.Type == runner.RunFinished && e.Result != nil && e.Result.Status != machine.Paused
	return Line{Seq: e.Seq, Type: e.Type, JSON: e.AppendJSON(nil), End: end}
}

// maxRing bounds the bytes of events in a ring. The journal has older events, without text and
// progress.
const maxRing = 2 << 20

// ring holds the latest events of a drive. Adding an event never waits for watchers.
type ring struct {
	mu sync.Mutex
	// lines are the events after number from.
	from  int64
	lines []Line
	size  int
	over  bool // the drive is over
	// changed is closed on new events. It is nil while nobody waits.
	changed chan struct{}
}

// add adds an event.
func (r *ring) add(e *runner.Event) {
	line := lineOf(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lines == nil {
		r.from = e.Seq - 1
	}
	r.lines = append(r.lines, line)
	if r.size += len(line.JSON); r.size > maxRing {
		r.dropHalf()
	}
	r.wake()
}

// dropHalf drops the older half.
func (r *ring) dropHalf() {
	half := 0
	for ; r.size > maxRing/2; half++ {
		r.size -= len(r.lines[half].JSON)
	}
	r.from = r.lines[half-1].Seq
	r.lines = append([]Line{}, r.lines[half:]...)
}

// end records that the drive is over and wakes all readers.
func (r *ring) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.wake()
}

func (r *ring) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// after returns the events after a number, the number after which the ring has all events, and
// a channel that is closed on more events, or nil at the end.
func (r *ring) after(seq int64) (lines []Line, from int64, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil && !r.over {
		r.changed = make(chan struct{})
	}
	at := sort.Search(len(r.lines), func(i int) bool { return r.lines[i].Seq > seq })
	return r.lines[at:len(r.lines):len(r.lines)], r.from, r.changed
}
