// Tasks: one execution of a node, with its attempts and elements (§4, §5).

package reference

import (
	"maps"
	"slices"
	"time"

	"github.com/graphrun/graphrun/spec"
)

type status int

const (
	fresh   status = iota
	ready          // its attempt waits for a slot
	running        // some attempt runs
	waits          // parked: done when the waiting ends
	retries        // parked: runs again when the waiting ends
	done
	dropped // cancelled
)

// task is an execution of a node.
type task struct {
	node     *spec.Node
	place    place
	from     []string // sources in the order of arrival
	inputs   map[string]any
	input    any
	away     bool // parked in the superstep that is open, which closes without it
	detoured bool // a failure edge led it on
	bypassed bool // a join that fails instead of running
	merged   bool // of several tokens, just now
	twin     bool // not to be merged with others at the node
	// branches is what a join is told of them.
	branches map[string]any

	status      status
	visit, step int
	units       []*unit
	isEach      bool
	questions   int // that wait for their answers
	order       int // of its end among all ends
	output      any
	failure     *failure
	skipped     bool
	// lost are failures of elements that were tolerated.
	lost bool
	// expired is the end of a branch around it that ran out of time.
	expired *expiry
	// writes of a set node, per element.
	sets [][]write
}

// failure is a node's error.
type failure struct {
	kind, node string
	attempt    int
}

func (f *failure) data() any {
	return map[string]any{
		"kind": f.kind, "message": f.kind, "node": f.node, "attempt": f.attempt, "details": map[string]any{},
	}
}

// unit is an element of a task, or all of it.
type unit struct {
	element   int // from 1; 0 without each
	item      any
	attempt   int
	round     int
	failures  map[int]int // by block of retry
	state     status
	output    any
	failure   *failure
	questions int
	inside    Result // of a subgraph
	back      int    // when it came back from waiting, among all that did; 0: never
}

// superstep runs all runnable tasks to their ends, or until they park, and
// closes.
func (r *run) superstep() {
	r.open, r.next = r.next, nil
	sortByDeclaration(r.open)
	if limit := r.graph.Limits.StepTimeout; limit > 0 && !r.final {
		r.stepEnds = r.now + limit
	}
	for i, t := range r.open {
		t.away = false
		if !r.enter(t) {
			r.next, r.open, r.outOfSteps = r.open[i:], r.open[:i], true
			break
		}
	}
	r.settle()
	for {
		r.startReady()
		at := slices.ContainsFunc(r.open, func(t *task) bool { return t.status == running && !t.away })
		before := r.now + 1
		if at {
			before = r.soonest().at
		}
		if r.limitComes(before) {
			if r.result.Status != "" {
				return
			}
			r.settle()
			continue
		}
		if !at && !slices.ContainsFunc(r.events, func(e event) bool { return e.at <= r.now }) {
			break
		}
		e, _ := r.take()
		if e.kind != attemptEnds {
			r.awake(e.task, e.unit)
			continue
		}
		r.endAttempt(e.task, e.unit)
		r.settle()
	}
	r.close()
}

// enter begins an execution, or goes on with one that was parked. It is false
// when no step is left.
func (r *run) enter(t *task) bool {
	switch t.status {
	case retries:
		t.status = ready
		return true
	case fresh:
	default:
		return true
	}
	if r.final {
		r.enterFinally(t)
		return true
	}
	if r.steps >= r.graph.Limits.MaxSteps || r.refused > r.graph.Limits.MaxSteps {
		return false
	}
	rec := r.records[t.node.ID.Value]
	if limit := r.visitLimit(t.node); limit > 0 && rec.visits >= limit {
		r.overVisited(t, rec)
		return true
	}
	r.steps++
	t.step = r.steps
	rec.visits++
	t.visit = rec.visits
	rec.output = nil
	if t.bypassed {
		t.failure = &failure{kind: "bypassed", node: t.node.ID.Value}
		r.finish(t)
		return true
	}
	r.execute(t)
	return true
}

// execute runs an execution, or its elements.
func (r *run) execute(t *task) {
	if t.node.Each.IsSet() {
		r.enterEach(t)
		return
	}
	t.units = []*unit{{state: ready}}
	r.begin(t, t.units[0])
}

func (r *run) visitLimit(n *spec.Node) int {
	if n.MaxVisits > 0 {
		return n.MaxVisits
	}
	return r.graph.Limits.MaxVisits
}

// overVisited is an execution beyond the visit limit: a failure, which is no
// step, or a skip, which is one.
func (r *run) overVisited(t *task, rec *record) {
	t.visit = rec.visits
	if t.node.OnMaxVisits == "skip" {
		r.steps++
		t.step = r.steps
		t.skipped = true
		rec.output = nil
	} else {
		r.refused++
		t.failure = &failure{kind: "max_visits", node: t.node.ID.Value}
	}
	r.finish(t)
}

// begin does what needs no handler: the rest waits for a slot.
func (r *run) begin(t *task, u *unit) {
	switch t.node.Kind.Value {
	case "pass":
		u.output = t.input
		if t.isEach {
			u.output = u.item
		}
		r.endUnit(t, u)
	case "set":
		r.assign(t, u)
		r.endUnit(t, u)
	case "fail":
		u.failure = &failure{kind: "failed", node: t.node.ID.Value, attempt: 1}
		r.endUnit(t, u)
	case "wait":
		d, _ := time.ParseDuration(t.node.Field("for").Value)
		if limit := t.node.Timeout; limit > 0 && d > limit {
			d, t.failure = limit, &failure{kind: "timeout", node: t.node.ID.Value, attempt: 1}
		}
		r.park(t, waits, timeComes, d)
	case "human":
		d := r.script(Attempt{Node: t.node.ID.Value, Visit: t.visit, Attempt: 1})
		t.output = d.Output
		if limit := t.node.Timeout; limit > 0 && d.Takes > limit {
			d.Takes, t.output = limit, nil
			if fallback := t.node.Field("default"); fallback != nil {
				t.output = canonical(fallback.Data())
			} else {
				t.failure = &failure{kind: "timeout", node: t.node.ID.Value}
			}
		}
		r.park(t, waits, personSays, d.Takes)
	default:
		u.attempt = 1
		t.status = ready
	}
}

func (r *run) park(t *task, as status, what happening, waiting ...time.Duration) {
	t.status, t.questions, t.away = as, len(waiting), true
	r.parked = append(r.parked, t)
	for _, d := range waiting {
		r.schedule(d, t, nil, what)
	}
}

// startReady starts what waits for a slot, in the order of declaration.
func (r *run) startReady() {
	busy := 0
	for _, t := range r.open {
		for _, u := range t.units {
			if u.state == running && t.status != dropped {
				busy++
			}
		}
	}
	for _, t := range r.open {
		if t.away || t.status != ready && t.status != running {
			continue
		}
		for _, u := range t.inTurn() {
			if busy < r.graph.Limits.MaxConcurrency && t.room() {
				busy++
				r.start(t, u)
			}
		}
	}
}

func (r *run) start(t *task, u *unit) {
	t.status, u.state = running, running
	o := r.script(Attempt{t.node.ID.Value, t.visit, u.attempt, u.element, u.round})
	u.inside = Result{}
	if t.node.Kind.Value == "graph" {
		o = r.subgraph(t, u)
	}
	if limit := r.timeout(t.node); limit > 0 && o.Takes > limit {
		o, u.inside = Outcome{Takes: limit, Fails: "timeout"}, Result{}
	}
	u.output, u.failure, u.questions = canonical(o.Output), nil, len(o.Asks)
	if o.Fails != "" {
		u.output, u.failure = nil, &failure{kind: o.Fails, node: t.node.ID.Value, attempt: u.attempt}
	}
	r.schedule(o.Takes, t, u, attemptEnds)
}

func (r *run) timeout(n *spec.Node) time.Duration {
	if n.Timeout > 0 {
		return n.Timeout
	}
	return r.graph.Limits.NodeTimeout
}

// endAttempt is the end of an attempt: of the unit, or a retry.
func (r *run) endAttempt(t *task, u *unit) {
	if !r.final {
		r.childSteps += u.inside.Steps
	}
	r.degraded = r.degraded || u.inside.Quality == "degraded"
	if u.questions > 0 && r.final { // it can't ask
		u.output, u.failure = nil, &failure{kind: "invalid_input", node: t.node.ID.Value, attempt: u.attempt}
	} else if u.questions > 0 {
		o := r.script(Attempt{t.node.ID.Value, t.visit, u.attempt, u.element, u.round})
		u.round++
		r.rest(t, u, personSays, o.Asks...)
		return
	}
	if u.failure == nil {
		u.failure = r.misfit(t, u)
	}
	if u.failure != nil {
		if delay, again := r.retryDelay(t.node, u); again {
			u.attempt++
			u.round = 0
			r.rest(t, u, timeComes, delay)
			return
		}
	}
	r.endUnit(t, u)
}

// retryDelay is how long to wait before another attempt, if there is one: the
// first block for the kind decides, each has its own count.
func (r *run) retryDelay(n *spec.Node, u *unit) (time.Duration, bool) {
	blocks := n.Retry
	if blocks == nil {
		blocks = r.graph.Retry
	}
	if slices.Contains([]string{"cancelled", "expression", "conflict", "invalid_input"}, u.failure.kind) {
		return 0, false
	}
	i := slices.IndexFunc(blocks, func(b spec.Retry) bool {
		return len(b.On) == 0 || slices.ContainsFunc(b.On, func(k spec.Text) bool { return k.Value == u.failure.kind })
	})
	if i < 0 {
		return 0, false
	}
	if u.failures == nil {
		u.failures = map[int]int{}
	}
	u.failures[i]++
	if u.failures[i] >= blocks[i].MaxAttempts {
		return 0, false
	}
	d := float64(blocks[i].InitialInterval)
	for range u.failures[i] - 1 {
		d *= blocks[i].Backoff
	}
	return min(time.Duration(d), blocks[i].MaxInterval), true
}

func (r *run) endUnit(t *task, u *unit) {
	u.state = done
	if t.isEach {
		r.endElement(t, u)
		return
	}
	t.output, t.failure = u.output, u.failure
	r.finish(t)
}

func (r *run) finish(t *task) {
	r.order++
	t.status, t.order = done, r.order
}

// assign evaluates a set node: later keys see what the earlier ones come to.
func (r *run) assign(t *task, u *unit) {
	env := maps.Clone(r.env(t, u))
	state, out := maps.Clone(r.state), map[string]any{}
	var writes []write
	for _, f := range t.node.Field("set").Fields {
		v, err := r.value(&f.Value, env)
		if err != nil {
			u.failure = &failure{kind: "expression", node: t.node.ID.Value, attempt: 1}
			return
		}
		w := write{f.Key.Value, v}
		if !r.reduce(state, w) {
			u.failure = &failure{kind: "invalid_output", node: t.node.ID.Value, attempt: 1}
			return
		}
		out[w.key] = r.update(w)
		env[w.key] = state[w.key]
		writes = append(writes, w)
	}
	u.output = out
	t.sets = append(t.sets, writes)
}
