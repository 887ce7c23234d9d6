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

// launch starts a workflow. An interrupt does not stop it, because nobody would know then
// whether the run has begun.
func (s *Store) launch(start *Start, reuse enums.WorkflowIdReusePolicy) error {
	var stood *store.RunSummary
	if start.Seed != nil {
		stood = start.Seed.Stood
	}
	begin := func(reuse enums.WorkflowIdReusePolicy) error {
		_, err := s.cluster.client.ExecuteWorkflow(s.ctx, client.StartWorkflowOptions{
			ID: start.Record.ID, TaskQueue: ofCore(start.Queue, start.Core), WorkflowIDReusePolicy: reuse, WorkflowExecutionErrorWhenAlreadyStarted: true,
			WorkflowTaskTimeout: 20 * time.Second, StaticSummary: start.Record.Graph,
			Memo: map[string]any{memoStatus: standingOf(&start.Record, stood)},
		}, workflowName, start.arguments()...)
		return err
	}
	err := begin(reuse)
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
	told := 0 // events, that others have seen; those of a run that is driven are emitted again
	if one.Owner == "" {
		texts, err := s.after(runID, 0, allBytes)
		if err != nil {
			return nil, err
		}
		told = len(texts)
	}
	s.Live(runID) // others have seen it
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

// resumeUndriven resumes a run that is not driven, unless it has completed.
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
		start, err := s.again(info, opts)
		if err != nil {
			return err
		}
		start.Seed.Stood = standingBefore(&start.Record, one)
		return s.launch(start, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
	}
	return nil
}

// describe returns the latest workflow run of a run, and the summary of the run.
func (s *Store) describe(runID string) (info *workflowapi.WorkflowExecutionInfo, one store.RunSummary, err error) {
	if info, err = s.latest(runID); err == nil {
		one, _ = s.summary(info)
	}
	return info, one, err
}

// stands is describe for a run that is to be resumed: it waits for a workflow that ends.
func (s *Store) stands(runID string) (*workflowapi.WorkflowExecutionInfo, store.RunSummary, error) {
	info, one, err := s.describe(runID)
	if one.Owner != "" && s.endsAtOnce(runID) {
		return s.describe(runID)
	}
	return info, one, err
}

// endsAtOnce reports whether the workflow of a run ends at once.
func (s *Store) endsAtOnce(runID string) bool {
	ctx, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	_ = s.cluster.client.GetWorkflow(ctx, runID, "").Get(ctx, nil)
	return ctx.Err() == nil
}

// again returns the input of a workflow that resumes a run.
func (s *Store) again(info *workflowapi.WorkflowExecutionInfo, opts *runner.Options) (*Start, error) {
	at := info.GetExecution()
	before, err := s.start(at.GetWorkflowId(), at.GetRunId())
	if err != nil {
		return nil, err
	}
	events, err := s.after(at.GetWorkflowId(), 0, allBytes)
	start := *before
	start.Core, start.Seed, start.Settings, start.Settings.Dir = s.cluster.options.core, &Seed{Events: events}, *opts, before.Settings.Dir
	start.Session, start.Before, start.Tape = nil, nil, nil
	return &start, err
}

// attend emits the events of a run after the first ones until it has ended, or pauses and
// nobody here can answer. When ctx ends, the run is cancelled.
func (s *Store) attend(ctx context.Context, r *runner.Runner, runID string, from int, opts runner.Options) (*runner.Result, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.Ask(runID, store.RequestCancel) })
	defer stop()
	asked := map[string]bool{}
	watched, stopWatching := s.watch(runID)
	defer stopWatching()
	s.listen(runID)
	result, err := r.Attend(watched, runID, from, runner.Options{Sink: opts.Sink, Warn: opts.Warn, History: opts.History}, func(result *runner.Result) (bool, error) {
		if result.Status != machine.Paused && result.Status != machine.Running { // it may have been resumed, and wait for its slot
			_, one, err := s.describe(runID)
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
		_, one, err := s.describe(runID)
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

// watch returns a context that ends, with a cause, when the cluster ends the workflow of a
// run, which emits no more events then.
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

// askPerson asks the person here and sends the answer to the run.
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

// addUnused adds the answers that no question asked for to a result.
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
