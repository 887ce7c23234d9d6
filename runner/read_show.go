// Showing, replaying and following recorded runs.

package runner

import (
	"context"
	"errors"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

// ErrEnough ends a replay if a sink returns it.
var ErrEnough = errors.New("enough has been seen")

const (
	recentSteps  = 100 // minimum number of steps that ShowAt reads before its step
	recentEvents = 400 // minimum number of events that Show passes to a sink
)

// Show returns the current result of a run, with or without a driver. It passes the latest part
// of the journal to the sink. With History it reads the whole journal.
func (r *Runner) Show(runID string, opts Options) (*Result, error) {
	rec, err := r.loadRecord(runID)
	if err == nil && !opts.History {
		err = rec.seekLatest(-1)
	}
	if err == nil && opts.Sink != nil && rec.state != nil {
		err = rec.seekLatest(max(0, rec.total-recentEvents))
	}
	if err != nil {
		return nil, err
	}
	return rec.replayUpTo(-1, opts)
}

// ShowAt returns a run as it was after a step. 0 is before the first step. The sink receives the events
// shortly before. With History it receives all.
func (r *Runner) ShowAt(runID string, step int, opts Options) (*Result, error) {
	from := step - recentSteps
	if opts.History {
		from = 0
	}
	return r.Replay(runID, from, step, opts)
}

// Replay applies the events of a run again, and passes them to the sink with the values that conditions
// read. It executes nothing. It begins at the latest snapshot before step from, and ends after step to,
// or at the last event if to is negative. A sink can end it by returning ErrEnough.
func (r *Runner) Replay(runID string, from, to int, opts Options) (*Result, error) {
	rec, err := r.loadRecordAt(runID, from)
	if err != nil {
		return nil, err
	}
	return rec.replayUpTo(to, opts)
}

// replayUpTo replays the events of a record up to step at, or all events if at is negative.
func (rec *record) replayUpTo(at int, opts Options) (*Result, error) {
	opts.readsOnly = true
	d, err := rec.newDriver(opts)
	if err != nil {
		return nil, err
	}
	d.state.Explain = true
	err = rec.visitEvents(func(e *machine.Event) (bool, error) {
		if at == 0 && e.Kind != machine.RunBegan {
			return false, nil
		}
		d.state.StopAt = max(0, at)
		if at == 0 && len(d.state.Scopes) == 0 {
			d.state.StopAt = -1
		}
		err := d.replayEvent(e)
		d.state.StopAt = 0
		return at < 0 || d.state.RootSteps() < at, err
	})
	if err != nil {
		return nil, err
	}
	result := d.endReplay()
	if at < 0 && result.Status == machine.Running {
		lines, err := rec.store.List(store.RunFilter{ID: result.RunID})
		if err != nil {
			return nil, err
		}
		if len(lines) == 1 && lines[0].EffectiveStatus() == store.Crashed {
			result.Status = store.Crashed
		}
		result.Running = d.listRunning()
		if result.Status == machine.Running { // its driver is alive, so the duration grows
			result.Duration = d.elapsed(d.now())
		}
	}
	return result, d.sinkErr
}

// endReplay emits the end or the pause of a record and returns the result.
func (d *driver) endReplay() *Result {
	result := d.recordedResult()
	if d.state.HasEnded() || d.state.Status == machine.Paused {
		if d.state.Status == machine.Paused && d.pauseEmitted {
			d.emitRunEvent(RunFinished, d.last, result)
		} else {
			d.emitFinished(result, d.last)
		}
	}
	return result
}

// listRunning lists the current executions. Subgraphs follow their nodes.
func (d *driver) listRunning() []view.RunningNode {
	var out []view.RunningNode
	for _, t := range d.state.Current() {
		out = append(out, view.RunningNode{
			Node: nodePath(&t.Place), Rank: t.Rank, Visit: t.Visit, Attempt: max(t.Task.Attempt, 1), Doing: t.Doing, Since: time.Unix(0, t.Began).UTC(),
		})
	}
	return out
}

// followPoll is the interval at which a followed journal is read.
const followPoll = 200 * time.Millisecond

// Follow passes past and future events of a run to the sink until the run or ctx ends. It waits
// for a paused run and for one without a driver.
func (r *Runner) Follow(ctx context.Context, runID string, opts Options) (*Result, error) {
	d, rec, err := r.openReader(runID, 0, opts)
	if err != nil {
		return nil, err
	}
	d.state.Explain = true
	return d.followRecord(ctx, rec, func(*Result) (bool, error) { return d.state.HasEnded(), nil })
}

// FollowUntil is like Follow, but ends when enough returns true. enough receives each result of a run
// that has ended, pauses or has questions. The sink also receives live events (LiveStore), but no
// events before number from.
func (r *Runner) FollowUntil(ctx context.Context, runID string, from int, opts Options, enough func(*Result) (bool, error)) (*Result, error) {
	d, rec, err := r.openReader(runID, from, opts)
	if err != nil {
		return nil, err
	}
	rec.live, _ = r.cfg.Store.(LiveStore)
	d.emitsLive = true
	return d.followRecord(ctx, rec, enough)
}

// openReader returns a driver that has replayed the first events of a run without a sink.
func (r *Runner) openReader(runID string, from int, opts Options) (*driver, *record, error) {
	rec, err := r.loadRecord(runID)
	if err != nil {
		return nil, nil, err
	}
	sink := opts.Sink
	if opts.readsOnly = true; from > 0 {
		opts.Sink = nil
	}
	d, err := rec.newDriver(opts)
	if err != nil || from == 0 {
		return d, rec, err
	}
	err = rec.visitEvents(func(e *machine.Event) (bool, error) {
		err := d.replayEvent(e)
		return rec.total < from, err
	})
	d.opts.Sink, d.pauseEmitted = sink, d.state.Status == machine.Paused
	d.updateWatched()
	return d, rec, err
}

// followRecord replays new events until enough returns true.
func (d *driver) followRecord(ctx context.Context, rec *record, enough func(*Result) (bool, error)) (*Result, error) {
	for {
		if err := d.replayNew(rec); err != nil {
			return nil, err
		}
		if d.state.HasEnded() || d.state.Status == machine.Paused || len(d.state.Questions()) > 0 {
			if stop, err := enough(d.recordedResult()); stop || err != nil {
				d.emitsLive = false
				return d.endReplay(), errors.Join(err, d.sinkErr)
			}
		}
		d.emitPause()
		if d.sinkErr != nil {
			return nil, d.sinkErr
		}
		if err := sleep(ctx, d.flow.runner.cfg.Clock, followPoll); err != nil {
			return nil, err
		}
	}
}

// replayNew replays the events that were added to the journal since the last call.
func (d *driver) replayNew(rec *record) error {
	for {
		events, err := rec.readEvents()
		if err != nil {
			return err
		}
		if rec.live != nil {
			rec.pendingLive = append(rec.pendingLive, rec.live.Live(rec.run.ID)...)
		}
		if len(events) == 0 {
			return d.emitLive(rec)
		}
		for i := range events {
			if err := d.emitLive(rec); err != nil {
				return err
			}
			rec.total++
			if err := d.replayEvent(&events[i]); err != nil {
				return err
			}
		}
	}
}

// emitLive emits the live events that precede the next event of the journal.
func (d *driver) emitLive(rec *record) error {
	for len(rec.pendingLive) > 0 && rec.pendingLive[0].After <= rec.total {
		d.event = rec.pendingLive[0].Event
		d.event.live = true
		rec.pendingLive = rec.pendingLive[1:]
		d.seq = max(d.seq, d.event.Seq-1)
		d.emitEvent()
	}
	return d.sinkErr
}
