// The slot of a run in its concurrency group.

package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
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
	claims  int           // made by this workflow
}

// Enter asks the group for a slot and returns its reply.
func (k keeper) Enter(group string, limit int) (out store.GroupState, err error) {
	f, s := k.run, &k.slot
	if k.failed != nil {
		return out, k.failed
	}
	if s.claim == nil || s.claim.Group != group {
		s.claims++
		info := workflow.GetInfo(f.ctx)
		s.claim, s.turn = &claim{
			Ticket: fmt.Sprintf("%s/%d", info.WorkflowExecution.RunID, s.claims), Group: group, Limit: limit,
			RunID: k.record.ID, Graph: k.record.Graph, Owner: ownerOf(f.start.Queue),
		}, nil
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
	s.seen, out = true, s.turn.GroupState
	for i := range out.Members {
		out.Members[i].Since = out.Members[i].Since.Local()
	}
	return out, nil
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

// submit has the cluster drive a run: send sends it. Before, drive starts a driver of this
// process, which gets as far as the first event: it refuses what is wrong, and claims a slot for
// a run that does not wait for one. If there is none, the run has a result.
func (s *Store) submit(start *Start, opts runner.Options, drive func(*runner.Runner, *runner.Flow, runner.Options) (*runner.Result, error), send func() error) (*runner.Result, error) {
	g, _ := spec.Parse(start.Record.File, start.Record.Source, spec.Options{Load: start.Record.Load})
	resumes := start.Seed != nil && start.Seed.Summary != nil
	if g.Concurrency == nil && !resumes { // it has been checked
		return nil, send()
	}
	kept := &claimStore{Store: s, start: start, waits: g.Concurrency == nil || g.Concurrency.OnBusy != "fail"}
	here, flow, err := flowRunner(&start.Record, runner.Config{Store: kept, Secrets: sealedSecrets(start.Nonce)})
	if err != nil {
		return nil, err
	}
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

// Create returns a journal that keeps nothing. It fails for a run that begins at once.
func (c *claimStore) Create(_ store.RunRecord, first ...machine.Event) (store.Journal, error) {
	if len(first) > 0 && !first[0].Run.Held {
		return nil, errGoesOn
	}
	return claimJournal{keeper{&journal{failed: errGoesOn}}, c}, nil
}

// Fork returns a journal that keeps nothing.
func (c *claimStore) Fork(store.RunRecord, string, int, ...machine.Event) (store.Journal, error) {
	return c.Create(store.RunRecord{})
}

// Open returns a journal that keeps nothing.
func (c *claimStore) Open(string, string) (store.Journal, error) { return c.Create(store.RunRecord{}) }

// Delete does nothing: there is no run.
func (c *claimStore) Delete(string) error { return nil }

// claimJournal asks the group on the cluster.
type claimJournal struct {
	keeper
	store *claimStore
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
		wanted := &claim{
			Ticket: rand.Text(), Group: name, Limit: limit, RunID: c.start.Record.ID, Graph: c.start.Record.Graph,
			Owner: ownerOf(c.start.Queue), Once: true,
		}
		if err := s.reach(func() error {
			return s.cluster.updateKeeper(s.ctx, groupName, groupID(name), enterName, "", wanted, &c.turn)
		}); err != nil {
			return out, err
		}
		if c.start.Claim = wanted; c.turn.Inside {
			return out, errGoesOn
		}
		for i := range c.turn.Members {
			c.turn.Members[i].Since = c.turn.Members[i].Since.Local()
		}
	}
	return c.turn.GroupState, nil
}
