// Replays that check: does the machine still decide as it did?

package runner

import (
	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/internal/verify"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Verify walks a recorded run once more, executing nothing: through the graph
// that it was started with, or through another flow, which gets the recorded
// outputs and answers. It returns the first divergence, nil if there is none,
// and the result that the walk came to; with a divergence, up to there, and in it how
// the other flow goes on.
func (r *Runner) Verify(runID string, other *Flow) (*Result, *view.Divergence, error) {
	rec, err := r.loadAt(runID, 0)
	if err != nil {
		return nil, nil, err
	}
	result, d, err := rec.verify(other)
	if err == nil && d != nil && other != nil {
		if rec, err = r.load(runID); err == nil { // the whole: what came first may come last
			d.Onward, err = rec.goOnward(other)
		}
	}
	return result, d, err
}

// verify walks a record through its own flow and another one, if there is one.
func (rec *record) verify(other *Flow) (*Result, *view.Divergence, error) {
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
		result, err = now.recorded()
		return true, err
	})
	if err != nil {
		return nil, nil, err
	}
	if d != nil {
		d.NeverRan = verify.NeverRan(then.Walk, now.Walk, d)
		return result, d, nil
	}
	result, err = now.recorded()
	d = verify.Ends(then.Walk, now.Walk)
	if problems := verify.RefusedInput(began, graph); d == nil && len(problems) > 0 {
		// The walk did not need it, a run would.
		d = &view.Divergence{Recorded: []string{then.Plan.Start()}, Now: []string{"the input is refused"}, Why: problems}
	} else if d != nil {
		d.Why = append(problems, d.Why...)
	}
	return result, d, err
}

// goOnward walks another flow from the beginning of the run.
func (rec *record) goOnward(other *Flow) (*view.Onward, error) {
	then, err := rec.walker(rec.flow)
	if err != nil {
		return nil, err
	}
	now, err := rec.walker(other)
	if err != nil {
		return nil, err
	}
	return verify.Onward(then.Walk, now.Walk, rec.Events)
}

// walker walks a record, with a driver that carries nothing out.
type walker struct {
	*verify.Walk
	driver *driver
}

func (rec *record) walker(flow *Flow) (*walker, error) {
	own := *rec
	own.readBy(flow)
	d, err := own.replayed(Options{}, nil)
	if err != nil {
		return nil, err
	}
	return &walker{verify.New(d.walked()), d}, nil
}

// recorded is the result that the walk has come to.
func (w *walker) recorded() (*Result, error) {
	w.driver.path, w.driver.last = w.Path, w.Last
	return w.driver.recorded()
}

// walked is the driver's run for a walk through it.
func (d *driver) walked() *verify.Run {
	return &verify.Run{Graph: d.flow.tree.Graph, Plan: d.plan, State: d.state, Mask: d.mask, Child: func(node string) *verify.Child {
		flow := d.flow.child(node)
		if flow == nil {
			return nil
		}
		return &verify.Child{Graph: flow.tree.Graph, Plan: flow.tree.Plan, Begin: func(task machine.TaskID, notes *journal.Reading) (*verify.Run, error) {
			child, err := startReading(flow, &nesting{parent: d, task: task, node: d.nested.path(node)}, notes)
			if err != nil {
				return nil, err
			}
			return child.walked(), nil
		}}
	}}
}
