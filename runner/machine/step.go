// Steps: one execution of a node, from its beginning to its targets (GraphSpec §5).

package machine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"

	"github.com/graphrun/graphrun/internal/bind"
)

// countsForConcurrency reports whether attempts of the node count for max_concurrency.
func (n *node) countsForConcurrency() bool { return n.act == actRun }

// hasRoom reports whether max_concurrency here and in all outer graphs allows an attempt.
func (sc *Scope) hasRoom() bool {
	for ; sc != nil; sc = sc.outer {
		if limit := sc.limits.MaxConcurrency; limit > 0 && sc.running >= limit {
			return false
		}
	}
	return true
}

// mayBegin reports whether a step may begin: no pause, breakpoint or limit prevents it.
func (t *Task) mayBegin() bool {
	sc := t.scope
	n := &sc.plan.nodes[t.Node]
	if sc.state.Pausing || sc.End != nil && !t.Final {
		return false
	}
	if !t.Final {
		if path, stops := t.findBreakpoint("before"); stops {
			t.Passed = true
			sc.state.pauseAtBreakpoint("before", path)
			return false
		}
		left := true
		sc.visitEnclosing(func(one *Scope) {
			one.Full = one.Full || left && max(one.Executions, one.Refused) >= one.limits.MaxSteps
			left = left && !one.Full
		})
		if !left {
			return false
		}
	}
	return !n.countsForConcurrency() || t.Preset != nil || n.bound.Each != nil || sc.hasRoom()
}

// beginStep begins a step. It checks the visit limit and policies, then starts attempts.
func (t *Task) beginStep() {
	sc := t.scope
	s, n, v := sc.state, &sc.plan.nodes[t.Node], t.view()
	t.Begun, t.At, t.Step = true, s.Now, v.Count+1
	limit := cmp.Or(n.decl.MaxVisits, sc.limits.MaxVisits)
	visits := v.visitCount(t.Node)
	over := limit > 0 && visits >= limit && !t.Final
	skips := n.decl.OnMaxVisits == "skip"
	t.Skipped, t.Refused = over && skips, over && !skips
	if t.Refused { // not an execution, but counted, so that a loop of such visits ends
		sc.Refused++
	} else if !t.Final {
		sc.visitEnclosing(func(one *Scope) { one.Executions++ })
	}
	s.batch++
	if over {
		t.Visit = visits
		if t.Refused {
			t.Failure = &Failure{Kind: "max_visits", Node: n.id, Message: "node has been visited " + eval.Count(limit, "time") + ", its limit"}
		}
		t.finishStep()
		return
	}
	t.Visit = visits + 1
	if t.Final {
		s.Endings++
		t.Visit = sc.FinalVisits[t.Node] + 1 // visits before a resume count
		sc.FinalVisits = setEntry(sc.FinalVisits, t.Node, t.Visit)
	} else if t.Preset == nil {
		if failure := t.checkGuards(n.guards, t.Node); failure != nil {
			sc.endScopeByTask(t, failureEnd(failure))
			return
		}
	}
	t.addNote(&Note{Kind: NoteNodeStarted})
	t.startStepTimer()
	t.createUnits()
}

func (t *Task) startStepTimer() {
	sc := t.scope
	if d := sc.limits.StepTimeout; d > 0 && sc.plan.nodes[t.Node].act != actHuman && !t.Final {
		sc.state.addCommand(Command{Kind: StartTimer, Timer: StepTimer, Task: TaskID{Task: t.ID}, For: d})
	}
}

// createUnits creates the units of a step, also when the step runs again after a resume.
func (t *Task) createUnits() {
	n := t.node()
	t.Units, t.Each, t.Failure, t.Output, t.Writes, t.Before = nil, nil, nil, nil, t.Writes[:0], nil
	if t.Preset != nil {
		failure := *t.Preset
		t.Failure = &failure
		t.finishStep()
		return
	}
	if len(n.bound.Before) > 0 {
		if failure := t.evalBefore(n); failure != nil {
			t.failStep(failure)
			return
		}
	}
	if n.bound.Each != nil {
		t.beginEach(n)
		return
	}
	if n.isPure() {
		t.runPureStep(n)
		return
	}
	u := &Unit{Attempt: 1}
	t.Units = []*Unit{u}
	t.queueUnit(u)
}

// isPure reports whether the machine runs the node within Apply.
func (n *node) isPure() bool { return n.act == actSet || n.act == actPass || n.act == actFail }

// runPureStep runs a step without effects. It creates a unit only for a failure.
func (t *Task) runPureStep(n *node) {
	output, writes, failure := t.evalPureNode(nil, n)
	if failure == nil {
		output, writes, failure = t.checkResult(nil, n, output, writes)
	}
	if failure != nil {
		u := &Unit{Attempt: 1, State: running, Begun: true}
		t.Units = []*Unit{u}
		t.endAttempt(u, nil, failure)
		return
	}
	t.Output, t.Writes = output, writes
	t.finishStep()
}

// evalPureNode returns the output and writes of a node without effects. u is nil or an element.
func (t *Task) evalPureNode(u *Unit, n *node) (output any, writes []Write, failure *Failure) {
	switch n.act {
	case actPass:
		if u != nil && u.Element > 0 {
			return t.Each.Items[u.Element-1], nil, nil
		}
		return t.input(), nil, nil
	case actSet:
		return t.evalAssignments(n, t.unitContext(u, n))
	default:
		config, err := bind.EvalFields(n.bound.Config, &t.scope.state.vm, t.unitContext(u, n))
		if err != nil {
			return nil, nil, expressionFailure("", err)
		}
		message, _ := config["message"].(string)
		return nil, nil, &Failure{Kind: "failed", Message: message}
	}
}

// queueUnit starts the unit's next attempt, or makes the unit ready if max_concurrency delays it.
func (t *Task) queueUnit(u *Unit) {
	u.State = queued
	if !t.node().countsForConcurrency() && t.mayStartUnit(u) {
		t.startAttempt(u)
		return
	}
	t.scope.state.makeReady(ready{t, u})
}

// mayStartUnit reports whether an attempt may start. A pause does not delay retries.
func (t *Task) mayStartUnit(u *Unit) bool {
	n := t.node()
	if t.Each != nil && n.decl.MaxConcurrency > 0 && !u.Begun && t.Each.countOpen(t) >= n.decl.MaxConcurrency {
		return false
	}
	return !n.countsForConcurrency() || t.scope.hasRoom()
}

func (t *Task) failStep(failure *Failure) {
	failure.Node, failure.Attempt = t.node().id, t.attemptNumber()
	t.Failure, t.Output, t.Writes = failure, nil, nil
	t.finishStep()
}

// finishStep ends a step: it applies the writes and resolves the edges.
func (t *Task) finishStep() {
	sc := t.scope
	t.Done = true
	if !t.Final && !t.Refused {
		sc.state.Done++
		if t.Number == 0 {
			sc.Count++
			t.Number = sc.Count
		}
	}
	if !t.Final {
		sc.MaxRank = max(sc.MaxRank, t.Rank)
	}
	if t.Failure != nil {
		t.Output, t.Writes = nil, nil
	}
	if sc.plan.nodes[t.Node].onBypass == "fail" {
		for _, b := range sc.Detours {
			if sc.hasInPast(t, b.Task) {
				b.Reached = append(b.Reached, t.Node)
			}
		}
	}
	if sc.limits.StepTimeout > 0 && t.Begun && !t.Final {
		sc.state.addCommand(Command{Kind: StopTimer, Timer: StepTimer, Task: TaskID{Task: t.ID}})
	}
	if t.Failure != nil {
		t.addNote(&Note{Kind: NoteNodeFailed, Failure: t.Failure})
	} else {
		t.addNote(&Note{Kind: NoteNodeCompleted, Cached: t.Cached, Skipped: t.Skipped})
	}
	t.updateThread()
	if t.Final {
		sc.recordFinal(t)
		return
	}
	t.applyStep()
}

// applyStep applies a finished step's writes to its view, and resolves its edges. It reverts the view
// if a router has to decide or the scope ends.
func (t *Task) applyStep() {
	sc := t.scope
	s, v := sc.state, t.view()
	s.changes = s.changes[:0]
	t.resetOnce(v)
	if s.Edit != nil && sc.Outer == 0 && t.Number == s.StopAt {
		t.writeEdit(s.Edit)
	}
	back := v.applyTask(t)
	if failure := sc.checkStateSize(v, t.Writes); failure != nil {
		v.revertTask(t, back)
		t.Failure = failure
		sc.endAtSizeLimit(t, failure)
		return
	}
	out := t.resolveEdges()
	s.noteStateUpdate(t, writtenKeys(t.Writes))
	switch {
	case out.asks:
		v.revertTask(t, back)
		t.Deciding = true
		s.addCommand(Command{Kind: Decide, Task: TaskID{Task: t.ID}, Choice: t.newChoice()})
		return
	case out.end != nil:
		v.revertTask(t, back)
		sc.endScopeByTask(t, out.end)
		return
	case len(out.targets) == 0:
		v.revertTask(t, back)
		sc.propagateFailure(t.Position, t, t.Failure, len(t.Place)-1)
		return
	}
	if t.Failure != nil {
		sc.recordDetour(t)
		sc.restoreSplitValues(t, v)
	}
	if !t.Refused {
		sc.recordStep(t)
	}
	path, stops := "", false
	if !t.Skipped && !t.Refused {
		path, stops = t.findBreakpoint("after")
	}
	sc.followTargets(t, out.targets)
	if stops && sc.End == nil {
		s.pauseAtBreakpoint("after", path)
	}
}

// writeEdit adds a fork's edits to a step's writes, so that its edges read them.
func (t *Task) writeEdit(edit map[string]any) {
	p := t.scope.plan
	for _, name := range slices.Sorted(maps.Keys(edit)) {
		if key, ok := p.keyOf[name]; ok {
			t.Writes = append(t.Writes, Write{Key: key, Update: p.keys[key].schema.Normalise(edit[name]), Reset: true})
		}
	}
}

func (sc *Scope) recordStep(t *Task) {
	sc.Steps.addStep(t.Node, t.Rank, t.Order)
	if t.Failure == nil {
		if sc.limits.OnMaxSteps != "fail" { // the output may become the run's
			t.output()
		}
		if l := &sc.LastStep; l.Task == 0 || comparePositions(l.Rank, l.Order, t.Rank, t.Order) <= 0 {
			*l = t.asSource()
		}
	}
}

// recordDetour records that a branch took a failure edge.
func (sc *Scope) recordDetour(t *Task) {
	sc.Degraded = true
	if len(t.Place) > 0 {
		sc.Detours = append(sc.Detours, &Detour{Position: t.Position, Task: t.ID, Node: t.Node, Rank: t.Rank})
	}
}

// restoreSplitValues resets keys in conflict to their value at the split, after a failure edge.
func (sc *Scope) restoreSplitValues(t *Task, v *View) {
	for _, c := range t.Settled {
		w := Write{Key: c.Key, Absent: true}
		if f := sc.findFan(c.Fan); f != nil {
			if value := sc.findView(f.View).Vals[c.Key]; value != absent {
				w.Update, w.Absent = value, false
			}
		}
		v.applyWrite(&w)
		if v.Base != 0 && len(v.Done) > 0 {
			v.addHead(&w)
			last := v.Done[len(v.Done)-1]
			last.Writes = append(last.Writes, w)
		}
	}
}

// followTargets continues the branch at a single target, and starts a branch for each of several.
func (sc *Scope) followTargets(t *Task, targets []target) {
	if len(targets) == 1 {
		sc.placeTask(sc.moveTask(t, targets[0]))
		return
	}
	s, v := sc.state, t.view()
	sc.dropTasks(t)
	t.addNote(&Note{Kind: NoteBranchesStarted, Targets: sc.plan.targetNames(targets)})
	s.Numbers.Fan++
	f := &Fan{
		Position: t.Position, ID: s.Numbers.Fan, Source: t.Node, Rank: t.Rank, View: v.ID, Began: s.Active,
		Branch: make([]Branch, len(targets)),
	}
	first := make([]int, len(targets))
	for i, to := range targets {
		first[i], f.Branch[i].First = to.to, to.to
	}
	f.Implicit = sc.findImplicitJoin(t.Node, first)
	sc.Fans = append(sc.Fans, f)
	branches := make([]branchStart, len(targets)) // in one allocation
	for i, to := range targets {
		b, lane := &branches[i], Lane{f.ID, i}
		b.place = *t.Position
		b.place.Order, b.place.Place, b.place.Lanes = append(slices.Clip(b.place.Order), i), append(slices.Clip(b.place.Place), lane), append(slices.Clip(b.place.Lanes), lane)
		sc.initView(&b.view, v)
		b.task.Node, b.task.Rank, b.task.From, b.task.Input, b.task.Cause = to.to, t.Rank+1, t.asSource(), to.input, t.Failure
		b.task.Position, b.task.View, b.task.cachedView = &b.place, b.view.ID, &b.view
		sc.addTask(&b.task)
	}
	for i := range branches {
		sc.placeTask(&branches[i].task)
	}
	sc.switchBranchTimers(StartTimer, f)
}

// branchStart holds everything that a fan-out creates for a branch.
type branchStart struct {
	task  Task
	view  View
	place Position
}

func (t *Task) nextTask(to target) Task {
	return Task{
		Node: to.to, View: t.View, Rank: t.Rank + 1, Position: t.Position,
		From: t.asSource(), Input: to.input, Cause: t.Failure, cachedView: t.cachedView,
	}
}

// asSource returns a finished task as the source of the next tasks.
func (t *Task) asSource() Source {
	return Source{Node: t.Node, Rank: t.Rank, Order: t.Order, Output: t.Output, Failed: t.Failure != nil, Task: t.ID}
}

// moveTask turns a finished task into the next one of its branch.
func (sc *Scope) moveTask(t *Task, to target) *Task {
	if t.Each != nil { // the ready list may still hold its elements
		sc.dropTasks(t)
		old := t
		t = &Task{}
		*t = old.nextTask(to)
		return sc.addTask(t)
	}
	sc.due = sc.due || t.blocks
	next := t.nextTask(to)
	if t.cachedView.Base == 0 && len(t.Writes) < maxKeptWrites { // the writes of the step are not kept
		next.Writes = t.Writes[:0]
	}
	sc.state.Numbers.Task++
	next.ID, next.scope = sc.state.Numbers.Task, sc
	*t = next
	return t
}

// maxKeptWrites bounds the writes whose memory the next task reuses.
const maxKeptWrites = 16

// placeTask puts a task at its node. The task ends at END, waits at a join, or becomes ready.
func (sc *Scope) placeTask(t *Task) {
	if t.Node == endNode {
		sc.dropTasks(t)
		sc.Ended = append(sc.Ended, t)
		if l := &sc.LastEnd; l.Task == 0 || comparePositions(l.Rank, l.Order, t.From.Rank, t.From.Order) <= 0 {
			*l = t.From
		}
		if failure := t.checkGuards(sc.plan.endGuards, t.From.Node); failure != nil {
			sc.endScopeByTask(t, failureEnd(failure))
		} else if t.view().Base == 0 { // nothing to merge
			sc.Ended = sc.Ended[:len(sc.Ended)-1]
		}
		return
	}
	sc.leaveFans(t)
	if failure := sc.checkReachable(t); failure != nil {
		sc.endScopeByTask(t, failureEnd(failure))
		return
	}
	if sc.plan.nodes[t.Node].joins || sc.implicitFan(t) != 0 {
		sc.due = sc.due || sc.plan.nodes[t.Node].quorum > 0 || !sc.waitsWithBlocked(t)
		t.Waits = true
		return
	}
	sc.state.makeReady(ready{t, nil})
}

// leaveFans removes a task at the source of a fan-out from that fan-out and inner ones.
func (sc *Scope) leaveFans(t *Task) {
	leave := func(k int, over []Over) {
		outer := *t.Position
		outer.Place, outer.Over = t.Place[:k:k], over
		t.Position = &outer
	}
	for k := range len(t.Place) + 1 {
		for i, over := range t.Over {
			if over.At == k && over.Source == t.Node {
				leave(k, t.Over[:i:i])
				return
			}
		}
		if k < len(t.Place) && sc.findFan(t.Place[k].Fan).Source == t.Node {
			leave(k, cutOver(t.Over, k))
			return
		}
	}
}

// cutOver returns the finished fan-outs with at most k enclosing lanes.
func cutOver(list []Over, k int) []Over {
	for i, over := range list {
		if over.At > k {
			return list[:i:i]
		}
	}
	return list
}

// startAttempt starts an attempt, in the machine if possible, otherwise in the driver.
func (t *Task) startAttempt(u *Unit) {
	sc := t.scope
	s, n := sc.state, &sc.plan.nodes[t.Node]
	if t.Stopped || (u.Begun || u.Attempt > 1) && t.Each == nil {
		t.noteContinued()
	}
	u.State, u.Begun, u.Cause = running, true, nil
	u.Output, u.Failure, u.Writes, u.Talk = nil, nil, nil, nil
	if late := u.Late; late != nil {
		u.Late, u.Talk, t.Cached = nil, t.eventDelta(late), late.Cached
		t.endAttempt(u, late.Output, nil)
		return
	}
	if n.isPure() {
		out, writes, failure := t.evalPureNode(u, n)
		u.Writes = writes
		t.endAttempt(u, out, failure)
		return
	}
	t.launchAttempt(u, n, s.Run.Hooked)
}

// launchAttempt evaluates the node's keys and starts its work. If there are hooks, graph nodes go to
// the driver, too, because a hook may answer for them.
func (t *Task) launchAttempt(u *Unit, n *node, hooked bool) {
	if c := u.findCall(0); c != nil {
		t.startTimeout(u, t.timeout(n))
		t.continueGraph(u, c)
		return
	}
	env := t.unitContext(u, n)
	config, err := bind.EvalFields(n.bound.Config, &t.scope.state.vm, env)
	switch {
	case err != nil:
		t.endAttempt(u, nil, expressionFailure("", err))
	case n.act == actWait:
		t.startWait(u, n, config)
	case n.act == actHuman:
		t.askPerson(u, n, config)
	case n.act == actGraph && !hooked:
		t.startTimeout(u, t.timeout(n))
		given, _ := config["with"].(map[string]any)
		if failure := t.openGraph(u, &Called{}, n.inner, n.graph, given); failure != nil {
			t.endAttempt(u, nil, failure)
		}
	default:
		t.sendToDriver(u, n, config, env)
	}
}

// unitContext returns the context for the expressions of an attempt. u is nil or an element.
func (t *Task) unitContext(u *Unit, n *node) map[string]any {
	env := t.nodeContext(n)
	if u != nil && u.Element > 0 {
		env["item"], env["index"] = t.Each.Items[u.Element-1], u.Element-1
	}
	return env
}
