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

// errCaught ends a fork that is to begin on the cluster.
var errCaught = errors.New("the fork begins on the cluster")

// forks is the store of the cluster for who forks one of its runs: it catches how the
// new run begins.
type forks struct {
	*Store
	record store.RunRecord
	from   int
	first  []machine.Event
	held   bool // it begins outside of its group
}

// journal is that of a fork, unless it is caught already.
func (f *forks) journal() (store.Journal, error) {
	if len(f.first) == 0 {
		return heldJournal{keeper{&journal{}}, f}, nil
	}
	return nil, errCaught
}

// heldJournal catches the first event of a fork that asks for a place before that.
type heldJournal struct {
	keeper
	forks *forks
}

// Enter lets the run go on to its first event.
func (heldJournal) Enter(string, int) (store.GroupState, error) {
	return store.GroupState{Inside: true}, nil
}

// Append catches it: the run that begins by it has no place so far.
func (h heldJournal) Append(e machine.Event) error {
	info := *e.Run
	info.Held = true
	e.Run = &info
	h.forks.first, h.forks.held = []machine.Event{e}, true
	return errCaught
}

// Create catches a fork from before the first step.
func (f *forks) Create(record store.RunRecord, first ...machine.Event) (store.Journal, error) {
	f.record, f.first = record, first
	return f.journal()
}

// Fork catches one that goes on from n events.
func (f *forks) Fork(record store.RunRecord, _ string, n int, first ...machine.Event) (store.Journal, error) {
	f.record, f.from, f.first = record, n, first
	return f.journal()
}

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
	caught := &forks{Store: s}
	cfg := runner.Config{Kinds: node.Kinds(node.Options{}), Store: caught, Secrets: sealedSecrets(before.Nonce)}
	forker, err := runner.New(cfg)
	if err != nil {
		return nil, err
	}
	quiet := opts
	quiet.Sink = nil
	result, err := forker.Fork(ctx, runID, quiet)
	if !errors.Is(err, errCaught) {
		return result, err
	}
	start := *before
	start.Record, start.Session, start.Settings = caught.record, nil, opts.Options
	start.Before, start.Tape = nil, nil
	start.Core, start.Settings.Dir, start.Seed = s.cluster.options.core, before.Settings.Dir, &Seed{Fork: true}
	if start.Seed.Events, err = s.after(runID, 0, allBytes); err != nil {
		return nil, err
	}
	start.Seed.Events = start.Seed.Events[:caught.from]
	for i := range caught.first {
		text, err := store.EncodeEvent(&caught.first[i])
		if err != nil {
			return nil, err
		}
		start.Seed.Events = append(start.Seed.Events, json.RawMessage(text))
	}
	if caught.held {
		start.Seed.Stood = &store.RunSummary{Status: machine.Paused, Reason: "concurrency", Updated: start.Record.Started}
	}
	if err := s.launch(&start, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE); err != nil {
		return nil, err
	}
	told := len(start.Seed.Events)
	if caught.held {
		told = 0 // it is told from its beginning
	}
	result, err = s.attend(ctx, r, start.Record.ID, told, opts.Options)
	if busy := (*store.BusyError)(nil); errors.As(err, &busy) {
		s.forget(busy.RunID)
		opts.RunID, cfg.Store = busy.RunID, rejectedStore{s, &busy.Waiting}
		if forker, err = runner.New(cfg); err == nil {
			result, err = forker.Fork(ctx, runID, opts)
		}
	}
	return result, err
}
