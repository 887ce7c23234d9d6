// The latest events of a drive, for those who look on.

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
	// JSON is the event as one object without a line break, as runs events prints it.
	JSON []byte
	// End says that the run has ended with it: a paused one has not.
	End bool
}

func lineOf(e *runner.Event) Line {
	end := e.Type == runner.RunFinished && e.Result != nil && e.Result.Status != machine.Paused
	return Line{Seq: e.Seq, Type: e.Type, JSON: e.AppendJSON(nil), End: end}
}

// maxRing is the most bytes of events that a ring keeps. Whoever needs older ones reads the
// journal, which has no text and no progress.
const maxRing = 2 << 20

// ring keeps the latest events of a drive. Who adds one never waits for those who look on.
type ring struct {
	mu sync.Mutex
	// lines are the events after the one with the number from.
	from  int64
	lines []Line
	size  int
	over  bool // the drive is over
	// changed is closed when there are new events. It is nil while no reader waits.
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

// end says that the drive is over.
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

// after returns the events after a number, the number from which on the ring has them, and
// what is closed when there are more; nil: there will be none.
func (r *ring) after(seq int64) (lines []Line, from int64, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil && !r.over {
		r.changed = make(chan struct{})
	}
	at := sort.Search(len(r.lines), func(i int) bool { return r.lines[i].Seq > seq })
	return r.lines[at:len(r.lines):len(r.lines)], r.from, r.changed
}
