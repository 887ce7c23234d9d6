// Supersteps: all runnable tasks at once, then their writes and routing together.

package machine

import "slices"

// openSuperstep starts the tasks that are due. With none due and none parked
// the run is complete.
func (p *Plan) openSuperstep(s *State) {
	if len(s.next) == 0 {
		if len(s.parked) == 0 {
			p.complete(s)
		}
		return
	}
	s.tasks, s.next = s.next, s.tasks[:0]
	s.Superstep++
	s.open = true
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
	p.park(s)
	p.startReady(s)
	p.settle(s)
}

// enter begins one execution of a node, in the order of GraphSpec §5. It
// returns false when no step is left for it.
func (p *Plan) enter(s *State, t *task) bool {
	if t.visit > 0 { // back from being parked
		if t.status == delayed {
			t.attempt++
			t.status = ready
			s.noteStarted(t)
		} else {
			p.succeed(s, t, nil)
		}
		return true
	}
	if s.Steps >= s.limits.MaxSteps {
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
	switch n.act {
	case actSet:
		p.runSet(s, t, n)
	case actPass:
		p.succeed(s, t, t.input)
	case actFail:
		p.runFail(s, t, n)
	case actWait:
		p.runWait(s, t, n)
	default:
		t.status = ready
	}
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

// park moves waiting tasks out of the superstep, which closes without them.
func (p *Plan) park(s *State) {
	for i := 0; i < len(s.tasks); {
		if st := s.tasks[i].status; st == delayed || st == waiting {
			s.parked = append(s.parked, s.tasks[i])
			s.tasks = slices.Delete(s.tasks, i, i+1)
			continue
		}
		i++
	}
}

// startReady hands ready tasks to the driver while there is room.
func (p *Plan) startReady(s *State) {
	busy := 0
	for i := range s.tasks {
		if s.tasks[i].status == running {
			busy++
		}
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.status != ready || s.closing != nil {
			continue
		}
		if busy >= s.limits.MaxConcurrency {
			return
		}
		work, failure := p.work(s, t)
		if failure != nil {
			p.fail(s, t, failure)
			continue
		}
		t.status = running
		busy++
		s.command(Command{Kind: RunTask, Task: s.taskID(t), Work: work})
		if work.Timeout > 0 {
			s.command(Command{Kind: StartTimer, Timer: TaskTimer, Task: s.taskID(t), For: work.Timeout})
		}
	}
	p.park(s)
}

// advance closes the superstep: writes, then routing, then the next one.
func (p *Plan) advance(s *State) {
	if !s.open || s.deciding > 0 {
		return
	}
	for i := range s.tasks {
		if st := s.tasks[i].status; st == ready || st == running {
			return
		}
	}
	s.open = false
	if s.limits.StepTimeout > 0 {
		s.command(Command{Kind: StopTimer, Timer: StepTimer, Task: TaskID{Visit: s.Superstep}})
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

// moveOn starts the next superstep with the targets of the edges that fired.
func (p *Plan) moveOn(s *State) {
	p.noteClosed(s)
	if len(s.routes) > 1 {
		if s.due == nil {
			s.due = make(map[int]int, len(s.routes))
		}
		clear(s.due)
	}
	for i := range s.routes {
		p.dispatch(s, &s.routes[i])
	}
	s.tasks = s.tasks[:0]
	if s.outOfSteps {
		p.outOfSteps(s)
		return
	}
	p.openSuperstep(s)
}

// dispatch adds the target of a fired edge to the next superstep; one that is
// there already gets another input.
func (p *Plan) dispatch(s *State, r *route) {
	from := s.tasks[r.task].node
	if r.to == endNode {
		s.lastEnd = s.tasks[r.task].output
		return
	}
	if len(s.routes) > 1 && !r.own {
		if at, isDue := s.due[r.to]; isDue {
			s.next[at].inputs = append(s.next[at].inputs, sourceInput{from, r.input})
			return
		}
		s.due[r.to] = len(s.next)
	}
	t := s.addNext()
	t.node, t.input = r.to, r.input
	if p.wanted&useInputs != 0 || len(s.routes) > 1 {
		t.inputs = []sourceInput{{from, r.input}}
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

// outOfSteps ends the run at its step limit, as on_max_steps says.
func (p *Plan) outOfSteps(s *State) {
	s.open = false
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
