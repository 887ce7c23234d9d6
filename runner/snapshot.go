// Snapshots of runs. With them, long runs are as fast to write and open as short ones.

package runner

import (
	"encoding/json"
	"math"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

// leastTail is the usual Runner.leastTail.
const leastTail = 64 << 10

// stepCost is the cost in bytes of a step that a resume computes again.
const stepCost = 64

// saving decides when a driver writes the next snapshot.
type saving struct {
	from  int  // bytes of events before the state is written
	stale bool // the state is written at once
	// first is the size of the run's first event, which is as good as a snapshot. fresh says that
	// it is not known yet.
	first int
	fresh bool
	count int // steps of the last snapshot
}

// keepSnapshot writes the state unless it is larger than the events since the last snapshot.
func (d *driver) keepSnapshot() error {
	if d.durable > 0 {
		return nil
	}
	limit := d.journal.Journaled()
	if limit < 0 {
		return nil
	}
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
		return d.journalError(err)
	}
	d.saved = saving{from: len(text), count: d.state.Count()}
	return nil
}

// startFrom sets the driver to the state with which a record begins.
func (d *driver) startFrom(rec *record) {
	d.saved = saving{stale: rec.stale, count: rec.head.Steps}
	if rec.state == nil {
		return
	}
	d.state, rec.state = rec.state, nil
	d.updateWatched()
	d.counted, d.seq = d.state.Count(), rec.head.Told
	d.started, d.last = time.Unix(0, rec.head.Started), rec.head.Last
	d.time.NotBefore(d.last)
	for _, text := range rec.head.Hidden {
		d.mask.LearnValue(text)
	}
}
