// Snapshots of runs: how many steps a run has taken decides neither what is
// written nor how long it takes to open it.

package runner

import (
	"encoding/json"
	"math"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

// leastTail is the usual Runner.leastTail: for a small state another snapshot
// would save less than it costs.
const leastTail = 64 << 10

// stepCost is how many bytes of events a step counts as that a resume computes again.
const stepCost = 64

// saving is when a driver writes the next snapshot.
type saving struct {
	// from is how many bytes of events there are to be before the state is
	// written; stale, that it is written at once.
	from  int
	stale bool
	// first is the size of the first event, if the journal begins with it: it
	// holds the input, and is as good as a snapshot. fresh: it is not known yet.
	first int
	fresh bool
	// count is how many steps the last snapshot has.
	count int
}

// keepSnapshot writes the state when the events since the last time take more
// bytes than it does. Whether they do shows when it is written: a larger state
// is given up, and tried again when there are a quarter more events.
func (d *driver) keepSnapshot() error {
	if d.durable > 0 {
		return nil
	}
	limit := d.journal.Journaled()
	if d.saved.fresh {
		d.saved.first, d.saved.fresh = limit, false
	}
	limit += stepCost*(d.state.Count()-d.saved.count) - d.saved.first
	if limit < max(d.saved.from, d.flow.runner.leastTail) && !d.saved.stale {
		return nil
	}
	if d.saved.stale {
		limit = math.MaxInt
	}
	kept := head{
		Started: d.started.UnixNano(), Last: d.state.Now, Steps: d.state.Count(), Told: d.seq, Hidden: d.mask.Learned,
	}
	text, err := json.Marshal(&kept)
	if err != nil {
		return err
	}
	state, err := d.state.Snapshot()
	if err != nil {
		return err
	}
	text = append(append(text, '\n'), state...)
	if d.saved.stale = false; len(text) > limit {
		d.saved.from = len(text)
		return nil
	}
	if err := d.journal.Snapshot(store.Snapshot{State: text}); err != nil {
		return d.journalFailed(err)
	}
	d.saved = saving{from: len(text), count: d.state.Count()}
	return nil
}

// startFrom puts a driver into the state that a record begins with.
func (d *driver) startFrom(rec *record) {
	d.saved = saving{stale: rec.stale, count: rec.head.Steps}
	if rec.state == nil {
		return
	}
	d.state, rec.state = rec.state, nil
	d.watch()
	d.counted, d.seq = d.state.Count(), rec.head.Told
	d.started, d.last = time.Unix(0, rec.head.Started), rec.head.Last
	d.time.NotBefore(d.last)
	for _, text := range rec.head.Hidden {
		d.mask.LearnValue(text)
	}
}
