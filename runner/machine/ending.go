// Beginning and ending a run, and the nodes of finally (GraphSpec §2, §11).

package machine

import (
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

func (s *State) beginRun(e *Event) {
	if e.Run != nil {
		s.Run = *e.Run
	}
	session := s.Run.Session
	s.Run.Session = nil
	s.Status, s.Goal = Running, s.Run.Goal
	if s.Run.Models != nil {
		s.Models = *s.Run.Models
	}
	sc := s.openScope(s.plan, TaskID{}, nil, "", s.Run.ID)
	s.Group, _ = s.plan.Group(e)
	if s.Run.Held {
		s.Pausing = true
	}
	sc.addFirstTask(e.Input, session, e.Edit)
	s.Run.Talk = nil
	s.switchClockTimers(StartTimer)
}

// Group returns the concurrency group of a run that began with an event, or "".
func (p *Plan) Group(began *Event) (string, error) {
	if p.bound.Group == nil {
		return "", nil
	}
	s := p.NewState()
	s.Run, s.Now, s.Began = RunInfo{ID: "group"}, began.At, began.At
	if began.Run != nil {
		s.Run = *began.Run
	}
	sc := s.openScope(p, TaskID{}, nil, "", "")
	sc.initState(began.Input, nil, began.Edit)
	value, err := s.vm.Eval(p.bound.Group, sc.Views[0].buildContext(&Task{scope: sc, Input: emptyIfNil(sc.Input)}, p.groupUses))
	if err != nil {
		return "", err
	}
	if value == nil {
		return "", nil
	}
	return eval.Text(value), nil
}

// failureEnd returns the end of a scope by a failure that nothing handles.
func failureEnd(failure *Failure) *End {
	end := &End{Status: Failed, Reason: "node_failed", Failure: failure}
	switch failure.Kind {
	case "max_visits", "budget":
		end.Status, end.Reason = Limit, failure.Kind
	case "limit":
		end.Status, end.Reason = Limit, "size"
	case "expression", "policy", "conflict":
		end.Reason = failure.Kind
	}
	return end
}

// completeScope ends a scope without tasks. It fails the scope if branches conflict or the output is
// invalid.
func (sc *Scope) completeScope() {
	v, conflicts := sc.mergeAllTasks()
	if len(conflicts) > 0 {
		sc.endScope(failureEnd(sc.conflictFailure(noNode, conflicts[0])))
		return
	}
	if failure := sc.checkStateSize(v, nil); failure != nil {
		sc.endAtSizeLimit(nil, failure)
		return
	}
	output, err := sc.evalOutput(false)
	if err != nil {
		sc.endScope(failureEnd(expressionFailure("output: ", err)))
		return
	}
	sc.endScope(&End{Status: Completed, Reason: "end", Output: output})
}

// evalOutput evaluates `output`, by default the last output in path order that reached END. If parts is
// set, a part that fails is null.
func (sc *Scope) evalOutput(parts bool) (any, error) {
	output := sc.LastEnd.Output
	if sc.LastEnd.Task == 0 && parts {
		output = sc.LastStep.Output
	}
	if sc.plan.bound.Output == nil {
		return output, nil
	}
	v, _ := sc.mergeAllTasks()
	t := &Task{scope: sc, Output: output, Input: emptyIfNil(sc.Input), Done: true, Step: v.Count, Node: sc.plan.start}
	env := v.buildContext(t, sc.plan.outUses)
	value, err := sc.plan.bound.Output.Eval(&sc.state.vm, env)
	if err != nil && parts {
		sc.Degraded = true
		return sc.plan.bound.Output.EvalParts(&sc.state.vm, env), nil
	}
	return value, err
}

// endScopeByTask ends a scope because of a task, which a resume runs again.
func (sc *Scope) endScopeByTask(t *Task, end *End) {
	if sc.End == nil {
		sc.Culprit = t.ID
	}
	sc.endScope(end)
}

// endScope ends a scope: it interrupts the running tasks. The nodes of finally run next.
func (sc *Scope) endScope(end *End) {
	if sc.End != nil {
		return
	}
	sc.interruptTasks()
	sc.End = end
	sc.FinalNext, sc.Finals = 0, nil
}

// interruptTasks interrupts all tasks within a scope. A resume continues the same attempts.
func (sc *Scope) interruptTasks() {
	for _, t := range sc.activeTasks() {
		if t.Done && !t.Deciding {
			continue
		}
		for _, u := range t.Units {
			t.interruptUnit(u)
		}
		if t.Begun && !t.Done {
			t.noteStopped("the run ends")
		}
	}
}

func (t *Task) interruptUnit(u *Unit) {
	s := t.scope.state
	if u.State == ended {
		return
	}
	isGraph := u.runsGraph()
	for _, c := range u.Called {
		if inner := s.byID[c.Scope]; inner != nil {
			inner.interruptTasks()
			inner.suspended = true
			s.removeScope(inner)
			c.Kept, c.Scope = inner, 0
		}
	}
	if isGraph {
		u.State = queued
		t.stopTimeout(u)
		return
	}
	t.stopUnit(u)
	u.State, u.CutOff = queued, false
}

func (t *Task) stopTimeout(u *Unit) {
	if u.Ends > 0 {
		t.scope.state.addCommand(Command{Kind: StopTimer, Timer: TaskTimer, Task: t.attemptID(u)})
		u.Ends = 0
	}
}

// cancelRun cancels the run. During finally it starts the grace period.
func (s *State) cancelRun(e *Event) {
	root := s.root()
	if root.End != nil {
		s.startGrace()
		return
	}
	s.Status, s.Reason = Running, ""
	var failure *Failure
	if e.Reason != "" {
		failure = &Failure{Kind: "cancelled", Message: e.Reason}
	}
	root.endScope(&End{Status: Cancelled, Reason: "cancelled", Failure: failure})
	s.startGrace()
}

// endRun sets the final status of the run and adds the command Finish.
func (s *State) endRun() {
	root := s.root()
	end := root.End
	s.Status, s.Reason, s.Failure, s.Limited = end.Status, end.Reason, end.Failure, end.Limited
	s.Quality, s.Output, s.Idle = root.quality(), nil, true
	if end.Status == Completed {
		s.Output = end.Output
	}
	s.switchClockTimers(StopTimer)
	s.addCommand(Command{Kind: Finish})
}

// Setup evaluates the tools and providers of a scope by name. They contain secrets in clear text
// and must not be shown or stored.
func (sc *Scope) Setup() (tools, providers map[string]any, err error) {
	env := map[string]any{"goal": sc.Goal(), "run": sc.runData()}
	sc.addSecrets(env)
	if tools, err = bind.EvalFields(sc.plan.bound.Tools, &sc.state.vm, env); err != nil {
		return nil, nil, err
	}
	providers, err = bind.EvalFields(sc.plan.bound.Providers, &sc.state.vm, env)
	return tools, providers, err
}

// Tools evaluates the tools of a graph without a run. They contain secrets in clear text.
func (p *Plan) Tools(secrets map[string]any) (map[string]any, error) {
	s := p.NewState()
	s.SetSecrets(map[*Plan]map[string]any{p: secrets})
	tools, _, err := s.openScope(p, TaskID{}, nil, "", "").Setup()
	return tools, err
}

// Notices evaluates the entries of notify for an occasion. It leaves out entries that fail.
func (p *Plan) Notices(on string, env map[string]any) (list []map[string]any, err error) {
	var vm eval.VM
	for i, entry := range p.Graph.Notify {
		wanted := entry.Get("on")
		if wanted.Text.Value != on && !slices.ContainsFunc(wanted.Items, func(v spec.Value) bool { return v.Text.Value == on }) {
			continue
		}
		values, wrong := bind.EvalFields(p.bound.Notices[i:i+1], &vm, env)
		if wrong != nil {
			err = wrong
			continue
		}
		list = append(list, values["notice"].(map[string]any))
	}
	return list, err
}

// PathNodes returns the executed nodes of a scope in path order.
func (sc *Scope) PathNodes() []string {
	steps := slices.AppendSeq(make([]PathStep, 0, len(sc.Steps.Flat)/3), sc.Steps.visitSteps())
	for _, t := range sc.allTasks() {
		if t.Done && !t.Refused && (t.gone || t.ID == sc.Culprit) {
			steps = append(steps, PathStep{t.Node, t.Rank, t.Order})
		}
	}
	return sc.nodesInPathOrder(steps)
}

// nodesInPathOrder returns the nodes of steps in path order.
func (sc *Scope) nodesInPathOrder(steps []PathStep) []string {
	compare := func(a, b PathStep) int { return comparePositions(a.Rank, a.Order, b.Rank, b.Order) }
	if !slices.IsSortedFunc(steps, compare) {
		slices.SortStableFunc(steps, compare)
	}
	out := make([]string, len(steps))
	for i, step := range steps {
		out[i] = sc.plan.nodes[step.Node].id
	}
	return out
}

// Values returns the state of a scope as a new map, after all its steps.
func (sc *Scope) Values() map[string]any {
	v, _ := sc.mergeAllTasks()
	return v.values()
}

// finallyGrace is the time for all finally nodes of a cancelled run.
const finallyGrace = 5 * time.Second

// FinallyEnd is the result of a finally node.
type FinallyEnd struct {
	Node  string `json:"node"`
	Visit int    `json:"visit,omitempty"`
	// Skipped means that the run was cancelled, and the grace period ended before the node began.
	Skipped bool `json:"skipped,omitempty"`
	// Failure is nil after a success.
	Failure *Failure `json:"failure,omitempty"`
}

// startNextFinal runs the next finally node. After the last one it closes the scope.
func (sc *Scope) startNextFinal() {
	s := sc.state
	if s.Grace == graceOver {
		for ; sc.FinalNext < len(sc.plan.finally); sc.FinalNext++ {
			sc.Finals = append(sc.Finals, FinallyEnd{Node: sc.plan.nodes[sc.plan.finally[sc.FinalNext]].id, Skipped: true})
		}
	}
	if sc.FinalNext == len(sc.plan.finally) {
		sc.closeScope()
		return
	}
	v := sc.finalView()
	t := &Task{
		Node: sc.plan.finally[sc.FinalNext], View: v.ID, Rank: sc.MaxRank + 1, Position: &Position{}, Final: true, Cause: sc.End.Failure, Inputs: map[string]any{},
		Input: map[string]any{
			"status": string(sc.End.Status), "reason": sc.End.Reason, "error": failureData(sc.End.Failure), "output": sc.End.Output,
		},
	}
	s.Numbers.Task++
	t.ID, t.scope = s.Numbers.Task, sc
	sc.FinalNext++
	sc.Final = t
	s.makeReady(ready{t, nil})
}

// finalView returns the view for finally, with all steps merged. A resume drops the view.
func (sc *Scope) finalView() *View {
	if sc.FinalView != 0 {
		return sc.findView(sc.FinalView)
	}
	whole, _ := sc.mergeAllTasks()
	v := sc.newView(nil)
	v.Vals, v.Visits, v.Mem = whole.Vals, whole.Visits, whole.Mem
	v.Count, v.Thread, v.Size = whole.Count, whole.Thread, whole.Size
	sc.FinalView = v.ID
	return v
}

func (sc *Scope) recordFinal(t *Task) {
	t.view().applyTask(t)
	sc.Final = nil
	sc.Finals = append(sc.Finals, FinallyEnd{Node: sc.plan.nodes[t.Node].id, Visit: t.Visit, Failure: t.Failure})
}

// startGrace limits the remaining time of finally, because the run is being cancelled.
func (s *State) startGrace() {
	if s.Grace == 0 {
		s.Grace = graceRuns
		s.addCommand(Command{Kind: StartTimer, Timer: GraceTimer, For: finallyGrace})
	}
}

// cancelFinally cancels the remaining finally nodes.
func (s *State) cancelFinally() {
	root := s.root()
	if root.End == nil || s.Grace != graceRuns {
		return
	}
	s.Grace = graceOver
	if t := root.Final; t != nil {
		for _, u := range t.Units {
			t.stopUnit(u)
		}
		t.failStep(&Failure{
			Kind: "cancelled", Message: "the " + eval.DurationText(finallyGrace) + " that finally has after a cancellation were up",
		})
	}
}
