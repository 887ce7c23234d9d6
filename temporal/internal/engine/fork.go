// Forks of the runs of a cluster.

package engine

import (
	"context"
	"encoding/json"
	"errors"

	enums "go.temporal.io/api/enums/v1"

	"github.com/graphrun/graphrun/node"
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
	before, err := s.start(runID, info.GetExecution().GetRunId())
	if err != nil {
		return nil, err
	}
	cfg := runner.Config{Kinds: node.Kinds(node.Options{}), Store: s, Secrets: sealedSecrets(before.Nonce)}
	planner, err := runner.New(cfg)
	if err != nil {
		return nil, err
	}
	plan, err := planner.PlanFork(runID, opts)
	if err != nil {
		return nil, err
	}
	start := *before
	start.Record, start.Session, start.Settings = plan.Record, nil, opts.Options
	start.Before, start.Tape = nil, nil
	start.Core, start.Settings.Dir, start.Seed = s.cluster.options.core, before.Settings.Dir, &Seed{Fork: true}
	if start.Seed.Events, err = s.after(runID, 0, allBytes); err != nil {
		return nil, err
	}
	start.Seed.Events = start.Seed.Events[:plan.From]
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
	if err := s.launch(&start, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE); err != nil {
		return nil, err
	}
	told := len(start.Seed.Events)
	if plan.Held {
		told = 0 // it is told from its beginning
	}
	result, err := s.attend(ctx, r, start.Record.ID, told, opts.Options)
	if busy := (*store.BusyError)(nil); errors.As(err, &busy) {
		if void := s.findVoid(busy.RunID); void != nil {
			_ = s.deleteWorkflow(void)
		}
		opts.RunID, cfg.Store = busy.RunID, rejectedStore{s, &busy.Waiting}
		if planner, err = runner.New(cfg); err == nil {
			result, err = planner.Fork(ctx, runID, opts)
		}
	}
	return result, err
}
