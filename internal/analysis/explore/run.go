// A run of the machine with chosen values.

package explore

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// Run is a run as far as it was followed.
type Run struct {
	State *machine.State
	// Path are the nodes that were entered, in order.
	Path []int
	// Written are the state keys whose values the graph itself has computed last.
	Written map[string]bool

	s        *search
	last     *branch // the choices so far
	values   map[int]any
	slots    []slot
	concrete bool // no value stays open
	input    map[string]any
	chosen   []Chosen
	// now is the virtual time in nanoseconds; it stands still in a Late search.
	now     int64
	tasks   []machine.TaskID // that run
	cancels []machine.TaskID
	decides []machine.Command
	timers  []machine.Command // that have started; For is when they fire
	advance bool
	results map[string]*result      // by execution
	places  map[int]machine.Place   // of the executions, by task
	asked   map[machine.TaskID]bool // tasks that have asked somebody
	seen    int                     // length of the path before the last event
	stopped bool                    // the run is not followed any further
	asking  int                     // questions without an answer
	broken  bool                    // a node has failed because of the values that it reads

	rounds   int  // visits of Question.More
	followed int  // nodes of the guide, or of the round
	again    int  // nodes visited again beside it
	past     bool // it has left the end of the guide
	strayed  int  // nodes of the guide until other values would have led on
}

// result is the result of an execution, for all of its attempts and elements.
type result struct {
	output  any
	failure *machine.Failure
}

// epoch is when runs begin.
const epoch = int64(1e18)

func (s *search) newRun(last *branch, values map[int]any, concrete bool) *Run {
	s.spend(costOfRun + (s.Plan.NodeCount()+len(s.Model.graph.State))/nodesAStep)
	r := &Run{
		State: s.Plan.NewState(), Written: map[string]bool{}, s: s, last: last, values: values, concrete: concrete, now: epoch, strayed: math.MaxInt,
		results: map[string]*result{}, places: map[int]machine.Place{}, asked: map[machine.TaskID]bool{},
	}
	r.State.Watched = true
	r.State.Intercept(func(p *eval.Program, env map[string]any) map[string]any {
		env = r.chooseReads(p, env)
		if s.Evaluates != nil {
			s.Evaluates(r, p, env)
		}
		return env
	})
	if list := s.Model.graph.Secrets; len(list) > 0 {
		secrets := map[string]any{}
		for _, secret := range list {
			secrets[secret.Name.Value] = "secret"
		}
		r.State.SetSecrets(map[*machine.Plan]map[string]any{s.Plan: secrets})
	}
	return r
}

// begin starts the run with an input in which every key that counts is open.
func (r *Run) begin() {
	r.input = map[string]any{}
	for i := range r.s.Model.inputs {
		p := &r.s.Model.inputs[i]
		if p.name == r.s.Omit {
			continue
		}
		if value := r.partValue(p, -1); value != any(unset{}) {
			r.input[p.name] = value
		}
	}
	r.apply(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}, Input: r.input})
}

// apply brings an event into the machine and notes the commands that follow.
func (r *Run) apply(e machine.Event) {
	e.At = r.now
	r.State.StopAt = r.State.Count() + 1 // one step at a time
	cmds, err := r.s.Plan.Apply(r.State, e)
	r.s.spend(costOfEvent + len(r.State.Notes())/notesAStep)
	for _, sc := range r.State.Scopes { // at joins, the machine compares tasks
		r.s.spend(len(sc.Tasks))
	}
	if err != nil {
		r.s.gap("a value that is tried is refused: " + err.Error())
		r.stopped = true
		return
	}
	r.advance = !r.State.Ended() && r.State.Count() == r.State.StopAt
	for i := range cmds {
		r.command(&cmds[i])
	}
	r.seen = len(r.Path)
	for i := range r.State.Notes() {
		r.observe(&r.State.Notes()[i])
	}
}

func (r *Run) command(c *machine.Command) {
	switch c.Kind {
	case machine.Advance:
		r.advance = true
	case machine.RunTask:
		r.tasks = append(r.tasks, c.Task)
		r.places[c.Task.Task] = c.Work.Place
	case machine.CancelTask:
		r.cancels = append(r.cancels, c.Task)
	case machine.StartTimer, machine.StopTimer:
		r.timers = slices.DeleteFunc(r.timers, func(t machine.Command) bool { return isTimer(&t, c.Timer, c.Task, c.Fan, c.Lane) })
		if c.Kind == machine.StartTimer {
			t := *c
			t.For = time.Duration(r.now) + max(0, c.For)
			r.timers = append(r.timers, t)
		}
	case machine.Decide:
		r.decides = append(r.decides, *c)
	}
}

// observe reads a note of the last event.
func (r *Run) observe(n *machine.Note) {
	index := func() int { return r.s.Model.graph.Node(n.Node).Index }
	switch n.Kind {
	case machine.NoteAsked:
		r.places[n.Task.Task] = n.Place
		if !n.Again {
			r.asking++
		}
	case machine.NoteNodeStarted:
		r.places[n.Task.Task] = n.Place
		if !n.Again {
			r.enter(index())
		}
	case machine.NoteNodeCompleted:
		if !n.Skipped {
			maps.Copy(r.Written, r.s.Model.computes[index()])
		}
	case machine.NoteNodeFailed:
		if !n.Stopped && r.failsByValues(n) {
			r.broken = true
			r.s.gap("what " + strconv.Quote(n.Node) + " computes fails with the values that are tried")
		}
	case machine.NoteEdgesResolved:
		r.leaveGuide(index(), n)
		if r.s.Allow != nil && !r.stopped && !r.s.Allow(r, index(), r.Ways(n)) {
			r.stopped = true
		}
	}
}

// leaveGuide makes the search reconsider the values that led a run away from its guide.
func (r *Run) leaveGuide(v int, n *machine.Note) {
	g := r.guide()
	at := r.followed - 1
	if at < 0 || g[at] != v || r.strayed < math.MaxInt {
		return
	}
	if at+1 < len(g) && slices.ContainsFunc(r.Ways(n), func(t Taken) bool { return t.To == g[at+1] }) {
		return
	}
	r.s.reconsider(r, v)
}

// failsByValues reports whether a node failed although the search chose its success.
func (r *Run) failsByValues(n *machine.Note) bool {
	switch n.Failure.Kind {
	case "expression", "invalid_output", "invalid_input":
		end := r.results[placeName(&n.Place)]
		return end == nil || end.failure == nil
	}
	return false
}

// guide returns the path that the run should follow now.
func (r *Run) guide() []int {
	if r.rounds > 0 {
		return r.s.Round
	}
	return r.s.Guide
}

// enter records that a node begins, and how far the run follows the guide.
func (r *Run) enter(v int) {
	g := r.guide()
	switch {
	case v == r.s.More:
		r.rounds++
		r.followed, r.again, r.past, r.strayed = 0, 0, false, math.MaxInt
	case r.followed == len(g):
		r.past = true
	case g[r.followed] == v:
		r.followed++
	case slices.Contains(r.Path, v):
		r.again++
	}
	r.Path = append(r.Path, v)
}

// settle applies an event that leaves nothing to choose. It returns false if there is none.
func (r *Run) settle() bool {
	known := slices.IndexFunc(r.tasks, func(id machine.TaskID) bool { return r.resultOf(id) != nil })
	switch {
	case len(r.cancels) > 0:
		id := r.cancels[0]
		r.cancels = r.cancels[1:]
		r.drop(id)
		r.apply(machine.Event{Kind: machine.TaskEnded, Task: id, Failure: &machine.Failure{Kind: "cancelled", Message: "cancelled"}})
	case r.advance:
		r.apply(machine.Event{Kind: machine.Advanced})
	case known >= 0:
		r.finish(r.tasks[known])
	default:
		return false
	}
	return true
}

// resultOf returns the result that the execution of an attempt already has, or nil.
func (r *Run) resultOf(id machine.TaskID) *result {
	if id.Element == 0 && r.s.Late {
		return nil
	}
	return r.results[r.execution(id)]
}

// execution names the execution of an attempt by its place.
func (r *Run) execution(id machine.TaskID) string {
	p := r.places[id.Task]
	return placeName(&p)
}

func placeName(p *machine.Place) string { return fmt.Sprint(p.Node, "#", p.Visit, p.Order) }

// node returns the index of the node of an attempt.
func (r *Run) node(id machine.TaskID) int {
	return r.s.Model.graph.Node(r.places[id.Task].Node).Index
}

// drop removes a task that does not end by itself.
func (r *Run) drop(id machine.TaskID) {
	r.remove(id)
	if r.resultOf(id) == nil {
		r.note(id, Chosen{Output: r.s.Model.usual(r.node(id))})
	}
}

func (r *Run) remove(id machine.TaskID) {
	r.tasks = slices.DeleteFunc(r.tasks, func(other machine.TaskID) bool { return other == id })
}

// finish ends an attempt with the result of its execution.
func (r *Run) finish(id machine.TaskID) {
	r.remove(id)
	if r.stopped {
		return
	}
	end := r.results[r.execution(id)]
	if id.Attempt == 1 {
		r.note(id, Chosen{Output: end.output, Failure: end.failure})
	}
	r.apply(machine.Event{Kind: machine.TaskEnded, Task: id, Output: end.output, Failure: end.failure})
}

// note keeps the result of an execution.
func (r *Run) note(id machine.TaskID, what Chosen) {
	place := r.places[id.Task]
	what.Node, what.Visit = r.s.Model.graph.Node(place.Node).Index, place.Visit
	r.chosen = append(r.chosen, what)
}

// Chosen returns the results of executions, in order.
func (r *Run) Chosen() []Chosen { return r.chosen }

// Ways returns the ways out that a node took.
func (r *Run) Ways(n *machine.Note) []Taken {
	var out []Taken
	for _, c := range n.Candidates {
		if !c.Fired {
			continue
		}
		to := -1
		if node := r.s.Model.graph.Node(c.To); node != nil {
			to = node.Index
		}
		out = append(out, Taken{c.Edge, to})
	}
	return out
}

// Visits returns how often a node was entered before the last event.
func (r *Run) Visits(v int) int {
	n := 0
	for _, node := range r.Path[:r.seen] {
		if node == v {
			n++
		}
	}
	return n
}

// key describes the state: runs with the same key go on alike.
func (r *Run) key() []byte {
	w := &digester{digest: &r.s.digest, state: r.State, slots: r.slots, written: map[int]bool{}}
	w.all()
	if r.s.Allow != nil {
		for _, name := range slices.Sorted(maps.Keys(r.Written)) {
			if r.Written[name] {
				w.word(name, "!")
			}
		}
	}
	for _, id := range r.tasks {
		if r.asked[id] {
			w.word(r.execution(id), "&")
		}
	}
	if len(r.State.Scopes) == 0 {
		return w.out
	}
	for i, t := range r.State.Scopes[0].Tasks { // whose next attempt has a known result
		id := machine.TaskID{Task: t.ID}
		if t.Each != nil {
			id.Element = 1
		}
		if end := r.resultOf(id); t.Begun && !t.Done && end != nil {
			w.word("ends", i)
			w.part(reflect.ValueOf(end.failure), "")
			w.value(end.output)
		}
	}
	return w.out
}

// runTimeGap is the gap of a value that only a run knows.
func runTimeGap(what string) string { return strconv.Quote(what) + " is known at run time only" }
