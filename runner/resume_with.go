// Going on with another version of the graph.

package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner/internal/flowtree"
	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/internal/rundir"
	"github.com/graphrun/graphrun/runner/internal/verify"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// MisfitError says why a run can't go on with another version of its graph.
type MisfitError struct {
	RunID string
	// Divergence is the first step that the version would have taken otherwise;
	// nil: there is none, and Problems says what else is wrong.
	Divergence *view.Divergence
	// Problems is one sentence per state key whose value does not fit.
	Problems []string
}

// Error names the first thing that does not fit.
func (e *MisfitError) Error() string {
	text := fmt.Sprintf("run %q does not fit that version of its graph: ", e.RunID)
	d := e.Divergence
	if d == nil {
		return text + strings.Join(e.Problems, "; ")
	}
	if d.Step > 0 {
		text += fmt.Sprintf("step %d, %s: ", d.Step, d.Node)
	}
	list := func(names []string) string {
		if len(names) == 0 {
			return "nothing"
		}
		return strings.Join(names, ", ")
	}
	text += fmt.Sprintf("it led to %s and would lead to %s", list(d.Recorded), list(d.Now))
	if len(d.Why) > 0 {
		text += " (" + strings.Join(d.Why, "; ") + ")"
	}
	return text
}

// ResumeWith goes on with a run as Resume does, but with another version of its
// graph, which is kept with the run from then on. With the recorded outputs and
// answers that version has to take every step that the run has taken, and the
// values of its state have to fit; else the error is a *MisfitError and the run
// stays as it is. A run that has completed can't be gone on with.
func (r *Runner) ResumeWith(ctx context.Context, runID string, g *spec.Graph, opts Options) (*Result, error) {
	flow, err := r.Prepare(g)
	if err != nil {
		return nil, err
	}
	if r.cfg.Store == nil {
		return nil, fmt.Errorf("run %q: %w: there is no store", runID, store.ErrNoRun)
	}
	journal, err := r.cfg.Store.Open(runID, r.cfg.Owner)
	if err != nil {
		return nil, err
	}
	if err := rundir.EndLeft(r.cfg.Store, runID); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	rec, back, err := r.adopted(runID, flow)
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	d, err := rec.replayed(opts, rec.Events)
	if err == nil {
		err = errors.Join(d.unread, d.checkAnswers())
	}
	if err == nil {
		err = journal.Adopt(rec.run)
	}
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	if err := d.reenter(ctx, journal); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return d.goOn(ctx, journal, back)
}

// adopted is a run as another flow takes it up: with the events that are left
// when its end is taken back.
func (r *Runner) adopted(runID string, flow *Flow) (rec *record, back *journal.Comeback, err error) {
	if rec, err = r.load(runID); err != nil {
		return nil, nil, err
	}
	ended, err := rec.replayed(Options{}, rec.Events)
	if err != nil {
		return nil, nil, err
	}
	if ended.state.Status == machine.Completed {
		return nil, nil, &InputError{Problems: []string{fmt.Sprintf("run %q has completed: there is nothing to resume", runID)}}
	}
	told, err := rec.toldBefore()
	if err != nil {
		return nil, nil, err
	}
	if back, err = rec.Rewind(ended.state); err != nil {
		return nil, nil, err
	}
	back.Told = told
	if err := rec.fits(flow); err != nil {
		return nil, nil, err
	}
	g := flow.tree.Graph
	rec.readBy(flow)
	rec.run.Graph, rec.run.File, rec.run.Source, rec.run.Files = g.Name.Value, flowtree.Absolute(g.File.Name), g.File.Src, flow.files
	return rec, back, nil
}

// fits walks the record through another flow, too, and compares.
func (rec *record) fits(flow *Flow) error {
	then, err := rec.walker(rec.flow)
	if err != nil {
		return err
	}
	now, err := rec.walker(flow)
	if err != nil {
		return err
	}
	for i := range rec.Events {
		d, err := verify.Compare(then.Walk, now.Walk, &rec.Events[i])
		if err != nil {
			return err
		}
		if d != nil {
			return &MisfitError{RunID: rec.run.ID, Divergence: d}
		}
	}
	if d := verify.Ends(then.Walk, now.Walk); d != nil {
		return &MisfitError{RunID: rec.run.ID, Divergence: d}
	}
	if _, wrong := input.Check(flow.tree.Graph, then.State.Values(), nil); len(wrong) > 0 {
		out := &MisfitError{RunID: rec.run.ID}
		for _, problem := range wrong {
			out.Problems = append(out.Problems, then.Mask.Text(strings.Replace(problem, "input ", "state key ", 1)))
		}
		return out
	}
	return nil
}
