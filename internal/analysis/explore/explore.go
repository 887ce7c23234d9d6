// Package explore tries the runs of a graph on the real machine. It chooses inputs, results,
// answers and decisions, and the order in which tasks and people end. It finds a run that does
// something, proves that no run does, or names what kept it from trying every run.
//
// The search is explicit-state and bounded. A run is a list of choices, which the machine
// executes from the start. An input or a result is an eval.Open at first. When a condition
// reads it, the search chooses a value, and keeps the other values to try later.
package explore

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Question asks for a run of a model's graph.
type Question struct {
	Model *Model
	// Plan is the plan of the model's graph, with the policy in question.
	Plan *machine.Plan
	// Visits holds, by node, how many visits distinguish states, in addition to those that conditions read.
	Visits map[int]int
	// Watch, unless it is -1, is a node that may fail although nothing catches it.
	Watch int
	// Found reports whether a run is the answer. The search calls it after every event, and
	// again when it repeats a run. Nil asks for a run that a policy ends.
	Found func(r *Run) bool
	// Evaluates, if set, is called before an expression is evaluated, with its environment.
	Evaluates func(r *Run, p *eval.Program, env map[string]any)
	// Allow, if set, reports whether a run may leave a node in this way.
	Allow func(r *Run, node int, taken []Taken) bool
	// Hopeless, if set, reports whether a run can't become the answer any more.
	Hopeless func(r *Run) bool
	// Fixed are state keys. While they are unknown, the search tries no values for them.
	Fixed map[string]bool
	// Omit is a state key that no input sets, or "". States with different values of it differ.
	Omit string
	// Bare leaves keys that nodes write out of the input, unless they are required.
	Bare bool
	// Late tries every order in which parallel tasks end and timers fire.
	Late bool
	// Repeat tries first what an earlier visit of a node yielded.
	Repeat bool
	// Proof ends the search at the first gap.
	Proof bool
	// Guide is a path. The search prefers runs that follow it further. It tries runs that repeat
	// other nodes later, and runs that continued past its end last.
	Guide []int
	// Budget holds the steps left for several searches, Most those of this one.
	Budget *int
	Most   int
}

// Taken is an edge, or a dynamic target, that a run followed from a node.
type Taken struct {
	Edge int // index; -1 for a dynamic target
	To   int // index of the node; -1 for END
}

// Answer is the result of a search.
type Answer struct {
	// Found says that there is such a run. Witness lists the nodes that it visits.
	Found   bool
	Witness []int
	Failure *machine.Failure
	// Input is the input of the run, Chosen the results of its executions, in order.
	Input  map[string]any
	Chosen []Chosen
	// Gap is the first thing that kept the search from trying every run, or "".
	Gap string
}

// Chosen is the result of an execution, or a decision about the edges of a node.
type Chosen struct {
	Node, Visit int
	Output      any
	Failure     *machine.Failure
	// Decision says that a model chose the edge to Target.
	Decision bool
	Target   string
	// Absent says that nobody answered in time.
	Absent bool
}

// Gaps of a search.
const (
	TooMany  = "there are too many runs to try"
	otherWay = "a run goes on in another way with other values"
)

// maxChain limits the choices of a run before the search continues with another run.
const maxChain = 6

// search is a question being answered.
type search struct {
	*Question
	answer Answer
	todo   [][]*untried   // by progress
	seen   map[string]int // fewest steps by state
	digest digest
	left   int // steps left
	picks  int // branches that were taken from todo
	// steering caches steeringKeys.
	steering map[int]map[string]bool
	vm       eval.VM
}

// branch is a choice of a run: an event, or the value of a slot.
type branch struct {
	from  *branch
	event *machine.Event
	slot  int
	value any
	rest  *untried // the alternatives
	hints map[hint]any
}

// hint names the slot to which a run that was reconsidered gave a value: the nth of its source.
type hint struct {
	source string
	nth    int
}

// untried holds the choices at one point of a run that the search has not tried.
type untried struct {
	from   *branch
	events []machine.Event
	slot   int
	values []any
	level  int  // a lower bound of their progress; see reconsider
	other  bool // the first value changes a condition; see preferOther
	hints  map[hint]any
}

// takeNext removes the first choice. last reports whether no other is left.
func (u *untried) takeNext() (b *branch, last bool) {
	switch {
	case len(u.events) > 0:
		b, u.events = &branch{from: u.from, event: &u.events[0], rest: u, hints: u.hints}, u.events[1:]
	case len(u.values) > 0:
		b, u.values = &branch{from: u.from, slot: u.slot, value: u.values[0], rest: u, hints: u.hints}, u.values[1:]
		u.other = false
	}
	return b, len(u.events)+len(u.values) == 0
}

// Explore answers a question.
func Explore(q Question) Answer {
	s := &search{Question: &q, seen: map[string]int{}, left: q.Most, steering: map[int]map[string]bool{}}
	s.digest = digest{steps: q.Model.steps, past: q.Model.past}
	for i, k := range q.Model.graph.State {
		if q.Model.counts[k.Name.Value] || k.Name.Value == q.Omit {
			s.digest.keys = append(s.digest.keys, i)
		}
	}
	for node := range q.Model.graph.Nodes {
		if most := max(q.Model.visits[node], q.Visits[node]); most > 0 {
			s.digest.visits = append(s.digest.visits, visited{node, most})
		}
	}
	if s.Found == nil {
		s.Found = func(r *Run) bool { return r.State.Reason == "policy" && r.State.HasEnded() }
	}
	for _, gap := range q.Model.gaps {
		s.noteGap(gap)
	}
	s.followRun(nil, false)
	for !s.answer.Found && !(s.Proof && s.answer.Gap != "") {
		b := s.nextBranch()
		if b == nil {
			break
		}
		if s.isSpent() {
			s.noteGap(TooMany)
			break
		}
		s.followRun(b, false)
	}
	return s.answer
}

// nextBranch removes the oldest or newest run with the most progress, every third time another one.
func (s *search) nextBranch() *branch {
	turn, levels := s.picks/3, len(s.todo)
	newest, skipped := s.picks%3 == 1, 0
	if s.picks%3 == 2 {
		newest, skipped = turn%2 == 0, turn
	}
	s.picks++
	for i := range levels {
		level := levels - 1 - (i+skipped)%levels
		for len(s.todo[level]) > 0 {
			at := 0
			if newest {
				at = len(s.todo[level]) - 1
			}
			b, last := s.todo[level][at].takeNext()
			if last {
				s.todo[level] = slices.Delete(s.todo[level], at, at+1)
			}
			if b != nil {
				return b
			}
		}
	}
	return nil
}

// noteGap records the first reason why the search can't try every run.
func (s *search) noteGap(what string) {
	if s.answer.Gap == "" {
		s.answer.Gap = what
	}
}

// listChoices returns the events of a run and the values of its slots.
func listChoices(b *branch) (events []*machine.Event, values map[int]any) {
	values = map[int]any{}
	for ; b != nil; b = b.from {
		if b.event == nil {
			values[b.slot] = b.value
		} else {
			events = append(events, b.event)
		}
	}
	slices.Reverse(events)
	return events, values
}

// followRun executes a run up to a choice, and postpones the alternatives of the choices after
// it. It executes a run that answers the question once more, with a value for every slot. The
// search is over if that run answers it, too.
func (s *search) followRun(b *branch, concrete bool) {
	events, values := listChoices(b)
	r := s.newRun(b, values, concrete)
	r.begin()
	defer func() {
		if concrete && !s.answer.Found {
			s.noteGap(otherWay)
		}
	}()
	for made := 0; made < maxChain; {
		switch {
		case r.stopped:
			return
		case concrete && s.Found(r):
			for len(r.tasks) > 0 {
				r.dropTask(r.tasks[0])
			}
			s.answer.Found, s.answer.Witness, s.answer.Failure = true, slices.Clone(r.Path), r.State.Failure
			s.answer.Input, s.answer.Chosen = r.input, r.Chosen
			return
		case s.Found(r):
			s.followRun(r.last, true)
			return
		case r.State.HasEnded():
			if r.State.Status == machine.Limit && r.State.Reason == "size" {
				s.noteGap("the size of the state may end a run")
			}
			return
		case s.isSpent() && !concrete:
			s.noteGap(TooMany)
			return
		case r.applyOnlyEvent():
		case len(events) > 0:
			if !r.takeEvent(*events[0]) {
				s.noteGap(otherWay)
				return
			}
			events = events[1:]
		case concrete, s.Hopeless != nil && s.Hopeless(r):
			return
		default:
			key := r.describeState()
			s.spendSteps(1 + len(key)/bytesAStep)
			// With more steps to the same state, a run can do less before max_steps.
			if steps, seen := s.seen[string(key)]; seen && steps <= r.State.Steps() {
				return
			}
			s.seen[string(key)] = r.State.Steps()
			rest := &untried{from: r.last, events: r.listMoves()}
			s.spendSteps(costOfChoice * len(rest.events))
			if made++; made == maxChain || len(rest.events) == 0 {
				s.postpone(rest, r)
				return
			}
			r.last, _ = rest.takeNext()
			s.postpone(rest, r)
			r.takeEvent(*r.last.event)
		}
	}
}

// postpone queues choices by the progress of their run.
func (s *search) postpone(rest *untried, r *Run) {
	if len(rest.events)+len(rest.values) == 0 {
		return
	}
	progress := rest.level
	if !r.past {
		progress = max(progress, min(r.followed, r.strayed)-r.again)
	}
	for len(s.todo) <= progress {
		s.todo = append(s.todo, nil)
	}
	s.todo[progress] = append(s.todo[progress], rest)
}

// reconsider moves alternatives that may change the exit from a node to the front of the queue.
// Otherwise the search would try all combinations of later choices before an early one changes.
// A run with another early choice keeps the later values of this run at first.
func (s *search) reconsider(r *Run, v int) {
	level := min(r.followed, r.strayed) + 1
	hints := map[hint]any{}
	for i := range r.slots {
		if r.slots[i].bound {
			hints[r.nameSlot(i)] = r.slots[i].value
		}
	}
	for b := r.last; b != nil; b = b.from {
		if !s.steers(r, b, v) {
			continue
		}
		r.strayed = min(r.strayed, r.followed)
		if b.rest.level < level {
			moved := *b.rest
			b.rest.events, b.rest.values, b.rest.other = nil, nil, false
			moved.level, moved.hints = level, hints
			if moved.other {
				later := moved
				later.values, later.other, later.level = moved.values[1:], false, level-1
				s.postpone(&later, r)
				moved.values = moved.values[:1:1]
			}
			s.postpone(&moved, r)
		}
	}
}

// steers reports whether a choice can change the edges by which a run leaves a node.
func (s *search) steers(r *Run, b *branch, v int) bool {
	if b.event != nil {
		_, known := r.places[b.event.Task.Task]
		return known && r.findNode(b.event.Task) == v
	}
	if b.slot >= len(r.slots) {
		return false
	}
	slot, keys := &r.slots[b.slot], s.findSteeringKeys(v)
	return slot.node == v || slices.ContainsFunc(slices.Concat(slot.keys, slot.into), func(key string) bool { return keys[key] })
}

// findSteeringKeys returns the state keys on which the conditions after a node depend.
func (s *search) findSteeringKeys(v int) map[string]bool {
	if s.steering[v] != nil {
		return s.steering[v]
	}
	out := map[string]bool{}
	var programs []*eval.Program
	for _, e := range s.Model.own[v] {
		if slices.Contains([]string{"when", "goto", "never"}, e.Field) {
			programs = append(programs, e.Program)
		}
	}
	for ; len(programs) > 0; programs = programs[1:] {
		for _, read := range programs[0].Reads {
			if key := read.Path[0]; s.Model.graph.Key(key) != nil && !out[key] {
				out[key] = true
				programs = append(programs, s.Model.computed[key]...)
			}
		}
	}
	s.steering[v] = out
	return out
}

// Costs in steps. The machine takes about a million steps a second.
const (
	costOfRun    = 16 // plus one for each nodesAStep nodes and state keys
	nodesAStep   = 3
	costOfEvent  = 2 // plus one for each notesAStep notes
	notesAStep   = 4
	manyNotes    = 200 // visits that max_visits refuses are one event, but joins look through all of them
	costOfChoice = 1
	bytesAStep   = 50 // of digests
)

// spendSteps reduces the budget.
func (s *search) spendSteps(steps int) {
	*s.Budget -= steps
	s.left -= steps
}

// isSpent reports whether no steps are left.
func (s *search) isSpent() bool { return *s.Budget <= 0 || s.left <= 0 }

// slot is a value that may still be open.
type slot struct {
	*part
	source  string // equal for slots with the same options
	node    int    // whose result it is part of; -1 for an input
	options []any
	bound   bool
	value   any
	other   bool // the second option changes a condition
}

// newSlot adds a slot. It returns the value that the run chose for it, or an eval.Open.
func (r *Run) newSlot(s slot) any {
	number := len(r.slots)
	s.value, s.bound = r.values[number]
	if r.concrete && !s.bound {
		s.value, s.bound = s.usual, true
	}
	r.slots = append(r.slots, s)
	if s.bound {
		return s.value
	}
	if hinted, known := r.hints[r.nameSlot(number)]; known {
		r.slots[number].moveOption(hinted, 0)
		return eval.Open{Number: number}
	}
	for i := number - 1; i >= 0 && r.s.Repeat; i-- {
		if r.slots[i].source == s.source && r.slots[i].bound {
			r.slots[number].moveOption(r.slots[i].value, 0)
			break
		}
	}
	return eval.Open{Number: number}
}

// moveOption moves an option forward to an index.
func (s *slot) moveOption(v any, to int) {
	if i := slices.IndexFunc(s.options, func(o any) bool { return reflect.DeepEqual(v, o) }); i > to {
		s.options = slices.Insert(slices.Delete(slices.Clone(s.options), i, i+1), to, v)
	}
}

// nameSlot returns the name of a slot in hints.
func (r *Run) nameSlot(number int) hint {
	h := hint{source: r.slots[number].source}
	for i := range r.slots[:number] {
		if r.slots[i].source == h.source {
			h.nth++
		}
	}
	return h
}

// chooseOption binds a slot to its first option and postpones the others.
func (r *Run) chooseOption(number int) any {
	s := &r.slots[number]
	switch {
	case s.bound:
		return s.value
	case len(s.options) == 0:
		r.s.noteGap(describeRunTimeGap(s.name))
		r.stopped = true
		return s.usual
	case s.partial:
		r.s.noteGap(strconv.Quote(s.name) + " may have many values")
	}
	rest := &untried{from: r.last, slot: number, values: s.options[1:], other: s.other}
	r.s.postpone(rest, r)
	s.value, s.bound = s.options[0], true
	r.last = &branch{from: r.last, slot: number, value: s.value, rest: rest}
	return s.value
}

// chooseParts replaces the open parts of a value, and reports whether there were any. Without choose,
// unbound slots get their usual values.
func (r *Run) chooseParts(v any, choose bool) (closed any, wasOpen bool) {
	switch t := v.(type) {
	case eval.Open:
		if s := &r.slots[t.Number]; !choose && !s.bound {
			return s.usual, true
		}
		return r.chooseOption(t.Number), true
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(t)) {
			if part, isOpen := r.chooseParts(t[name], choose); isOpen {
				v, wasOpen = setPart(v, []string{name}, part), true
			}
		}
	case []any:
		list := slices.Clone(t)
		for i := range list {
			part, isOpen := r.chooseParts(list[i], choose)
			list[i], wasOpen = part, wasOpen || isOpen
		}
		v = list
	}
	return v, wasOpen
}

// chooseReads chooses the values that a program is about to read. Programs that copy a value
// leave it open, and programs that decide nothing read usual values.
func (r *Run) chooseReads(p *eval.Program, env map[string]any) map[string]any {
	if r.s.Model.copies[p] {
		return env
	}
	choose := r.s.Model.decisive[p]
	if choose {
		r.preferOther(p, env)
	}
	return r.replaceReads(p, env, choose)
}

// replaceReads replaces the open values that a program reads; see chooseParts.
func (r *Run) replaceReads(p *eval.Program, env map[string]any, choose bool) map[string]any {
	for _, read := range p.Reads {
		value, path := cutRead(env, read.Path)
		if value, wasOpen := r.chooseParts(value, choose); wasOpen {
			env = setPart(env, path, value).(map[string]any)
		}
	}
	return env
}

// cutRead returns the value at the longest part of a path that exists, and that part.
func cutRead(value any, path []string) (any, []string) {
	for i, name := range path {
		object, isObject := value.(map[string]any)
		if !isObject {
			return value, path[:i]
		}
		value = object[name]
	}
	return value, path
}

// maxOutcomes bounds the combinations of options that preferOther tries.
const maxOutcomes = 300

// preferOther moves those options to second place that change the outcome of a condition. Otherwise
// a search would take long to find values that satisfy several comparisons.
func (r *Run) preferOther(p *eval.Program, env map[string]any) {
	var open []int
	for _, read := range p.Reads {
		value, _ := cutRead(env, read.Path)
		r.findOpen(value, &open)
	}
	at := make([]int, len(open)) // by slot, the option that is tried
	bind := func(bound bool) {
		for i, number := range open {
			s := &r.slots[number]
			s.value, s.bound = s.options[at[i]], bound
		}
	}
	var first any
	for tried := range maxOutcomes {
		bind(true)
		outcome, err := r.s.vm.Eval(p, r.replaceReads(p, env, true))
		bind(false)
		r.s.spendSteps(costOfChoice)
		switch _, isBool := outcome.(bool); {
		case err == nil && !isBool:
			return
		case tried == 0:
			first = outcome
		case err == nil && outcome != first:
			for i, number := range open {
				s := &r.slots[number]
				s.moveOption(s.options[at[i]], 1)
				s.other = at[i] > 0
			}
			return
		}
		i := 0
		for ; i < len(open) && at[i] == len(r.slots[open[i]].options)-1; i++ {
			at[i] = 0
		}
		if i == len(open) {
			return
		}
		at[i]++
	}
}

// findOpen appends the numbers of the slots in a value that have options and no value.
func (r *Run) findOpen(v any, open *[]int) {
	switch t := v.(type) {
	case eval.Open:
		if s := &r.slots[t.Number]; !s.bound && len(s.options) > 0 && !slices.Contains(*open, t.Number) {
			*open = append(*open, t.Number)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(t)) {
			r.findOpen(t[name], open)
		}
	case []any:
		for _, part := range t {
			r.findOpen(part, open)
		}
	}
}

// World answers questions about one graph within one budget.
type World struct {
	*controlflow.Vertices
	model  *Model
	plan   *machine.Plan
	arcs   *graphalg.Digraph // END is the vertex after the nodes
	budget int
}

// Budgets in steps.
const (
	worldBudget = 1_000_000 // for all questions about a graph
	worldMost   = 150_000   // for one question
	worldNicer  = 10_000    // to find a run that also completes
)

// NewWorld prepares a graph without errors. kinds are node kinds in addition to the built-in ones.
func NewWorld(g *spec.Graph, kinds []spec.Kind) (*World, error) {
	bound, found := bind.Bind(g, kinds, nil)
	if found.HasErrors() {
		return nil, errors.New(found[0].Message)
	}
	resumed := *g
	resumed.PauseBefore, resumed.PauseAfter = nil, nil // runs continue after breakpoints
	plan, found := machine.BuildBound(&resumed, bound, nil, nil)
	if plan == nil {
		return nil, errors.New(found[0].Message)
	}
	vertices := controlflow.NewVertices(g)
	flow := controlflow.New(vertices, bound)
	model := NewModel(flow, bound, dataflow.NewUses(g, bound, vertices.From), nil, -1)
	return &World{Vertices: vertices, model: model, plan: plan, arcs: flow.Digraph, budget: worldBudget}, nil
}

// UsualResult returns the result that explored runs give a node if nothing depends on it.
func (w *World) UsualResult(node int) any { return w.model.newUsualResult(node) }

// FindFiringRun asks for a run that fires an edge and ends before a limit. It prefers runs that complete.
func (w *World) FindFiringRun(edge int) Answer {
	guide := append(graphalg.Path(w.arcs.Next, w.Start(), w.From[edge]), graphalg.Path(w.arcs.Next, w.To[edge], w.End)...)
	guide = slices.DeleteFunc(guide, func(v int) bool { return v >= w.End })
	fired := func(r *Run) bool {
		root := r.State.Scope("")
		return !r.broken && r.State.HasEnded() && root != nil && root.Fired[edge] > 0
	}
	before := w.arcs.Reverse().Reach(w.From[edge])
	q := Question{Guide: guide, Hopeless: func(r *Run) bool {
		root := r.State.Scope("")
		return root != nil && root.Fired[edge] == 0 && (r.IsEnding() || !r.HasTaskAt(before))
	}}
	completes := false
	q.Found = func(r *Run) bool {
		completes = fired(r) && r.State.Status == machine.Completed && r.unanswered == 0
		return completes || fired(r) && r.State.Status != machine.Limit
	}
	a := w.explore(q, worldMost)
	if a.Found && !completes {
		q.Found = func(r *Run) bool { return fired(r) && r.State.Status == machine.Completed && r.unanswered == 0 }
		if b := w.explore(q, worldNicer); b.Found {
			return b
		}
	}
	return a
}

// FindRun asks for a run. It first tries runs that visit the nodes of a guide.
func (w *World) FindRun(guide []int, found func(*Run) bool) Answer {
	return w.explore(Question{Guide: guide, Found: found}, worldMost)
}

func (w *World) explore(q Question, most int) Answer {
	count := map[int]int{}
	q.Visits = map[int]int{}
	for _, v := range q.Guide {
		if count[v]++; count[v] > 1 { // distinguish the rounds of a loop
			q.Visits[v] = count[v] + 1
		}
	}
	q.Model, q.Plan, q.Watch, q.Budget, q.Most = w.model, w.plan, -1, &w.budget, most
	return Explore(q)
}
