// Following a run that another process drives.

package runner

import (
	"context"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// followPoll is the time between looks at the journal of a run that is followed.
const followPoll = 200 * time.Millisecond

// Follow tells the sink of opts what has happened in a run and goes on to tell what
// happens, until the run has ended or ctx has. A run that pauses, or whose driver is gone,
// may be resumed: it is waited for. Events are those of Replay.
func (r *Runner) Follow(ctx context.Context, runID string, opts Options) (*Result, error) {
	return r.follow(ctx, runID, opts, &attendance{explain: true, enough: func(*Result) (bool, error) { return false, nil }})
}

// Attend is Follow until the run pauses or has ended and enough says that this will do. It
// is asked of every such result, since the run may be being resumed, and of one that goes
// on with questions open. Events are those that the run's driver tells as they happen, as
// far as the store knows them (LiveStore), but for those of the first `from` events of the
// journal, which were told before.
func (r *Runner) Attend(ctx context.Context, runID string, from int, opts Options, enough func(*Result) (bool, error)) (*Result, error) {
	return r.follow(ctx, runID, opts, &attendance{from: from, live: true, enough: enough})
}

// attendance is how a run is followed.
type attendance struct {
	from    int // as of Attend
	live    bool
	explain bool
	enough  func(*Result) (bool, error)
}

func (r *Runner) follow(ctx context.Context, runID string, opts Options, how *attendance) (*Result, error) {
	rec, err := r.find(runID)
	if err != nil {
		return nil, err
	}
	d, err := how.reader(rec, opts)
	if err != nil {
		return nil, err
	}
	for {
		if err := d.replayNew(rec); err != nil {
			return nil, err
		}
		over := d.state.Ended()
		if over && how.live {
			if over, err = how.enough(d.recordedResult()); err != nil {
				return nil, err
			}
		}
		if over {
			return d.endReplay(), d.sinkErr
		}
		if d.state.Status == machine.Paused || len(d.state.Questions()) > 0 {
			result := d.recordedResult()
			if stop, err := how.enough(result); stop || err != nil {
				d.attends = false
				d.emitPause()
				if d.state.Status == machine.Paused {
					d.tell(RunFinished, d.last, result)
				}
				if err == nil {
					err = d.sinkErr
				}
				return result, err
			}
		}
		d.emitPause()
		if d.sinkErr != nil {
			return nil, d.sinkErr
		}
		if err := sleep(ctx, r.cfg.Clock, followPoll); err != nil {
			return nil, err
		}
	}
}

// reader returns a driver that has told what was told before.
func (how *attendance) reader(rec *record, opts Options) (*driver, error) {
	opts.looks = true
	before := opts
	if how.from > 0 {
		before.Sink = nil
	}
	d, err := rec.restore(before)
	if err != nil {
		return nil, err
	}
	d.state.Explain, d.attends = how.explain, how.live
	if how.from > 0 {
		err = rec.each(func(e *machine.Event) (bool, error) {
			err := d.replay(e)
			return rec.total < how.from, err
		})
		d.opts.Sink, d.pauseTold = opts.Sink, d.state.Status == machine.Paused
		d.watch()
	}
	if how.live { // what was told live before is not here any more
		rec.live, _ = rec.flow.runner.cfg.Store.(LiveStore)
	}
	return d, err
}

// replayNew tells of the events of a record that have not been read.
func (d *driver) replayNew(rec *record) error {
	for {
		events, err := rec.next()
		if err != nil {
			return err
		}
		if rec.live != nil {
			rec.heard = append(rec.heard, rec.live.Live(rec.run.ID)...)
		}
		if len(events) == 0 {
			return d.emitLive(rec)
		}
		for i := range events {
			if err := d.emitLive(rec); err != nil {
				return err
			}
			rec.total++
			if err := d.replay(&events[i]); err != nil {
				return err
			}
		}
	}
}

// emitLive emits the live events from before the next event of the journal.
func (d *driver) emitLive(rec *record) error {
	for len(rec.heard) > 0 && rec.heard[0].After <= rec.total {
		d.event = rec.heard[0].Event
		d.event.live = true
		rec.heard = rec.heard[1:]
		d.seq = max(d.seq, d.event.Seq-1)
		d.emit()
	}
	return d.sinkErr
}
