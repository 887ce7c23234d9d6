// Supersteps: all runnable tasks at once, then their writes and routing together.

package machine

import (
	"cmp"
	"slices"
)

// openSuperstep starts the tasks that are due. With no token left the run is
// complete.
func (p *Plan) openSuperstep(s *State) {
	if len(s.next) == 0 {
		if len(s.parked) == 0 && len(s.barriers) == 0 {
			p.complete(s)
		}
		return
	}
	s.tasks, s.next = s.next, s.tasks[:0]
	s.sortTasks()
	s.Superstep++
	s.open, s.readyTasks, s.runningTasks, s.nextReady = true, 0, 0, 0
	if s.limits.StepTimeout > 0 {
		s.command(Command{
			Kind: StartTimer, Timer: StepTimer, Task: TaskID{Visit: s.Superstep}, For: s.limits.StepTimeout,
		})
	}
	if s.Watched {
		s.noteSuperstep(NoteSuperstepStarted)
	}
	for i := range s.tasks {
		if !p.enter(s, &s.tasks[i]) {
			s.tasks = s.tasks[:i]
			s.outOfSteps = true
			break
		}
	}
	if s.outOfSteps && len(s.tasks) == 0 {
		p.outOfSteps(s)
		return
	}
	if len(s.tasks) > indexFrom || len(s.index) > 0 {
		s.buildIndex()
	}
	if s.readyTasks > 0 {
		p.settleEarly(s)
		p.startReady(s)
	}
	p.settle(s)
}

// sortTasks brings the tasks into the declaration order of their branches.
func (s *State) sortTasks() {
	if s.mixed && len(s.tasks) > 1 {
		slices.SortStableFunc(s.tasks, func(a, b task) int { return a.at.compare(b.at) })
	}
	s.mixed = false
}

// indexFrom is the number of tasks from which an index finds one sooner than a look
// at each.
const indexFrom = 8

// buildIndex makes finding a task cheap when there are many.
func (s *State) buildIndex() {
	clear(s.index)
	if len(s.tasks) <= indexFrom {
		return
	}
	if s.index == nil {
		s.index = make(map[TaskID]int, len(s.tasks))
	}
	for i := range s.tasks {
		if t := &s.tasks[i]; t.status == ready {
			s.index[TaskID{Node: s.plan.nodes[t.node].id, Visit: t.visit}] = i
		}
	}
}

// enter begins one execution of a node, in the order of GraphSpec §5. It
// returns false when no step is left for it.
func (p *Plan) enter(s *State, t *task) bool {
	if t.visit > 0 { // back from being parked
		if t.status == delayed && t.each != nil {
			t.due = false
			s.makeReady(t)
		} else if t.status == delayed {
			t.attempt++
			t.due = false
			s.makeReady(t)
			s.noteStarted(t)
		} else {
			p.succeed(s, t, nil)
		}
		return true
	}
	if s.stepsLeft() <= 0 {
		return false
	}
	n := &p.nodes[t.node]
	ns := s.memory.of(t.node)
	t.memory, t.began = ns, s.now
	if limit := p.visitLimit(n); limit > 0 && ns.visits >= limit {
		p.visitLimitHit(s, t, limit)
		return true
	}
	s.Steps++
	ns.visits++
	t.visit, t.attempt, t.step = ns.visits, 1, s.Steps
	s.countVisit(t.node, ns)
	s.noteStarted(t)
	p.execute(s, t, n)
	return true
}

// execute executes what the machine itself can execute; the rest is ready for the driver.
func (p *Plan) execute(s *State, t *task, n *node) {
	if len(n.before) > 0 {
		if err := p.addBefore(s, t, n); err != nil {
			p.fail(s, t, err)
			return
		}
	}
	if n.each != nil {
		p.startEach(s, t, n)
		return
	}
	switch n.act {
	case actSet:
		p.runSet(s, t, n)
	case actPass:
		p.succeed(s, t, s.passed(t))
	case actFail:
		p.runFail(s, t, n)
	case actWait:
		p.runWait(s, t, n)
	default:
		s.makeReady(t)
	}
}

func (s *State) makeReady(t *task) {
	t.status = ready
	s.readyTasks++
}

func (p *Plan) visitLimit(n *node) int {
	if n.maxVisits > 0 {
		return n.maxVisits
	}
	return p.limits.MaxVisits
}

func (p *Plan) visitLimitHit(s *State, t *task, limit int) {
	n := &p.nodes[t.node]
	if n.skips {
		s.Steps++
		t.step, t.skipped = s.Steps, true
		t.visit = t.memory.visits
		t.status, t.order = succeeded, s.nextOrder()
		s.noteCompleted(t)
		return
	}
	t.failure = &Failure{
		Kind: "max_visits", Node: n.id,
		Message: "node has been visited " + plural(limit, "time") + ", its limit",
	}
	t.status, t.order = failed, s.nextOrder()
	s.noteFailed(t)
}

// startReady hands ready tasks to the driver while there is room.
func (p *Plan) startReady(s *State) {
	for ; s.readyTasks > 0 && s.nextReady < len(s.tasks) && s.closing == nil; s.nextReady++ {
		t := &s.tasks[s.nextReady]
		if t.status != ready {
			continue
		}
		if s.runningTasks >= s.limits.MaxConcurrency {
			return
		}
		if t.each != nil {
			if !p.startElements(s, t) {
				return
			}
			s.readyTasks--
			t.status = running
			p.eachSettle(s, t)
			continue
		}
		s.readyTasks--
		work, failure := p.work(s, t, -1)
		if failure != nil {
			p.fail(s, t, failure)
			continue
		}
		t.status = running
		s.runningTasks++
		s.command(Command{Kind: RunTask, Task: s.taskID(t), Work: work})
		if work.Timeout > 0 {
			s.command(Command{Kind: StartTimer, Timer: TaskTimer, Task: s.taskID(t), For: work.Timeout})
		}
	}
}

// advance closes the superstep: writes, then routing, then the next one.
func (p *Plan) advance(s *State) {
	if !s.open || s.deciding > 0 || s.readyTasks+s.runningTasks > 0 {
		return
	}
	s.open = false
	if s.limits.StepTimeout > 0 {
		s.command(Command{Kind: StopTimer, Timer: StepTimer, Task: TaskID{Visit: s.Superstep}})
	}
	if s.waitingTasks > 0 {
		p.park(s)
	}
	if failure := p.applyWrites(s); failure != nil {
		p.finish(s, ending{status: Failed, reason: "conflict", failure: failure})
		return
	}
	for i := range s.tasks {
		p.remember(s, &s.tasks[i])
	}
	if s.Watched {
		s.noteUpdates()
	}
	s.routes = s.routes[:0]
	for i := range s.tasks {
		if how := p.route(s, i); how != nil {
			p.noteClosed(s)
			p.finish(s, *how)
			return
		}
	}
	if s.deciding == 0 {
		p.moveOn(s)
	}
}

// park moves the tasks that wait on a timer out of the superstep, which closes
// without them; one whose timer has fired already joins the next.
func (p *Plan) park(s *State) {
	s.waitingTasks = 0
	s.tasks = deleteTasks(s.tasks, func(t *task) bool {
		switch {
		case t.status != delayed && t.status != waiting:
			return false
		case t.at.dead() || t.expired != nil:
			s.unstep(t)
			t.status = dropped
			return false
		case t.due:
			s.next = append(s.next, *t)
			s.mixed = true
		default:
			s.parked = append(s.parked, *t)
		}
		return true
	})
}

// unstep takes back the step of an execution that was cancelled. Its visit
// stays: the next one is another execution.
func (s *State) unstep(t *task) {
	if t.step > 0 {
		s.Steps--
		t.step = 0
	}
}

// cutShort takes an execution that was cancelled out of the count: as one that
// a resume runs again when the run is ending, else as one that is gone.
func (s *State) cutShort(t *task) {
	if s.closing != nil {
		s.uncount(t)
	} else {
		s.unstep(t)
	}
}

// uncount takes back the step and the visit of an execution that the end of the
// run has cut short: a resume runs it again as the same visit.
func (s *State) uncount(t *task) {
	if t.step > 0 {
		s.unstep(t)
		t.memory.visits--
	}
}

// remember keeps what later expressions may ask about a finished execution.
func (p *Plan) remember(s *State, t *task) {
	if t.step > 0 {
		s.Ran = append(s.Ran, int32(t.node))
	}
	if t.status != succeeded || t.skipped {
		return
	}
	s.keepOutput(t)
}

// moveOn starts the next superstep: what failed, then the targets of the edges
// that fired, then the joins that are satisfied.
func (p *Plan) moveOn(s *State) {
	p.noteClosed(s)
	if how := p.settleFailures(s); how != nil {
		p.finish(s, *how)
		return
	}
	p.dispatch(s)
	s.tasks = s.tasks[:0]
	if s.outOfSteps {
		p.outOfSteps(s)
		return
	}
	p.proceed(s)
}

// proceed starts what can start when no superstep is open.
func (p *Plan) proceed(s *State) {
	if len(s.barriers) > 0 {
		if how := p.fireJoins(s); how != nil {
			p.finish(s, *how)
			return
		}
	}
	p.openSuperstep(s)
}

// settleFailures applies the failure policies to the branches that failed in
// this superstep, the first to fail first.
func (p *Plan) settleFailures(s *State) *ending {
	if len(s.tasks) == 1 && s.tasks[0].uncaught {
		return p.branchFailed(s, s.tasks[0].at, s.tasks[0].failure, true)
	}
	var lost []*task
	for i := range s.tasks {
		if t := &s.tasks[i]; t.uncaught || t.expired != nil {
			lost = append(lost, t)
		}
	}
	slices.SortStableFunc(lost, func(a, b *task) int { return cmp.Compare(a.order, b.order) })
	for _, t := range lost {
		if t.expired == nil {
			if how := p.branchFailed(s, t.at, t.failure, true); how != nil {
				return how
			}
			continue
		}
		if !t.at.dead() {
			t.at.add(-1)
		}
	}
	for _, t := range lost {
		if over := t.expired; over != nil && !over.settled {
			over.settled = true
			if how := p.branchFailed(s, over.branch, over.failure, false); how != nil {
				return how
			}
		}
	}
	return nil
}

// dispatch moves the token of each task along the edges that fired; several of
// them are a fan-out.
func (p *Plan) dispatch(s *State) {
	if len(s.routes) > 1 {
		if s.due == nil {
			s.due = make(map[int]int, len(s.routes))
		}
		clear(s.due)
	}
	first := len(s.next)
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.uncaught || t.expired != nil || t.at.dead() {
			continue
		}
		routes := s.routes[t.firstRoute:t.lastRoute]
		switch {
		case len(routes) == 1:
			p.send(s, t, &routes[0], t.at)
		case len(routes) > 1:
			fan := p.newFanout(s, t, routes)
			for lane := range routes {
				p.send(s, t, &routes[lane], place{fan, lane})
			}
		default: // dropped
			t.at.add(-1)
		}
	}
	for i := first; i < len(s.next); i++ {
		if t := &s.next[i]; t.merged {
			t.at = t.at.leave()
		}
	}
}

// send moves a token to the target of a route.
func (p *Plan) send(s *State, from *task, r *route, at place) {
	if r.to == endNode {
		s.lastEnd = from.output
		at.end()
		return
	}
	if isJoin, fan := p.joinOf(r.to, at); isJoin {
		s.arrive(r.to, fan, arrival{at: at, source: from.node, input: r.input, output: from.output})
		return
	}
	if len(s.routes) > 1 && !r.own {
		if i, isDue := s.due[r.to]; isDue {
			t := &s.next[i]
			t.inputs = append(t.inputs, sourceInput{from.node, r.input})
			t.at, t.merged = mergePlaces(t.at, at), true
			return
		}
		s.due[r.to] = len(s.next)
	}
	t := s.addNext()
	t.node, t.input, t.at = r.to, r.input, at
	if p.wanted&useInputs != 0 || len(s.routes) > 1 {
		t.inputs = []sourceInput{{from.node, r.input}}
	}
}

// addNext adds an empty task to the next superstep; it takes over the buffer
// of writes that an earlier task left in its place.
func (s *State) addNext() *task {
	n := len(s.next)
	if n == cap(s.next) {
		s.next = append(s.next, task{})
		return &s.next[n]
	}
	s.next = s.next[:n+1]
	t := &s.next[n]
	*t = task{writes: t.writes[:0]}
	return t
}

// complete ends the run well and computes its output.
func (p *Plan) complete(s *State) {
	output := Plain(s.lastEnd)
	if p.output != nil {
		s.setContext(p.outUses, &task{output: output})
		value, err := p.output.Eval(&s.vm, s.env)
		if err != nil {
			p.finish(s, ending{status: Failed, reason: "expression", failure: &Failure{
				Kind: "expression", Message: "output: " + err.Error(),
			}})
			return
		}
		output = value
	}
	s.Output = output
	p.finish(s, ending{status: Completed, reason: "end"})
}

// stepsLeft is how many steps the run may still take.
func (s *State) stepsLeft() int {
	left := s.limits.MaxSteps - s.Steps - s.ChildSteps
	if s.parent != nil {
		left = min(left, s.parent.StepsLeft-s.Steps-s.ChildSteps)
	}
	return left
}

// CutShort reports whether the run ended because the runs around it had no step
// left.
func (s *State) CutShort() bool {
	return s.outOfSteps && s.parent != nil && s.parent.StepsLeft <= s.limits.MaxSteps
}

// outOfSteps ends the run at its step limit, as on_max_steps says. A limit of
// the runs around it is theirs to judge.
func (p *Plan) outOfSteps(s *State) {
	s.open = false
	if s.CutShort() {
		p.finish(s, ending{status: Limit, reason: "max_steps", failure: &Failure{
			Kind: "loop_limit", Message: "the run around this one has no step left (max_steps)",
		}})
		return
	}
	failure := &Failure{
		Kind:    "loop_limit",
		Message: "the run has taken " + plural(s.limits.MaxSteps, "step") + ", its limit (max_steps)",
	}
	switch s.limits.OnMaxSteps {
	case "return_last", "flag":
		s.degraded = true
		s.Output = Plain(s.lastOutput)
		s.Limited = s.limits.OnMaxSteps == "flag"
		p.finish(s, ending{status: Completed, reason: "max_steps"})
	default:
		p.finish(s, ending{status: Limit, reason: "max_steps", failure: failure})
	}
}
