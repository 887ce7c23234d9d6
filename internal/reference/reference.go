// Package reference is a slow second reading of the language, for tests only: it
// interprets a graph as the pages say, shares nothing with the machine but the
// parser and the expressions, and is compared with it on random graphs.
//
// A run is a set of tokens. A token stands at a node and in a place: a lane of
// the fan-out that started its branch, which itself began in a place, and so on
// to the trunk. Everything is looked up again whenever it is asked; nothing is
// cached, counted or kept in order beforehand.
//
// # Where the pages leave room
//
// What docs/language.md says is taken from there: which way a branch can still
// reach a join, what bypasses one, when a wait_all join runs. Where no page says
// anything, these readings are taken, which the machine shares:
//
//   - Steps: an execution that is cancelled takes no step, its visit counts. At
//     the limit the executions run that are declared before the first for which no
//     step is left. A visit that a limit refuses is neither step nor visit and
//     cancels siblings like any failure.
//
//   - Order: tokens that meet stand on the lane that is declared first; of two on
//     one lane the less nested comes first, then that of the older fan-out; of two
//     in one place the one that comes back from waiting, the first to come back. The
//     branches of `routing: all` are in the order of the file.
//
//   - Finishing order: a wait, or a person's answer, finishes when it comes, not
//     when its superstep opens.
//
//   - A fan-out is over where at least two of its branches could have met, and
//     nothing else on it is alive: what fails after that is no branch of it.
//
//   - A fan-out of which all branches failed has failed with the one declared
//     first. A branch came through when it reached END, met others outside of its
//     fan-out, or lost a race. One that a failure cancels did not.
//
//   - Failures of one superstep are settled in finishing order, before tokens move;
//     an error of an expression and a stuck node come before both, in order of
//     declaration. Nothing of a superstep with a conflict is written.
//
//   - An any or N join takes what has come when it is its turn; joins have theirs
//     in the order of the file. An N join that nothing can satisfy any more is
//     stuck at once. All joins that wait for each other give way in that order.
//
//   - A source that comes twice to one node has one entry in inputs, that of the
//     last; input is keyed by source as soon as two tokens come.
//
//   - A join's input is keyed by source when two tokens have come; errors of
//     branches are none.
//
//   - `branches` holds the error of a branch that continue_others dropped, too; of
//     one node the last to fail, by finishing order. What has an output has no error.
//
//   - Under wait_all, `each` gives a list even when all elements failed.
//
//   - A set node's output holds what it writes; later keys see what the earlier
//     ones come to.
//
//   - A limit of time that ends a run writes nothing of the superstep that is open,
//     and its executions are none. The limits of the run and of branches stand still
//     while only people are waited for.
//
//   - A branch is out of time only if something on it is at work or waits for a time
//     or for people. What is held up by others of its superstep has its time once
//     more; what waits at a join is through. What ended on it in the superstep that
//     is open is written, and leads nowhere.
//
//   - The nodes of finally have no inputs, their visits count, their steps don't.
//
// A subgraph is run by itself, from the moment at which its node starts: it must wait
// for nothing, so that its node does not leave the superstep, and the steps that it
// shares must suffice.
//
// Not covered: models, policies, subgraphs that wait, secrets, templates, `once`, and failures
// of expressions outside of edges.
package reference

import (
	"cmp"
	"slices"
	"time"

	"github.com/graphrun/graphrun/spec"
)

// Attempt names one attempt of a handler. Element counts from 1, 0 without
// `each`; Round counts from 0 how often the attempt was parked by its questions.
type Attempt struct {
	Node                           string
	Visit, Attempt, Element, Round int
}

// Outcome is what a handler does on one attempt. The zero value succeeds with
// null at once.
type Outcome struct {
	Takes  time.Duration
	Output any
	// Fails is the kind of its failure; empty: it succeeds.
	Fails string
	// Asks says how long each of its questions waits for an answer: it parks then,
	// whatever Output and Fails say, and runs again.
	Asks []time.Duration
}

// Script says what handlers do, and what people answer: an attempt of a `human`
// node takes as long as the answer does.
type Script func(Attempt) Outcome

// Error is what a run ended with.
type Error struct{ Kind, Node string }

// Result is all of a run that its caller sees.
type Result struct {
	Status, Reason, Quality string
	Limited                 bool
	Error                   Error
	Path                    []string
	State                   map[string]any
	Output                  any
	Steps                   int
	// Fired says how often each edge fired, by index; Visits how often each node ran.
	Fired  map[int]int
	Visits map[string]int
	// Took is the run's length in virtual time.
	Took time.Duration
	// Inside counts all steps of subgraphs, those too of the ones that were cancelled;
	// AtOnce says that one took no time, so that others may have ended with it.
	Inside int
	AtOnce bool
}

// maxSupersteps is more than any run needs whose steps are limited.
const maxSupersteps = 100_000

// Run runs a graph that Parse found no error in. It ends: every loop takes steps.
func Run(g *spec.Graph, script Script) Result {
	r := &run{
		graph: g, script: script, state: map[string]any{}, records: map[string]*record{}, fired: map[int]int{},
		compiled: compiled{},
	}
	for _, k := range g.State {
		if k.Default != nil {
			r.state[k.Name.Value] = canonical(k.Default.Data())
		}
	}
	for _, n := range g.Nodes {
		r.records[n.ID.Value] = &record{}
	}
	r.deadline = g.Limits.Timeout
	r.next = []*task{{node: g.Node(g.Start.Value), input: map[string]any{}, inputs: map[string]any{}}}
	for range maxSupersteps {
		if r.result.Status != "" {
			return r.ended()
		}
		r.turn()
	}
	panic("no end after " + g.Name.Value)
}

// run is a run under way.
type run struct {
	graph    *spec.Graph
	script   Script
	compiled compiled

	now    time.Duration
	events []event
	seq    int // of events
	// deadline and stepEnds are when the time of the run and of its open superstep
	// are over; 0: never. expired are branches that ran out of theirs in that.
	deadline, stepEnds time.Duration
	expired            []*expiry
	order              int // of finished tasks
	state              map[string]any
	records            map[string]*record
	fired              map[int]int

	open    []*task // of the superstep that is open
	next    []*task
	parked  []*task
	waiting []*arrival // at joins
	fanouts []*fanout
	moving  []place // of the tokens that a superstep which closes has not moved yet
	detours []*detour

	steps, refused int
	childSteps     int
	last           any // output of the node that succeeded last
	outOfSteps     bool
	final          bool // the nodes of finally run
	degraded       bool
	result         Result
}

// record is what a run knows of a node.
type record struct {
	visits  int
	output  any
	history []any
}

// event is the end of an attempt, or of what a parked task or an element waits for.
type event struct {
	at   time.Duration
	seq  int
	task *task
	unit *unit // of the attempt that ends, or the element that waits
	kind happening
}

type happening int

const (
	attemptEnds happening = iota
	timeComes             // of a wait, or of another attempt
	personSays
)

func (r *run) schedule(in time.Duration, t *task, u *unit, kind happening) {
	r.seq++
	r.events = append(r.events, event{r.now + in, r.seq, t, u, kind})
}

// take removes the next event and moves the clock. When only people are waited for,
// no limit of time goes on.
func (r *run) take() (event, bool) {
	if len(r.events) == 0 {
		return event{}, false
	}
	e := r.soonest()
	if r.open == nil && r.onlyPeople() {
		r.shiftLimits(e.at - r.now)
	}
	r.events = r.events[1:]
	r.now = max(r.now, e.at)
	return e, true
}

// onlyPeople reports whether only people are waited for.
func (r *run) onlyPeople() bool {
	return !slices.ContainsFunc(r.events, func(e event) bool { return e.kind != personSays })
}

// soonest is the next event, which comes to stand first.
func (r *run) soonest() event {
	slices.SortFunc(r.events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), a.seq-b.seq) })
	return r.events[0]
}

func (r *run) forget(t *task) {
	r.events = slices.DeleteFunc(r.events, func(e event) bool { return e.task == t })
}

// turn runs one superstep, or waits until there is something to run.
func (r *run) turn() {
	if len(r.next) > 0 {
		r.superstep()
		return
	}
	if len(r.events) > 0 && !r.onlyPeople() && r.limitComes(r.soonest().at) {
		r.settleTokens(nil, nil)
		return
	}
	e, ok := r.take()
	if !ok {
		r.end("completed", "end", Error{})
		return
	}
	r.awake(e.task, e.unit)
}

// awake is the end of what a parked task or an element waits for: a task that is
// parked joins the next superstep.
func (r *run) awake(t *task, u *unit) {
	if u != nil && !r.elementAwake(t, u) {
		return
	}
	if t.questions--; t.questions > 0 {
		return
	}
	r.parked = slices.DeleteFunc(r.parked, func(p *task) bool { return p == t })
	r.next = append(r.next, t)
	if t.status == waits {
		r.finish(t)
	}
}

// end ends the run.
func (r *run) end(status, reason string, err Error) {
	if r.result.Status == "" {
		r.result.Status, r.result.Reason, r.result.Error = status, reason, err
	}
}

func (r *run) ended() Result {
	r.cancelTasks(func(place, *spec.Node) bool { return true })
	for _, t := range slices.Concat(r.parked, r.next) {
		r.drop(t)
	}
	r.runFinally()
	out := &r.result
	out.State, out.Steps, out.Fired, out.Took = r.state, r.steps+r.childSteps, r.fired, r.now
	out.Visits = map[string]int{}
	for id, rec := range r.records {
		if rec.visits > 0 {
			out.Visits[id] = rec.visits
		}
	}
	switch {
	case out.Status != "completed":
		out.Quality = "failed"
	case r.degraded:
		out.Quality = "degraded"
	default:
		out.Quality = "clean"
	}
	return *out
}
