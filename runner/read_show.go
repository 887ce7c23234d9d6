// Runs as they stand or stood: shown and told again, as a whole or from the snapshot before
// a step.

package runner

import (
	"errors"

	"github.com/graphrun/graphrun/runner/machine"
)

// recentSteps is how many steps before a step ShowAt tells at least, if there are
// as many.
const recentSteps = 100

// ErrEnough is what the sink of ReplayFrom returns when it needs to see no more.
var ErrEnough = errors.New("enough has been seen")

// ShowAt returns a run as it was after a step; 0: before the first. It begins to
// read a little before the step, and the sink of opts is told of that part only.
// With History it reads all that comes before.
func (r *Runner) ShowAt(runID string, step int, opts Options) (*Result, error) {
	from := step - recentSteps
	if opts.History {
		from = 0
	}
	rec, err := r.loadAt(runID, from)
	if err != nil {
		return nil, err
	}
	return rec.walk(step, opts)
}

// ReplayFrom walks a recorded run as Replay does, but begins at the latest snapshot
// before the superstep of a step: what came before is not told. When the sink of
// opts returns ErrEnough, the walk ends there, with that error.
func (r *Runner) ReplayFrom(runID string, step int, opts Options) (*Result, error) {
	rec, err := r.loadAt(runID, step)
	if err == nil && rec.From.Head.Steps > 0 { // it may be of the step's own superstep
		err = rec.Seek(rec.From.Head.Steps)
	}
	if err != nil {
		return nil, err
	}
	return rec.walk(-1, opts)
}

// recentEvents is how many events of the journal Show tells at least, if there
// are as many.
const recentEvents = 400

// Show returns a run as it stands, also while it is driven elsewhere. It reads
// the latest part of the journal only; the sink of opts is told of that part.
// With History it reads the whole.
func (r *Runner) Show(runID string, opts Options) (*Result, error) {
	if opts.History {
		return r.Replay(runID, -1, opts)
	}
	rec, err := r.loadFrom(runID, -1)
	if err == nil && opts.Sink != nil && rec.From.Events > 0 && len(rec.Events) < recentEvents {
		rec, err = r.loadFrom(runID, max(0, rec.Total-recentEvents))
	}
	if err != nil {
		return nil, err
	}
	return rec.walk(-1, opts)
}

// Replay walks a recorded run again without executing anything, and tells the
// sink of opts what happened, with the values that conditions read. It stops after
// the step at: 0 is before the first, and negative goes to where the run stands.
func (r *Runner) Replay(runID string, at int, opts Options) (*Result, error) {
	rec, err := r.loadAt(runID, 0)
	if err != nil {
		return nil, err
	}
	return rec.walk(at, opts)
}

// walk replays the events of a record and tells what happened.
func (rec *record) walk(at int, opts Options) (*Result, error) {
	d, err := rec.reader(opts)
	if err != nil {
		return nil, err
	}
	if at >= 0 && d.opts.Sink != nil {
		d.opts.Sink = &untilSink{next: d.opts.Sink, driver: d, at: at}
	}
	err = rec.Each(func(e *machine.Event) (bool, error) {
		err := d.replayEvent(e)
		return at < 0 || d.steps() < at, err
	})
	if err != nil {
		return nil, err
	}
	result, err := d.retold()
	if err == nil && at < 0 && result.Status == machine.Running {
		if err = d.flow.runner.stands(result); err == nil {
			result.Running, err = d.running()
		}
		if result.Status == machine.Running { // it is: time goes on
			result.Duration = d.took(d.now())
		}
	}
	return result, err
}

// recorded is the result of a run that is only read: it took no longer than
// until its last event.
func (d *driver) recorded() (*Result, error) {
	result, err := d.wholeResult()
	if err == nil {
		result.Duration = d.took(d.last)
	}
	return result, err
}
