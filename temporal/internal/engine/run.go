// Commands that begin and resume runs, and follow them to their end.

package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowapi "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Begin starts a run and follows it until it ends or pauses. r reads the cluster's runs. tape
// records or plays models and tools, unless it is nil.
func (s *Store) Begin(ctx context.Context, r *runner.Runner, flow *runner.Flow, opts runner.Options, tape *cassette.Cassette) (*runner.Result, error) {
	start, err := s.newStart(flow, &opts)
	if err != nil {
		return nil, err
	}
	if start.Tape, err = s.newTape(tape); err != nil {
		return nil, err
	}
	result, err := s.submitRun(start, nil, opts, func(_ *runner.Runner, flow *runner.Flow, opts runner.Options) (*runner.Result, error) {
		return flow.Run(ctx, opts)
	}, func() error { return s.startWorkflow(start, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE) })
	if result != nil || err != nil {
		return result, err
	}
	copyRest := func() error { return nil }
	if tape != nil && !tape.IsPlaying() {
		recorder := &recorder{Sink: opts.Sink, store: s, runID: start.Record.ID, tape: tape}
		opts.Sink, copyRest = recorder, recorder.copyNew
	}
	result, err = s.followRun(ctx, r, start.Record.ID, 0, opts)
	return result, errors.Join(err, copyRest())
}

func (s *Store) newStart(flow *runner.Flow, opts *runner.Options) (*Start, error) {
	if err := flow.CheckOptions(*opts); err != nil {
		return nil, err
	}
	if len(flow.Graph().Notify) > 0 {
		return nil, &runner.InputError{Problems: []string{"notify: a cluster sends no notifications yet; leave it out, or drive the run here"}}
	}
	record := flow.NewRecord(*opts)
	start := &Start{
		Core: s.cluster.core, Record: record, Settings: *opts, Queue: s.cluster.settings.TaskQueue,
		Nonce: rand.Text(), RunDir: filepath.Join(os.TempDir(), "graphrun-runs", record.ID),
	}
	if opts.Session != "" {
		kept, err := s.readSession(opts.Session)
		switch {
		case err == nil:
			start.Session, start.Nonce = kept, kept.Nonce
		case !errors.Is(err, store.ErrNoSession):
			return nil, err
		}
	}
	var err error
	start.Settings.Dir, err = filepath.Abs(cmp.Or(start.Settings.Dir, filepath.Dir(record.File)))
	return start, err
}

// startWorkflow starts a workflow. An interrupt does not cancel the request, since then its success
// would be unknown.
func (s *Store) startWorkflow(start *Start, reuse enums.WorkflowIdReusePolicy) error {
	_, err := s.cluster.client.ExecuteWorkflow(s.ctx, client.StartWorkflowOptions{
		ID: start.Record.ID, TaskQueue: coreQueue(start.Queue, start.Core), WorkflowIDReusePolicy: reuse, WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowTaskTimeout: 20 * time.Second, StaticSummary: start.Record.Graph,
		Memo: map[string]any{memoStatus: newMemo(&start.Record, start.firstSummary())},
	}, workflowName, start.workflowArguments()...)
	if hasType[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		return fmt.Errorf("run %q: %w", start.Record.ID, store.ErrRunExists)
	}
	return err
}

// Resume resumes a paused or failed run, with another version of its graph if g is set, and
// follows it. A driver here checks version and options against the journal. Then a new workflow,
// which begins with the journal, resumes the run.
func (s *Store) Resume(ctx context.Context, r *runner.Runner, runID string, g *spec.Graph, opts runner.Options) (*runner.Result, error) {
	info, one, err := s.describeSettled(runID)
	if err != nil {
		return nil, err
	}
	s.followLive(runID)
	if one.Owner != "" {
		if g != nil || len(opts.Answers) > 0 {
			return nil, &store.DrivenError{RunID: runID, Owner: one.Owner}
		}
		return s.followRun(ctx, r, runID, 0, opts) // its events are emitted again
	}
	start, err := s.newNextStart(runID, one, &opts)
	if err != nil {
		return nil, err
	}
	emitted := len(start.Seed.Events)
	s.Live(runID) // drops events that have been emitted
	if g == nil && one.Status == machine.Completed {
		return s.followRun(ctx, r, runID, emitted, opts)
	}
	isRefused := false
	result, err := s.submitRun(start, g, opts, func(here *runner.Runner, _ *runner.Flow, opts runner.Options) (*runner.Result, error) {
		if g != nil {
			return here.ResumeWith(ctx, runID, g, opts)
		}
		return here.Resume(ctx, runID, opts)
	}, func() error {
		if info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return s.updateRun(runID, updateAdopt, &isRefused, start.workflowArguments()...)
		}
		return s.startWorkflow(start, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
	})
	if isRefused || errors.Is(err, store.ErrNoRun) { // the run resumed itself
		if g != nil {
			return nil, &runner.InputError{Problems: []string{"the run went on meanwhile; try again"}}
		}
		return s.Resume(ctx, r, runID, g, opts)
	}
	if result != nil || err != nil {
		return result, err
	}
	result, err = s.followRun(ctx, r, runID, emitted, opts)
	if err != nil {
		return result, err
	}
	if texts, err := s.eventsAfter(runID, emitted, 1); err != nil || len(texts) > 0 {
		return result, err
	}
	return result, fmt.Errorf("run %q was not resumed: %w", runID, store.ErrStopped) // it was stopped while it waited for its slot
}

// describeRun returns the latest workflow of a run and the run's summary.
func (s *Store) describeRun(runID string) (*workflowapi.WorkflowExecutionInfo, store.RunSummary, error) {
	info, err := s.findLatestWorkflow(runID)
	return info, s.summarize(info), err
}

// describeSettled is describeRun, but first waits a moment for a workflow that is about to end.
func (s *Store) describeSettled(runID string) (*workflowapi.WorkflowExecutionInfo, store.RunSummary, error) {
	info, one, err := s.describeRun(runID)
	if one.Owner == "" {
		return info, one, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	if _ = s.cluster.client.GetWorkflow(ctx, runID, "").Get(ctx, nil); ctx.Err() != nil {
		return info, one, nil
	}
	return s.describeRun(runID)
}

// newNextStart returns the input of a workflow that continues a run, with the whole journal.
func (s *Store) newNextStart(runID string, summary store.RunSummary, opts *runner.Options) (*Start, error) {
	_, before, err := s.readLatestStart(runID)
	if err != nil {
		return nil, err
	}
	events, err := s.eventsAfter(runID, 0, allBytes)
	summary.RunRecord = store.RunRecord{}
	next := *before
	next.Core, next.Seed, next.Settings, next.Settings.Dir = s.cluster.core, &Seed{Events: events, Summary: &summary}, *opts, before.Settings.Dir
	next.Session, next.Before, next.Tape, next.Claim, next.Turn = nil, nil, nil, nil, nil
	return &next, err
}

// followRun emits the events of a run after number from until the run ends, or pauses without a
// question for the person at this terminal. When ctx ends, the run is cancelled.
func (s *Store) followRun(ctx context.Context, r *runner.Runner, runID string, from int, opts runner.Options) (*runner.Result, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.SendRequest(runID, store.RequestCancel) })
	defer stop()
	watched, stopWatching := s.watchWorkflow(runID)
	defer stopWatching()
	s.followLive(runID)
	asked := map[string]bool{}
	isOver := func(result *runner.Result) (bool, error) {
		waits := result.Status == machine.Paused || result.Status == machine.Running
		if waits && opts.Ask != nil && ctx.Err() == nil {
			for i := range result.Pending {
				p := &result.Pending[i]
				if !asked[p.Target()] {
					asked[p.Target()] = s.askPerson(ctx, r, runID, p, &opts) != nil
					return false, nil
				}
			}
		}
		if result.Status == machine.Running {
			return false, nil
		}
		_, one, err := s.describeRun(runID) // a run that was resumed may wait for its slot
		if err != nil || one.Owner != "" || waits && one.Status != machine.Paused {
			return false, err
		}
		unread, err := s.eventsAfter(runID, s.tail.end, 1) // it may have been resumed since the latest read
		return len(unread) == 0, err
	}
	result, err := r.FollowUntil(watched, runID, from, runner.Options{Sink: opts.Sink, Warn: opts.Warn, History: opts.History}, isOver)
	if err != nil {
		_ = sleep(watched, 300*time.Millisecond) // the cluster may report the cause
		if s.ctx.Err() == nil && watched.Err() != nil {
			err = context.Cause(watched)
		}
		return nil, err
	}
	if result.Status == machine.Paused || result.Status == machine.Running {
		return result, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	var out Outcome
	if s.cluster.client.GetWorkflow(ctx, runID, "").Get(ctx, &out) == nil {
		result.Unused = out.Unused
	}
	return result, nil
}

// watchWorkflow returns a context that ends, with a cause, when the cluster or an error ends a
// run's workflow.
func (s *Store) watchWorkflow(runID string) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	go func() {
		for ctx.Err() == nil {
			err := s.cluster.client.GetWorkflow(ctx, runID, "").Get(ctx, nil)
			failed, _ := errors.AsType[*temporal.ApplicationError](err)
			switch {
			case err == nil: // the events of the run report its end
				return
			case failed != nil:
				cancel(fmt.Errorf("run %q: %s", runID, failed.Message()))
			case hasType[*temporal.WorkflowExecutionError](err):
				cancel(fmt.Errorf("run %q was ended by the cluster, not by itself: %w; graphrun resume continues it", runID, errors.Unwrap(err)))
			default: // the connection is lost, perhaps for a moment
				_ = sleep(ctx, time.Second)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// askPerson asks the person at this terminal and sends the answer to the run.
func (s *Store) askPerson(ctx context.Context, r *runner.Runner, runID string, p *view.Pending, opts *runner.Options) error {
	for problem := ""; ; {
		text, err := opts.Ask(ctx, *p, problem)
		if err != nil {
			return err
		}
		_, err = r.Answer(ctx, runID, []store.GivenAnswer{{Target: p.Target(), Text: text}}, opts.By)
		bad, isBad := errors.AsType[*runner.InputError](err)
		if !isBad {
			return err
		}
		problem = bad.Error()
	}
}

// ForkOf forks a run of the cluster and follows the new one, which r reads; see runner.Fork.
func (s *Store) ForkOf(ctx context.Context, r *runner.Runner, runID string, opts runner.ForkOptions) (*runner.Result, error) {
	start, err := s.newNextStart(runID, store.RunSummary{}, &opts.Options)
	if err != nil {
		return nil, err
	}
	start.Record.ID, start.Seed.Summary = cmp.Or(opts.RunID, store.NewRunID(time.Now())), nil
	result, err := s.submitRun(start, nil, opts.Options, func(here *runner.Runner, _ *runner.Flow, own runner.Options) (*runner.Result, error) {
		opts := opts
		opts.Options = own
		return here.Fork(ctx, runID, opts)
	}, func() error { return s.startWorkflow(start, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE) })
	if result != nil || err != nil {
		return result, err
	}
	emitted := len(start.Seed.Events)
	if start.Seed.Summary != nil { // none of its events were emitted
		emitted = 0
	}
	return s.followRun(ctx, r, start.Record.ID, emitted, opts.Options)
}

// errContinuesInWorkflow stops a driver of this process at the point where the workflow continues.
var errContinuesInWorkflow = errors.New("the run goes on in a workflow")

// claimStore is the store of a driver of this process that stops before the first step.
type claimStore struct {
	*Store
	start *Start
	waits bool  // for a slot, if the group is full
	turn  *turn // nil before the reply of the group
}

// submitRun calls send, which sends a run to the cluster, with another graph if g is set. Before
// that, drive starts a driver here that stops before the first step: it reports problems, completes
// start, and claims a slot for a run that may not wait for one. If the group is full, submitRun
// returns the result of the run instead of sending it.
func (s *Store) submitRun(start *Start, g *spec.Graph, opts runner.Options, drive func(*runner.Runner, *runner.Flow, runner.Options) (*runner.Result, error), send func() error) (*runner.Result, error) {
	kept := &claimStore{Store: s, start: start}
	cfg := runner.Config{Store: kept, Secrets: markSecrets(start.Nonce)}
	here, flow, err := newFlowRunner(&start.Record, cfg)
	if g != nil {
		here, err = newRunner(cfg)
	}
	if err != nil {
		return nil, err
	}
	if g == nil {
		g = flow.Graph()
	}
	if g.Concurrency == nil && start.Seed == nil {
		return nil, send()
	}
	kept.waits = g.Concurrency != nil && g.Concurrency.OnBusy != "fail"
	sink := opts.Sink
	opts.Sink, opts.RunID = nil, start.Record.ID
	_, err = drive(here, flow, opts)
	switch {
	case errors.Is(err, errContinuesInWorkflow):
		return nil, send()
	case hasType[*store.BusyError](err):
		opts.Sink = sink // the events of the refused run
		return drive(here, flow, opts)
	}
	return nil, err
}

// Create stores the record and the events of a fork from the first step.
func (c *claimStore) Create(run store.RunRecord, first ...machine.Event) (store.Journal, error) {
	return c.Fork(run, "", 0, first...)
}

// Fork stores the record and the events of a fork. It fails with errContinuesInWorkflow for a run without a group.
func (c *claimStore) Fork(run store.RunRecord, _ string, n int, first ...machine.Event) (store.Journal, error) {
	if c.start.Seed != nil {
		kept := driverJournal{&journal{texts: c.start.Seed.Events[:n:n]}}
		if err := kept.Append(first...); err != nil {
			return nil, err
		}
		seed := &Seed{Events: kept.texts}
		if n == 0 && first[0].Run.Held {
			seed.Summary = &store.RunSummary{Status: machine.Paused, Reason: "concurrency", Updated: run.Started}
		}
		c.start.Record, c.start.Seed = run, seed
	}
	if n == 0 && !first[0].Run.Held {
		return nil, errContinuesInWorkflow
	}
	return c.Open("", "")
}

// Open returns a journal that stores nothing.
func (c *claimStore) Open(string, string) (store.Journal, error) {
	return claimJournal{driverJournal{&journal{failed: errContinuesInWorkflow}}, c}, nil
}

// Delete does nothing, since no run was stored.
func (c *claimStore) Delete(string) error { return nil }

// claimJournal is a journal that asks the group on the cluster for a slot.
type claimJournal struct {
	driverJournal
	store *claimStore
}

// ReplaceGraph stores the record with another version of the graph.
func (j claimJournal) ReplaceGraph(run store.RunRecord) error {
	start := j.store.start
	if start.Before == nil {
		before := start.Record
		start.Before = &before
	}
	start.Record, start.Settings.Dir = run, filepath.Dir(run.File)
	return nil
}

// SaveSummary stops a driver that needs no slot.
func (j claimJournal) SaveSummary(store.RunSummary) error { return errContinuesInWorkflow }

// EnterGroup asks the group once. It stops a driver that has its slot or may wait for it.
func (j claimJournal) EnterGroup(name string, limit int) (out store.GroupState, err error) {
	c, s := j.store, j.store.Store
	if c.waits {
		return out, errContinuesInWorkflow
	}
	if c.turn == nil {
		wanted := newClaim(c.start, rand.Text(), name, limit)
		wanted.Once = true
		if err := s.retryConnecting(func() error {
			return s.cluster.updateOrStart(s.ctx, groupName, groupID(name), enterName, "", wanted, &c.turn)
		}); err != nil {
			return out, err
		}
		if c.start.Claim = wanted; c.turn.Inside {
			return out, errContinuesInWorkflow
		}
	}
	return c.turn.localizeTimes(), nil
}
