// The slot of a run in its concurrency group.

package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// retrySlotEvery is how often a run that resumes itself asks for a slot that it may not
// wait for.
const retrySlotEvery = time.Minute

// groupSlot is the state of a run's slot in its concurrency group.
type groupSlot struct {
	claim   *claim        // nil without a slot
	turn    *turn         // the latest; nil before the reply of the group
	seen    bool          // the driver knows the turn
	waiting bool          // the driver waits for its turn
	request store.Request // that stops a waiting driver
}

func newClaim(start *Start, ticket, group string, limit int) *claim {
	return &claim{Ticket: ticket, Group: group, Limit: limit, RunID: start.Record.ID, Graph: start.Record.Graph, Owner: ownerOf(start.Queue)}
}

// local returns the state of the group with local times.
func (t *turn) local() store.GroupState {
	for i := range t.Members {
		t.Members[i].Since = t.Members[i].Since.Local()
	}
	return t.GroupState
}

// Enter asks the group for a slot and returns its reply.
func (k keeper) Enter(group string, limit int) (out store.GroupState, err error) {
	f, s := k.run, &k.slot
	if k.failed != nil {
		return out, k.failed
	}
	if s.claim == nil || s.claim.Group != group {
		info := workflow.GetInfo(f.ctx)
		ticket := fmt.Sprintf("%s/%d", info.WorkflowExecution.RunID, info.GetCurrentHistoryLength())
		s.claim, s.turn = newClaim(f.start, ticket, group, limit), nil
	}
	if s.turn == nil {
		sent := workflow.ExecuteActivity(f.activityContext(groupPrefix+group), enterName, *s.claim)
		f.await(sent.IsReady)
		var reply *turn
		if err := sent.Get(f.ctx, &reply); err != nil {
			return out, err
		}
		s.takeTurn(reply)
	}
	s.seen = true
	return s.turn.local(), nil
}

// AwaitTurn waits until the group sends another turn or somebody stops the run. It returns
// the request to stop, or "".
func (k keeper) AwaitTurn() store.Request {
	s := &k.slot
	s.waiting, s.request = true, ""
	err := k.run.Wait(func() bool { return !s.seen || s.request != "" })
	if s.waiting = false; err != nil {
		return "" // Enter fails likewise
	}
	return s.request
}

// Close gives the slot back, unless the run continues in another workflow.
func (k keeper) Close() error {
	if s := &k.slot; s.claim != nil && k.failed == nil {
		left := k.run.leaveGroup(groupID(s.claim.Group), s.claim.Ticket)
		s.claim, s.turn, s.seen = nil, nil, false
		k.run.await(left.IsReady) // the end of a workflow would take the signal back
	}
	return nil
}

func (f *workflowRun) leaveGroup(groupID, ticket string) workflow.Future {
	return workflow.SignalExternalWorkflow(f.ctx, groupID, "", signalLeave, ticket) // a group that is gone has no slots
}

// Ask sends a request to another run inside the group.
func (j *journal) Ask(runID string, request store.Request) error {
	workflow.SignalExternalWorkflow(j.run.ctx, runID, "", signalTurn, turn{Request: request}) // a run that is gone has no slot
	return nil
}

// isEntering reports whether the run wants a slot and the group has not replied.
func (j *journal) isEntering() bool { return j.slot.claim != nil && j.slot.turn == nil }

// takeTurn takes a turn. A reply may arrive after later turns: a slot is not lost again.
func (s *groupSlot) takeTurn(t *turn) {
	if s.turn == nil || !s.turn.Inside {
		s.turn, s.seen = t, false
	}
}

// takeTurns receives the turns of groups and the requests of other runs.
func (f *workflowRun) takeTurns() {
	for t := new(turn); f.turns.ReceiveAsync(t); t = new(turn) {
		s := f.slot
		isOwn := s.claim != nil && s.claim.Ticket == t.Ticket
		switch {
		case t.Request != "" && f.driver != nil && s.turn != nil && s.turn.Inside:
			f.driver.Ask(t.Request)
		case t.Request != "":
		case isOwn:
			s.takeTurn(t)
		case t.Inside: // a claim of an earlier workflow, which was terminated
			f.leaveGroup(groupID(t.Group), t.Ticket)
		}
	}
}

// activityContext returns the context of an activity that updates the workflow of a session
// or a group.
func (f *workflowRun) activityContext(summary string) workflow.Context {
	return workflow.WithActivityOptions(f.ctx, workflow.ActivityOptions{
		TaskQueue: coreQueue(f.start.Queue, f.start.Core), StartToCloseTimeout: time.Minute, Summary: summary, RetryPolicy: workerRetries(),
	})
}

// errGoesOn ends a driver of this process where the workflow is to go on.
var errGoesOn = errors.New("the run goes on in a workflow")

// claimStore is the store of a driver that gets as far as its group in this process.
type claimStore struct {
	*Store
	start *Start
	waits bool  // for a slot, if the group is full
	turn  *turn // nil before the reply of the group
}

// submit has the cluster drive a run, with another version of its graph unless g is nil: send
// sends it. Before, drive starts a driver of this process, which gets as far as its first event:
// it refuses what is wrong, completes the start, and claims a slot for a run that does not wait
// for one. If there is no slot, the run has a result. A new run without a group needs no driver:
// it has been checked.
func (s *Store) submit(start *Start, g *spec.Graph, opts runner.Options, drive func(*runner.Runner, *runner.Flow, runner.Options) (*runner.Result, error), send func() error) (*runner.Result, error) {
	kept := &claimStore{Store: s, start: start}
	cfg := runner.Config{Store: kept, Secrets: sealedSecrets(start.Nonce)}
	here, flow, own, err := flowRunner(&start.Record, cfg)
	if g != nil {
		here, err = newRunner(cfg)
	} else {
		g = own
	}
	if err != nil {
		return nil, err
	}
	if g.Concurrency == nil && start.Seed == nil {
		return nil, send()
	}
	kept.waits = g.Concurrency != nil && g.Concurrency.OnBusy != "fail"
	sink := opts.Sink
	opts.Sink, opts.RunID = nil, start.Record.ID
	_, err = drive(here, flow, opts)
	switch {
	case errors.Is(err, errGoesOn):
		return nil, send()
	case isA[*store.BusyError](err):
		opts.Sink = sink // it is known now that its events happen
		return drive(here, flow, opts)
	}
	return nil, err
}

// Create keeps the events of a fork from the start.
func (c *claimStore) Create(run store.RunRecord, first ...machine.Event) (store.Journal, error) {
	return c.Fork(run, "", 0, first...)
}

// Fork keeps the record and the events of a fork. It fails for a run that begins at once.
func (c *claimStore) Fork(run store.RunRecord, _ string, n int, first ...machine.Event) (store.Journal, error) {
	if c.start.Seed != nil {
		seed := &Seed{Events: c.start.Seed.Events[:n:n]}
		for i := range first {
			text, err := store.EncodeEvent(&first[i])
			if err != nil {
				return nil, err
			}
			seed.Events = append(seed.Events, text)
		}
		if n == 0 && first[0].Run.Held {
			seed.Summary = &store.RunSummary{Status: machine.Paused, Reason: "concurrency", Updated: run.Started}
		}
		c.start.Record, c.start.Seed = run, seed
	}
	if n == 0 && !first[0].Run.Held {
		return nil, errGoesOn
	}
	return claimJournal{keeper{&journal{failed: errGoesOn}}, c}, nil
}

// Open returns a journal that keeps nothing.
func (c *claimStore) Open(string, string) (store.Journal, error) {
	return claimJournal{keeper{&journal{failed: errGoesOn}}, c}, nil
}

// Delete does nothing: there is no run.
func (c *claimStore) Delete(string) error { return nil }

// claimJournal asks the group on the cluster.
type claimJournal struct {
	keeper
	store *claimStore
}

// Adopt keeps the record with another version.
func (j claimJournal) Adopt(run store.RunRecord) error {
	start := j.store.start
	if start.Before == nil {
		before := start.Record
		start.Before = &before
	}
	start.Record, start.Settings.Dir = run, filepath.Dir(run.File)
	return nil
}

// Note ends a driver that needs no slot.
func (j claimJournal) Note(store.RunSummary) error { return errGoesOn }

// Enter asks the group once. It ends a driver that has its slot, or waits for it.
func (j claimJournal) Enter(name string, limit int) (out store.GroupState, err error) {
	c, s := j.store, j.store.Store
	if c.waits {
		return out, errGoesOn
	}
	if c.turn == nil {
		wanted := newClaim(c.start, rand.Text(), name, limit)
		wanted.Once = true
		if err := s.reach(func() error {
			return s.cluster.updateKeeper(s.ctx, groupName, groupID(name), enterName, "", wanted, &c.turn)
		}); err != nil {
			return out, err
		}
		if c.start.Claim = wanted; c.turn.Inside {
			return out, errGoesOn
		}
	}
	return c.turn.local(), nil
}
