// Concurrency groups. The workflow of a group knows the runs with a slot and the waiting ones.

package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner/store"
)

// Names of groups on the cluster.
const (
	groupName   = "graphrun-group"
	enterName   = "graphrun-enter" // the update of a group with a claim, and the activity that sends it
	signalLeave = "graphrun-out"   // a ticket, whose claim is given up
	signalTurn  = "graphrun-turn"  // sends a run a turn
	groupPrefix = "group/"         // of workflow ids; run ids have no slash
)

const (
	// checkEvery is how often a full group checks that the workflows of its runs still exist.
	checkEvery = 15 * time.Second
	// maxInformed is how many waiting runs are informed when others enter or leave.
	maxInformed = 50
)

// claim is a run's claim to a slot in a group.
type claim struct {
	Ticket string `json:"ticket"` // names the claim
	Group  string `json:"group"`
	Limit  int    `json:"limit"`
	RunID  string `json:"run_id"`
	Graph  string `json:"graph"`
	Owner  string `json:"owner"`
	// Once gives the claim up if the group is full.
	Once bool `json:"once,omitempty"`
}

// turn is the state of a group, sent to one of its runs.
type turn struct {
	Group  string `json:"group"`
	Ticket string `json:"ticket"`
	store.GroupState
	// Request is a request of another run. The other fields are empty then.
	Request store.Request `json:"request,omitempty"`
}

// member is a run inside a group, or in its queue.
type member struct {
	claim
	Since time.Time `json:"since,omitzero"` // when it got its slot, or zero
	// Informed lists the tickets of the runs with a slot that the run was last informed of.
	Informed string `json:"informed,omitempty"`
}

func (m *member) isInside() bool { return !m.Since.IsZero() }

// group is the state of the workflow of a group.
type group struct {
	// Members are in order of arrival.
	Members []*member `json:"members"`
	arrived bool      // there are new claims
}

// groupID returns the id of the workflow of a group.
func groupID(name string) string {
	isOdd := func(r rune) bool { return !unicode.IsPrint(r) }
	if utf8.ValidString(name) && len(name) <= 200 && !strings.ContainsFunc(name, isOdd) {
		return groupPrefix + name
	}
	return fmt.Sprintf("group#/%x", sha256.Sum256([]byte(name)))
}

// Group is the workflow of a group. It ends when the group is empty.
func (w *Worker) Group(ctx workflow.Context, g *group) error {
	g = cmp.Or(g, &group{})
	err := workflow.SetUpdateHandler(ctx, enterName, g.enterGroup)
	for err == nil {
		inTime := true
		if changed := func() bool { return g.receiveLeaves(ctx) || g.arrived }; g.isFull() {
			inTime, err = workflow.AwaitWithTimeout(ctx, checkEvery, changed)
		} else {
			err = workflow.Await(ctx, changed)
		}
		checks := g.arrived || !inTime // whether to check that the runs inside exist
		for more := err == nil; more; checks = false {
			more, g.arrived = false, false
			g.admitWaiting(workflow.Now(ctx))
			if checks && g.isFull() {
				more = g.informMembers(ctx, func(m *member, _ string) bool { return m.isInside() && m.Informed != "" })
				g.admitWaiting(workflow.Now(ctx))
			}
			more = g.informMembers(ctx, func(m *member, known string) bool { return m.Informed != known }) || more
			more = g.receiveLeaves(ctx) || more
		}
		info := workflow.GetInfo(ctx)
		switch done := workflow.AllHandlersFinished(ctx) && !g.arrived; {
		case done && len(g.Members) == 0:
			return err
		case done && (info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > w.events):
			return workflow.NewContinueAsNewError(ctx, groupName, g)
		}
	}
	return err
}

// enterGroup adds a claim unless the group has it, and returns its turn.
func (g *group) enterGroup(ctx workflow.Context, c claim) (*turn, error) {
	at := slices.IndexFunc(g.Members, func(m *member) bool { return m.Ticket == c.Ticket })
	if at < 0 {
		at = len(g.Members)
		g.Members, g.arrived = append(g.Members, &member{claim: c}), true
	}
	m := g.Members[at]
	err := workflow.Await(ctx, func() bool { return m.Informed != "" })
	if !m.isInside() && c.Once {
		g.dropMember(c.Ticket)
	}
	return g.newTurn(m), err
}

// receiveLeaves drops the claims that runs have given up. It reports whether it dropped any.
func (g *group) receiveLeaves(ctx workflow.Context) (some bool) {
	for ticket := ""; workflow.GetSignalChannel(ctx, signalLeave).ReceiveAsync(&ticket); some = true {
		g.dropMember(ticket)
	}
	return some
}

func (g *group) dropMember(ticket string) {
	g.Members = slices.DeleteFunc(g.Members, func(m *member) bool { return m.Ticket == ticket })
}

// listInside returns the members that have a slot, the oldest first.
func (g *group) listInside() (out []*member) {
	for _, m := range g.Members {
		if m.isInside() {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *member) int { return a.Since.Compare(b.Since) })
	return out
}

// isFull reports whether runs wait for others to leave.
func (g *group) isFull() bool {
	inside := len(g.listInside())
	return inside > 0 && inside < len(g.Members)
}

// admitWaiting gives slots to waiting runs in their order. Each run has its own limit.
func (g *group) admitWaiting(now time.Time) {
	ahead := len(g.listInside())
	for _, m := range g.Members {
		if m.isInside() {
			continue
		}
		if ahead < m.Limit {
			m.Since = now
		}
		ahead++
	}
}

func (g *group) newTurn(m *member) *turn {
	out := &turn{Group: m.Group, Ticket: m.Ticket, GroupState: store.GroupState{Inside: m.isInside()}}
	for _, one := range g.listInside() {
		out.Members = append(out.Members, store.GroupMember{RunID: one.RunID, Graph: one.Graph, Owner: one.Owner, Since: one.Since})
	}
	return out
}

// informMembers sends members their turn, and reports whether it dropped any whose workflow is
// gone. A new member gets its turn as the reply to its claim.
func (g *group) informMembers(ctx workflow.Context, which func(m *member, known string) bool) (dropped bool) {
	var tickets []string
	for _, m := range g.listInside() {
		tickets = append(tickets, m.Ticket)
	}
	members, waiting := slices.Clone(g.Members), 0
	sent := make([]workflow.Future, len(members)) // the messages to members, or nil
	for i, m := range members {
		known := "inside"
		if !m.isInside() {
			known = strings.Join(tickets, " ")
			waiting++
		}
		isNew := m.Informed == ""
		if !which(m, known) || !isNew && !m.isInside() && waiting > maxInformed {
			continue
		}
		if m.Informed = known; !isNew {
			sent[i] = workflow.SignalExternalWorkflow(ctx, m.RunID, "", signalTurn, g.newTurn(m))
		}
	}
	for i, m := range members {
		if sent[i] != nil && hasType[*temporal.UnknownExternalWorkflowExecutionError](sent[i].Get(ctx, nil)) {
			g.dropMember(m.Ticket)
			dropped = true
		}
	}
	return dropped
}

// Enter is the activity that sends a claim to its group.
func (w *Worker) Enter(ctx context.Context, c claim) (out *turn, err error) {
	err = w.updateOrStart(ctx, groupName, groupID(c.Group), enterName, "", c, &out)
	return out, err
}

// retrySlotEvery is how often a run that resumes itself asks again for a slot that it may not wait for.
const retrySlotEvery = time.Minute

// groupSlot is the state of a run's slot in its concurrency group.
type groupSlot struct {
	claim   *claim        // nil without a slot
	turn    *turn         // the latest, or nil before the reply of the group
	seen    bool          // the driver knows the turn
	waiting bool          // the driver waits for its turn
	request store.Request // that stops a waiting driver
}

func newClaim(start *Start, ticket, group string, limit int) *claim {
	return &claim{Ticket: ticket, Group: group, Limit: limit, RunID: start.Record.ID, Graph: start.Record.Graph, Owner: formatOwner(start.Queue)}
}

// localizeTimes converts the times of a turn to local time and returns the state of the group.
func (t *turn) localizeTimes() store.GroupState {
	for i := range t.Members {
		t.Members[i].Since = t.Members[i].Since.Local()
	}
	return t.GroupState
}

// EnterGroup asks the group for a slot and returns its reply.
func (k driverJournal) EnterGroup(group string, limit int) (out store.GroupState, err error) {
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
		sent := workflow.ExecuteActivity(f.newActivityContext(groupPrefix+group), enterName, *s.claim)
		f.await(sent.IsReady)
		var reply *turn
		if err := sent.Get(f.ctx, &reply); err != nil {
			return out, err
		}
		s.storeTurn(reply)
	}
	s.seen = true
	return s.turn.localizeTimes(), nil
}

// AwaitTurn waits for another turn, or for a request to stop the run, which it returns.
func (k driverJournal) AwaitTurn() store.Request {
	s := &k.slot
	s.waiting, s.request = true, ""
	err := k.run.Wait(func() bool { return !s.seen || s.request != "" })
	if s.waiting = false; err != nil {
		return "" // Enter fails likewise
	}
	return s.request
}

// Close gives the slot back, unless the run continues in another workflow.
func (k driverJournal) Close() error {
	if s := &k.slot; s.claim != nil && k.failed == nil {
		left := k.run.leaveGroup(groupID(s.claim.Group), s.claim.Ticket)
		s.claim, s.turn, s.seen = nil, nil, false
		k.run.await(left.IsReady) // the end of the workflow would discard the signal
	}
	return nil
}

func (f *workflowRun) leaveGroup(groupID, ticket string) workflow.Future {
	return workflow.SignalExternalWorkflow(f.ctx, groupID, "", signalLeave, ticket) // a group that is gone has no slots
}

// SendRequest sends a request to another run inside the group.
func (j *journal) SendRequest(runID string, request store.Request) error {
	workflow.SignalExternalWorkflow(j.run.ctx, runID, "", signalTurn, turn{Request: request}) // a run that is gone has no slot
	return nil
}

// isEntering reports whether the run wants a slot and the group has not replied.
func (j *journal) isEntering() bool { return j.slot.claim != nil && j.slot.turn == nil }

// storeTurn stores a turn. It ignores a reply that arrives after the turn with the slot.
func (s *groupSlot) storeTurn(t *turn) {
	if s.turn == nil || !s.turn.Inside {
		s.turn, s.seen = t, false
	}
}

// receiveTurns receives the turns of groups and the requests of other runs.
func (f *workflowRun) receiveTurns() {
	for t := new(turn); f.turns.ReceiveAsync(t); t = new(turn) {
		s := f.slot
		isOwn := s.claim != nil && s.claim.Ticket == t.Ticket
		switch {
		case t.Request != "" && f.driver != nil && s.turn != nil && s.turn.Inside:
			f.driver.SendRequest(t.Request)
		case t.Request != "":
		case isOwn:
			s.storeTurn(t)
		case t.Inside: // a claim of an earlier workflow, which was terminated
			f.leaveGroup(groupID(t.Group), t.Ticket)
		}
	}
}

// newActivityContext returns the context of an activity that updates a session or a group.
func (f *workflowRun) newActivityContext(summary string) workflow.Context {
	return workflow.WithActivityOptions(f.ctx, workflow.ActivityOptions{
		TaskQueue: coreQueue(f.start.Queue, f.start.Core), StartToCloseTimeout: time.Minute, Summary: summary, RetryPolicy: newRetryPolicy(),
	})
}
