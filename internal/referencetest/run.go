// The loop: what is ready starts, then the next event comes (§5).

package referencetest

import (
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Run is a run under way, paused or ended.
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
	// pausing: no further step starts. passed are breakpoints that a resume has let go.
	pausing bool
	halted  []Pending // at breakpoints
	fired   map[int]int
	cancels int
	timed   bool
	partial []StepID
}

// event is something that comes at a moment, unless it has become void before.
type event struct {
	at     time.Duration
	seq    int
	people bool // an answer, or the timeout of a question
	alive  func() bool
	do     func()
}

// scope is the run of one graph: the outermost one, or that of a graph node's attempt.
type scope struct {
	run   *Run
	graph *spec.Graph
	bound *bind.Graph
	outer *unit // the attempt of the graph node around; nil for the outermost graph
	input any
	base  map[string]any // the state before the first step

	live  []*token  // they run, are ready, or wait at a join
	ended []*token  // at END, or dropped where they waited
	gone  []*token  // failed or cancelled
	bends []*detour // failure edges that were taken
	fans  []*fan
	// decidedJoins are the joins that ran, or failed, for a fan-out.
	decidedJoins map[desertion]bool
	steps        []*step // that finished, in that order

	executions int           // begun, with those of inner scopes
	own        int           // begun, without them
	extra      int           // executions before the last resume from a limit
	refusals   int           // by max_visits
	used       time.Duration // active time
	full       bool          // max_steps keeps a step from starting
	degraded   bool
	untidy     bool // a node of finally failed
	limited    bool
	// how it ends; frozen: nothing but finally runs any more.
	frozen               bool
	endStatus, endReason any
	endError             *Error
	culprit              *step // whose failure ended it
	output               any
	finals               []string
	final                *step
	closed               bool
}

// Start begins a run and goes on until it ends or pauses.
func Start(f *Flow, input map[string]any, w World, o Options) (*Run, Result) {
	r := &Run{flow: f, world: w, fired: map[int]int{}}
	r.root = r.newScope(f.Graph, input, nil)
	r.opts = o
	return r, r.loop()
}

// newScope begins the run of a graph: its state is the defaults and the input (§3).
func (r *Run) newScope(g *spec.Graph, input map[string]any, outer *unit) *scope {
	s := &scope{run: r, graph: g, bound: r.flow.bound[g], outer: outer, base: map[string]any{}, decidedJoins: map[desertion]bool{}}
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
	s.arrive(t)
	return s
}

// after schedules an event.
func (r *Run) after(d time.Duration, people bool, alive func() bool, do func()) {
	r.seq++
	r.events = append(r.events, &event{r.now + max(d, 0), r.seq, people, alive, do})
}

// next is the event that comes first; nil: there is none.
func (r *Run) next() *event {
	r.events = slices.DeleteFunc(r.events, func(e *event) bool { return !e.alive() })
	var first *event
	for _, e := range r.events {
		if first == nil || e.at < first.at || e.at == first.at && e.seq < first.seq {
			first = e
		}
	}
	return first
}

// onlyPeople reports whether nothing comes but answers and timeouts of questions.
func (r *Run) onlyPeople() bool {
	return !slices.ContainsFunc(r.events, func(e *event) bool { return e.alive() && !e.people })
}

func (r *Run) loop() Result {
	r.began = r.now
	for {
		r.settle()
		if r.root.closed {
			return r.result(r.root.endStatus.(string))
		}
		e := r.next()
		idle := r.onlyPeople()
		if idle && (e == nil || r.pausing || r.opts.StopPaused) {
			if c := r.opts.CancelAt; c > 0 && e == nil && !r.pausing {
				r.now = max(r.now, r.began+c)
				r.cancel()
				continue
			}
			if e == nil && len(r.questions()) == 0 && len(r.halted) == 0 && !r.pausing {
				panic("referencetest: nothing is left to do, and the run has not ended")
			}
			return r.result("paused")
		}
		r.step(e, idle)
	}
}

// step moves the clock to the next event, a limit of time, or a moment of the options.
func (r *Run) step(e *event, idle bool) {
	limit, over := r.deadline(idle)
	switch c, p := r.opts.CancelAt, r.opts.PauseAt; {
	case c > 0 && r.began+c <= e.at && (over == nil || r.began+c <= limit) && !r.root.frozen:
		r.advance(r.began+c, idle)
		r.cancel()
	case p > 0 && r.began+p <= e.at && !r.pausing && (over == nil || r.began+p <= limit) && !r.root.frozen:
		r.advance(r.began+p, idle)
		r.pausing = true
	case over != nil && limit <= e.at:
		r.advance(limit, idle)
		r.timed = true
		over.end("limit", "timeout", over.limitError("timeout"))
	default:
		r.advance(e.at, idle)
		r.events = slices.DeleteFunc(r.events, func(x *event) bool { return x == e })
		e.do()
	}
}

// advance moves the clock. Time in which only people are waited for is no active time.
func (r *Run) advance(to time.Duration, idle bool) {
	if !idle {
		for _, s := range r.scopes {
			s.used += max(to-r.now, 0)
		}
	}
	r.now = max(r.now, to)
}

// deadline is when the first `limits.timeout` is over, and whose; nil: none comes.
func (r *Run) deadline(idle bool) (at time.Duration, whose *scope) {
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

// settle starts what is ready, in order, until nothing changes without time.
func (r *Run) settle() {
	for {
		moved := false
		for _, s := range slices.Clone(r.scopes) {
			moved = !s.frozen && s.fireJoin() || moved
		}
		if moved {
			continue
		}
		if r.startOne() || r.endOne() {
			continue
		}
		return
	}
}

// candidate is a step that is ready to begin, or an element or attempt that is.
type candidate struct {
	step *step
	unit *unit // nil: the step begins
}

// startOne starts the first that is ready and has room (§5: in order of rank, then
// declaration).
func (r *Run) startOne() bool {
	var ready []candidate
	for _, s := range r.scopes {
		for _, st := range s.atWork() {
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
			c.step.scope.begin(c.step)
			return true
		}
		if c.unit != nil && c.step.scope.mayStart(c.unit) {
			c.step.scope.startAttempt(c.unit)
			return true
		}
	}
	return false
}

// atWork lists the steps that are ready or run.
func (s *scope) atWork() []*step {
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

// compareDeep is path order across scopes: that of the outermost steps that differ.
func compareDeep(a, b *step) int {
	x, y := a.chain(), b.chain()
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

// chain lists the steps around a step, outermost first, and the step itself.
func (st *step) chain() []candidate {
	out := []candidate{{step: st}}
	for u := st.scope.outer; u != nil; u = u.step.scope.outer {
		out = append([]candidate{{u.step, u}}, out...)
	}
	return out
}

// around lists the scope and those around it, innermost first.
func (s *scope) around() []*scope {
	out := []*scope{s}
	for u := s.outer; u != nil; u = u.step.scope.outer {
		out = append(out, u.step.scope)
	}
	return out
}

// endOne ends a scope that nothing moves any more, the outermost first.
func (r *Run) endOne() bool {
	for _, s := range r.scopes {
		switch {
		case s.final != nil || s.closed:
		case s.frozen:
			s.nextFinal()
			return true
		case len(s.live) == 0:
			s.complete()
			return true
		case s.full && !s.busy():
			s.outOfSteps()
			return true
		}
	}
	return false
}

// busy reports whether something in the scope, or in one within it, runs or waits.
func (s *scope) busy() bool {
	for _, other := range s.run.scopes {
		if !slices.Contains(other.around(), s) {
			continue
		}
		for _, st := range other.atWork() {
			for _, u := range st.units {
				if st.begun && u.inner == nil && (u.state == running || u.state == delayed || u.state == asking) {
					return true
				}
			}
		}
	}
	return false
}

// hasRoom reports whether max_concurrency, of this graph and of all around it, lets one
// more attempt run (§5).
func (s *scope) hasRoom() bool {
	for _, one := range s.around() {
		count := 0
		for _, other := range s.run.scopes {
			if !slices.Contains(other.around(), one) {
				continue
			}
			for _, st := range other.atWork() {
				for _, u := range st.units {
					if u.state == running && takesPlace(st.node) {
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

// takesPlace reports whether a node of that kind has attempts that take a place.
func takesPlace(n *spec.Node) bool {
	return !slices.Contains([]string{"set", "pass", "fail", "wait", "human", "graph"}, n.Kind.Value)
}

// pathOf is the scope path of steps within: "outer[2]/inner".
func (s *scope) pathOf() string {
	if s.outer == nil {
		return ""
	}
	st := s.outer.step
	at := st.node.ID.Value
	if st.isEach {
		at += "[" + strconv.Itoa(s.outer.index) + "]"
	}
	if around := st.scope.pathOf(); around != "" {
		at = around + "/" + at
	}
	return at
}
