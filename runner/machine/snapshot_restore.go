// From a snapshot to the state.

package machine

import (
	"errors"
	"fmt"
)

// restorer reads a state.
type restorer struct {
	unpacker
	plan     *Plan
	state    *State
	failures []*Failure
	fans     map[int]*fanout
	expiries []*expiry
	threads  []*thread
}

func (r *restorer) restore(in *savedState) {
	r.restoreThreads(in.Threads)
	r.restoreFailures(in.Failures)
	r.restoreFans(in.Fans)
	for _, e := range in.Expiries {
		r.expiries = append(r.expiries, &expiry{r.place(e.Branch), r.failure(e.Failure), e.Order, e.Settled})
	}
	s := r.state
	s.Group = in.Group
	s.RunID, s.Quality, s.Limited, s.Failure = in.RunID, in.Quality, in.Limited, r.failure(in.Failure)
	s.setStatus(in.Status, in.Reason)
	s.PausedAt, s.Output = in.PausedAt, r.unpack(in.Output)
	s.Superstep, s.Steps, s.ChildSteps = in.Superstep, in.Steps, in.ChildSteps
	s.limits, s.goal, s.parent = in.Limits, in.Goal, in.Parent
	if s.limits.MaxStateBytes == 0 && in.Status != "" { // from before there was this limit
		s.limits.MaxStateBytes = maxStateBytes(&r.plan.limits, s.parent)
	}
	s.breakBefore, s.breakAfter, s.pauseDue = in.BreakBefore, in.BreakAfter, in.PauseDue
	s.edits = r.unpackMap(in.Edits)
	s.began, s.now, s.deadline, s.pausedFrom, s.degraded = in.Began, in.Now, in.Deadline, in.PausedFrom, in.Degraded
	s.closing, s.violated, s.open = r.ending(in.Closing), r.ending(in.Violated), in.Open
	s.final, s.endings = r.finale(in.Final), in.Endings
	r.restoreEnv(in)
	r.restoreMemory(in)
	s.tasks, s.next, s.parked = r.tasks(in.Tasks), r.tasks(in.Next), r.tasks(in.Parked)
	s.readyTasks, s.runningTasks, s.waitingTasks = in.ReadyTasks, in.RunningTasks, in.WaitingTasks
	s.nextReady, s.mixed, s.fanouts = in.NextReady, in.Mixed, in.Fanouts
	for _, id := range in.Laned {
		s.laned = append(s.laned, r.fan(id))
	}
	for i := range in.Barriers {
		s.barriers = append(s.barriers, r.barrier(&in.Barriers[i]))
	}
	s.deciding, s.refused, s.outOfSteps, s.noStep, s.rounds, s.order = in.Deciding, in.Refused, in.OutOfSteps, in.NoStep, in.Rounds, in.Order
	s.grants = in.Grants
	s.conversation, s.models, s.usage, s.scripted = in.Conversation, in.Models, in.Usage, in.Scripted
	s.conversation.read = nil
	s.lastThread, s.endThread = r.thread(in.LastThread), r.thread(in.EndThread)
	for i := range in.Routes {
		x := &in.Routes[i]
		s.routes = append(s.routes, route{x.Task, x.Edge, x.To, r.unpack(x.Input), x.Own})
	}
	s.lastEnd, s.lastOutput = r.unpack(in.LastEnd), r.unpack(in.LastOutput)
	for _, log := range in.Logs {
		if s.logs == nil {
			s.logs = map[TaskID][]any{}
		}
		s.logs[log.Task] = r.unpackList(log.Notes)
	}
	r.restoreIndex()
}

// restoreEnv sets the environment; what expressions see of visits, history and
// nodes are the very maps that the run keeps up to date.
func (r *restorer) restoreEnv(in *savedState) {
	s := r.state
	s.env = r.unpackMap(in.Env)
	if s.env == nil {
		if in.Status != "" {
			r.fail(errors.New("a run that has begun has values"))
		}
		return
	}
	s.visits, s.hist, s.byNode = r.unpackMap(in.Visits), r.unpackMap(in.History), r.unpackMap(in.ByNode)
	if s.visits != nil {
		s.env["visits"] = s.visits
	}
	if s.hist != nil {
		s.env["history"] = s.hist
	}
	if s.byNode != nil {
		s.env["nodes"] = s.byNode
	}
	s.extra = in.Extra
	s.measure()
}

func (r *restorer) restoreMemory(in *savedState) {
	m := &r.state.memory
	for _, count := range in.NodeCounts {
		if r.within("node", count[0], len(r.plan.nodes)) {
			m.of(count[0]).visits = count[1]
		}
	}
	for _, count := range in.EdgeCounts {
		if r.within("edge", count[0], len(r.plan.edges)) {
			m.take(count[0])
			m.edges[count[0]/pageSize][count[0]%pageSize] = int32(count[1])
		}
	}
	for _, partial := range in.Partial {
		if r.within("node", partial.Node, len(r.plan.nodes)) {
			m.keepPartial(partial.Node, r.unpack(partial.Value))
		}
	}
	for _, count := range in.Succeeded {
		if r.within("node", count[0], len(r.plan.nodes)) {
			m.succeed(count[0], count[1])
		}
	}
	for _, reason := range in.Reasons {
		if r.within("node", reason.Node, len(r.plan.nodes)) {
			m.keepReason(reason.Node, reason.Reason)
		}
	}
}

func (r *restorer) within(what string, i, n int) bool {
	if i < 0 || i >= n {
		r.fail(fmt.Errorf("%s %d of %d", what, i, n))
		return false
	}
	return true
}

// restoreIndex finds tasks as before; one that is of no interest any more does
// no harm there.
func (r *restorer) restoreIndex() {
	s := r.state
	if !s.open || len(s.tasks) <= indexFrom {
		return
	}
	s.index = make(map[TaskID]int, len(s.tasks))
	for i := range s.tasks {
		if t := &s.tasks[i]; t.visit > 0 {
			s.index[TaskID{Node: r.plan.nodes[t.node].id, Visit: t.visit}] = i
		}
	}
}

func (r *restorer) restoreFailures(list []savedFailure) {
	for i := range list {
		f := list[i].Failure
		f.Details = r.unpackMap(list[i].Details)
		r.failures = append(r.failures, &f)
	}
}

func (r *restorer) failure(at *int) *Failure {
	if at == nil || !r.within("failure", *at, len(r.failures)) {
		return nil
	}
	return r.failures[*at]
}

func (r *restorer) ending(e *savedEnding) *ending {
	if e == nil {
		return nil
	}
	return &ending{e.Status, e.Reason, r.failure(e.Failure)}
}

// restoreFans reads fan-outs, those around others first.
func (r *restorer) restoreFans(list []savedFanout) {
	r.fans = make(map[int]*fanout, len(list))
	for i := range list {
		in := &list[i]
		f := &fanout{
			id: in.ID, origin: in.Origin, at: r.place(in.At), depth: in.Depth, policy: in.Policy, live: in.Live,
			ended: in.Ended, dead: in.Dead, auto: in.Auto, first: in.First, began: in.Began,
			thread: r.thread(in.Thread),
		}
		for _, failure := range in.Failures {
			f.failures = append(f.failures, lostBranch{r.failure(&failure.Failure), failure.Lane, failure.Order, failure.Told})
		}
		for _, again := range in.Again {
			if f.again == nil {
				f.again = map[int]int64{}
			}
			f.again[int(again[0])] = again[1]
		}
		r.fans[f.id] = f
	}
}

func (r *restorer) fan(id int) *fanout {
	if id != 0 && r.fans[id] == nil {
		r.fail(fmt.Errorf("fan-out %d is missing", id))
	}
	return r.fans[id]
}

func (r *restorer) place(at savedPlace) place { return place{r.fan(at.Fan), at.Lane} }

func (r *restorer) barrier(in *savedBarrier) barrier {
	out := barrier{node: in.Node, fan: r.fan(in.Fan)}
	for i := range in.Arrivals {
		a := &in.Arrivals[i]
		out.arrivals = append(out.arrivals, arrival{r.place(a.At), a.Source, r.unpack(a.Input), r.unpack(a.Output), r.thread(a.Thread), r.fan(a.Over)})
	}
	for _, in := range in.Detours {
		if !r.within("node", in.Node, len(r.plan.nodes)) || len(in.Places) == 0 {
			continue
		}
		d := detour{node: in.Node, passed: in.Passed}
		for _, at := range in.Places {
			d.places = append(d.places, r.place(at))
		}
		out.detours = append(out.detours, d)
	}
	return out
}

func (r *restorer) tasks(list []savedTask) []task {
	var out []task
	for i := range list {
		if r.within("node", list[i].Node, len(r.plan.nodes)) {
			out = append(out, r.task(&list[i]))
		}
	}
	return out
}

func (r *restorer) task(in *savedTask) task {
	t := task{
		node: in.Node, at: r.place(in.At), visit: in.Visit, attempt: in.Attempt, step: in.Step, status: in.Status,
		skipped: in.Skipped, cached: in.Cached, waitsFor: in.WaitsFor, joined: in.Joined, merged: in.Merged, due: in.Due,
		released: in.Released, held: in.Held, lost: in.Lost, uncaught: in.Uncaught, cause: r.failure(in.Cause), led: r.failure(in.Led), input: r.unpack(in.Input), source: in.Source,
		began: in.Began, order: in.Order, output: r.unpack(in.Output), failure: r.failure(in.Failure),
		branches: r.unpackMap(in.Branches), until: in.Until, ends: in.Ends, firstRoute: in.FirstRoute, lastRoute: in.LastRoute,
		each: r.each(in.Each), asked: r.questions(in.Asked), thread: r.thread(in.Thread),
		calls: in.Calls,
	}
	if in.Entered {
		t.memory = r.state.memory.of(in.Node)
	}
	for _, tried := range in.Tried {
		if t.tried == nil {
			t.tried = map[triedBy]int{}
		}
		t.tried[triedBy{tried[0], tried[1]}] = tried[2]
	}
	for _, x := range in.Inputs {
		t.inputs = append(t.inputs, sourceInput{x.Node, r.unpack(x.Value)})
	}
	for _, w := range in.Writes {
		update := r.unpack(w.Update)
		t.writes = append(t.writes, write{w.Key, update, sizeOf(update), w.Lost})
	}
	if c := in.Choice; c != nil {
		t.choice = &choice{c.Edge, r.failure(c.Failure), c.Reasoning}
	}
	if in.Expired != nil && r.within("expiry", *in.Expired, len(r.expiries)) {
		t.expired = r.expiries[*in.Expired]
	}
	return t
}

func (r *restorer) each(in *savedEach) *eachState {
	if in == nil {
		return nil
	}
	e := &eachState{
		items: r.unpackList(in.Items), results: r.unpackList(in.Results), next: in.Next, again: in.Again,
		running: r.elements(in.Running), attempts: restoredAttempts(in.Attempts), asking: r.questionsByElement(in.Asking), answered: r.questionsByElement(in.Answered), failed: in.Failed, failure: r.failure(in.Failure),
		lowest: r.failure(in.Lowest), lowestIndex: in.LowestIndex, tolerate: in.Tolerate,
	}
	for _, result := range e.results {
		if result != nil {
			e.size += sizeOf(result)
		}
	}
	r.talk(e, in.Talk)
	if c := in.Cut; c != nil {
		e.cut = &eachCut{
			next: c.Next, again: c.Again, attempts: restoredAttempts(c.Attempts), asking: r.questionsByElement(c.Asking),
			running: r.elements(c.Running), failed: r.elements(c.Failed),
		}
	}
	return e
}

func (r *restorer) elements(list []savedElement) map[int]*elementRun {
	out := map[int]*elementRun{}
	for _, run := range list {
		out[run.Element] = &elementRun{run.Attempt, r.failure(run.Cause), r.questions(run.Asked), run.Ends}
	}
	return out
}

func restoredAttempts(list [][3]int64) map[int]failedAttempt {
	out := map[int]failedAttempt{}
	for _, attempt := range list {
		out[int(attempt[0])] = failedAttempt{int(attempt[1]), attempt[2]}
	}
	return out
}
