package lint_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// player executes the commands of the machine in virtual time, with random results,
// delays and answers. The result is a run that may happen.
type player struct {
	*rand.Rand
	plan  *machine.Plan
	state *machine.State
	now   time.Duration
	seq   int
	queue []dueEvent
	asked map[machine.TaskID]bool
	// prompt says that people answer at once, like answers given in advance. even says that
	// everything takes the same time. often holds, by node, the result that its program
	// yields most of the time in this run.
	prompt, even bool
	often        map[string]int
	end          played
}

type dueEvent struct {
	at    time.Duration
	seq   int
	event machine.Event
}

// played is the result of a run.
type played struct {
	status  machine.Status
	reason  string
	failure *machine.Failure
	steps   int
	path    []string
	bare    bool // no input set a key that nodes write
}

// play runs a plan once.
func (m maker) play(t *testing.T, plan *machine.Plan, input map[string]any) played {
	t.Helper()
	p := &player{Rand: m.Rand, plan: plan, state: plan.NewState(), asked: map[machine.TaskID]bool{}, often: map[string]int{}, even: m.IntN(4) == 0, prompt: m.IntN(4) == 0}
	p.schedule(0, machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}, Input: input})
	const most = 9000 // events
	for range most {
		if p.state.HasEnded() {
			p.end.status, p.end.reason, p.end.failure = p.state.Status, p.state.Reason, p.state.Failure
			p.end.steps = p.state.Steps()
			return p.end
		}
		if len(p.queue) == 0 {
			t.Fatalf("the run hangs as %q after %v: %+v", p.state.Status, p.end.path, p.state.Questions())
		}
		next := p.queue[0]
		p.queue = p.queue[1:]
		p.now = max(p.now, next.at)
		p.apply(t, next.event)
	}
	t.Fatalf("no end after %d events: %v", most, p.end.path)
	return played{}
}

func (p *player) schedule(in time.Duration, e machine.Event) {
	p.seq++
	p.queue = append(p.queue, dueEvent{p.now + in, p.seq, e})
	slices.SortFunc(p.queue, func(a, b dueEvent) int { return cmp.Or(cmp.Compare(a.at, b.at), a.seq-b.seq) })
}

func (p *player) forget(match func(e *machine.Event) bool) {
	p.queue = slices.DeleteFunc(p.queue, func(q dueEvent) bool { return match(&q.event) })
}

func (p *player) apply(t *testing.T, e machine.Event) {
	const epoch = int64(1e18)
	p.state.Watched = true
	e.At = epoch + int64(p.now)
	cmds, err := p.plan.Apply(p.state, e)
	if err != nil {
		t.Fatal(err)
	}
	cmds = slices.Clone(cmds)
	for _, n := range p.state.Notes() {
		if n.Step > 0 && (n.Kind == machine.NoteNodeCompleted || n.Kind == machine.NoteNodeFailed) {
			p.end.path = append(p.end.path, n.Node)
		}
	}
	for _, c := range cmds {
		p.carryOut(c)
	}
}

func (p *player) carryOut(c machine.Command) {
	switch c.Kind {
	case machine.Advance:
		p.schedule(0, machine.Event{Kind: machine.Advanced})
	case machine.RunTask:
		p.run(c)
	case machine.CancelTask:
		p.forget(func(e *machine.Event) bool { return e.Kind == machine.TaskEnded && e.Task == c.Task })
		p.schedule(0, machine.Event{Kind: machine.TaskEnded, Task: c.Task, Failure: &machine.Failure{Kind: "cancelled", Message: "cancelled"}})
	case machine.StartTimer:
		p.schedule(c.For, machine.Event{Kind: machine.TimerFired, Task: c.Task, Timer: c.Timer, Fan: c.Fan, Lane: c.Lane})
	case machine.StopTimer:
		p.forget(func(e *machine.Event) bool {
			return e.Kind == machine.TimerFired && e.Task == c.Task && e.Timer == c.Timer && e.Fan == c.Fan && e.Lane == c.Lane
		})
	case machine.AskPerson:
		answer := any("yes")
		if c.Question.Schema["enum"] != nil {
			answer = p.IntN(2) == 0
		}
		e := machine.Event{Kind: machine.Answered, Task: c.Question.Task, Question: c.Question.ID, Output: answer}
		if p.prompt {
			p.queue = slices.Insert(p.queue, 0, dueEvent{at: p.now, event: e})
			return
		}
		p.schedule(p.takes(), e)
	}
}

// takes returns a duration: the same as all others, or shorter or longer than every
// other one.
func (p *player) takes() time.Duration {
	if p.even {
		return time.Second
	}
	return []time.Duration{0, time.Millisecond, time.Second, time.Minute}[p.IntN(4)] + time.Duration(p.IntN(1000))
}

// The possible results of a program.
const (
	yieldsTrue = iota
	yieldsFalse
	fails
	asksPeople
	waysToEnd
)

// run lets a program yield true or false, fail, or first ask a person.
func (p *player) run(c machine.Command) {
	place, _ := p.state.Place(c.Task)
	often, known := p.often[place.Node]
	if !known {
		often = p.IntN(waysToEnd)
		p.often[place.Node] = often
	}
	how := often // long loops want the same again and again
	if p.IntN(2) == 0 {
		how = p.IntN(waysToEnd)
	}
	e := machine.Event{Kind: machine.TaskEnded, Task: c.Task}
	switch {
	case how == fails:
		e.Failure = &machine.Failure{Kind: "exit_status", Message: "as the test wants"}
	case how == asksPeople && !p.asked[c.Task]:
		p.asked[c.Task] = true
		e.Asks = []machine.Ask{{ID: fmt.Sprint(c.Task.Attempt), Key: fmt.Sprint(c.Task.Attempt), Prompt: "?"}}
	default:
		e.Output = how != yieldsFalse
	}
	p.schedule(p.takes(), e)
}

// plays tries runs of a graph on every input until one is found.
func (m maker) plays(t *testing.T, g *spec.Graph, tries int, found func(r *played) bool) bool {
	t.Helper()
	plan, ds := machine.Build(g, nil, nil)
	if plan == nil {
		t.Fatalf("%s", ds[0].Message)
	}
	written := map[string]bool{}
	bound, _ := bind.Bind(g, nil, nil)
	for _, access := range dataflow.Accesses(g, bound) {
		for _, w := range access.Writes {
			written[w.Name.Value] = true
		}
	}
	for range tries {
		input := map[string]any{"i": m.IntN(4), "ok": m.IntN(2) == 0}
		for _, name := range []string{"k", "l", "m"} {
			if key := g.Key(name); key != nil && key.Schema["type"] == "string" && m.IntN(4) == 0 {
				input[name] = m.pick("", "x", "other")
			}
		}
		if g.Key("q") != nil && m.IntN(4) == 0 {
			input["q"] = [][]any{{m.IntN(4)}, {m.IntN(4), m.IntN(4)}, {1, 2, 3}}[m.IntN(3)]
		}
		bare := m.IntN(2) == 0
		if bare {
			maps.DeleteFunc(input, func(name string, _ any) bool { return written[name] })
		}
		r := m.play(t, plan, input)
		r.bare = bare
		if found(&r) {
			return true
		}
	}
	return false
}
