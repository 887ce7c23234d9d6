// Snapshots of runs: how many steps a run has taken decides neither what is
// written nor how long it takes to open it.

package runner

import (
	"fmt"
	"math"
	"time"

	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/store"
)

// leastTail is the usual Runner.leastTail: for a small state another snapshot
// would save less than it costs.
const leastTail = 64 << 10

// saving is when a driver writes the next snapshot.
type saving struct {
	events int // in the journal
	base   int // events that the last snapshot stands for
	steps  int // of the driver's path that are in a snapshot
	// from is how many bytes of events there are to be before the state is
	// written; stale, that it is written at once.
	from  int
	stale bool
	// first is the size of the first event, if the journal begins with it: it
	// holds the input, and is as good as a snapshot. fresh: it is not known yet.
	first int
	fresh bool
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
	limit -= d.saved.first
	if limit < max(d.saved.from, d.flow.runner.leastTail) && !d.saved.stale {
		return nil
	}
	if d.nested != nil && d.state.Ending() {
		return nil // what comes before a snapshot of a subgraph is forgotten
	}
	if d.saved.stale {
		limit = math.MaxInt
	}
	head := journal.Head{
		Started: d.started.UnixNano(), Last: d.state.Now(), Steps: d.steps(), Told: d.lastNumber(), Hidden: d.mask.Learned,
	}
	text, err := head.Line()
	if err != nil {
		return err
	}
	text, fits, err := d.state.AppendSnapshot(text, limit-len(text))
	if err != nil {
		return err
	}
	d.saved.stale = false
	if !fits {
		d.saved.from = limit + limit/4
		return nil
	}
	if err := d.journal.Snapshot(store.Snapshot{State: text, Base: d.saved.base, Path: journal.PackPath(d.path[d.saved.steps:])}); err != nil {
		return d.journalFailed(err)
	}
	d.saved = saving{events: d.saved.events, base: d.saved.events, steps: len(d.path), from: len(text)}
	return nil
}

// startFrom puts a driver into the state that a record begins with.
func (d *driver) startFrom(rec *journal.Reading) (err error) {
	d.saved = saving{events: rec.Total, base: rec.From.Events, stale: rec.Stale}
	d.before = journal.Snapshot{Head: rec.From.Head, Events: rec.From.Events}
	if rec.From.Events == 0 {
		return nil
	}
	d.state, err = rec.From.Restore(d.plan)
	if err != nil {
		return err
	}
	d.watch()
	d.seq = rec.From.Head.Told
	d.started, d.last = time.Unix(0, rec.From.Head.Started), rec.From.Head.Last
	d.time.NotBefore(d.last)
	for _, text := range rec.From.Head.Hidden {
		d.mask.LearnValue(text)
	}
	return nil
}

// wholeResult is the run as it stands, with the path from its beginning.
func (d *driver) wholeResult() (*Result, error) {
	if d.before.Head.Steps > 0 {
		text, err := d.flow.runner.cfg.Store.Path(d.opts.RunID, d.before.Events)
		if err != nil {
			return nil, err
		}
		path, err := journal.UnpackPath(text)
		if err != nil {
			return nil, err
		}
		if len(path) != d.before.Head.Steps {
			return nil, fmt.Errorf("run %q: its snapshot has taken %d steps, the path to it has %d", d.opts.RunID, d.before.Head.Steps, len(path))
		}
		d.path = append(path, d.path...)
		d.before.Head.Steps = 0
	}
	result := d.result()
	return result, d.addPending(result)
}
