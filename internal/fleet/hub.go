// The latest events of a run, for those who look on.

package fleet

import (
	"context"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/runner"
)

// gather is the time between two words to those who wait: what happens meanwhile is
// told together.
const gather = 15 * time.Millisecond

// Bounds of the bytes of events that a hub keeps: mostKept for those who look on, more
// while all hubs together keep less than mostOfAll, and mostUnwatched while nobody
// does, for those who come: who needs others needs the journal, which costs more.
const (
	mostKept      = 4 << 20
	mostOfAll     = 64 << 20
	mostUnwatched = 1 << 20
)

// hub keeps the latest events of a run while somebody looks on. One feed at a time
// tells it: the drive of the run here, or else a follower that reads the journal.
type hub struct {
	mu       sync.Mutex
	watchers int
	// lines are the events after the one with the number from; last is the latest, and
	// shown the latest that those who wait have been told to look at.
	from, last, shown int64
	lines             []Line
	size              int
	roll              roll
	// feed tells feeds apart; driven: it is a drive. fresh: it has told nothing yet.
	feed       int
	driven     bool
	fresh      bool
	stopFollow context.CancelFunc
	// over: the run has ended, and lines are all that there is to tell.
	over    bool
	changed chan struct{}
	// waking: who waits will be told soon; woken is when they were.
	waking bool
	woken  time.Time
	// filling is closed when somebody has read what comes before lines, for all; tooMuch:
	// it is more than may be kept.
	filling chan struct{}
	tooMuch bool
	// ofAll counts the bytes that all hubs keep.
	ofAll       *atomic.Int64
	startFollow func(ctx context.Context, feed int)
}

// live makes a drive the feed of the hub.
func (h *hub) live() (feed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unfollow()
	h.feed++
	h.driven, h.fresh, h.over = true, true, false
	return h.feed
}

// rest ends a feed; over says that it has told all of a run that has ended.
func (h *hub) rest(feed int, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feed == feed {
		h.driven = false
		h.unfollow()
		n := len(h.lines)
		h.over = over || n > 0 && h.lines[n-1].End
		h.follow()
	}
	h.wake()
}

// fed reports whether somebody tells of the run; the lock is held.
func (h *hub) fed() bool { return h.driven || h.stopFollow != nil || h.over }

// begin has the journal followed after a number that a watcher has come to, unless
// somebody tells already.
func (h *hub) begin(after int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fed() {
		return
	}
	h.last = max(h.last, after)
	h.clear(h.last)
	h.follow()
}

// follow has the journal read where somebody looks on and nobody tells.
func (h *hub) follow() {
	if h.watchers == 0 || h.fed() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.feed++
	// It tells all that comes after the last event here.
	h.fresh, h.stopFollow = false, cancel
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

// wake tells all who wait to look again.
func (h *hub) wake() {
	h.shown, h.woken = h.last, time.Now()
	close(h.changed)
	h.changed = make(chan struct{})
}

// wakeSoon does so when some time has passed since the last time, and not in the time
// of the feed.
func (h *hub) wakeSoon() {
	if h.waking || h.watchers == 0 {
		return
	}
	h.waking = true
	time.AfterFunc(gather-time.Since(h.woken), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.waking = false
		h.wake()
	})
}

// add takes an event from a feed.
func (h *hub) add(feed int, e *runner.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if feed != h.feed || e.Seq <= h.last {
		return
	}
	if h.fresh && e.Seq != h.last+1 { // what an earlier feed did not get to tell stands in the journal
		h.clear(e.Seq - 1)
	}
	h.fresh = false
	line := h.roll.line(e)
	h.last = e.Seq
	h.lines = append(h.lines, line)
	h.grow(len(line.Frame))
	h.trim()
	h.wakeSoon()
}

// clear drops all lines: what is kept begins after a number.
func (h *hub) clear(from int64) {
	h.from, h.lines = from, nil
	h.grow(-h.size)
}

// lastLine is the number of the last of the lines; 0: there are none.
func (h *hub) lastLine() int64 {
	if len(h.lines) == 0 {
		return 0
	}
	return h.lines[len(h.lines)-1].Seq
}

func (h *hub) grow(by int) {
	h.size += by
	h.ofAll.Add(int64(by))
}

// trim drops the older half of more than may be kept.
func (h *hub) trim() {
	most := mostUnwatched
	if h.watchers > 0 {
		most = max(mostKept, mostOfAll-int(h.ofAll.Load())+h.size)
	}
	if h.size <= most || h.filling != nil {
		return
	}
	h.tooMuch = h.watchers > 0 // who has not been told yet reads by themselves
	half, size := 0, 0
	for ; h.size-size > most/2; half++ {
		size += len(h.lines[half].Frame)
	}
	h.from = h.lines[half-1].Seq
	h.lines = append([]Line(nil), h.lines[half:]...)
	h.grow(-size)
}

// after are the events after a number that are to be told, if that is not less than
// from: what came before stands in the journal only.
func (h *hub) after(seq int64) (lines []Line, from int64, changed <-chan struct{}, fed, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	past := func(seq int64) int {
		return sort.Search(len(h.lines), func(i int) bool { return h.lines[i].Seq > seq })
	}
	end := past(max(seq, h.shown))
	return h.lines[past(seq):end:end], h.from, h.changed, h.fed(), h.over && end == len(h.lines)
}
