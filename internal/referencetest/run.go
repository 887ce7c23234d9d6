// The loop of a run: start all ready steps, then wait for the next event (§5).

package referencetest

import (
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Run is a run that is active, paused or ended.
type Run struct {
	flow  *Flow
	world World
	opts  Options

	now    time.Duration
	began  time.Duration // when Start or Resume was called
	events []*event
	seq    int
	root   *scope
	scopes []*scope // that have not ended, outer before inner
	// pausing prevents further steps from starting.
	pausing bool
	halted  []Pending // the breakpoints that paused it
	fired   map[int]int
	cancels int      // cancelled steps and branches
	timed   bool     // see Result.Timed
	partial []StepID // steps that were cut off
}

// event is a scheduled change. It is skipped if alive reports false at its time.
type event struct {
	at     time.Duration
	seq    int
	people bool // it is an answer, or the timeout of a question
	alive  func() bool
	do     func()
}

// scope is one execution of a graph: of the outermost graph, or of a subgraph by an attempt of a graph
// node.
type scope struct {
	run   *Run
	graph *spec.Graph
	bound *bind.Graph
	outer *unit // the attempt of the enclosing graph node; nil for the outermost graph
	input any
	base  map[string]any // the state before the first step

	live    []*token  // tokens that run, are ready to run, or wait at a join
	ended   []*token  // at END, or dropped where they waited
	gone    []*token  // failed or cancelled
	detours []*detour // failure edges that were taken
	fans    []*fan    // all fan-outs so far
	// decidedJoins are the joins that ran, or failed, for a fan-out.
	decidedJoins map[joinDecision]bool
	steps        []*step // that finished, in that order

	executions    int           // begun, with those of inner scopes
	own           int           // begun, without them
	extra         int           // executions before the last resume from a limit
	refusals      int           // by max_visits
	used          time.Duration // active time
	full          bool          // max_steps prevents a step from starting
	degraded      bool
	finallyFailed bool // a node of finally failed
	limited       bool // max_steps ended it, with on_max_steps: flag
	// How the scope ends. frozen means that only `finally` still runs.
	frozen               bool
	endStatus, endReason any
	endError             *Error
	culprit              *step // the step that ended it
	output               any
	finals               []string // the nodes of finally that are left
	final                *step    // the node of finally that runs
	closed               bool
}

// Start starts a run and executes it until it ends or pauses.
func Start(f *Flow, input map[string]any, w World, o Options) (*Run, Result) {
	r := &Run{flow: f, world: w, fired: map[int]int{}}
	r.root = r.newScope(f.Graph, input, nil)
	r.opts = o
	return r, r.loop()
}

// newScope starts an execution of a graph. Its first state consists of defaults and input (§3).
func (r *Run) newScope(g *spec.Graph, input map[string]any, outer *unit) *scope {
	s := &scope{run: r, graph: g, bound: r.flow.bound[g], outer: outer, base: map[string]any{}, decidedJoins: map[joinDecision]bool{}}
	given := map[string]any{}
	for i, k := range g.State {
		if b := s.bound.Keys[i]; b.HasInitial {
			s.base[k.Name.Value] = b.Initial
		}
	}
	for k, v := range input {
		v = canonical(v)
		if i := slices.IndexFunc(g.State, func(d *spec.StateKey) bool { return d.Name.Value == k }); i >= 0 {
			v = s.bound.Keys[i].Schema.Normalise(v)
		}
		s.base[k], given[k] = v, v
	}
	s.input = given
	r.scopes = append(r.scopes, s)
	t := &token{scope: s, node: g.Start.Value, value: s.input}
	t.past, t.hoisted, t.rank, t.joined, t.lanes = past{}, map[*step]int{}, 1, map[*fan]bool{}, map[*fan]map[int]bool{}
	s.placeToken(t)
	return s
}

// schedule adds an event that occurs after the duration d.
func (r *Run) schedule(d time.Duration, people bool, alive func() bool, do func()) {
	r.seq++
	r.events = append(r.events, &event{r.now + max(d, 0), r.seq, people, alive, do})
}

// nextEvent returns the earliest event, or nil.
func (r *Run) nextEvent() *event {
	r.events = slices.DeleteFunc(r.events, func(e *event) bool { return !e.alive() })
	var first *event
	for _, e := range r.events {
		if first == nil || e.at < first.at || e.at == first.at && e.seq < first.seq {
			first = e
		}
	}
	return first
}

// waitsOnlyForPeople reports whether all scheduled events are answers or timeouts of questions.
func (r *Run) waitsOnlyForPeople() bool {
	return !slices.ContainsFunc(r.events, func(e *event) bool { return e.alive() && !e.people })
}

func (r *Run) loop() Result {
	r.began = r.now
	for {
		r.startAllReady()
		if r.root.closed {
			return r.result(r.root.endStatus.(string))
		}
		e := r.nextEvent()
		idle := r.waitsOnlyForPeople()
		if idle && (e == nil || r.pausing || r.opts.StopPaused) {
			if c := r.opts.CancelAt; c > 0 && e == nil && !r.pausing {
				r.now = max(r.now, r.began+c)
				r.cancel()
				continue
			}
			if e == nil && len(r.listQuestions()) == 0 && len(r.halted) == 0 && !r.pausing {
				panic("referencetest: nothing is left to do, and the run has not ended")
			}
			return r.result("paused")
		}
		r.step(e, idle)
	}
}

// step moves the clock to the next event, time limit, or moment in the options.
func (r *Run) step(e *event, idle bool) {
	limit, over := r.findDeadline(idle)
	switch c, p := r.opts.CancelAt, r.opts.PauseAt; {
	case c > 0 && r.began+c <= e.at && (over == nil || r.began+c <= limit) && !r.root.frozen:
		r.advanceClock(r.began+c, idle)
		r.cancel()
	case p > 0 && r.began+p <= e.at && !r.pausing && (over == nil || r.began+p <= limit) && !r.root.frozen:
		r.advanceClock(r.began+p, idle)
		r.pausing = true
	case over != nil && limit <= e.at:
		r.advanceClock(limit, idle)
		r.timed = true
		over.end("limit", "timeout", over.newLimitError("timeout"))
	default:
		r.advanceClock(e.at, idle)
		r.events = slices.DeleteFunc(r.events, func(x *event) bool { return x == e })
		e.do()
	}
}

// advanceClock moves the clock. Time in which the run waits only for people does not count as active
// time.
func (r *Run) advanceClock(to time.Duration, idle bool) {
	if !idle {
		for _, s := range r.scopes {
			s.used += max(to-r.now, 0)
		}
	}
	r.now = max(r.now, to)
}

// findDeadline returns when the first `limits.timeout` expires, and its scope, or nil if there is none.
func (r *Run) findDeadline(idle bool) (at time.Duration, whose *scope) {
	for _, s := range r.scopes {
		limit := s.graph.Limits.Timeout
		if idle || limit == 0 || s.frozen {
			continue
		}
		if end := r.now + limit - s.used; whose == nil || end < at {
			at, whose = end, s
		}
	}
	return at, whose
}

func (r *Run) cancel() {
	r.timed = true
	r.root.end("cancelled", "", &Error{Kind: "cancelled", Message: "cancelled"})
}

// startAllReady starts everything that is ready, in order, until nothing more can start before the
// next event.
func (r *Run) startAllReady() {
	for {
		moved := false
		for _, s := range slices.Clone(r.scopes) {
			moved = !s.frozen && s.fireJoin() || moved
		}
		if moved {
			continue
		}
		if r.startOne() || r.endOneScope() {
			continue
		}
		return
	}
}

// candidate is a step, an element or an attempt that is ready to start.
type candidate struct {
	step *step
	unit *unit // nil means that the step begins
}

// startOne starts the first candidate that the limits allow (§5: in order of rank, then declaration).
func (r *Run) startOne() bool {
	var ready []candidate
	for _, s := range r.scopes {
		for _, st := range s.listActiveSteps() {
			if !st.begun {
				ready = append(ready, candidate{st, nil})
				continue
			}
			for _, u := range st.units {
				if u.state == queued {
					ready = append(ready, candidate{st, u})
				}
			}
		}
	}
	slices.SortStableFunc(ready, func(a, b candidate) int { return compareDeep(a.step, b.step) })
	for _, c := range ready {
		if c.unit == nil && c.step.scope.mayBegin(c.step) {
			c.step.scope.beginStep(c.step)
			return true
		}
		if c.unit != nil && c.step.scope.mayStart(c.unit) {
			c.step.scope.startAttempt(c.unit)
			return true
		}
	}
	return false
}

// listActiveSteps lists the steps that are ready or run.
func (s *scope) listActiveSteps() []*step {
	if s.final != nil {
		return []*step{s.final}
	}
	var out []*step
	for _, t := range s.live {
		if t.step != nil && !s.frozen {
			out = append(out, t.step)
		}
	}
	return out
}

// compareDeep compares steps of any scopes: by path order of the outermost enclosing steps that differ.
func compareDeep(a, b *step) int {
	x, y := a.listEnclosingSteps(), b.listEnclosingSteps()
	for i := range min(len(x), len(y)) {
		if x[i].step == y[i].step && x[i].unit != nil && y[i].unit != nil && x[i].unit != y[i].unit {
			return x[i].unit.index - y[i].unit.index
		}
		if x[i].step != y[i].step {
			return comparePath(x[i].step, y[i].step)
		}
	}
	return len(x) - len(y)
}

// listEnclosingSteps lists the steps that enclose a step, outermost first, and the step itself.
func (st *step) listEnclosingSteps() []candidate {
	out := []candidate{{step: st}}
	for u := st.scope.outer; u != nil; u = u.step.scope.outer {
		out = append([]candidate{{u.step, u}}, out...)
	}
	return out
}

// listEnclosing lists the scope and the scopes that enclose it, innermost first.
func (s *scope) listEnclosing() []*scope {
	out := []*scope{s}
	for u := s.outer; u != nil; u = u.step.scope.outer {
		out = append(out, u.step.scope)
	}
	return out
}

// endOneScope ends the outermost scope in which nothing can happen any more.
func (r *Run) endOneScope() bool {
	for _, s := range r.scopes {
		switch {
		case s.final != nil || s.closed:
		case s.frozen:
			s.nextFinal()
			return true
		case len(s.live) == 0:
			s.complete()
			return true
		case s.full && !s.isBusy():
			s.endAtStepLimit()
			return true
		}
	}
	return false
}

// isBusy reports whether something runs or waits in the scope or in a scope inside it.
func (s *scope) isBusy() bool {
	for _, other := range s.run.scopes {
		if !slices.Contains(other.listEnclosing(), s) {
			continue
		}
		for _, st := range other.listActiveSteps() {
			for _, u := range st.units {
				if st.begun && u.inner == nil && (u.state == running || u.state == delayed || u.state == asking) {
					return true
				}
			}
		}
	}
	return false
}

// hasRoom reports whether max_concurrency of this graph and of all enclosing graphs allows one more
// attempt (§5).
func (s *scope) hasRoom() bool {
	for _, one := range s.listEnclosing() {
		count := 0
		for _, other := range s.run.scopes {
			if !slices.Contains(other.listEnclosing(), one) {
				continue
			}
			for _, st := range other.listActiveSteps() {
				for _, u := range st.units {
					if u.state == running && takesSlot(st.node) {
						count++
					}
				}
			}
		}
		if limit := one.graph.Limits.MaxConcurrency; limit > 0 && count >= limit {
			return false
		}
	}
	return true
}

// takesSlot reports whether attempts of a node count against max_concurrency.
func takesSlot(n *spec.Node) bool {
	return !slices.Contains([]string{"set", "pass", "fail", "wait", "human", "graph"}, n.Kind.Value)
}

// path returns the scope path of the scope's steps, such as "outer[2]/inner".
func (s *scope) path() string {
	if s.outer == nil {
		return ""
	}
	st := s.outer.step
	at := st.node.ID.Value
	if st.isEach {
		at += "[" + strconv.Itoa(s.outer.index) + "]"
	}
	if around := st.scope.path(); around != "" {
		at = around + "/" + at
	}
	return at
}
