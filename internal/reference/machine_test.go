// The machine, driven in virtual time by the same script as the reference.

package reference_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/internal/reference"
	"github.com/graphrun/graphrun/runner/machine"
)

// driver carries out what the machine wants: what a handler does, and how long
// it takes, says the script.
type driver struct {
	plan   *machine.Plan
	state  *machine.State
	script reference.Script
	now    time.Duration
	seq    int
	queue  []due
	pace   func() time.Duration // what the next superstep takes
	rounds map[machine.TaskID]int
	path   []string
	// answers says how long each question of a task still waits.
	answers map[string]time.Duration
}

type due struct {
	at    time.Duration
	seq   int
	event machine.Event
}

const (
	epoch     = int64(1e18)
	maxEvents = 20_000
)

// walk runs a plan to its end; supersteps take no time.
func walk(plan *machine.Plan, script reference.Script) (result reference.Result, err error) {
	return walkAt(func() time.Duration { return 0 }, plan, script)
}

// walkAt runs a plan to its end, where pace says what the next superstep takes.
func walkAt(pace func() time.Duration, plan *machine.Plan, script reference.Script) (result reference.Result, err error) {
	d := &driver{
		plan: plan, state: plan.NewState(), script: script, pace: pace,
		rounds: map[machine.TaskID]int{}, answers: map[string]time.Duration{},
	}
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	d.schedule(0, machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}})
	for range maxEvents {
		if d.state.Ended() {
			return d.result(), nil
		}
		if len(d.queue) == 0 {
			return d.result(), fmt.Errorf("the run hangs as %q", d.state.Status)
		}
		next := d.queue[0]
		d.queue = d.queue[1:]
		d.now = max(d.now, next.at)
		if err := d.apply(next.event); err != nil {
			return d.result(), err
		}
	}
	return d.result(), fmt.Errorf("no end after %d events", maxEvents)
}

func (d *driver) schedule(in time.Duration, e machine.Event) {
	d.scheduleAs(d.seq, in, e)
}

func (d *driver) scheduleAs(seq int, in time.Duration, e machine.Event) {
	d.seq++
	d.queue = append(d.queue, due{d.now + in, seq, e})
	slices.SortFunc(d.queue, func(a, b due) int { return cmp.Or(cmp.Compare(a.at, b.at), a.seq-b.seq) })
}

func (d *driver) forget(match func(e *machine.Event) bool) {
	d.queue = slices.DeleteFunc(d.queue, func(q due) bool { return match(&q.event) })
}

func (d *driver) apply(e machine.Event) error {
	e.At = epoch + int64(d.now)
	cmds, err := d.plan.Apply(d.state, e)
	if err != nil {
		return err
	}
	cmds = slices.Clone(cmds)
	for _, i := range d.state.Ran {
		d.path = append(d.path, d.plan.NodeID(i))
	}
	for _, c := range cmds {
		d.carryOut(c)
	}
	return nil
}

func (d *driver) carryOut(c machine.Command) {
	switch c.Kind {
	case machine.Advance:
		d.schedule(d.pace(), machine.Event{Kind: machine.Advanced})
	case machine.RunTask:
		d.start(c)
	case machine.CancelTask:
		d.forget(func(e *machine.Event) bool { return e.Kind == machine.TaskEnded && e.Task == c.Task })
		d.scheduleAs(d.seq-maxEvents, 0, machine.Event{ // before all else: an attempt out of time has ended
			Kind: machine.TaskEnded, Task: c.Task, Failure: &machine.Failure{Kind: "cancelled", Message: "cancelled"},
		})
	case machine.StartTimer:
		d.schedule(c.For, machine.Event{Kind: machine.TimerFired, Task: c.Task, Timer: c.Timer})
	case machine.StopTimer:
		d.forget(func(e *machine.Event) bool {
			return e.Kind == machine.TimerFired && e.Task == c.Task && e.Timer == c.Timer
		})
	case machine.AskPerson:
		d.ask(c)
	}
}

func attempt(id machine.TaskID, round int) reference.Attempt {
	return reference.Attempt{Node: id.Node, Visit: id.Visit, Attempt: id.Attempt, Element: id.Element, Round: round}
}

func (d *driver) start(c machine.Command) {
	o := d.script(attempt(c.Task, d.rounds[c.Task]))
	e := machine.Event{Kind: machine.TaskEnded, Task: c.Task, Output: o.Output}
	switch {
	case len(o.Asks) > 0:
		e.Park, e.Output = &machine.Parking{}, nil
		for i, in := range o.Asks {
			id := fmt.Sprintf("%d.%d.%d", c.Task.Attempt, d.rounds[c.Task], i) // a retry finds earlier answers
			e.Park.Asks = append(e.Park.Asks, machine.Ask{ID: id, Key: "k" + id, Prompt: "?"})
			d.answers[fmt.Sprint(c.Task, id)] = in
		}
		d.rounds[c.Task]++
	case o.Fails != "":
		e.Output, e.Failure = nil, &machine.Failure{Kind: o.Fails, Message: o.Fails}
	}
	d.schedule(o.Takes, e)
}

func (d *driver) ask(c machine.Command) {
	q := c.Question
	in, asked := d.answers[fmt.Sprint(q.Task, q.ID)]
	var answer any = "yes"
	if !asked {
		o := d.script(attempt(q.Task, 0))
		in, answer = o.Takes, o.Output
	}
	d.schedule(in, machine.Event{Kind: machine.Answered, Task: q.Task, Question: q.ID, Output: answer})
}

func (d *driver) result() reference.Result {
	s := d.state
	out := reference.Result{
		Status: string(s.Status), Reason: s.Reason, Quality: string(s.Quality), Limited: s.Limited,
		Path: d.path, State: s.Values(), Output: s.Output, Steps: s.StepsEnded(),
		Fired: s.FiredEdges(), Visits: map[string]int{}, Took: d.now,
	}
	if s.Failure != nil {
		out.Error = reference.Error{Kind: s.Failure.Kind, Node: s.Failure.Node}
	}
	for i := range d.plan.NodeCount() {
		if v := s.Visits(i); v > 0 {
			out.Visits[d.plan.NodeID(int32(i))] = v
		}
	}
	return out
}
