// The slot of a run in its concurrency group.

package engine

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner/store"
)

// retrySlotEvery is how often a run that goes on by itself asks for a slot if it may not
// wait for one.
const retrySlotEvery = time.Minute

// groupSlot is the state of a run's slot in its concurrency group.
type groupSlot struct {
	claim   *claim        // nil: the run wants no slot
	turn    *turn         // the latest; nil: the group has not answered
	seen    bool          // by the driver
	err     error         // why there is no turn
	waiting bool          // the driver waits for its turn
	request store.Request // that stops it
	left    []claim       // that were given up
	wanted  []eviction    // of other runs

	turns, evicts workflow.ReceiveChannel
	claims        int             // that were made
	entry         workflow.Future // of the activity that sends the claim; nil: it has ended
	leaving       int             // signals to groups on their way
	again         time.Time       // when a run that goes on by itself asks again; zero for never
	stopped       store.Request   // that stopped the run while it waited
	busy          *store.Waiting  // why the run did not go on; nil: it did
}

// eviction is a request to a run that holds a slot.
type eviction struct {
	RunID   string        `json:"run_id"`
	Request store.Request `json:"request"`
}

// Enter waits for the answer of the group and returns it.
func (k keeper) Enter(group string, limit int) (out store.GroupState, err error) {
	j, s := k.journal, &k.slot
	if s.claim == nil || s.claim.Group != group {
		s.claim, s.turn = &claim{Group: group, Limit: limit, RunID: j.record.ID, Graph: j.record.Graph}, nil
	}
	if j.failed != nil {
		return out, j.failed
	}
	if err := j.wait(func() bool { return s.turn != nil || s.err != nil }); err != nil || s.err != nil {
		return out, errors.Join(err, s.err)
	}
	s.seen, out.Inside = true, s.turn.Inside
	for _, m := range s.turn.Holders {
		m.Since = m.Since.Local()
		out.Members = append(out.Members, m)
	}
	return out, nil
}

// AwaitTurn waits until the group sends another answer or somebody stops the run. It returns
// the request to stop, or "".
func (k keeper) AwaitTurn() store.Request {
	s := &k.slot
	s.waiting = true
	err := k.wait(func() bool { return !s.seen || s.request != "" })
	request := s.request
	if s.waiting, s.request = false, ""; err != nil {
		return "" // Enter fails likewise
	}
	return request
}

// Close gives the slot back, unless the run continues in another workflow.
func (k keeper) Close() error {
	if s := &k.slot; s.claim != nil && k.failed == nil {
		s.left = append(s.left, *s.claim)
		s.claim, s.turn, s.seen, s.request = nil, nil, false, ""
	}
	return nil
}

// Ask sends a request to a run that holds a slot of the group.
func (j *journal) Ask(runID string, request store.Request) error {
	j.slot.wanted = append(j.slot.wanted, eviction{runID, request})
	return nil
}

// entering reports whether the run wants a slot and the group has not answered.
func (j *journal) entering() bool {
	return j.slot.claim != nil && j.slot.turn == nil && j.slot.err == nil
}

// takeAnswer takes an answer of the group. One to a claim that was given up is given back.
func (s *groupSlot) takeAnswer(t *turn) {
	switch {
	case s.claim == nil || s.claim.Ticket != t.Ticket:
		if t.Inside {
			s.left = append(s.left, claim{Group: t.Group, Ticket: t.Ticket})
		}
	case s.turn == nil || s.turn.Number < t.Number:
		s.turn, s.seen = t, false
	}
}

// idle reports whether nothing is on its way.
func (s *groupSlot) idle() bool { return s.entry == nil && s.leaving == 0 }

// takeTurns receives the turns of groups and the evictions of other runs.
func (f *workflowRun) takeTurns() {
	s := f.group
	if s.entry != nil && s.entry.IsReady() {
		s.err = s.entry.Get(f.ctx, nil)
		s.entry = nil
	}
	for t := new(turn); s.turns.ReceiveAsync(t); t = new(turn) {
		s.takeAnswer(t)
	}
	for e := new(eviction); s.evicts.ReceiveAsync(e); e = new(eviction) {
		if f.driver != nil && s.turn != nil && s.turn.Inside {
			f.driver.Ask(e.Request)
		}
	}
}

// activityContext returns the context of an activity that signals a workflow that several
// runs share.
func (f *workflowRun) activityContext(summary string) workflow.Context {
	start := f.start
	return workflow.WithActivityOptions(f.ctx, workflow.ActivityOptions{
		TaskQueue: ofCore(start.Queue, start.Core), StartToCloseTimeout: time.Minute, Summary: summary,
		RetryPolicy: workerRetries(),
	})
}

// claimSlot sends a new claim to its group, and evictions to other runs.
func (f *workflowRun) claimSlot() {
	s, start, info := f.group, f.start, workflow.GetInfo(f.ctx)
	for _, one := range s.wanted {
		workflow.SignalExternalWorkflow(f.ctx, one.RunID, "", signalEvict, one) // one that is gone has no slot
	}
	s.wanted = nil
	if c := s.claim; c != nil && c.Ticket == "" {
		f.group.claims++
		c.Ticket, c.Chain, c.Owner = fmt.Sprintf("%s/%d", info.OriginalRunID, f.group.claims), info.FirstRunID, ownerOf(start.Queue)
		f.group.entry = workflow.ExecuteActivity(f.activityContext("group "+c.Group), enterName, start.Queue, *c)
	}
}

// leaveGroup tells groups of slots that are given up, unless a claim is on its way.
func (f *workflowRun) leaveGroup() {
	s := f.group
	if f.group.entry != nil {
		return
	}
	for _, c := range s.left {
		f.group.leaving++
		sent := workflow.SignalExternalWorkflow(f.ctx, groupID(c.Group), "", signalOut, c.Ticket)
		workflow.Go(f.ctx, func(ctx workflow.Context) {
			_ = sent.Get(ctx, nil) // a group that is gone has no slots
			f.group.leaving--
		})
	}
	s.left = nil
}

// awaitLeft waits until the group knows that the run has left.
func (f *workflowRun) awaitLeft() {
	for f.leaveGroup(); !f.group.idle(); f.leaveGroup() {
		f.await(func() bool {
			f.takeTurns()
			return f.group.idle()
		})
	}
}

// noSlot keeps why a drive found no slot. A run that went on by itself tries again.
func (f *workflowRun) noSlot(d *drive, err error) {
	f.group.busy, f.group.again = nil, time.Time{}
	if busy := (*store.BusyError)(nil); errors.As(err, &busy) {
		f.group.busy = &busy.Waiting
		if d.alone {
			f.group.again = workflow.Now(f.ctx).Add(retrySlotEvery)
		}
	}
}

// stillOutside lets a run that waits for its slot wait on in another workflow.
func (f *workflowRun) stillOutside(next *Start) {
	j := f.store
	if t := j.slot.turn; t == nil || t.Inside {
		return
	}
	dir := next.Settings.Dir
	next.Settings = *f.current.settings
	next.Settings.Dir = dir
	if before := f.start.Seed; before != nil && !j.noted {
		next.Seed.Stood, next.Seed.Fork = before.Stood, before.Fork
		return
	}
	stood := j.standing
	next.Seed.Stood = &stood
}
