// Forks of the runs of a cluster.

package engine

import (
	"context"
	"encoding/json"
	"errors"

	enums "go.temporal.io/api/enums/v1"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// ForkOf forks a run of the cluster and attends the new one, which r reads; see
// runner.Fork.
func (s *Store) ForkOf(ctx context.Context, r *runner.Runner, runID string, opts runner.ForkOptions) (*runner.Result, error) {
	info, err := s.latest(runID)
	if err != nil {
		return nil, err
	}
	start, err := s.again(info, &opts.Options)
	if err != nil {
		return nil, err
	}
	here, err := hereRunner(start.Nonce, s)
	if err != nil {
		return nil, err
	}
	plan, err := here.PlanFork(runID, opts)
	if err != nil {
		return nil, err
	}
	start.Record, start.Seed.Fork, start.Seed.Events = plan.Record, true, start.Seed.Events[:plan.From:plan.From]
	for i := range plan.First {
		text, err := store.EncodeEvent(&plan.First[i])
		if err != nil {
			return nil, err
		}
		start.Seed.Events = append(start.Seed.Events, json.RawMessage(text))
	}
	if plan.Held {
		start.Seed.Stood = &store.RunSummary{Status: machine.Paused, Reason: "concurrency", Updated: start.Record.Started}
	}
	if err := s.launch(start, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE); err != nil {
		return nil, err
	}
	told := len(start.Seed.Events)
	if plan.Held {
		told = 0 // it is told from its beginning
	}
	result, err := s.attend(ctx, r, start.Record.ID, told, opts.Options)
	if busy := (*store.BusyError)(nil); errors.As(err, &busy) {
		s.forgetVoid(busy.RunID)
		opts.RunID = busy.RunID
		if here, err = hereRunner(start.Nonce, rejectedStore{s, &busy.Waiting}); err == nil {
			result, err = here.Fork(ctx, runID, opts)
		}
	}
	return result, err
}
