// Supersteps: all runnable tasks at once, then their writes and routing together.

package machine

// openSuperstep starts the tasks that are due. With no token left the run is
// complete.
func (p *Plan) openSuperstep(s *State) {
	if len(s.next) == 0 {
		switch {
		case s.final != nil:
			if len(s.parked) == 0 {
				p.nextFinally(s)
			}
		case len(s.parked) == 0 && len(s.barriers) == 0:
			p.complete(s)
		case s.onlyPeople():
			p.pause(s, "human")
		}
		return
	}
	if s.goesRound() {
		p.endRounds(s)
		return
	}
	if len(s.breakBefore) > 0 && s.final == nil && p.stopBefore(s) {
		return
	}
	if s.shares() && s.asksSteps() {
		return
	}
	s.tasks, s.next = s.next, s.tasks[:0]
	s.sortTasks()
	if s.tooLarge() || s.noStepFor(&s.tasks[0]) {
		// Whatever led here stands: the end of the run is an event of its own, so
		// that it can be taken back.
		s.tasks, s.next, s.noStep = s.next, s.tasks, true
		s.commandAdvance()
		return
	}
	s.Superstep++
	s.open, s.readyTasks, s.runningTasks, s.nextReady = true, 0, 0, 0
	if s.limits.StepTimeout > 0 && s.final == nil {
		s.command(Command{
			Kind: StartTimer, Timer: StepTimer, Task: TaskID{Visit: s.Superstep}, For: s.limits.StepTimeout,
		})
	}
	if s.Watched {
		s.noteSuperstep(NoteSuperstepStarted)
	}
	s.entering = true
	for i := range s.tasks {
		if i > 0 && s.noStepFor(&s.tasks[i]) {
			s.hold(i)
			break
		}
		p.enter(s, &s.tasks[i])
	}
	s.entering = false
	if s.violated != nil {
		p.end(s, *s.violated)
		return
	}
	if s.readyTasks > 0 {
		p.settleEntered(s)
		p.settleEarly(s)
		p.startReady(s)
	}
	p.settle(s)
}

// hold keeps the tasks from the i-th on, for which no step is left, out of the open
// superstep.
func (s *State) hold(i int) {
	for j := i; j < len(s.tasks); j++ {
		s.tasks[j].held = true
	}
	s.next, s.mixed = append(s.next, s.tasks[i:]...), true
	s.tasks = s.tasks[:i]
	s.outOfSteps = true
}

// enter begins one execution of a node, in the order of GraphSpec §5. A step is left
// for it.
func (p *Plan) enter(s *State, t *task) {
	if t.visit > 0 { // back from being parked
		if t.each != nil && t.status != waiting {
			t.due = false
			s.makeReady(t)
		} else if t.status == delayed {
			t.attempt++
			t.due = false
			s.makeReady(t)
			s.noteStarted(t)
		} else {
			p.backFromWaiting(s, t)
		}
		return
	}
	if s.final != nil {
		p.enterFinally(s, t)
		return
	}
	n := &p.nodes[t.node]
	ns := s.memory.of(t.node)
	t.memory, t.began = ns, s.now
	limit := p.visitLimit(n)
	refused := limit > 0 && ns.visits >= limit
	bypassed := t.failure // of a join that fails instead of running
	if len(n.guards) > 0 && bypassed == nil {
		if how := p.violation(s, n, ns.visits, refused); how != nil {
			t.status, s.violated = dropped, how
			return
		}
	}
	if refused {
		t.failure = nil
		p.visitLimitHit(s, t, limit)
		return
	}
	s.Steps++
	s.progress()
	ns.visits++
	t.visit, t.attempt, t.step = ns.visits, 1, s.Steps
	s.countVisit(t.node, ns)
	s.noteStarted(t)
	if bypassed != nil {
		p.failFinal(s, t, bypassed)
	} else {
		p.execute(s, t, n)
	}
}

// backFromWaiting ends a wait, takes a person's answer as the output, or lets a
// task that asked run again.
func (p *Plan) backFromWaiting(s *State, t *task) {
	order := t.order
	defer func() {
		if order > 0 && (t.status == succeeded || t.status == failed) {
			t.order = order // it finished when what it waited for came
		}
	}()
	switch {
	case t.asked == nil && t.cause != nil: // its timeout came first
		p.fail(s, t, t.cause)
	case t.asked == nil:
		p.succeed(s, t, nil)
	case p.nodes[t.node].act == actRun:
		t.due = false
		s.makeReady(t)
	default:
		if q := &t.asked.questions[0]; q.failure != nil {
			p.failFinal(s, t, q.failure)
		} else {
			p.succeed(s, t, q.answer)
		}
	}
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
	case actHuman:
		p.ask(s, t, n)
	default:
		s.makeReady(t)
	}
}

func (s *State) makeReady(t *task) {
	t.status = ready
	s.readyTasks++
}

// startReady hands ready tasks to the driver while there is room.
func (p *Plan) startReady(s *State) {
	for i := s.nextReady; s.readyTasks > 0 && i < len(s.tasks) && s.closing == nil; i++ {
		if t := &s.tasks[i]; t.status == ready && !p.startTask(s, t) {
			return
		}
		if i == s.nextReady && s.tasks[i].status != ready {
			s.nextReady++
		}
	}
}

// startTask hands a ready task to the driver; false when there is no room for it or
// any other. One whose elements run as many at once as they may stays ready.
func (p *Plan) startTask(s *State, t *task) bool {
	if s.runningTasks >= s.limits.MaxConcurrency {
		return false
	}
	if t.each != nil {
		switch p.startElements(s, t) {
		case noRoom:
			return false
		case allStarted:
			s.readyTasks--
			t.status = running
			p.eachSettle(s, t)
		}
		return true
	}
	s.readyTasks--
	work, failure := p.work(s, t, -1)
	if failure != nil {
		p.fail(s, t, failure)
		return true
	}
	t.status = running
	s.runningTasks++
	t.ends = s.handOver(s.taskID(t), work, t.asked)
	return true
}

// advance closes the superstep: writes, then routing, then the next one.
func (p *Plan) advance(s *State) {
	if s.noStep && !s.open && s.closing == nil {
		s.noStep, s.Effect = false, Applied
		if s.tooLarge() {
			p.finish(s, *s.oversize("the state takes more than " + s.stateLimit()))
		} else {
			p.outOfSteps(s)
		}
		return
	}
	if !s.open || s.deciding > 0 || s.readyTasks+s.runningTasks > 0 {
		return
	}
	s.open, s.Effect = false, Applied
	s.barren()
	if s.limits.StepTimeout > 0 {
		s.command(Command{Kind: StopTimer, Timer: StepTimer, Task: TaskID{Visit: s.Superstep}})
	}
	if s.waitingTasks > 0 {
		p.park(s)
	}
	if p.talks {
		p.forget(s)
	}
	if how := p.applyWrites(s); how != nil {
		for i := range s.tasks {
			p.remember(s, &s.tasks[i])
		}
		p.finish(s, *how)
		return
	}
	for i := range s.tasks {
		p.remember(s, &s.tasks[i])
		if s.tasks[i].thread != nil {
			p.passBy(s, &s.tasks[i])
		}
	}
	s.edit(s.edits)
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
		case t.status != delayed && t.status != waiting && t.status != asking:
			return false
		case t.at.dead() || t.expired != nil:
			why := branchFailed
			if t.expired != nil {
				why = t.expired.failure.Message
			}
			s.unstepBecause(t, why)
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

// remember keeps what later expressions may ask about a finished execution.
func (p *Plan) remember(s *State, t *task) {
	if t.step > 0 {
		s.Ran = append(s.Ran, int32(t.node))
	}
	if t.status == succeeded || t.status == failed {
		s.showEnd(t)
	}
}
