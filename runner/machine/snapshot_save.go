// From the state to a snapshot.

package machine

import (
	"cmp"
	"maps"
	"slices"
)

// saver writes a state. What several places point to goes into tables.
type saver struct {
	packer
	state    *State
	fans     map[*fanout]bool
	fanList  []*fanout
	failures map[*Failure]int
	failed   []savedFailure
	expiries map[*expiry]int
	expired  []savedExpiry
	threads  map[*thread]int
	threaded []savedThread
}

func (k *saver) save() *savedState {
	s := k.state
	k.fans, k.failures, k.expiries = map[*fanout]bool{}, map[*Failure]int{}, map[*expiry]int{}
	k.threads = map[*thread]int{}
	out := &savedState{
		Version: snapshotVersion, Graph: s.plan.fingerprint(), RunID: s.RunID, Group: s.Group,
		Status: s.Status, Quality: s.Quality, Reason: s.Reason, Limited: s.Limited, Failure: k.failure(s.Failure),
		PausedAt: s.PausedAt, Output: k.pack(s.Output), Superstep: s.Superstep, Steps: s.Steps, ChildSteps: s.ChildSteps,
		Limits: s.limits, Goal: s.goal, BreakBefore: s.breakBefore, BreakAfter: s.breakAfter, PauseDue: s.pauseDue,
		Edits: k.packMap(s.edits), Parent: s.parent, Began: s.began, Now: s.now, Deadline: s.deadline, PausedFrom: s.pausedFrom, Degraded: s.degraded,
		Closing: k.ending(s.closing), Violated: k.ending(s.violated), Final: k.finale(s.final), Endings: s.endings, Open: s.open,
		Env: k.env(), Visits: k.packMap(s.visits), History: k.packMap(s.hist), ByNode: k.packMap(s.byNode), Extra: s.extra,
		ReadyTasks: s.readyTasks, RunningTasks: s.runningTasks, WaitingTasks: s.waitingTasks, NextReady: s.nextReady,
		Mixed: s.mixed, Fanouts: s.fanouts, Deciding: s.deciding, Refused: s.refused, OutOfSteps: s.outOfSteps, NoStep: s.noStep, Rounds: s.rounds, Grants: s.grants,
		LastEnd: k.pack(s.lastEnd), LastOutput: k.pack(s.lastOutput), Order: s.order, Logs: k.logs(),
	}
	k.saveMemory(out, &s.memory)
	out.Tasks, out.Next, out.Parked = k.tasks(s.tasks), k.tasks(s.next), k.tasks(s.parked)
	for i := range s.barriers {
		out.Barriers = append(out.Barriers, k.barrier(&s.barriers[i]))
	}
	for _, f := range s.laned {
		out.Laned = append(out.Laned, k.fan(f))
	}
	if s.deciding > 0 {
		for i := range s.routes {
			r := &s.routes[i]
			out.Routes = append(out.Routes, savedRoute{r.task, r.edge, r.to, k.pack(r.input), r.own})
		}
	}
	// Fan-outs point to failures, and are known once all else is written.
	slices.SortFunc(k.fanList, func(a, b *fanout) int { return a.id - b.id })
	for _, f := range k.fanList {
		out.Fans = append(out.Fans, k.saveFan(f))
	}
	out.LastThread, out.EndThread = k.thread(s.lastThread), k.thread(s.endThread)
	out.Conversation, out.Models, out.Usage, out.Scripted = s.conversation, s.models, s.usage, s.scripted
	out.Expiries, out.Failures, out.Threads = k.expired, k.failed, k.threaded
	return out
}

// env is the environment without what is set before every use, and without what
// is written elsewhere.
func (k *saver) env() map[string]any {
	s := k.state
	if s.env == nil {
		return nil
	}
	out := make(map[string]any, len(s.env))
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		if !s.plan.transient(name) {
			out[name] = k.pack(s.env[name])
		}
	}
	return out
}

func (k *saver) saveMemory(out *savedState, m *memory) {
	for i, page := range m.nodes {
		if page == nil {
			continue
		}
		for at := range page {
			if n := page[at].visits; n > 0 {
				out.NodeCounts = append(out.NodeCounts, [2]int{i*pageSize + at, n})
			}
		}
	}
	EdgeCounts{m.edges}.each(func(edge, count int) {
		out.EdgeCounts = append(out.EdgeCounts, [2]int{edge, count})
	})
	for _, node := range slices.Sorted(maps.Keys(m.partial)) {
		out.Partial = append(out.Partial, savedPartial{node, k.pack(m.partial[node])})
	}
	for _, node := range slices.Sorted(maps.Keys(m.succeeded)) {
		out.Succeeded = append(out.Succeeded, [2]int{node, m.succeeded[node]})
	}
	for _, node := range slices.Sorted(maps.Keys(m.reason)) {
		out.Reasons = append(out.Reasons, savedReason{node, m.reason[node]})
	}
}

func (k *saver) logs() []savedLog {
	ids := slices.SortedFunc(maps.Keys(k.state.logs), func(a, b TaskID) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), a.Visit-b.Visit, a.Element-b.Element, a.Attempt-b.Attempt)
	})
	var out []savedLog
	for _, id := range ids {
		out = append(out, savedLog{id, k.packList(k.state.logs[id])})
	}
	return out
}

func (k *saver) ending(e *ending) *savedEnding {
	if e == nil {
		return nil
	}
	return &savedEnding{e.status, e.reason, k.failure(e.failure)}
}

// failure is the place of a failure in the table; nil for none.
func (k *saver) failure(f *Failure) *int {
	if f == nil {
		return nil
	}
	at, ok := k.failures[f]
	if !ok {
		at = len(k.failed)
		k.failures[f] = at
		k.failed = append(k.failed, savedFailure{Failure: *f, Details: k.packMap(f.Details)})
	}
	return &at
}

func (k *saver) expiry(e *expiry) *int {
	if e == nil {
		return nil
	}
	at, ok := k.expiries[e]
	if !ok {
		at = len(k.expired)
		k.expiries[e] = at
		k.expired = append(k.expired, savedExpiry{k.place(e.branch), k.failure(e.failure), e.order, e.settled})
	}
	return &at
}

// fan is the number of a fan-out, which is written with those around it.
func (k *saver) fan(f *fanout) int {
	if f == nil {
		return 0
	}
	if !k.fans[f] {
		k.fans[f] = true
		k.fanList = append(k.fanList, f)
		k.fan(f.at.fan)
	}
	return f.id
}

func (k *saver) place(at place) savedPlace { return savedPlace{k.fan(at.fan), at.lane} }

func (k *saver) saveFan(f *fanout) savedFanout {
	out := savedFanout{
		ID: f.id, Origin: f.origin, At: k.place(f.at), Depth: f.depth, Policy: f.policy, Live: f.live,
		Ended: f.ended, Dead: f.dead, Auto: f.auto, First: f.first, Began: f.began,
		Thread: k.thread(f.thread),
	}
	for _, failure := range f.failures {
		out.Failures = append(out.Failures, savedLost{*k.failure(failure.failure), failure.lane, failure.order, failure.told})
	}
	for _, lane := range slices.Sorted(maps.Keys(f.again)) {
		out.Again = append(out.Again, [2]int64{int64(lane), f.again[lane]})
	}
	return out
}

func (k *saver) barrier(b *barrier) savedBarrier {
	out := savedBarrier{Node: b.node, Fan: k.fan(b.fan)}
	for _, a := range b.arrivals {
		out.Arrivals = append(out.Arrivals, savedArrival{k.place(a.at), a.source, k.pack(a.input), k.pack(a.output), k.thread(a.thread), k.fan(a.over)})
	}
	for _, d := range b.detours {
		saved := savedDetour{Node: d.node, Passed: d.passed}
		for _, at := range d.places {
			saved.Places = append(saved.Places, k.place(at))
		}
		out.Detours = append(out.Detours, saved)
	}
	return out
}

func (k *saver) tasks(list []task) []savedTask {
	var out []savedTask
	for i := range list {
		out = append(out, k.task(&list[i]))
	}
	return out
}

func (k *saver) task(t *task) savedTask {
	out := savedTask{
		Node: t.node, At: k.place(t.at), Entered: t.memory != nil, Visit: t.visit, Attempt: t.attempt, Step: t.step, Status: t.status,
		Skipped: t.skipped, Cached: t.cached, WaitsFor: t.waitsFor, Joined: t.joined, Merged: t.merged, Due: t.due,
		Released: t.released, Held: t.held, Lost: t.lost, Uncaught: t.uncaught, Cause: k.failure(t.cause), Led: k.failure(t.led), Input: k.pack(t.input), Source: t.source,
		Began: t.began, Order: t.order, Output: k.pack(t.output), Failure: k.failure(t.failure),
		Branches: k.packMap(t.branches), Until: t.until, Ends: t.ends, Expired: k.expiry(t.expired),
		FirstRoute: t.firstRoute, LastRoute: t.lastRoute, Each: k.each(t.each), Asked: k.questions(t.asked),
		Thread: k.thread(t.thread), Calls: t.calls,
	}
	for _, by := range t.sortedTried() {
		out.Tried = append(out.Tried, [3]int{by.element, by.block, t.tried[by]})
	}
	for _, in := range t.inputs {
		out.Inputs = append(out.Inputs, savedInput{in.node, k.pack(in.value)})
	}
	for _, w := range t.writes {
		out.Writes = append(out.Writes, savedWrite{w.key, k.pack(w.update), w.lost})
	}
	if c := t.choice; c != nil {
		out.Choice = &savedChoice{c.edge, k.failure(c.failure), c.reasoning}
	}
	return out
}

func (k *saver) each(e *eachState) *savedEach {
	if e == nil {
		return nil
	}
	out := &savedEach{
		Items: k.packList(e.items), Results: k.packList(e.results), Next: e.next, Again: e.again, Failed: e.failed,
		Failure: k.failure(e.failure), Lowest: k.failure(e.lowest), LowestIndex: e.lowestIndex, Tolerate: e.tolerate,
		Talk: k.talk(e.talk),
	}
	out.Running, out.Attempts = k.elements(e.running), savedAttempts(e.attempts)
	out.Asking, out.Answered = k.questionsByElement(e.asking), k.questionsByElement(e.answered)
	if c := e.cut; c != nil {
		out.Cut = &savedCut{
			Next: c.next, Again: c.again, Attempts: savedAttempts(c.attempts), Asking: k.questionsByElement(c.asking),
			Running: k.elements(c.running), Failed: k.elements(c.failed),
		}
	}
	return out
}

func (k *saver) elements(m map[int]*elementRun) []savedElement {
	var out []savedElement
	for _, i := range sortedElements(m) {
		out = append(out, savedElement{i, m[i].attempt, k.failure(m[i].cause), k.questions(m[i].asked), m[i].ends})
	}
	return out
}

func savedAttempts(m map[int]failedAttempt) [][3]int64 {
	var out [][3]int64
	for _, i := range sortedAttempts(m) {
		out = append(out, [3]int64{int64(i), int64(m[i].attempt), m[i].until})
	}
	return out
}
