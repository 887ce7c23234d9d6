// The nodes of `finally` (GraphSpec §2): when the end of a run is decided, they
// run one after the other on a walk of their own, which nothing limits and which
// leads nowhere.

package machine

import (
	"maps"
	"math"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// finallyGrace is how long the nodes of finally may take, all together, once the
// run has been cancelled.
const finallyGrace = 5 * time.Second

// finale is the last part of a run, after its end was decided.
type finale struct {
	// how the run ends, whatever happens here.
	how ending
	// lost is what Lost says of the run before, outOfSteps what CutShort does.
	lost       []TaskID
	outOfSteps bool
	// next is the place in Plan.finally of the node to run next.
	next int
	ran  []FinallyEnd
	// hurried says that the grace has begun, over that it is up.
	hurried, over bool
}

// FinallyEnd is what a node of finally came to.
type FinallyEnd struct {
	Node  string `json:"node"`
	Visit int    `json:"visit,omitempty"`
	// Skipped says that the time of a cancelled run was up before it began.
	Skipped bool `json:"skipped,omitempty"`
	// Failure is nil after a success.
	Failure *Failure `json:"-"`
}

// FinallyEnds returns what the nodes of finally have come to so far, in the order
// in which they ran.
func (s *State) FinallyEnds() []FinallyEnd {
	if s.final == nil {
		return nil
	}
	return s.final.ran
}

// InFinally reports whether the run's end is decided and its nodes of finally
// run.
func (s *State) InFinally() bool { return s.final != nil && s.live }

// EndsFromOutside reports whether a subgraph, whose nodes of finally run, was
// stopped by the run around it. Taken up again, that one wants it to go on.
func (s *State) EndsFromOutside() bool {
	return s.final != nil && (s.final.how.status == Cancelled || s.final.outOfSteps)
}

// Endings counts how often nodes of finally have begun to run: more than once
// when ends of the run were taken back.
func (s *State) Endings() int {
	if s.final == nil {
		return s.endings
	}
	return s.endings + 1
}

// IsFinal reports whether a node, by its index, is one of finally.
func (p *Plan) IsFinal(node int32) bool { return node >= 0 && p.nodes[node].final }

// beginFinally runs the nodes of finally: the end of the run is decided.
func (p *Plan) beginFinally(s *State, how ending) {
	s.final = &finale{how: how, lost: s.Lost(), outOfSteps: s.outOfSteps}
	if p.talks && s.endThread != nil {
		s.lastThread = s.endThread
	}
	s.setStatus(Running, "") // it may have been paused
	s.dropWalk()
	if s.deadline > 0 {
		s.deadline = 0
		s.command(Command{Kind: StopTimer, Timer: RunTimer})
	}
	if run, ok := s.env["run"].(map[string]any); ok {
		run = maps.Clone(run)
		run["status"], run["reason"] = string(how.status), how.reason
		s.env["run"] = run
	}
	if how.status == Cancelled {
		p.hurry(s)
	}
	p.nextFinally(s)
}

// dropWalk leaves everything that was under way: what it came to is kept, and a
// resume begins before the end was decided.
func (s *State) dropWalk() {
	s.tasks, s.next, s.parked = s.tasks[:0], s.next[:0], s.parked[:0]
	s.barriers, s.laned, s.logs = nil, nil, nil
	s.closing, s.violated, s.outOfSteps = nil, nil, false
	s.open, s.mixed, s.pauseDue = false, false, false
	s.readyTasks, s.runningTasks, s.waitingTasks, s.deciding = 0, 0, 0, 0
	s.routes = s.routes[:0]
}

// nextFinally runs the next node of finally; after the last one the run ends.
func (p *Plan) nextFinally(s *State) {
	f := s.final
	if f.over {
		for ; f.next < len(p.finally); f.next++ {
			f.ran = append(f.ran, FinallyEnd{Node: p.nodes[p.finally[f.next]].id, Skipped: true})
			p.finallyFailed(s)
		}
	}
	if f.next == len(p.finally) {
		s.outOfSteps = f.outOfSteps
		p.conclude(s, f.how)
		return
	}
	t := s.addNext()
	t.node = p.finally[f.next]
	t.source, t.thread, t.led = t.node, s.lastThread, f.how.failure
	t.input = map[string]any{
		"status": string(f.how.status), "reason": f.how.reason, "error": failureData(f.how.failure), "output": Plain(s.Output),
	}
	f.next++
	p.openSuperstep(s)
}

// enterFinally begins a node of finally: no step, and no limit of the run's.
func (p *Plan) enterFinally(s *State, t *task) {
	ns := s.memory.of(t.node)
	t.memory, t.began = ns, s.now
	ns.visits = s.endings + 1 // each has a visit of its own, and so a key
	t.visit, t.attempt = ns.visits, 1
	s.countVisit(t.node, ns)
	s.noteStarted(t)
	p.execute(s, t, &p.nodes[t.node])
}

// closeFinally closes the superstep of a node of finally: its writes count, and
// where it would lead does not.
func (p *Plan) closeFinally(s *State) {
	s.open, s.Effect = false, Applied
	if s.waitingTasks > 0 {
		p.park(s)
	}
	if p.talks {
		p.forget(s)
	}
	if how := p.applyWrites(s); how != nil {
		failure := how.failure
		for i := range s.tasks {
			t := &s.tasks[i]
			failure.Node, t.status, t.failure = p.nodes[t.node].id, failed, failure
			s.noteFailed(t)
		}
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		p.remember(s, t)
		if t.thread != nil {
			p.passBy(s, t)
			s.lastThread = t.thread
		}
		p.keepFinally(s, t)
	}
	if s.Watched {
		s.noteUpdates()
		s.noteSuperstep(NoteSuperstepCompleted)
	}
	s.tasks = s.tasks[:0]
	p.openSuperstep(s)
}

// keepFinally keeps what a node of finally came to.
func (p *Plan) keepFinally(s *State, t *task) {
	end := FinallyEnd{Node: p.nodes[t.node].id, Visit: t.visit, Failure: t.failure}
	if t.status == dropped {
		end.Failure = &Failure{
			Kind: "cancelled", Node: end.Node, Attempt: t.attempt,
			Message: "the " + eval.DurationText(finallyGrace) + " that finally has after a cancellation were up",
		}
		s.noteStopped(t)
	}
	if end.Failure != nil {
		p.finallyFailed(s)
	}
	s.final.ran = append(s.final.ran, end)
}

// finallyFailed is what a node of finally that did not succeed means for the run.
func (p *Plan) finallyFailed(s *State) {
	s.degraded = s.degraded || s.final.how.status == Completed
}

// hurry gives the nodes of finally a last while: the run is being cancelled.
func (p *Plan) hurry(s *State) {
	if !s.final.hurried {
		s.final.hurried = true
		s.command(Command{Kind: StartTimer, Timer: GraceTimer, For: finallyGrace})
	}
}

// graceOver stops what is left of finally.
func (p *Plan) graceOver(s *State) {
	f := s.final
	if f == nil || !s.live || f.over {
		return
	}
	f.over, s.Effect = true, Applied
	for i := range s.tasks {
		s.cancel(&s.tasks[i], "the run was cancelled")
	}
	if s.open {
		p.settle(s)
		return
	}
	for i := range s.parked {
		s.parked[i].status = dropped
		p.keepFinally(s, &s.parked[i])
	}
	s.parked = s.parked[:0]
	p.nextFinally(s)
}

// noPeople makes a failure of a node of finally that would wait for people.
func (s *State) noPeople(e *Event) *Event {
	if s.final == nil || e.Park == nil {
		return e
	}
	out := *e
	out.Park = nil
	out.Failure = &Failure{Kind: "invalid_input", Message: "a node of finally can't wait for a person's answer"}
	return &out
}

// freely is how many steps nodes of finally may take inside: they count against
// no limit of the run's.
const freely = math.MaxInt32

// savedFinale is finale.
type savedFinale struct {
	How        savedEnding       `json:"how"`
	Lost       []TaskID          `json:"lost,omitempty"`
	OutOfSteps bool              `json:"out_of_steps,omitempty"`
	Next       int               `json:"next"`
	Ran        []savedFinallyEnd `json:"ran,omitempty"`
	Hurried    bool              `json:"hurried,omitempty"`
	Over       bool              `json:"over,omitempty"`
}

// savedFinallyEnd is FinallyEnd.
type savedFinallyEnd struct {
	FinallyEnd
	Failure *int `json:"failure,omitempty"`
}

func (k *saver) finale(f *finale) *savedFinale {
	if f == nil {
		return nil
	}
	out := &savedFinale{
		How: *k.ending(&f.how), Lost: f.lost, OutOfSteps: f.outOfSteps, Next: f.next, Hurried: f.hurried, Over: f.over,
	}
	for _, end := range f.ran {
		out.Ran = append(out.Ran, savedFinallyEnd{end, k.failure(end.Failure)})
	}
	return out
}

func (r *restorer) finale(in *savedFinale) *finale {
	if in == nil || !r.within("node of finally", in.Next, len(r.plan.finally)+1) {
		return nil
	}
	f := &finale{
		how: *r.ending(&in.How), lost: in.Lost, outOfSteps: in.OutOfSteps, next: in.Next, hurried: in.Hurried, over: in.Over,
	}
	for _, end := range in.Ran {
		end.FinallyEnd.Failure = r.failure(end.Failure)
		f.ran = append(f.ran, end.FinallyEnd)
	}
	return f
}
