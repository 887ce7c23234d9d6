// Reading a part of a run: from the snapshot before a step, as far as needed, some
// events at a time.

package runner

import "errors"

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
