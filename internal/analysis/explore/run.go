// Executing a run on the machine with chosen values, and the events that can happen next.

package explore

import (
	"cmp"
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

// Run is a run up to some event.
type Run struct {
	State *machine.State
	// Path lists the nodes that the run entered, in order.
	Path []int
	// Written holds the state keys that nodes wrote, and whether their last value was computed.
	Written map[string]bool
	// Chosen are the results of executions, in order.
	Chosen []Chosen

	s        *search
	last     *branch // the choices so far
	hints    map[hint]any
	values   map[int]any
	slots    []slot
	concrete bool // no value stays open
	input    map[string]any
	// now is the virtual time in nanoseconds; a Late search does not advance it.
	now        int64
	tasks      []machine.TaskID // running
	cancels    []machine.TaskID
	decides    []machine.Command
	timers     []machine.Command // running; For is when they fire
	advance    bool
	results    map[string]*Chosen      // by execution: the result of all its attempts and elements
	places     map[int]machine.Place   // by task
	asked      map[machine.TaskID]bool // tasks that have asked a person
	seen       int                     // length of the path before the last event
	stopped    bool                    // the search gives up this run
	unanswered int                     // questions without an answer
	broken     bool                    // a node has failed because it read unsuitable values

	followed int  // how many nodes of the guide it has visited
	again    int  // repeated visits since the last of them
	past     bool // it continues after the end of the guide
	strayed  int  // followed, when it first left the guide because of a choice
}

// epoch is the time at which runs begin.
const epoch = int64(1e18)

func (s *search) newRun(last *branch, values map[int]any, concrete bool) *Run {
	s.spendSteps(costOfRun + (len(s.Plan.Graph.Nodes)+len(s.Model.graph.State))/nodesAStep)
	r := &Run{
		State: s.Plan.NewState(), Written: map[string]bool{}, s: s, last: last, values: values, concrete: concrete, now: epoch, strayed: math.MaxInt,
		results: map[string]*Chosen{}, places: map[int]machine.Place{}, asked: map[machine.TaskID]bool{},
	}
	for b := last; b != nil && r.hints == nil; b = b.from {
		r.hints = b.hints
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

// begin starts the run. Inputs that matter are open.
func (r *Run) begin() {
	r.input = map[string]any{}
	for i := range r.s.Model.inputs {
		p := &r.s.Model.inputs[i]
		if p.name == r.s.Omit || r.s.Bare && p.written {
			continue
		}
		if value := r.newPartValue(p, -1); value != any(unset{}) {
			r.input[p.name] = value
		}
	}
	r.applyEvent(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}, Input: r.input})
}

// applyEvent applies an event, and reads the commands and notes of the machine.
func (r *Run) applyEvent(e machine.Event) {
	e.At = max(e.At, r.now)
	r.State.StopAt = r.State.RootSteps() + 1 // one step at a time
	cmds, err := r.s.Plan.Apply(r.State, e)
	notes := len(r.State.Notes())
	r.s.spendSteps(costOfEvent + notes/notesAStep + notes*notes/manyNotes)
	for _, sc := range r.State.Scopes { // the machine compares tasks at joins
		r.s.spendSteps(len(sc.Tasks))
	}
	if err != nil {
		r.s.noteGap("a value that is tried is refused: " + err.Error())
		r.stopped = true
		return
	}
	r.advance = !r.State.HasEnded() && r.State.RootSteps() == r.State.StopAt
	for i := range cmds {
		r.noteCommand(&cmds[i])
	}
	r.seen = len(r.Path)
	for i := range r.State.Notes() {
		r.observeNote(&r.State.Notes()[i])
	}
}

func (r *Run) noteCommand(c *machine.Command) {
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
		if c.Kind != machine.StartTimer {
			return
		}
		t := *c
		t.For = time.Duration(r.now) + max(0, c.For)
		if t.Timer == machine.AnswerTimer {
			t.For = 0
			for _, q := range r.State.Questions() {
				if q.Task == t.Task {
					t.For = max(t.For, time.Duration(q.Until))
				}
			}
		}
		if t.For > 0 || t.Timer != machine.AnswerTimer { // reminders change nothing
			r.timers = append(r.timers, t)
		}
	case machine.Decide:
		r.decides = append(r.decides, *c)
	}
}

// observeNote follows a note of the last event.
func (r *Run) observeNote(n *machine.Note) {
	index := func() int { return r.s.Model.graph.Node(n.Node).Index }
	switch n.Kind {
	case machine.NoteAsked:
		r.places[n.Task.Task] = n.Place
		if !n.Again {
			r.unanswered++
		}
	case machine.NoteNodeStarted:
		r.places[n.Task.Task] = n.Place
		if !n.Again {
			r.enterNode(index())
		}
	case machine.NoteNodeCompleted:
		if !n.Skipped {
			maps.Copy(r.Written, r.s.Model.computes[index()])
		}
	case machine.NoteNodeFailed:
		if !n.Stopped && r.failsByValues(n) {
			r.broken = true
			r.s.noteGap("what " + strconv.Quote(n.Node) + " computes fails with the values that are tried")
		}
	case machine.NoteEdgesResolved:
		r.leaveGuide(index(), n)
		if r.s.Allow != nil && !r.stopped && !r.s.Allow(r, index(), r.ListTakenEdges(n)) {
			r.stopped = true
		}
	}
}

// leaveGuide reconsiders the choices that led a run away from its guide.
func (r *Run) leaveGuide(v int, n *machine.Note) {
	g, at := r.s.Guide, r.followed-1
	if at < 0 || g[at] != v || r.strayed < math.MaxInt {
		return
	}
	if at+1 < len(g) && slices.ContainsFunc(r.ListTakenEdges(n), func(t Taken) bool { return t.To == g[at+1] }) {
		return
	}
	r.s.reconsider(r, v)
}

// failsByValues reports whether a node failed although the search chose its success.
func (r *Run) failsByValues(n *machine.Note) bool {
	switch n.Failure.Kind {
	case "expression", "invalid_output", "invalid_input":
		end := r.results[namePlace(&n.Place)]
		return end == nil || end.Failure == nil
	}
	return false
}

// enterNode appends a node to the path, and compares the path with the guide.
func (r *Run) enterNode(v int) {
	switch {
	case r.followed == len(r.s.Guide):
		r.past = true
	case r.s.Guide[r.followed] == v:
		r.followed, r.again, r.strayed = r.followed+1, 0, math.MaxInt
	case slices.Contains(r.Path, v):
		r.again++
	}
	r.Path = append(r.Path, v)
}

// applyOnlyEvent applies an event without alternatives. It returns false if there is none.
func (r *Run) applyOnlyEvent() bool {
	known := slices.IndexFunc(r.tasks, func(id machine.TaskID) bool { return r.findResult(id) != nil })
	switch {
	case len(r.cancels) > 0:
		id := r.cancels[0]
		r.cancels = r.cancels[1:]
		r.dropTask(id)
		r.applyEvent(machine.Event{Kind: machine.TaskEnded, Task: id, Failure: &machine.Failure{Kind: "cancelled", Message: "cancelled"}})
	case r.advance:
		r.applyEvent(machine.Event{Kind: machine.Advanced})
	case known >= 0:
		r.finishTask(r.tasks[known])
	default:
		return false
	}
	return true
}

// findResult returns the known result of the execution of an attempt, or nil.
func (r *Run) findResult(id machine.TaskID) *Chosen {
	if id.Element == 0 && r.s.Late {
		return nil
	}
	return r.results[r.nameExecution(id)]
}

// nameExecution returns the key of an execution in results.
func (r *Run) nameExecution(id machine.TaskID) string {
	p := r.places[id.Task]
	return namePlace(&p)
}

func namePlace(p *machine.Place) string { return fmt.Sprint(p.Node, "#", p.Visit, p.Order) }

// findNode returns the index of the node of an attempt.
func (r *Run) findNode(id machine.TaskID) int {
	return r.s.Model.graph.Node(r.places[id.Task].Node).Index
}

// dropTask removes a cancelled task, and records a usual result for it.
func (r *Run) dropTask(id machine.TaskID) {
	r.removeTask(id)
	if r.findResult(id) == nil {
		r.noteChosen(id, Chosen{Output: r.s.Model.newUsualResult(r.findNode(id))})
	}
}

func (r *Run) removeTask(id machine.TaskID) {
	r.tasks = slices.DeleteFunc(r.tasks, func(other machine.TaskID) bool { return other == id })
}

// finishTask ends an attempt with the known result of its execution.
func (r *Run) finishTask(id machine.TaskID) {
	r.removeTask(id)
	if r.stopped {
		return
	}
	end := r.results[r.nameExecution(id)]
	if id.Attempt == 1 {
		r.noteChosen(id, *end)
	}
	r.applyEvent(machine.Event{Kind: machine.TaskEnded, Task: id, Output: end.Output, Failure: end.Failure})
}

// noteChosen records the result of an execution in Chosen.
func (r *Run) noteChosen(id machine.TaskID, what Chosen) {
	what.Node, what.Visit = r.findNode(id), r.places[id.Task].Visit
	r.Chosen = append(r.Chosen, what)
}

// ListTakenEdges returns the edges and dynamic targets that a run followed from a node.
func (r *Run) ListTakenEdges(n *machine.Note) []Taken {
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

// HasTaskAt reports whether a task of the run is at one of some nodes.
func (r *Run) HasTaskAt(nodes []bool) bool {
	root := r.State.Scope("")
	return root != nil && slices.ContainsFunc(root.Tasks, func(t *machine.Task) bool { return nodes[t.Node] })
}

// IsEnding reports whether the run has ended, or has only its finally nodes left.
func (r *Run) IsEnding() bool {
	root := r.State.Scope("")
	return root == nil || root.End != nil
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

// describeState returns a digest of the state and of the search's own facts about the run.
func (r *Run) describeState() []byte {
	w := &digester{digest: &r.s.digest, state: r.State, slots: r.slots, written: map[int]bool{}}
	w.writeState()
	if r.s.Allow != nil {
		for _, name := range slices.Sorted(maps.Keys(r.Written)) {
			if r.Written[name] {
				w.writeWords(name, "!")
			}
		}
	}
	for _, id := range r.tasks {
		if r.asked[id] {
			w.writeWords(r.nameExecution(id), "&")
		}
	}
	if len(r.State.Scopes) == 0 {
		return w.out
	}
	for i, t := range r.State.Scopes[0].Tasks { // the next attempt may have a known result
		id := machine.TaskID{Task: t.ID}
		if t.Each != nil {
			id.Element = 1
		}
		if end := r.findResult(id); t.Begun && !t.Done && end != nil {
			w.writeWords("ends", i)
			w.writePart(reflect.ValueOf(end.Failure), "")
			w.writeValue(end.Output)
		}
	}
	return w.out
}

// describeRunTimeGap returns the gap of a value for which the search has no options.
func describeRunTimeGap(what string) string {
	return strconv.Quote(what) + " is known at run time only"
}

// listMoves lists the events that can happen next, without times and outputs.
func (r *Run) listMoves() []machine.Event {
	var out []machine.Event
	switch {
	case len(r.tasks) > 0:
		room := 1 // no order matters
		if r.s.Model.ranks {
			room = min(cmp.Or(r.s.Model.graph.Limits.MaxConcurrency, len(r.tasks)), len(r.tasks))
		}
		for _, id := range r.tasks[:room] {
			out = append(out, r.listEndings(id)...)
		}
		return out
	case len(r.decides) > 0:
		c := &r.decides[0] // decisions are independent
		for _, option := range c.Choice.Candidates {
			out = append(out, machine.Event{Kind: machine.Decided, Task: c.Task, Target: option.Target})
		}
		return append(out, machine.Event{Kind: machine.Decided, Task: c.Task, Failure: &machine.Failure{Kind: "llm", Message: "no decision"}})
	}
	for _, q := range r.State.Questions() {
		out = append(out, machine.Event{Kind: machine.Answered, Task: q.Task, Question: q.ID})
		if !r.s.Model.ranks {
			break // their order does not matter
		}
	}
	for _, t := range r.listDueTimers() {
		out = append(out, machine.Event{Kind: machine.TimerFired, Task: t.Task, Timer: t.Timer, Fan: t.Fan, Lane: t.Lane})
	}
	return out
}

// listEndings lists the events that can end a task or suspend it.
func (r *Run) listEndings(id machine.TaskID) []machine.Event {
	m := r.s.Model
	v := r.findNode(id)
	out := []machine.Event{{Kind: machine.TaskEnded, Task: id}}
	if m.mayFail[v] || v == r.s.Watch {
		for _, failure := range m.failures[v] {
			out = append(out, machine.Event{Kind: machine.TaskEnded, Task: id, Failure: failure})
		}
	}
	if r.s.Late && len(r.State.Current()) > 1 && !r.asked[id] && id.Element == 0 {
		out = append(out, machine.Event{Kind: machine.TaskEnded, Task: id, Asks: []machine.Ask{{ID: "1", Key: "1", Prompt: "?"}}})
	}
	return out
}

// listDueTimers returns the timers that can fire next, one unless the search is Late, but not limits.
func (r *Run) listDueTimers() []machine.Command {
	isLimit := func(t machine.Command) bool {
		return !slices.Contains([]machine.TimerKind{machine.WaitTimer, machine.RetryTimer, machine.AnswerTimer, machine.BranchTimer}, t.Timer)
	}
	waiting := slices.DeleteFunc(slices.Clone(r.timers), isLimit)
	if r.s.Late || len(waiting) == 0 {
		return waiting
	}
	return []machine.Command{slices.MinFunc(r.timers, func(a, b machine.Command) int { return int(min(max(a.For-b.For, -1), 1)) })}
}

// takeEvent adds the output of an event and applies it. It returns false for an impossible event.
func (r *Run) takeEvent(e machine.Event) bool {
	switch e.Kind {
	case machine.TaskEnded:
		if !slices.Contains(r.tasks, e.Task) {
			return false
		}
		if len(e.Asks) > 0 {
			r.asked[e.Task] = true
			r.removeTask(e.Task)
			break
		}
		end := &Chosen{Failure: e.Failure}
		if e.Failure == nil {
			end.Output = r.newOutput(r.findNode(e.Task))
		}
		r.results[r.nameExecution(e.Task)] = end
		r.finishTask(e.Task)
		return true
	case machine.Answered:
		if !slices.ContainsFunc(r.State.Questions(), func(q machine.Question) bool { return q.Task == e.Task && q.ID == e.Question }) {
			return false
		}
		e.Output = "yes"
		if v := r.findNode(e.Task); r.s.Model.graph.Nodes[v].Kind.Value == "human" {
			e.Output = r.newOutput(v)
			r.results[r.nameExecution(e.Task)] = &Chosen{Output: e.Output}
		}
		r.noteChosen(e.Task, Chosen{Output: e.Output})
		r.unanswered--
	case machine.TimerFired:
		i := slices.IndexFunc(r.timers, func(t machine.Command) bool { return isTimer(&t, e.Timer, e.Task, e.Fan, e.Lane) })
		if i < 0 {
			return false
		}
		if e.Timer == machine.AnswerTimer {
			e.At = int64(r.timers[i].For) // also in a Late search
			r.noteChosen(e.Task, Chosen{Absent: true})
			r.unanswered--
		}
		if !r.s.Late {
			r.now = max(r.now, int64(r.timers[i].For))
		}
		r.timers = slices.Delete(slices.Clone(r.timers), i, i+1)
	case machine.Decided:
		i := slices.IndexFunc(r.decides, func(d machine.Command) bool { return d.Task == e.Task })
		if i < 0 {
			return false
		}
		r.decides = slices.Delete(slices.Clone(r.decides), i, i+1)
		r.noteChosen(e.Task, Chosen{Decision: true, Target: e.Target, Failure: e.Failure})
	}
	r.applyEvent(e)
	return true
}

// isTimer reports whether a command is about a timer.
func isTimer(c *machine.Command, kind machine.TimerKind, task machine.TaskID, fan, lane int) bool {
	return c.Timer == kind && c.Task == task && c.Fan == fan && c.Lane == lane
}

// newOutput returns a result of a node with open parts.
func (r *Run) newOutput(v int) any {
	src := &r.s.Model.sources[v]
	out := src.base
	for i := range src.parts {
		p := &src.parts[i]
		if len(p.options) == 0 {
			continue
		}
		if value := r.newPartValue(p, v); value != any(unset{}) {
			out = setPart(out, p.path, value)
		}
	}
	return out
}

// newPartValue returns a value for a part of a result, or for an input if node is -1.
func (r *Run) newPartValue(p *part, node int) any {
	fixed := slices.ContainsFunc(p.keys, func(key string) bool { return r.s.Fixed[key] })
	s := slot{part: p, source: p.source, node: node, options: p.options}
	switch {
	case fixed && p.optional:
		return unset{}
	case fixed && (p.counts || node < 0):
		s.options, s.source = nil, "fixed"
	case !p.counts:
		return p.usual
	}
	value := r.newSlot(s)
	if p.now && value != any(unset{}) && (node >= 0 || !fixed) {
		value, _ = r.chooseParts(value, true)
	}
	return value
}

// setPart returns a copy of data with a value at a path.
func setPart(data any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	object, _ := data.(map[string]any)
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	out[path[0]] = setPart(out[path[0]], path[1:], value)
	return out
}
