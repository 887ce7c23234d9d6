// Runs that go on with another version of their graph.

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

// adopting is the store of the cluster for who compares a run with another version of its
// graph: what fits is caught, since it is a workflow that goes on with it.
type adopting struct {
	*Store
	owner  string // who drives the run; empty: nobody does
	record store.RunRecord
}

// errFits ends the comparison with a version that fits.
var errFits = errors.New("the run goes on with that version on the cluster")

// Open opens a journal that nothing is added to.
func (a *adopting) Open(runID, _ string) (store.Journal, error) {
	if a.owner != "" {
		return nil, &store.DrivenError{RunID: runID, Owner: a.owner}
	}
	return &compared{closed{keeper{&journal{}}, errFits}, a}, nil
}

// compared is the journal of a run that is compared.
type compared struct {
	closed
	with *adopting
}

// Adopt catches what fits.
func (c *compared) Adopt(record store.RunRecord) error {
	c.with.record = record
	return errFits
}

// ResumeWith takes up a run with another version of its graph, as runner.ResumeWith does,
// and attends it. Whether the version fits is found out here, by the journal; a workflow
// that began with the version then takes the run up, and comes to the same.
func (s *Store) ResumeWith(ctx context.Context, r *runner.Runner, runID string, g *spec.Graph, opts runner.Options) (*runner.Result, error) {
	info, one, err := s.stands(runID)
	if err != nil {
		return nil, err
	}
	before, err := s.start(runID, info.GetExecution().GetRunId())
	if err != nil {
		return nil, err
	}
	with := &adopting{Store: s, owner: one.Owner}
	kinds := node.Options{}
	comparing, err := runner.New(runner.Config{
		Kinds: node.Kinds(kinds), Decider: node.NewDecider(kinds), Store: with, Secrets: sealedSecrets(before.Nonce),
	})
	if err != nil {
		return nil, err
	}
	if _, err := comparing.ResumeWith(ctx, runID, g, opts); !errors.Is(err, errFits) {
		return nil, err
	}
	next, err := s.again(runID, info.GetExecution().GetRunId(), &opts)
	if err != nil {
		return nil, err
	}
	next.Before, next.Record = &before.Record, with.record
	next.Settings.Dir, next.Seed.Stood = filepath.Dir(with.record.File), stoodOf(&next.Record, &one)
	events := len(next.Seed.Events)
	if info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		err = s.handOver(runID, &adoption{*next, events})
	} else {
		err = s.launch(next, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
	}
	if err != nil {
		return nil, err
	}
	return s.attendTakenUp(ctx, r, runID, events, opts)
}

// handOver has the workflow of a run that pauses go on with another version.
func (s *Store) handOver(runID string, a *adoption) error {
	var refused string
	journal, err := a.Start.journal()
	if err == nil {
		err = s.updateWith(runID, updateAdopt, &refused, a, journal)
	}
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

// wentOn refuses a version because it was compared with a run that went on meanwhile.
const wentOn = "the run went on meanwhile; try again"

// adopt has a run that pauses go on in a new workflow with another version.
func (f *flight) adopt(m *mail) {
	j := f.host.store
	if f.driving || f.next != nil || m.adopt.Events != j.length() {
		m.refused = wentOn
		return
	}
	f.next = &m.adopt.Start
}

// adopt drives the run on with another version than that which its journal began with.
func (h *host) adopt() (*runner.Result, error) {
	record := &h.start.Record
	g, found := spec.Parse(record.File, record.Source, spec.Options{Kinds: h.runner.Kinds(), Load: record.Load})
	if found.HasErrors() {
		return nil, &runner.InvalidError{Diagnostics: found.Sort()}
	}
	return h.runner.ResumeWith(context.Background(), record.ID, g, h.options(&h.start.Settings))
}
