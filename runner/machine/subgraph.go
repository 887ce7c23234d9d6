// Subgraphs: graph nodes, and graphs that are tools (GraphSpec §4, §9).

package machine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/input"
)

// Called is a graph that an attempt runs, for a graph node or a tool call.
type Called struct {
	Call int `json:"call,omitempty"` // 0 for a graph node
	// Scope is the number of the open scope, Kept an interrupted or failed one to continue.
	Scope int    `json:"scope,omitempty"`
	Kept  *Scope `json:"kept,omitempty"`
	// Done means that a tool call has its result.
	Done    bool     `json:"done,omitempty"`
	Output  any      `json:"output,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}

func (u *Unit) findCall(call int) *Called {
	return findFirst(u.Called, func(c *Called) bool { return c.Call == call })
}

// runsGraph reports whether the graph of the unit's node is open.
func (u *Unit) runsGraph() bool {
	c := u.findCall(0)
	return c != nil && c.Scope != 0
}

// hasOpenGraph reports whether any graph that the unit runs is open.
func (u *Unit) hasOpenGraph() bool {
	return slices.ContainsFunc(u.Called, func(c *Called) bool { return c.Scope != 0 })
}

// openGraph opens the scope of a graph with its first task, if its input is valid.
func (t *Task) openGraph(u *Unit, c *Called, plan *Plan, graph string, given map[string]any) *Failure {
	if plan == nil {
		return &Failure{Kind: "internal", Message: "graph " + strconv.Quote(graph) + " is unknown"}
	}
	if _, wrong := input.Check(plan.Graph, given, nil); len(wrong) > 0 {
		return &Failure{Kind: "invalid_input", Message: strings.Join(wrong, "; ")}
	}
	place := t.place()
	path, key := place.Path(), t.idempotencyKey(u.Element-1)
	if u.Element > 0 {
		path += "[" + strconv.Itoa(u.Element-1) + "]"
	}
	if c.Call > 0 {
		number := strconv.Itoa(c.Call)
		path, key = path+"#"+number, key+":"+number
	}
	inner := t.scope.state.openScope(plan, t.attemptID(u), t.scope, path, key)
	inner.Call, inner.Graph, c.Scope = c.Call, graph, inner.ID
	u.Called = append(u.Called, c)
	inner.addFirstTask(given, nil, nil)
	return nil
}

// continueGraph reopens a scope that was cut off or failed.
func (t *Task) continueGraph(u *Unit, c *Called) {
	inner := c.Kept
	c.Kept, c.Scope, inner.Owner = nil, inner.ID, t.attemptID(u)
	inner.reopenScope()
}

func (sc *Scope) addFirstTask(given, session, edit map[string]any) {
	sc.initState(given, session, edit)
	v := sc.Views[0]
	sc.placeTask(sc.addTask(&Task{Node: sc.plan.start, View: v.ID, Rank: 1, Position: &Position{}, Input: emptyIfNil(sc.Input)}))
	if failure := sc.checkStateSize(v, nil); failure != nil {
		sc.endAtSizeLimit(nil, failure)
	}
}

func (s *State) callGraph(t *Task, e *Event) {
	if e.Call == 0 {
		s.beginGraph(t, e)
		return
	}
	u := t.findUnit(e.Task)
	if u == nil || u.State != running {
		return
	}
	if c := u.findCall(e.Call); c != nil { // it has run before, or is open
		if c.Kept != nil {
			t.continueGraph(u, c)
		} else if c.Done {
			t.returnGraph(u, c, c.Output, c.Failure)
		}
		return
	}
	plan, graph := t.scope.plan.innerPlan(t.node().id, e.Graph)
	c := &Called{Call: e.Call}
	if failure := t.openGraph(u, c, plan, graph, e.Input); failure != nil {
		u.Called = append(u.Called, c)
		t.returnGraph(u, c, nil, failure)
	}
}

// beginGraph opens the scope of a graph node for which no hook has answered.
func (s *State) beginGraph(t *Task, e *Event) {
	if s.removeStopped(e) || t == nil {
		return
	}
	u, n := t.findUnit(e.Task), t.node()
	switch {
	case u == nil || u.State != running || u.runsGraph() || n.act != actGraph:
	case u.Cause != nil:
		t.endAttempt(u, nil, u.Cause)
	default:
		t.launchAttempt(u, n, false)
	}
}

func (t *Task) returnGraph(u *Unit, c *Called, output any, failure *Failure) {
	c.Done, c.Scope, c.Output, c.Failure = true, 0, output, failure
	t.scope.state.addCommand(Command{Kind: ReturnGraph, Task: t.attemptID(u), Call: c.Call, Output: output, Failure: failure})
}

// closeScope closes a scope. The outermost scope ends the run, others return the result to their owner.
func (sc *Scope) closeScope() {
	s := sc.state
	if sc.Outer == 0 {
		s.endRun()
		return
	}
	outer := sc.outer
	s.removeScope(sc)
	delete(s.byID, sc.ID)
	t := outer.findTask(sc.Owner.Task)
	u := t.findUnit(sc.Owner)
	if u == nil {
		return
	}
	var output any
	var failure *Failure
	if sc.End.Status == Completed {
		quality := sc.quality()
		outer.Degraded = outer.Degraded || quality == Degraded
		v, _ := sc.mergeAllTasks()
		output = map[string]any{"output": sc.End.Output, "state": v.values(), "status": "completed", "quality": string(quality)}
	} else {
		failure = sc.childFailure()
	}
	c := u.findCall(sc.Call)
	if c == nil {
		return
	}
	if sc.Call > 0 {
		t.returnGraph(u, c, output, failure)
		return
	}
	c.Scope, c.Kept = 0, sc
	if failure == nil {
		u.Called, u.Talk = nil, sc.addedMessages()
	}
	t.endAttempt(u, output, failure)
}

// childFailure returns the failure of a graph node whose graph did not complete.
func (sc *Scope) childFailure() *Failure {
	end := sc.End
	message, cause := "subgraph "+sc.plan.Graph.Name.Value+": ", end.Failure
	details := map[string]any{"status": string(end.Status), "reason": end.Reason}
	if cause == nil {
		return &Failure{Kind: "child_failed", Message: message + string(end.Status), Details: details}
	}
	message += cause.Error()
	if cause.Above > 0 { // the limit of an outer graph
		own := *cause
		own.Message, own.Above = message, own.Above-1
		return &own
	}
	details["error"] = failureData(cause)
	return &Failure{Kind: "child_failed", Message: message, Details: details}
}

func (sc *Scope) quality() Quality {
	switch {
	case sc.End == nil:
		return ""
	case sc.End.Status != Completed:
		return FailedQuality
	case sc.Degraded || slices.ContainsFunc(sc.Finals, func(end FinallyEnd) bool { return end.Failure != nil || end.Skipped }):
		return Degraded
	}
	return Clean
}
