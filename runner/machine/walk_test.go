package machine_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// answer is what a scripted handler does on one attempt. The zero answer
// succeeds with null.
type answer struct {
	output  any
	failure *machine.Failure
	hangs   bool // until it is cancelled
	late    bool // ends after everything else that can happen
	target  string
}

// script holds the answers of each node, one an attempt; the last one repeats.
type script map[string][]answer

func ok(output any) answer             { return answer{output: output} }
func bad(kind string) answer           { return answer{failure: &machine.Failure{Kind: kind, Message: kind}} }
func hang() answer                     { return answer{hangs: true} }
func late(output any) answer           { return answer{output: output, late: true} }
func routed(target string) answer      { return answer{target: target} }
func badWith(f machine.Failure) answer { return answer{failure: &f} }
func each(list ...answer) []answer     { return list }
func (s script) take(key string, n int) answer {
	list := s[key]
	if len(list) == 0 {
		return answer{}
	}
	return list[min(n, len(list)-1)]
}

// walker is a driver for tests: no goroutine, no clock of its own. Handlers
// answer at once, in the order in which they were started.
type walker struct {
	t      *testing.T
	plan   *machine.Plan
	script script
	state  *machine.State
	now    int64
	asked  map[string]int
	events []machine.Event
	cmds   []machine.Command // every command, copied
	path   []string
	delays []time.Duration // of retry and wait timers
	hung   map[machine.TaskID]bool
	late   []machine.Event
	most   int               // tasks that ran at once
	timers []machine.Command // timeouts not fired yet
}

func build(t testing.TB, flow string) *machine.Plan {
	t.Helper()
	// The cases of a table share nodes.
	return planOf(t, flow, func(rule string) bool { return rule == "unreachable-node" })
}

// planOf builds a plan of a flow that is valid but for findings of rules that
// are forgiven.
func planOf(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, flow string, forgiven func(rule string) bool,
) *machine.Plan {
	t.Helper()
	g, found := spec.Parse("flow.yaml", []byte(flow), spec.Options{})
	if g != nil && !found.HasErrors() {
		found = append(found, spec.Check(g)...)
	}
	for _, d := range found {
		if d.Severity == spec.Error && !forgiven(d.Rule) {
			at := d.File.Position(d.Span.From)
			t.Fatalf("flow.yaml:%d:%d: %s [%s]\n%s", at.Line, at.Column, d.Message, d.Rule, flow)
		}
	}
	plan, found := machine.Build(g, nil)
	if plan == nil {
		t.Fatalf("build: %v %s", found[0].Rule, found[0].Message)
	}
	return plan
}

// walk runs a flow to its end and checks that replaying its events gives the
// same commands and the same state.
func walk(t *testing.T, flow string, answers script, input map[string]any, info machine.RunInfo) *walker {
	t.Helper()
	w := &walker{
		t: t, plan: build(t, flow), script: answers, now: 1e18,
		asked: map[string]int{}, hung: map[machine.TaskID]bool{},
	}
	w.state = w.plan.NewState()
	info.ID = "run"
	queue := []machine.Event{{Kind: machine.RunBegan, Run: &info, Input: input}}
	for len(queue) > 0 {
		event := queue[0]
		queue = append(queue[1:], w.apply(event)...)
		if len(queue) == 0 && len(w.late) > 0 {
			queue, w.late = append(queue, w.late[0]), w.late[1:]
		}
		if len(queue) == 0 && !w.state.Ended() {
			queue = append(queue, w.fireTimeout()...)
		}
	}
	if !w.state.Ended() {
		t.Fatalf("the run hangs: path %v, status %q", w.path, w.state.Status)
	}
	w.replay()
	return w
}

func (w *walker) apply(event machine.Event) []machine.Event {
	w.now += int64(time.Millisecond)
	event.At = w.now
	w.events = append(w.events, event)
	cmds, err := w.plan.Apply(w.state, event)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, i := range w.state.Ran {
		w.path = append(w.path, w.plan.Graph.Nodes[i].ID.Value)
	}
	w.most = max(w.most, len(w.state.Running()))
	var out []machine.Event
	for _, c := range cmds {
		w.cmds = append(w.cmds, c)
		out = append(out, w.carryOut(c)...)
	}
	return out
}

func (w *walker) carryOut(c machine.Command) []machine.Event {
	switch c.Kind {
	case machine.Advance:
		return []machine.Event{{Kind: machine.Advanced}}
	case machine.RunTask:
		a := w.script.take(c.Task.Node, w.asked[c.Task.Node])
		w.asked[c.Task.Node]++
		if a.hangs {
			w.hung[c.Task] = true
			return nil
		}
		ended := machine.Event{Kind: machine.TaskEnded, Task: c.Task, Output: canonical(w.t, a.output), Failure: a.failure}
		if a.late {
			w.late = append(w.late, ended)
			return nil
		}
		return []machine.Event{ended}
	case machine.CancelTask:
		if w.hung[c.Task] {
			return []machine.Event{{
				Kind: machine.TaskEnded, Task: c.Task, Partial: "so far",
				Failure: &machine.Failure{Kind: "cancelled", Message: "cancelled"},
			}}
		}
	case machine.StartTimer:
		if c.Timer == machine.RetryTimer || c.Timer == machine.WaitTimer {
			w.delays = append(w.delays, c.For)
			w.now += int64(c.For)
			return []machine.Event{{Kind: machine.TimerFired, Task: c.Task, Timer: c.Timer}}
		}
		w.timers = append(w.timers, c)
	case machine.Decide:
		a := w.script.take("router:"+c.Task.Node, w.asked["router:"+c.Task.Node])
		w.asked["router:"+c.Task.Node]++
		return []machine.Event{{Kind: machine.Decided, Task: c.Task, Target: a.target, Failure: a.failure}}
	}
	return nil
}

// fireTimeout lets the shortest pending timeout fire: nothing else can happen.
func (w *walker) fireTimeout() []machine.Event {
	if len(w.timers) == 0 {
		return nil
	}
	least := 0
	for i := range w.timers {
		if w.timers[i].For < w.timers[least].For {
			least = i
		}
	}
	c := w.timers[least]
	w.timers = append(w.timers[:least:least], w.timers[least+1:]...)
	w.now += int64(c.For)
	return []machine.Event{{Kind: machine.TimerFired, Task: c.Task, Timer: c.Timer}}
}

// replay applies the recorded events, after a round trip through JSON, to a
// fresh state and compares.
func (w *walker) replay() {
	w.t.Helper()
	again := w.plan.NewState()
	var cmds []machine.Command
	for _, e := range w.events {
		text, err := json.Marshal(e)
		if err != nil {
			w.t.Fatal(err)
		}
		var back machine.Event
		if err := json.Unmarshal(text, &back); err != nil {
			w.t.Fatal(err)
		}
		got, err := w.plan.Apply(again, back)
		if err != nil {
			w.t.Fatal(err)
		}
		cmds = append(cmds, got...)
	}
	if diff := cmp.Diff(w.cmds, cmds); diff != "" {
		w.t.Errorf("replay gives other commands (-first +replay):\n%s", diff)
	}
	if diff := cmp.Diff(w.state.Values(), again.Values()); diff != "" {
		w.t.Errorf("replay gives another state (-first +replay):\n%s", diff)
	}
	if w.state.Status != again.Status || !reflect.DeepEqual(w.state.Output, again.Output) {
		w.t.Errorf("replay ends as %s with %v, first run as %s with %v", again.Status, again.Output, w.state.Status, w.state.Output)
	}
}

func canonical(t *testing.T, v any) any {
	t.Helper()
	out, err := eval.Canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
