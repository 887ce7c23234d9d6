// Resuming with another version of the graph.

package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// MisfitError reports why a run can't continue with another version of its graph.
type MisfitError struct {
	RunID string
	// Divergence is the first step that takes another path in that version, or nil.
	Divergence *view.Divergence
	// Problems has a sentence for each state key whose value does not fit.
	Problems []string
}

// Error describes the divergence or the problems.
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

// ResumeWith resumes a run with another version of its graph, which replaces the stored one. With the
// recorded outputs and answers, that version must take the same steps, and the state must fit its
// schemas. Otherwise the error is a *MisfitError, and nothing changes. A completed run can't be
// resumed.
func (r *Runner) ResumeWith(ctx context.Context, runID string, g *spec.Graph, opts Options) (*Result, error) {
	flow, err := r.Prepare(g)
	if err != nil {
		return nil, err
	}
	return r.withJournal(ctx, runID, 0, func(journal store.Journal) (*Result, error) {
		if err := killLeftovers(r.cfg.Store, runID); err != nil {
			return nil, err
		}
		return r.resumeWith(ctx, runID, flow, opts, journal)
	})
}

// newVersionDriver returns a driver of the run with another version of its graph, and the new record.
func (r *Runner) newVersionDriver(runID string, flow *Flow, opts Options) (*driver, store.RunRecord, error) {
	rec, err := r.loadRecord(runID)
	if err == nil {
		err = rec.checkFit(flow)
	}
	if err != nil {
		return nil, store.RunRecord{}, err
	}
	own := &record{id: rec.id, run: rec.run, flow: flow, store: rec.store}
	next := flow.newRecord(&opts, rec.run.Started)
	own.run.Graph, own.run.File, own.run.Source, own.run.Files = next.Graph, next.File, next.Source, next.Files
	d, err := own.replayAll(opts)
	if err == nil {
		err = errors.Join(d.secretsErr, d.checkAnswers())
	}
	return d, own.run, err
}

func (r *Runner) resumeWith(ctx context.Context, runID string, flow *Flow, opts Options, journal store.Journal) (*Result, error) {
	d, run, err := r.newVersionDriver(runID, flow, opts)
	if err == nil {
		err = journal.ReplaceGraph(run)
	}
	if err == nil {
		err = d.awaitSlot(ctx, journal)
	}
	if err != nil {
		return nil, err
	}
	return d.continueRun(ctx, journal)
}

// checkFit returns a *MisfitError unless the run can continue with another flow.
func (rec *record) checkFit(flow *Flow) error {
	c, err := rec.compareWith(flow, false)
	if err != nil {
		return err
	}
	then, ended := c.then, c.then.state.HasEnded()
	if c.divergence != nil && (c.after > 0 || !ended) { // the step that ended the run will run again
		return &MisfitError{RunID: rec.run.ID, Divergence: c.divergence}
	}
	if then.state.Status == machine.Completed {
		return &InputError{Problems: []string{fmt.Sprintf("run %q has completed: there is nothing to resume", rec.run.ID)}}
	}
	if d := compareEnds(then, c.now); d != nil && !ended {
		return &MisfitError{RunID: rec.run.ID, Divergence: d}
	}
	if _, wrong := input.Check(flow.tree.Graph, then.state.Scope("").Values(), nil); len(wrong) > 0 {
		out := &MisfitError{RunID: rec.run.ID}
		for _, problem := range wrong {
			out.Problems = append(out.Problems, then.mask.MaskText(strings.Replace(problem, "input ", "state key ", 1)))
		}
		return out
	}
	return nil
}
