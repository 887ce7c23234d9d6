// A run of the machine, with the world around it made up.

package explore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// Run is a run as far as it was followed.
type Run struct {
	State *machine.State
	// Path are the nodes that were entered, in order.
	Path []int
	// Written are the state keys whose values the graph itself has written last.
	Written map[string]bool

	s      *search
	input  map[string]any
	chosen []Chosen
	bound  map[int]any // values of slots
	// now is the virtual time, in nanoseconds; it stands still where time passes in
	// any order.
	now      int64
	tasks    []machine.TaskID // that run
	cancels  []machine.TaskID
	decides  []machine.Command
	timers   []timer
	advance  bool
	results  map[string]*result      // by execution
	places   map[int]machine.Place   // of the executions, by task
	eager    []int                   // slots that branches have written: they have to be bound
	asked    map[machine.TaskID]bool // tasks that have asked somebody
	slots    []slot
	unknown  map[string]int // the slots that state keys take their values from
	seen     int            // length of the path before the last event
	live     int            // branches before the last event
	noted    int            // notes of the last event that were checked
	open     int            // the slot that has to be bound first
	stopped  bool           // the run goes on in a way that is not followed
	rounds   int            // visits of Question.More
	followed int            // nodes of the guide, or of the round
	again    int            // nodes that it has come to again beside it
	asking   int            // questions that nobody answered
	broken   bool           // a node has failed because of the values that it computes with
	past     bool           // it has gone on from the last node of the guide
}

// timer is one that the machine has asked for.
type timer struct {
	task      machine.TaskID
	kind      machine.TimerKind
	fan, lane int
	due       int64
}

// result is what an execution comes to: the same for all of its attempts and elements.
type result struct {
	output  any
	failure *machine.Failure
	slots   []int
}

// Chosen returns what executions have come to, in order.
func (r *Run) Chosen() []Chosen { return r.chosen }

// noSlot stands for none; slots count from 1.
const noSlot = 0

// epoch is when runs begin: any time will do.
const epoch = int64(1e18)

func (s *search) newRun(bound map[int]any) *Run {
	s.spend(costOfRun + (s.Plan.NodeCount()+len(s.Model.graph.State))/nodesAStep)
	state := s.Plan.NewState()
	state.Watched = true
	if list := s.Model.graph.Secrets; len(list) > 0 {
		secrets := map[string]any{}
		for _, secret := range list {
			secrets[secret.Name.Value] = "secret"
		}
		state.SetSecrets(map[*machine.Plan]map[string]any{s.Plan: secrets})
	}
	return &Run{
		State: state, Written: map[string]bool{}, s: s, bound: bound, now: epoch, results: map[string]*result{}, places: map[int]machine.Place{},
		slots: make([]slot, 0, len(s.Model.inputs)), unknown: make(map[string]int, len(s.Model.inputs)), open: noSlot,
	}
}

// begin starts the run with an input in which every key is open.
func (r *Run) begin() {
	input := map[string]any{}
	for i := range r.s.Model.inputs {
		in := &r.s.Model.inputs[i]
		if in.name == r.s.Omit {
			continue
		}
		if fixed := r.s.Fixed[in.name]; fixed || !in.counts {
			if in.has && !(fixed && in.optional) {
				input[in.name] = in.value
				if fixed {
					r.unknown[in.name] = r.newSlot(slot{key: in.name, source: "fixed"})
				}
			}
			continue
		}
		at := r.newSlot(slot{key: in.name, options: in.options, partial: in.partial, source: in.source})
		if value, known := r.bound[at]; known {
			if value != any(unset{}) {
				input[in.name] = value
			}
			continue
		}
		r.unknown[in.name] = at
		if in.has {
			input[in.name] = in.value
		}
	}
	r.apply(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}, Input: input})
	r.input = input
}

// What trying runs costs, in steps of which the machine does about a million in a second.
const (
	costOfRun    = 16 // and one more for so many nodes and state keys:
	nodesAStep   = 3
	costOfEvent  = 2 // and one more for so many notes:
	notesAStep   = 4
	costOfChoice = 1
	bytesAStep   = 50 // of digests
)

// spend counts steps.
func (s *search) spend(steps int) {
	*s.Budget -= steps
	s.left -= steps
}

// spent reports whether no steps are left.
func (s *search) spent() bool { return *s.Budget <= 0 || s.left <= 0 }

// apply brings an event into the machine, and notes what it wants then.
func (r *Run) apply(e machine.Event) {
	e.At = r.now
	r.live = r.State.Live()
	r.State.StopAt = r.State.Count() + 1 // one step at a time: what it reads may have to be bound
	cmds, err := r.s.Plan.Apply(r.State, e)
	r.s.spend(costOfEvent + len(r.State.Notes())/notesAStep)
	if r.stopped = err != nil; r.stopped {
		r.s.gap("a value that is tried is refused: " + err.Error())
		return
	}
	r.advance = !r.State.Ended() && r.State.Count() == r.State.StopAt
	for i := range cmds {
		r.command(&cmds[i])
	}
	r.observe()
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
	case machine.StartTimer:
		r.stopTimer(c)
		r.timers = append(r.timers, timer{c.Task, c.Timer, c.Fan, c.Lane, r.now + max(0, int64(c.For))})
	case machine.StopTimer:
		r.stopTimer(c)
	case machine.Decide:
		r.decides = append(r.decides, *c)
	}
}

func (r *Run) stopTimer(c *machine.Command) {
	r.timers = slices.DeleteFunc(r.timers, func(t timer) bool {
		return t.kind == c.Timer && t.task == c.Task && t.fan == c.Fan && t.lane == c.Lane
	})
}

// settle applies what follows without a choice; false when there is one.
func (r *Run) settle() bool {
	switch {
	case len(r.cancels) > 0:
		id := r.cancels[0]
		r.cancels = r.cancels[1:]
		r.ends(id)
		r.apply(machine.Event{Kind: machine.TaskEnded, Task: id, Failure: &machine.Failure{Kind: "cancelled", Message: "cancelled"}})
		return true
	case r.advance:
		r.apply(machine.Event{Kind: machine.Advanced})
		return true
	case len(r.tasks) > 0:
		if i := slices.IndexFunc(r.tasks, func(id machine.TaskID) bool { return r.resultOf(id) != nil }); i >= 0 {
			r.finish(r.tasks[i])
			return true
		}
	}
	return false
}

// resultOf is what is known to come of an attempt: what the execution came to before.
func (r *Run) resultOf(id machine.TaskID) *result {
	if id.Element == 0 && r.s.Late {
		return nil
	}
	return r.results[r.execution(id)]
}

// execution names what an attempt is one of, whatever the number of its task is.
func (r *Run) execution(id machine.TaskID) string {
	p := r.places[id.Task]
	return placeName(&p)
}

func placeName(p *machine.Place) string { return fmt.Sprint(p.Node, "#", p.Visit, p.Order) }

// node is the index of the node of an attempt.
func (r *Run) node(id machine.TaskID) int {
	return r.s.Model.graph.Node(r.places[id.Task].Node).Index
}

func (r *Run) ends(id machine.TaskID) {
	r.tasks = slices.DeleteFunc(r.tasks, func(other machine.TaskID) bool { return other == id })
}

// finish ends an attempt as is known.
func (r *Run) finish(id machine.TaskID) {
	r.ends(id)
	end := r.results[r.execution(id)]
	if id.Attempt == 1 {
		r.choose(id, Chosen{Output: end.output, Failure: end.failure})
	}
	r.apply(machine.Event{Kind: machine.TaskEnded, Task: id, Output: end.output, Failure: end.failure})
}

// due are the timers that may be the next to fire.
func (r *Run) due() []timer {
	var out []timer
	for _, t := range r.timers {
		switch t.kind {
		case machine.RunTimer, machine.StepTimer, machine.TaskTimer, machine.GraceTimer:
			if !r.s.Late {
				out = append(out, t) // what waits longer is never first
			}
			continue
		}
		out = append(out, t)
	}
	if r.s.Late || len(out) == 0 {
		return out
	}
	first := slices.MinFunc(out, func(a, b timer) int { return int(min(max(a.due-b.due, -1), 1)) })
	others := slices.ContainsFunc(out, func(t timer) bool {
		switch t.kind {
		case machine.WaitTimer, machine.RetryTimer, machine.AnswerTimer, machine.BranchTimer:
			return true
		}
		return false
	})
	if !others {
		return nil
	}
	return []timer{first}
}

// fire lets a timer run out.
func (r *Run) fire(t timer) bool {
	i := slices.Index(r.timers, t)
	if i < 0 {
		return false
	}
	r.timers = slices.Delete(slices.Clone(r.timers), i, i+1)
	if !r.s.Late {
		r.now = max(r.now, t.due)
	}
	r.apply(machine.Event{Kind: machine.TimerFired, Task: t.task, Timer: t.kind, Fan: t.fan, Lane: t.lane})
	return true
}

// key tells runs apart that may go on differently. The next one overwrites it.
func (r *Run) key() []byte {
	out := r.s.digest.appendTo(r.s.key[:0], r.State)
	for _, name := range slices.Sorted(maps.Keys(r.unknown)) {
		out = append(append(append(append(out, name...), '?'), r.slots[r.unknown[name]-1].source...), ';')
	}
	if r.s.Allow != nil {
		for _, name := range slices.Sorted(maps.Keys(r.Written)) {
			out = append(append(out, name...), '!')
		}
	}
	for _, id := range r.tasks {
		if r.asked[id] {
			out = append(append(out, r.execution(id)...), '&')
		}
	}
	r.s.key = r.appendKnown(out)
	return r.s.key
}

// appendKnown appends what the next attempts of tasks end with, where that is known.
func (r *Run) appendKnown(out []byte) []byte {
	w := digester{out: out}
	for i, t := range r.State.Scopes[0].Tasks {
		id := machine.TaskID{Task: t.ID}
		if t.Each != nil {
			id.Element = 1
		}
		if end := r.resultOf(id); t.Begun && !t.Done && end != nil {
			w.word("ends", i)
			w.failure(end.failure)
			w.value(end.output)
		}
	}
	return w.out
}
