// The latest events of a run, for those who look on.

package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// Line is an event of a run.
type Line struct {
	Seq  int64
	Type runner.EventType
	// JSON is one object without a line break, as runs events prints it. It is shared:
	// nobody changes it.
	JSON []byte
	// End says that the run has ended with it: a paused one has not.
	End bool
}

// lineOf is an event as those who look on get it.
func lineOf(e *runner.Event) Line {
	end := e.Type == runner.RunFinished && e.Result != nil && e.Result.Status != machine.Paused
	return Line{e.Seq, e.Type, e.AppendJSON(nil), end}
}

// mostKept bounds the bytes of events that a hub keeps for those who look on, and
// mostUnwatched while nobody does, for those who come: who needs others reads the
// journal, which costs more.
const (
	mostKept      = 4 << 20
	mostUnwatched = 1 << 20
)

// hub keeps the latest events of a run while somebody looks on. One feed at a time
// tells it: the drive of the run here, or else a follower that reads the journal.
type hub struct {
	mu       sync.Mutex
	watchers int
	// lines are the events after the one with the number from; last is the latest.
	from, last int64
	lines      []Line
	size       int
	// feed tells feeds apart; driven: it is a drive. fresh: it has told nothing yet.
	feed        int
	driven      bool
	fresh       bool
	stopFollow  context.CancelFunc
	changed     chan struct{}
	startFollow func(ctx context.Context, feed int)
}

// live makes a drive the feed of the hub.
func (h *hub) live() (feed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unfollow()
	h.feed++
	h.driven, h.fresh = true, true
	return h.feed
}

// rest ends a drive's feed.
func (h *hub) rest(feed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feed == feed {
		h.driven = false
		h.follow()
	}
	h.wake()
}

// begin has the journal followed after a number that a watcher has come to, unless
// somebody tells already.
func (h *hub) begin(after int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.driven && h.stopFollow == nil {
		h.last = max(h.last, after)
		h.from, h.lines, h.size = h.last, nil, 0
	}
	h.follow()
}

// follow has the journal read where somebody looks on and no drive tells.
func (h *hub) follow() {
	over := len(h.lines) > 0 && h.lines[len(h.lines)-1].End
	if h.driven || h.watchers == 0 || h.stopFollow != nil || over {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.feed++
	h.fresh, h.stopFollow = true, cancel
	go h.startFollow(ctx, h.feed)
}

func (h *hub) unfollow() {
	if h.stopFollow != nil {
		h.stopFollow()
		h.stopFollow = nil
	}
}

func (h *hub) watching() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watchers
}

// gather is for how long a watcher that was told something waits for more.
func (h *hub) gather() time.Duration {
	return min(max(gather, time.Duration(h.watching())*eachWaits), mostGather)
}

// wake tells all who wait to look again.
func (h *hub) wake() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// add takes an event from a feed.
func (h *hub) add(feed int, e *runner.Event) {
	h.mu.Lock()
	if feed != h.feed || e.Seq <= h.last {
		h.mu.Unlock()
		return
	}
	most := mostKept
	if h.watchers == 0 {
		most = mostUnwatched
	}
	h.mu.Unlock()
	line := lineOf(e) // one feed tells: nobody comes in between
	h.mu.Lock()
	defer h.mu.Unlock()
	if feed != h.feed {
		return
	}
	if h.fresh { // what an earlier feed did not get to tell stands in the journal
		h.from, h.fresh = e.Seq-1, false
		h.lines, h.size = nil, 0
	}
	h.last = e.Seq
	h.lines, h.size = append(h.lines, line), h.size+len(line.JSON)
	if h.size > most {
		half := 0
		for h.size > most/2 {
			h.size -= len(h.lines[half].JSON)
			h.from = h.lines[half].Seq
			half++
		}
		h.lines = append([]Line(nil), h.lines[half:]...)
	}
	h.wake()
}

// after are the events after a number, if that is not less than from: what came
// before stands in the journal only. live says that a drive tells.
func (h *hub) after(seq int64) (lines []Line, from int64, changed <-chan struct{}, live bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := len(h.lines)
	for i > 0 && h.lines[i-1].Seq > seq {
		i--
	}
	return h.lines[i:len(h.lines):len(h.lines)], h.from, h.changed, h.driven
}
