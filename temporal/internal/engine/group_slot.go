// The slot of a run in its concurrency group.

package engine

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner/store"
)

// retrySlotEvery is how often a run that resumes itself asks for a slot for which it may not
// wait.
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

// takeTurn stores a turn. It ignores a reply that arrives after the turn with the slot.
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
