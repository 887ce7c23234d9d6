// Subgraphs: graph nodes, and graphs that are tools (GraphSpec §4, §9).

package machine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/input"
)

// Called is a graph that a running attempt has called.
type Called struct {
	Call  int    `json:"call"`
	Scope int    `json:"scope,omitempty"`
	Kept  *Scope `json:"kept,omitempty"`
	// Done says that there is a result.
	Done    bool     `json:"done,omitempty"`
	Output  any      `json:"output,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}

// startGraph opens the scope of a graph node.
func (t *Task) startGraph(u *Unit, n *node, env map[string]any) {
	sc := t.scope
	s := sc.state
	t.startTimeout(u, t.timeout(n))
	if u.Kept != nil { // it goes on where it was cut off
		inner := u.Kept
		u.Kept, u.Scope, inner.Owner = nil, inner.ID, t.id(u)
		inner.reopen()
		return
	}
	config, err := bind.EvalFields(n.config, &s.vm, env)
	if err != nil {
		t.endAttempt(u, nil, &Failure{Kind: "expression", Message: err.Error()})
		return
	}
	given, _ := config["with"].(map[string]any)
	if failure := checkInput(n.inner, given); failure != nil {
		t.endAttempt(u, nil, failure)
		return
	}
	inner := s.open(n.inner, t.id(u), sc, sc.innerPath(t, u.Element), t.key(u.Element-1))
	inner.Graph = n.graph
	u.Scope = inner.ID
	inner.first(given, nil, nil)
}

// checkInput checks the input of a subgraph against its declarations.
func checkInput(p *Plan, given map[string]any) *Failure {
	if _, wrong := input.Check(p.Graph, given, nil); len(wrong) > 0 {
		return &Failure{Kind: "invalid_input", Message: strings.Join(wrong, "; ")}
	}
	return nil
}

// first adds the first task of a scope.
func (sc *Scope) first(given, session, edit map[string]any) {
	sc.begin(given, session, edit)
	v := sc.Views[0]
	v.refs++
	sc.arrive(sc.addTask(&Task{Node: sc.plan.start, View: v.ID, Rank: 1, Position: &Position{}, Input: orEmpty(sc.Input)}))
	if failure := sc.checkStateSize(v, nil); failure != nil {
		sc.endBySize(nil, failure)
	}
}

// graphCalled opens the scope of a graph that is a tool.
func (s *State) graphCalled(t *Task, e *Event) {
	if e.Call == 0 {
		s.graphBegins(t, e)
		return
	}
	if t == nil {
		return
	}
	u := t.unit(e.Task)
	if u == nil || u.State != running {
		return
	}
	for _, c := range u.Called {
		if c.Call != e.Call {
			continue
		}
		if inner := c.Kept; inner != nil { // it goes on where it was cut off
			c.Kept, c.Scope, inner.Owner = nil, inner.ID, e.Task
			inner.reopen()
		} else if c.Done {
			s.command(Command{Kind: ReturnGraph, Task: e.Task, Call: c.Call, Output: c.Output, Failure: c.Failure})
		}
		return // it ran before, or runs
	}
	sc := t.scope
	c := &Called{Call: e.Call}
	u.Called = append(u.Called, c)
	plan, graph := sc.plan.innerPlan(sc.plan.nodes[t.Node].id, e.Graph)
	if plan == nil {
		t.returned(u, c, nil, &Failure{Kind: "internal", Message: "graph " + strconv.Quote(e.Graph) + " is unknown"})
		return
	}
	if failure := checkInput(plan, e.Input); failure != nil {
		t.returned(u, c, nil, failure)
		return
	}
	path := sc.innerPath(t, u.Element) + "#" + strconv.Itoa(e.Call)
	inner := s.open(plan, e.Task, sc, path, t.key(u.Element-1)+":"+strconv.Itoa(e.Call))
	inner.Call, inner.Graph = e.Call, graph
	c.Scope = inner.ID
	inner.first(e.Input, nil, nil)
}

// graphBegins opens the scope of a graph node for which no hook has answered.
func (s *State) graphBegins(t *Task, e *Event) {
	if i := slices.IndexFunc(s.Stopping, func(st Stopping) bool { return st.Task == e.Task }); i >= 0 {
		s.attemptStopped(i, e)
		return
	}
	if t == nil {
		return
	}
	u, n := t.unit(e.Task), &t.scope.plan.nodes[t.Node]
	switch {
	case u == nil || u.State != running || u.Scope != 0 || n.act != actGraph:
	case u.Cause != nil:
		t.endAttempt(u, nil, u.Cause)
	default:
		t.startGraph(u, n, t.unitContext(u, n))
	}
}

// returned gives an attempt the result of a graph that it called.
func (t *Task) returned(u *Unit, c *Called, output any, failure *Failure) {
	c.Done, c.Scope, c.Output, c.Failure = true, 0, output, failure
	t.scope.state.command(Command{Kind: ReturnGraph, Task: t.id(u), Call: c.Call, Output: output, Failure: failure})
}

// close ends a scope: the outermost one is the run, others give their owner its result.
func (sc *Scope) close() {
	s := sc.state
	sc.Closed = true
	if sc.Outer == 0 {
		s.conclude()
		return
	}
	outer := sc.outer
	s.remove(sc)
	delete(s.byID, sc.ID)
	t := outer.task(sc.Owner.Task)
	if t == nil {
		return
	}
	u := t.unit(sc.Owner)
	if u == nil {
		return
	}
	var output any
	var failure *Failure
	if sc.End.Status == Completed {
		quality := sc.quality()
		outer.Degraded = outer.Degraded || quality == Degraded
		v, _ := sc.mergeAll()
		output = map[string]any{"output": sc.End.Output, "state": v.values(), "status": "completed", "quality": string(quality)}
	} else {
		failure = sc.childFailure()
	}
	if sc.Call > 0 {
		for _, c := range u.Called {
			if c.Call == sc.Call {
				t.returned(u, c, output, failure)
			}
		}
		return
	}
	u.Scope, u.Kept = 0, sc
	if failure == nil {
		u.Kept = nil
		u.Talk = sc.said()
	}
	t.endAttempt(u, output, failure)
}

// childFailure returns the failure of a graph node whose graph did not complete.
func (sc *Scope) childFailure() *Failure {
	end := sc.End
	message := "subgraph " + sc.plan.Graph.Name.Value + ": "
	if end.Failure != nil {
		message += end.Failure.Error()
	} else {
		message += string(end.Status)
	}
	details := map[string]any{"status": string(end.Status), "reason": end.Reason}
	if end.Failure != nil {
		details["error"] = failureData(end.Failure)
		if end.Failure.Above > 0 { // a limit of a graph around this one
			own := *end.Failure
			own.Message, own.Above = message, own.Above-1
			return &own
		}
	}
	return &Failure{Kind: "child_failed", Message: message, Details: details}
}

func (sc *Scope) quality() Quality {
	switch {
	case sc.End == nil:
		return ""
	case sc.End.Status != Completed:
		return FailedQuality
	case sc.Degraded || sc.hasFailedFinally():
		return Degraded
	}
	return Clean
}
