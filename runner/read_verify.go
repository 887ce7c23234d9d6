// Replays that check: does the machine still decide as it did?

package runner

import (
	"github.com/graphrun/graphrun/runner/internal/verify"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Verify walks a recorded run once more, executing nothing: through the graph that it was
// started with, or through another flow, which gets the recorded outputs and answers. It
// returns the first divergence, nil if there is none, and the result of the walk; with a
// divergence, up to there.
func (r *Runner) Verify(runID string, other *Flow) (*Result, *view.Divergence, error) {
	rec, err := r.find(runID)
	if err != nil {
		return nil, nil, err
	}
	then, err := rec.walker(rec.flow)
	if err != nil {
		return nil, nil, err
	}
	now := then
	var graph *spec.Graph
	if other != nil {
		if now, err = rec.walker(other); err != nil {
			return nil, nil, err
		}
		now.Lenient, graph = true, other.tree.Graph
	}
	var began *machine.Event // the first event
	var d *view.Divergence
	var result *Result
	err = rec.Each(func(e *machine.Event) (bool, error) {
		if began == nil {
			began = e
		}
		if d != nil {
			return true, then.Step(e) // what else the record ran
		}
		var err error
		if d, err = verify.Compare(then.Walk, now.Walk, e); err != nil || d == nil {
			return true, err
		}
		d.Why = append(verify.RefusedInput(began, graph), d.Why...)
		result = now.recorded()
		return true, nil
	})
	if err != nil {
		return nil, nil, err
	}
	if d != nil {
		d.NeverRan = verify.NeverRan(then.Walk, now.Walk, d)
		return result, d, nil
	}
	d = verify.Ends(then.Walk, now.Walk)
	if problems := verify.RefusedInput(began, graph); d == nil && len(problems) > 0 {
		// The walk did not need it, a run would.
		d = &view.Divergence{Recorded: []string{then.Plan.Start()}, Now: []string{"the input is refused"}, Why: problems}
	} else if d != nil {
		d.Why = append(problems, d.Why...)
	}
	return now.recorded(), d, nil
}

// walker walks a record, with a driver that carries nothing out.
type walker struct {
	*verify.Walk
	driver *driver
}

func (rec *record) walker(flow *Flow) (*walker, error) {
	own := *rec
	own.readBy(flow)
	d, err := own.restored(Options{looks: true})
	if err != nil {
		return nil, err
	}
	return &walker{verify.New(d.plan, d.state, d.mask), d}, nil
}

// recorded is the result that the walk has come to.
func (w *walker) recorded() *Result {
	w.driver.last = w.Last
	return w.driver.recorded()
}
