package machine_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/referencetest"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// compile builds the plan of a graph, including the graphs that it runs.
func compile(t testing.TB, text string) *machine.Plan {
	t.Helper()
	g, found := spec.Parse("flow.yaml", []byte(text), spec.Options{})
	if found.HasErrors() {
		t.Fatalf("%v\n%s", found, text)
	}
	inner := map[string]*machine.Plan{}
	build := func(g *spec.Graph) *machine.Plan {
		p, found := machine.Build(g, nil, inner)
		if found.HasErrors() {
			t.Fatalf("%v\n%s", found, text)
		}
		return p
	}
	// A graph is built after those that it runs.
	var add func(g *spec.Graph)
	add = func(g *spec.Graph) {
		for _, n := range g.Nodes {
			if ref := n.Field("graph"); n.Kind.Value == "graph" && inner[ref.Text.Value] == nil {
				child := g.InnerGraph(ref.Text.Value)
				add(child)
				inner[ref.Text.Value] = build(child)
			}
		}
	}
	add(g)
	return build(g)
}

// sim drives a run in virtual time, against a world.
type sim struct {
	t      testing.TB
	plan   *machine.Plan
	state  *machine.State
	world  referencetest.World
	now    int64
	seq    int
	events []occasion
	// journal holds the applied events.
	journal []machine.Event
	// snapshots makes apply encode and decode the state before every event.
	snapshots bool
	opts      referencetest.Options
	began     int64
}

// occasion is a scheduled event.
type occasion struct {
	at    int64
	seq   int
	name  string
	event machine.Event
	// people marks an answer, or the timeout of a question.
	people bool
}

func (s *sim) schedule(name string, after time.Duration, people bool, e machine.Event) {
	s.cancel(name)
	s.seq++
	s.events = append(s.events, occasion{s.now + int64(after), s.seq, name, e, people})
}

func (s *sim) cancel(name string) {
	s.events = slices.DeleteFunc(s.events, func(o occasion) bool { return o.name == name })
}

func (s *sim) next() *occasion {
	var first *occasion
	for i := range s.events {
		if o := &s.events[i]; first == nil || o.at < first.at || o.at == first.at && o.seq < first.seq {
			first = o
		}
	}
	return first
}

func (s *sim) apply(e machine.Event) {
	s.t.Helper()
	if s.snapshots && s.state.Status != "" {
		text, err := s.state.Snapshot()
		if err != nil {
			s.t.Fatal(err)
		}
		if s.state, err = s.plan.Restore(text); err != nil {
			s.t.Fatal(err)
		}
		again, err := s.state.Snapshot()
		if err != nil || string(again) != string(text) {
			s.t.Fatalf("the snapshot changes: %v\n%s\n%s", err, text, again)
		}
	}
	e.At = s.now + base
	s.journal = append(s.journal, e)
	cmds, err := s.plan.Apply(s.state, e)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range slices.Clone(cmds) {
		s.execute(c)
	}
}

// base is the Unix time at which runs begin, in nanoseconds.
const base = int64(1_700_000_000_000_000_000)

func (s *sim) execute(c machine.Command) {
	s.t.Helper()
	timer := fmt.Sprint("timer ", c.Timer, c.Task, c.Fan, ".", c.Lane)
	switch c.Kind {
	case machine.RunTask:
		w := c.Work
		id := stepID(w.Place, w.Index, w.Round)
		out, takes := s.world.Attempt(id, c.Task.Attempt)
		e := machine.Event{Kind: machine.TaskEnded, Task: c.Task, Output: out.Output}
		if out.Error != nil {
			details, _ := out.Error.Details.(map[string]any)
			e.Failure = &machine.Failure{Kind: out.Error.Kind, Message: out.Error.Message, Details: details}
		}
		for _, key := range out.Asks {
			e.Asks = append(e.Asks, machine.Ask{ID: key, Key: key, Prompt: key})
		}
		if len(e.Asks) > 0 {
			e.Output = nil
		}
		s.schedule(fmt.Sprint("task ", c.Task), takes, false, e)
	case machine.CancelTask:
		s.schedule(fmt.Sprint("task ", c.Task), 0, false, machine.Event{
			Kind: machine.TaskEnded, Task: c.Task, Failure: &machine.Failure{Kind: "cancelled", Message: "cancelled"},
		})
	case machine.StartTimer:
		s.schedule(timer, c.For, c.Timer == machine.AnswerTimer, machine.Event{Kind: machine.TimerFired, Timer: c.Timer, Task: c.Task, Fan: c.Fan, Lane: c.Lane})
	case machine.StopTimer:
		s.cancel(timer)
	case machine.Advance:
		s.schedule("advance", 0, false, machine.Event{Kind: machine.Advanced})
	case machine.Decide:
		var names []string
		for _, o := range c.Choice.Candidates {
			names = append(names, o.Target)
		}
		to, ok := s.world.Choose(stepID(c.Choice.Place, -1, 0), names)
		e := machine.Event{Kind: machine.Decided, Task: c.Task, Target: to}
		if !ok {
			e.Failure = &machine.Failure{Kind: "llm", Message: "no decision"}
		}
		s.schedule(fmt.Sprint("decide ", c.Task), 0, false, e)
	case machine.AskPerson:
		q := c.Question
		answer, after, ok := s.world.Answer(stepID(q.Place, q.Index(), q.Round), q.Key)
		name := fmt.Sprint("question ", c.Task, q.ID)
		if ok && !slices.ContainsFunc(s.events, func(o occasion) bool { return o.name == name }) {
			s.schedule(fmt.Sprint("question ", c.Task, q.ID), after, true, machine.Event{Kind: machine.Answered, Task: c.Task, Question: q.ID, Output: answer})
		}
	case machine.CloseQuestion:
		s.cancel(fmt.Sprint("question ", c.Task, c.Question.ID))
	}
}

func stepID(p machine.Place, index, round int) referencetest.StepID {
	return referencetest.StepID{Scope: p.Scope, Node: p.Node, Visit: p.Visit, Element: index, Branch: p.Branch, Rank: p.Rank, Order: p.Order, Round: round}
}

// start begins a run and continues until it ends or pauses.
func start(t testing.TB, p *machine.Plan, input map[string]any, w referencetest.World, o referencetest.Options) *sim {
	s := &sim{t: t, plan: p, state: p.NewState(), world: w, opts: o}
	s.apply(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r"}, Input: input})
	s.loop()
	return s
}

// resume resumes a run that paused or ended. Running attempts are lost, except questions.
func (s *sim) resume(w referencetest.World, o referencetest.Options) {
	s.world, s.opts, s.began = w, o, s.now
	s.events = slices.DeleteFunc(s.events, func(o occasion) bool { return !strings.HasPrefix(o.name, "question") })
	s.apply(machine.Event{Kind: machine.Resumed})
	s.loop()
}

func (s *sim) loop() {
	s.t.Helper()
	pausing := false
	for range 200_000 {
		if s.state.HasEnded() {
			return
		}
		o := s.next()
		paused := s.state.Status == machine.Paused
		if paused && (o == nil || pausing || s.state.Pausing || s.opts.StopPaused) {
			if c := int64(s.opts.CancelAt); c > 0 && o == nil && !pausing {
				s.now = max(s.now, s.began+c)
				s.opts.CancelAt = 0
				s.apply(machine.Event{Kind: machine.CancelAsked})
				continue
			}
			return
		}
		if o == nil {
			text, _ := s.state.Snapshot()
			s.t.Fatalf("nothing is left to do, and the run is %s\n%s\n%v", s.state.Status, text, s.journal)
		}
		if c := int64(s.opts.CancelAt); c > 0 && s.began+c <= o.at {
			s.now = max(s.now, s.began+c)
			s.opts.CancelAt = 0
			s.apply(machine.Event{Kind: machine.CancelAsked})
			continue
		}
		if p := int64(s.opts.PauseAt); p > 0 && s.began+p <= o.at && !pausing {
			s.now, pausing = max(s.now, s.began+p), true
			s.apply(machine.Event{Kind: machine.PauseAsked})
			continue
		}
		s.now = max(s.now, o.at)
		e := o.event
		s.cancel(o.name)
		s.apply(e)
	}
	s.t.Fatal("the run does not end")
}

// result returns the result of the run as its caller sees it.
func (s *sim) result() referencetest.Result {
	st := s.state
	root := st.Scopes[0]
	out := referencetest.Result{
		Status: string(st.Status), Quality: string(st.Quality), Reason: st.Reason, Limited: st.Limited, Path: root.PathNodes(),
		State: root.Values(), Output: st.Output, Steps: root.Executions, Took: time.Duration(s.now - s.began),
	}
	if f := st.Failure; f != nil {
		out.Error = &referencetest.Error{Kind: f.Kind, Message: f.Message, Node: f.Node}
	}
	for _, q := range st.Questions() {
		out.Pending = append(out.Pending, referencetest.Pending{StepID: stepID(q.Place, q.Index(), q.Round), Key: q.Key})
	}
	for _, at := range st.PausedAt {
		out.Pending = append(out.Pending, referencetest.Pending{StepID: referencetest.StepID{Node: at.Node}, Breakpoint: at.Phase})
	}
	return out
}

// describeDifference describes how two results differ in what the language promises.
func describeDifference(want, got referencetest.Result) string {
	var out []string
	add := func(what string, w, g any) {
		if !reflect.DeepEqual(w, g) {
			out = append(out, fmt.Sprintf("%s:\n  want %v\n  got  %v", what, w, g))
		}
	}
	add("status", want.Status+" "+want.Quality, got.Status+" "+got.Quality)
	add("path", strings.Join(want.Path, " "), strings.Join(got.Path, " "))
	add("state", withoutMessages(want.State), withoutMessages(got.State))
	add("output", withoutMessages(want.Output), withoutMessages(got.Output))
	add("steps", want.Steps, got.Steps)
	return strings.Join(out, "\n")
}

// withoutMessages removes the messages of errors, which are not compared.
func withoutMessages(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if out[key] = withoutMessages(value); key == "message" && v["kind"] != nil {
				out[key] = ""
			}
			if key == "details" && v["kind"] != nil {
				out[key] = nil
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutMessages(v[i])
		}
		return out
	}
	return v
}

// Snapshots before every event do not change the result.
func TestSnapshots(t *testing.T) {
	for seed := range uint64(30) {
		text, world := referencetest.RandomGraph(seed, referencetest.DeepWeights())
		plan := compile(t, text)
		want := start(t, plan, nil, world, referencetest.Options{})
		got := &sim{t: t, plan: plan, state: plan.NewState(), world: world, snapshots: true}
		got.apply(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r"}})
		got.loop()
		if diff := describeDifference(want.result(), got.result()); diff != "" {
			t.Fatalf("%d:\n%s\n%s", seed, diff, text)
		}
	}
}
