// Runs that continue with another version of their graph.

package engine

import (
	"context"
	"errors"
	"path/filepath"

	enums "go.temporal.io/api/enums/v1"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// ResumeWith resumes a run with another version of its graph, as runner.ResumeWith does,
// and attends it. Whether the version fits is found out here, by the journal; a workflow
// that began with the version then resumes the run, with the same result.
func (s *Store) ResumeWith(ctx context.Context, r *runner.Runner, runID string, g *spec.Graph, opts runner.Options) (*runner.Result, error) {
	info, one, err := s.stands(runID)
	if err != nil {
		return nil, err
	}
	if one.Owner != "" {
		return nil, &store.DrivenError{RunID: runID, Owner: one.Owner}
	}
	next, err := s.again(info, &opts)
	if err != nil {
		return nil, err
	}
	here, err := hereRunner(next.Nonce, s)
	if err != nil {
		return nil, err
	}
	before := next.Record
	if next.Record, err = here.Fit(runID, g, opts); err != nil {
		return nil, err
	}
	next.Before, next.Settings.Dir, next.Seed.Stood = &before, filepath.Dir(next.Record.File), standingBefore(&next.Record, &one)
	events := len(next.Seed.Events)
	if info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		err = s.adoptInWorkflow(runID, &adoption{*next, events})
	} else {
		err = s.launch(next, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
	}
	if err != nil {
		return nil, err
	}
	return s.attendResumed(ctx, r, runID, events, opts)
}

// hereRunner returns a runner that drives nothing on the cluster.
func hereRunner(nonce string, kept store.Store) (*runner.Runner, error) {
	kinds := node.Options{}
	return runner.New(runner.Config{Kinds: node.Kinds(kinds), Decider: node.NewDecider(kinds), Store: kept, Secrets: sealedSecrets(nonce)})
}

// adoptInWorkflow has the workflow of a run that pauses continue with another version.
func (s *Store) adoptInWorkflow(runID string, a *adoption) error {
	var refused string
	err := s.update(runID, updateAdopt, &refused, a, a.Start.Seed.Events)
	if errors.Is(err, store.ErrNoRun) { // it has ended by itself
		refused, err = wentOn, nil
	}
	if err != nil {
		return err
	}
	if refused != "" {
		return &runner.InputError{Problems: []string{refused}}
	}
	return nil
}
