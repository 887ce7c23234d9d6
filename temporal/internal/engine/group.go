// Concurrency groups: a workflow per group knows the runs inside and those that wait.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/runner/store"
)

// Names of groups on the cluster.
const (
	groupName   = "graphrun-group"
	enterName   = "graphrun-enter" // the activity of a run, and the signal to a group: a claim
	signalOut   = "graphrun-out"   // to a group: the ticket of a claim that is given up
	signalTurn  = "graphrun-turn"  // to a run: a turn
	signalEvict = "graphrun-evict" // to a run: an eviction
	groupPrefix = "group/"         // of workflow ids; no run's id has a slash
)

const (
	// checkEvery is how often a group for which runs wait checks that the workflows of the
	// runs inside still exist.
	checkEvery = 15 * time.Second
	// checkedLately is how long the result of a check counts.
	checkedLately = time.Second
	// maxTold is how many of the waiting runs learn which runs are inside: the first ones.
	maxTold = 50
)

// claim is the claim of a run to a slot in a group.
type claim struct {
	Group string `json:"group"`
	Limit int    `json:"limit"`
	RunID string `json:"run_id"`
	Graph string `json:"graph"`
	Owner string `json:"owner"`
	// Ticket names the claim; Chain is the first workflow run of those that have it.
	Ticket string `json:"ticket"`
	Chain  string `json:"chain"`
}

// turn is the reply to a claim. Later turns have a higher Number.
type turn struct {
	Group   string              `json:"group"`
	Ticket  string              `json:"ticket"`
	Number  int64               `json:"number"`
	Inside  bool                `json:"inside"`
	Holders []store.GroupMember `json:"holders,omitempty"`
}

// member is a run in a group, or in its queue.
type member struct {
	claim
	Inside bool      `json:"inside,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Told holds the tickets of the runs inside, as the run knows them.
	Told string `json:"told,omitempty"`
}

// group is the state of the workflow. Exported fields go to the next one.
type group struct {
	// Members are in the order in which they came.
	Members []*member `json:"members"`
	Number  int64     `json:"number"`

	ctx         workflow.Context
	worker      *Worker
	enters, out workflow.ReceiveChannel
	stirred     bool      // something has happened
	sending     int       // turns on their way
	doubted     bool      // those inside may be gone
	checked     time.Time // when they were known to be there
	watching    bool      // a timer fires for it
}

// groupID returns the id of the workflow of a group.
func groupID(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if utf8.ValidString(name) && len(name) <= 200 && !strings.ContainsFunc(name, odd) {
		return groupPrefix + name
	}
	sum := sha256.Sum256([]byte(name))
	return "group#/" + hex.EncodeToString(sum[:])
}

// Group is the workflow of a group. It ends when nobody is in it.
func (w *Worker) Group(ctx workflow.Context, g *group) error {
	if g == nil {
		g = &group{}
	}
	g.ctx, g.worker = ctx, w
	g.enters, g.out = workflow.GetSignalChannel(ctx, enterName), workflow.GetSignalChannel(ctx, signalOut)
	for g.take(); ; {
		g.stirred = false
		if g.admit(); g.doubted && len(g.inside()) < len(g.Members) {
			g.dropGone()
			g.take() // what came meanwhile, before a new workflow begins without it
			g.admit()
		}
		g.doubted = false
		g.tell()
		if info := workflow.GetInfo(ctx); g.sending == 0 {
			switch {
			case len(g.Members) == 0:
				return nil
			case info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > w.events:
				return workflow.NewContinueAsNewError(ctx, groupName, g)
			}
		}
		g.watch()
		if err := workflow.Await(ctx, func() bool { return g.take() || g.stirred }); err != nil {
			return err
		}
	}
}

// take receives new claims and those that are given up. It reports whether there were any.
func (g *group) take() (some bool) {
	for c := (claim{}); g.enters.ReceiveAsync(&c); c = (claim{}) {
		if some = true; g.find(c.Ticket) == nil {
			g.Members = slices.DeleteFunc(g.Members, func(m *member) bool { return m.RunID == c.RunID })
			g.Members = append(g.Members, &member{claim: c})
			g.doubted = true
		}
	}
	for ticket := ""; g.out.ReceiveAsync(&ticket); ticket = "" {
		g.drop(ticket)
		some = true
	}
	return some
}

func (g *group) find(ticket string) *member {
	for _, m := range g.Members {
		if m.Ticket == ticket {
			return m
		}
	}
	return nil
}

func (g *group) drop(ticket string) {
	g.Members = slices.DeleteFunc(g.Members, func(m *member) bool { return m.Ticket == ticket })
}

// inside returns the members that have a slot, the oldest first.
func (g *group) inside() (out []*member) {
	for _, m := range g.Members {
		if m.Inside {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *member) int { return a.Since.Compare(b.Since) })
	return out
}

// admit gives slots to waiting runs in their order. Each run has a limit of its own.
func (g *group) admit() {
	inside, before := len(g.inside()), 0
	for _, m := range g.Members {
		switch {
		case m.Inside:
		case inside+before < m.Limit:
			m.Inside, m.Since = true, workflow.Now(g.ctx)
			inside++
		default:
			before++
		}
	}
}

// known returns the value of Told for a member that knows all.
func known(m *member, inside []*member) string {
	if m.Inside {
		return "inside"
	}
	tickets := make([]string, len(inside))
	for i, one := range inside {
		tickets[i] = one.Ticket
	}
	return strings.Join(tickets, " ")
}

// turnOf returns the turn of a member, which knows it from then on.
func (g *group) turnOf(m *member) *turn {
	inside := g.inside()
	m.Told = known(m, inside)
	g.Number = max(g.Number+1, workflow.Now(g.ctx).UnixNano())
	out := &turn{Group: m.Group, Ticket: m.Ticket, Number: g.Number, Inside: m.Inside}
	for _, one := range inside {
		out.Holders = append(out.Holders, store.GroupMember{RunID: one.RunID, Graph: one.Graph, Owner: one.Owner, Since: one.Since})
	}
	return out
}

// tell sends members their turn if it has changed. Those without a workflow are dropped.
func (g *group) tell() {
	inside, waiting := g.inside(), 0
	for _, m := range g.Members {
		if !m.Inside {
			waiting++
		}
		if m.Told == known(m, inside) || !m.Inside && waiting > maxTold {
			continue
		}
		ticket, sent := m.Ticket, workflow.SignalExternalWorkflow(g.ctx, m.RunID, "", signalTurn, g.turnOf(m))
		g.sending++
		workflow.Go(g.ctx, func(ctx workflow.Context) {
			var gone *temporal.UnknownExternalWorkflowExecutionError
			if errors.As(sent.Get(ctx, nil), &gone) {
				g.drop(ticket)
			}
			g.sending--
			g.stirred = true
		})
	}
}

// watch has the runs inside checked after a while, if others wait for them.
func (g *group) watch() {
	inside := len(g.inside())
	if g.watching || inside == 0 || inside == len(g.Members) {
		return
	}
	g.watching = true
	workflow.Go(g.ctx, func(ctx workflow.Context) {
		_ = workflow.Sleep(ctx, checkEvery) // nothing cancels it
		g.watching, g.doubted, g.stirred = false, true, true
	})
}

// dropGone drops the runs inside whose workflows were terminated or deleted.
func (g *group) dropGone() {
	if workflow.Now(g.ctx).Sub(g.checked) < checkedLately {
		return
	}
	var claims []claim
	for _, m := range g.inside() {
		claims = append(claims, m.claim)
	}
	local := workflow.WithLocalActivityOptions(g.ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var gone []string
	if err := workflow.ExecuteLocalActivity(local, g.worker.Gone, claims).Get(g.ctx, &gone); err != nil {
		return // it is not known
	}
	g.checked = workflow.Now(g.ctx)
	for _, ticket := range gone {
		g.drop(ticket)
	}
}

// Gone is the activity that returns the tickets of claims whose workflows are gone. A claim
// counts if the cluster does not answer.
func (w *Worker) Gone(ctx context.Context, claims []claim) (tickets []string, err error) {
	for i := range claims {
		c := &claims[i]
		reply, err := w.client.DescribeWorkflowExecution(ctx, c.RunID, "")
		var missing *serviceerror.NotFound
		info := reply.GetWorkflowExecutionInfo()
		first := info.GetFirstRunId()
		switch {
		case errors.As(err, &missing):
		case err != nil, info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING && (first == "" || first == c.Chain):
			continue
		}
		tickets = append(tickets, c.Ticket)
	}
	return tickets, nil
}

// Enter is the activity that sends a claim to its group.
func (w *Worker) Enter(ctx context.Context, queue string, c claim) error {
	_, err := w.client.SignalWithStartWorkflow(ctx, groupID(c.Group), enterName, c, client.StartWorkflowOptions{
		TaskQueue: sessionQueue(queue), StaticSummary: "group " + c.Group,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, groupName, (*group)(nil))
	return err
}
