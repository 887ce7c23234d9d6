// Following a run that another process drives.

package runner

import (
	"context"
	"errors"
	"time"

	"github.com/graphrun/graphrun/runner/internal/wallclock"
	"github.com/graphrun/graphrun/runner/machine"
)

// followPoll is the time between looks at the journal of a run that is followed.
const followPoll = 200 * time.Millisecond

// Follow tells the sink of opts what has happened in a run and goes on to tell
// what happens, until the run has ended or ctx has. A run that pauses, or whose
// driver is gone, may be taken up: it is waited for. Events are those of Replay.
func (r *Runner) Follow(ctx context.Context, runID string, opts Options) (*Result, error) {
	return r.follow(ctx, runID, opts, &attendance{explain: true, enough: func(*Result) (bool, error) { return false, nil }})
}

// Attend is Follow until the run pauses or has ended and enough says that this will do.
// It is asked of every such result, since the run may be being taken up, and of one that
// goes on with questions open. Events are
// those that the run's driver tells as they happen, as far as the store knows them
// (LiveStore), but for those of the first `from` events of the journal, which were told
// before.
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
	rec, err := r.loadAt(runID, 0)
	if err != nil {
		return nil, err
	}
	d, err := how.reader(rec, opts)
	if err != nil {
		return nil, err
	}
	for {
		if err := d.replayAll(rec, -1); err != nil {
			return nil, err
		}
		if d.state.Ended() {
			if over, err := how.over(d); over || err != nil {
				result, told := d.retold()
				return result, errors.Join(err, told)
			}
		}
		if d.state.Status == machine.Paused || len(d.state.Questions()) > 0 {
			result, err := d.recorded()
			if err != nil {
				return nil, err
			}
			if stop, err := how.enough(result); stop || err != nil {
				d.attends = false
				return result, errors.Join(err, d.tellPause(), d.tellStop(result))
			}
		}
		if err := d.tellPause(); err != nil {
			return nil, err
		}
		if err := wallclock.Sleep(ctx, r.cfg.Clock, followPoll); err != nil {
			return nil, err
		}
	}
}

// over reports whether a run that has ended stays so. Who attends it knows whether
// somebody has taken it up, who waits for a place in its group.
func (how *attendance) over(d *driver) (bool, error) {
	if !how.live {
		return true, nil
	}
	result, err := d.recorded()
	if err != nil {
		return false, err
	}
	return how.enough(result)
}

// reader is a driver that has told what was told before.
func (how *attendance) reader(rec *record, opts Options) (*driver, error) {
	before := opts
	if how.from > 0 {
		before.Sink = silent{}
	}
	d, err := rec.reader(before)
	if err != nil {
		return nil, err
	}
	d.state.Explain, d.attends = how.explain, how.live
	if how.from > 0 {
		err = d.replayAll(rec, how.from)
		d.opts.Sink, d.pauseTold = opts.Sink, d.state.Status == machine.Paused
	}
	if how.live { // what was told live before is not here any more
		rec.live, _ = rec.flow.runner.cfg.Store.(LiveStore)
	}
	return d, err
}

// reader is a driver at the beginning of a record, for those who look at it.
func (rec *record) reader(opts Options) (*driver, error) {
	d, err := rec.replayed(opts, nil)
	if err == nil {
		d.state.Explain = true
	}
	return d, err
}

// replayEvent applies a recorded event and tells what happened.
func (d *driver) replayEvent(event *machine.Event) error {
	held := d.waitsLive()
	if event.Kind == machine.Resumed {
		if err := d.tellPause(); err != nil {
			return err
		}
	}
	if err := d.replay(event); err != nil {
		return err
	}
	d.goOnFromNumber(event.Told)
	switch event.Kind {
	case machine.RunBegan:
		if event.Run != nil {
			d.opts.MaxSteps = event.Run.MaxSteps
		}
		d.announce(event.Input)
	case machine.Resumed:
		if !held {
			d.tell(RunResumed, event.At, nil)
		}
	case machine.TaskEnded:
		d.tellSpoken(event)
	case machine.TaskNoted:
		d.tellUsage(event)
		d.tellCalled(event)
		if err := d.replayInside(event); err != nil {
			return err
		}
	}
	if d.state.Status != machine.Paused {
		d.pauseTold = false
	}
	d.publish(event.At)
	return d.sinkErr
}

// tellPause tells once that the run pauses, if it does.
func (d *driver) tellPause() error {
	if d.state.Status != machine.Paused || d.pauseTold || d.waitsLive() {
		return nil
	}
	d.pauseTold = true
	paused, err := d.recorded()
	if err == nil {
		d.tell(RunPaused, d.last, paused)
	}
	return err
}

// waitsLive reports whether the run that is attended waits for a place in its group: its
// driver tells for whom, and not that it pauses.
func (d *driver) waitsLive() bool {
	return d.attends && !d.pauseTold && d.state.Status == machine.Paused && d.state.Reason == "concurrency"
}

// tellStop tells what a run came to that pauses.
func (d *driver) tellStop(result *Result) error {
	if d.state.Status == machine.Paused {
		d.tell(RunFinished, d.last, result)
	}
	return d.sinkErr
}

// retold tells how a record ends and returns what it came to.
func (d *driver) retold() (*Result, error) {
	result, err := d.recorded()
	if err != nil {
		return nil, err
	}
	if d.state.Ended() || d.state.Status == machine.Paused {
		d.conclude(result, d.last)
	}
	return result, d.sinkErr
}
