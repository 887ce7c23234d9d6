// Runs that begin and resume on the cluster, and are followed until they have ended.

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

	common "go.temporal.io/api/common/v1"
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
)

func execution(runID string) *common.WorkflowExecution {
	return &common.WorkflowExecution{WorkflowId: runID}
}

// Begin begins a run and attends it until it has ended or pauses. r reads the cluster's
// runs. Models and tools are recorded on tape, or played from it; nil: neither.
func (s *Store) Begin(ctx context.Context, r *runner.Runner, flow *runner.Flow, opts runner.Options, tape *cassette.Cassette) (*runner.Result, error) {
	start, err := s.newStart(flow, &opts)
	if err != nil {
		return nil, err
	}
	if start.Tape, err = s.newTape(tape); err != nil {
		return nil, err
	}
	if err := s.launch(start, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE); err != nil {
		return nil, err
	}
	taken := func() error { return nil }
	if tape != nil && !tape.Playing() {
		recorder := &recorder{Sink: opts.Sink, store: s, runID: start.Record.ID, tape: tape}
		opts.Sink, taken = recorder, recorder.take
	}
	result, err := s.attend(ctx, r, start.Record.ID, 0, opts)
	if busy := (*store.BusyError)(nil); errors.As(err, &busy) {
		opts.RunID = start.Record.ID
		result, err = s.rejected(ctx, start, opts, busy)
	}
	return result, errors.Join(err, taken())
}

// newStart returns the input of the workflow of a new run.
func (s *Store) newStart(flow *runner.Flow, opts *runner.Options) (*Start, error) {
	if err := flow.Check(*opts); err != nil {
		return nil, err
	}
	if flow.Notifies() {
		return nil, &runner.InputError{Problems: []string{"notify: a cluster tells nobody yet; leave it out, or drive the run here"}}
	}
	record := flow.Record(*opts)
	start := &Start{
		Core: s.cluster.options.core, Record: record, Settings: *opts, Queue: s.cluster.queue(""),
		Nonce: rand.Text(), RunDir: filepath.Join(os.TempDir(), "graphrun-runs", record.ID),
	}
	if opts.Session != "" {
		kept, err := s.keptSession(opts.Session)
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

// launch begins a workflow. An interrupt does not stop it: nobody would know whether the
// run has begun.
func (s *Store) launch(start *Start, reuse enums.WorkflowIdReusePolicy) error {
	var stood *store.RunSummary
	if start.Seed != nil {
		stood = start.Seed.Stood
	}
	journal, err := start.journal()
	if err != nil {
		return err
	}
	begin := func(reuse enums.WorkflowIdReusePolicy) error {
		_, err := s.cluster.client.ExecuteWorkflow(s.ctx, client.StartWorkflowOptions{
			ID: start.Record.ID, TaskQueue: ofCore(start.Queue, start.Core), WorkflowIDReusePolicy: reuse, WorkflowExecutionErrorWhenAlreadyStarted: true,
			WorkflowTaskTimeout: 20 * time.Second, StaticSummary: start.Record.Graph,
			Memo: map[string]any{memoStatus: standingOf(&start.Record, stood)},
		}, workflowName, start, start.snapshot(), journal)
		return err
	}
	err = begin(reuse)
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &exists) && s.findVoid(start.Record.ID) != nil {
		err = begin(enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
	}
	if errors.As(err, &exists) {
		return fmt.Errorf("run %q: %w", start.Record.ID, store.ErrRunExists)
	}
	return err
}

// Resume resumes a run that pauses or has ended badly, and attends it.
func (s *Store) Resume(ctx context.Context, r *runner.Runner, runID string, opts runner.Options) (*runner.Result, error) {
	info, one, err := s.stands(runID)
	if err != nil {
		return nil, err
	}
	s.listen(runID)
	told, err := s.told(runID, &one)
	if err != nil {
		return nil, err
	}
	s.Live(runID) // was told to others
	err = s.resumeUndriven(info, &one, &opts)
	if errors.Is(err, store.ErrNoRun) { // it went on by itself, and has ended
		if info, one, err = s.stands(runID); err == nil {
			err = s.resumeUndriven(info, &one, &opts)
		}
	}
	if why := rejection(runID, err); why != nil {
		enough := func(*runner.Result) (bool, error) { return true, nil }
		result, err := r.Attend(s.ctx, runID, told, runner.Options{Sink: opts.Sink, History: opts.History}, enough)
		return result, errors.Join(why, err)
	}
	if err != nil {
		return nil, err
	}
	if one.Owner != "" || one.Status == machine.Completed {
		return s.attend(ctx, r, runID, told, opts)
	}
	return s.attendResumed(ctx, r, runID, told, opts)
}

// resumeUndriven has a run go on that is not driven, unless it has completed.
func (s *Store) resumeUndriven(info *workflowapi.WorkflowExecutionInfo, one *store.RunSummary, opts *runner.Options) error {
	runID := one.ID
	switch {
	case one.Owner != "": // it is driven: attending it is all there is to do
		if len(opts.Answers) > 0 {
			return &store.DrivenError{RunID: runID, Owner: one.Owner}
		}
	case info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		var refused string
		if err := s.update(runID, updateResume, &refused, opts); err != nil {
			return err
		}
		if refused != "" {
			return &runner.InputError{Problems: []string{refused}}
		}
	case one.Status != machine.Completed:
		start, err := s.again(runID, info.GetExecution().GetRunId(), opts)
		if err != nil {
			return err
		}
		start.Seed.Stood = standingBefore(&start.Record, one)
		return s.launch(start, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
	}
	return nil
}

// one returns how a run stands.
func (s *Store) one(runID string) (one store.RunSummary, err error) {
	info, err := s.latest(runID)
	if err == nil {
		one, _ = s.summary(info)
	}
	return one, err
}

// stands returns the status of a run that is to be resumed.
func (s *Store) stands(runID string) (*workflowapi.WorkflowExecutionInfo, store.RunSummary, error) {
	info, err := s.latest(runID)
	if err != nil {
		return nil, store.RunSummary{}, err
	}
	one, _ := s.summary(info)
	if one.Owner != "" && s.endsAtOnce(runID) { // its last event is told, and its workflow was about to end
		if info, err = s.latest(runID); err != nil {
			return nil, one, err
		}
		one, _ = s.summary(info)
	}
	return info, one, nil
}

// told returns how many events of a run that is resumed were told before. All events of a
// run that is driven are told again.
func (s *Store) told(runID string, one *store.RunSummary) (int, error) {
	if one.Owner != "" {
		return 0, nil
	}
	texts, err := s.after(runID, 0, allBytes)
	return len(texts), err
}

// endsAtOnce reports whether the workflow of a run ends at once.
func (s *Store) endsAtOnce(runID string) bool {
	ctx, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	_ = s.cluster.client.GetWorkflow(ctx, runID, "").Get(ctx, nil)
	return ctx.Err() == nil
}

// again returns the input of a workflow that resumes a run that has ended.
func (s *Store) again(runID, run string, opts *runner.Options) (*Start, error) {
	before, err := s.start(runID, run)
	if err != nil {
		return nil, err
	}
	texts, err := s.after(runID, 0, allBytes)
	if err != nil {
		return nil, err
	}
	start := *before
	start.Session, start.Seed, start.Core = nil, &Seed{Events: texts}, s.cluster.options.core
	start.Before, start.Tape = nil, nil
	dir := start.Settings.Dir
	start.Settings = *opts
	start.Settings.Dir = dir
	return &start, nil
}

// attend tells what happens in a run after the first events until it has ended, or pauses
// and nobody here can answer. When ctx ends, the run is cancelled.
func (s *Store) attend(ctx context.Context, r *runner.Runner, runID string, from int, opts runner.Options) (*runner.Result, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.Ask(runID, store.RequestCancel) })
	defer stop()
	asked := map[string]bool{}
	watched, stopWatching := s.watch(runID)
	defer stopWatching()
	s.listen(runID)
	result, err := r.Attend(watched, runID, from, runner.Options{Sink: opts.Sink, Warn: opts.Warn, History: opts.History}, func(result *runner.Result) (bool, error) {
		if result.Status != machine.Paused && result.Status != machine.Running { // it may have been resumed, and wait for its slot
			one, err := s.one(runID)
			return one.Owner == "", err
		}
		if opts.Ask != nil && ctx.Err() == nil {
			for i := range result.Pending {
				p := &result.Pending[i]
				if asked[p.Target()] {
					continue
				}
				if err := s.askPerson(ctx, r, runID, p, &opts); err != nil {
					asked[p.Target()] = true
				}
				return false, nil
			}
		}
		if result.Status != machine.Paused {
			return false, nil
		}
		one, err := s.one(runID)
		return one.Status == machine.Paused && one.Owner == "", err
	})
	if err != nil {
		_ = pause(watched, 300*time.Millisecond) // the cluster knows better why
		if s.ctx.Err() == nil && watched.Err() != nil {
			err = context.Cause(watched)
		}
		return nil, err
	}
	s.addUnused(runID, result)
	return result, nil
}

// watch gives a context that ends when the cluster ends the workflow of a run, which
// then tells nobody anything any more; its cause says why.
func (s *Store) watch(runID string) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	go func() {
		for ctx.Err() == nil {
			err := s.cluster.client.GetWorkflow(ctx, runID, "").Get(ctx, nil)
			var ended *temporal.WorkflowExecutionError
			var refused *temporal.ApplicationError
			switch {
			case errors.As(err, &refused):
				if why := rejection(runID, err); why != nil {
					cancel(why)
				}
				return
			case err == nil: // the run says so itself
				return
			case errors.As(err, &ended):
				cancel(fmt.Errorf("run %q was ended by the cluster, not by itself: %w; graphrun resume takes it up", runID, errors.Unwrap(ended)))
			default: // the connection is lost, perhaps for a moment
				_ = pause(ctx, time.Second)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// askPerson asks the person here, and gives the run the answer.
func (s *Store) askPerson(ctx context.Context, r *runner.Runner, runID string, p *view.Pending, opts *runner.Options) error {
	for problem := ""; ; {
		text, err := opts.Ask(ctx, *p, problem)
		if err != nil {
			return err
		}
		_, err = r.Answer(ctx, runID, []store.GivenAnswer{{Target: p.Target(), Text: text}}, opts.By)
		var bad *runner.InputError
		if !errors.As(err, &bad) {
			return err
		}
		problem = bad.Error()
	}
}

// addUnused says which answers nothing has asked for.
func (s *Store) addUnused(runID string, result *runner.Result) {
	if result.Status == machine.Paused || result.Status == machine.Running {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	var out Outcome
	if s.cluster.client.GetWorkflow(ctx, runID, "").Get(ctx, &out) == nil {
		result.Unused = out.Unused
	}
}
