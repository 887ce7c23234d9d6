package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner/machine"
)

// hand drives a machine by hand, event by event.
type hand struct {
	t     *testing.T
	plan  *machine.Plan
	state *machine.State
	now   int64
}

func byHand(t *testing.T, flow string) *hand {
	t.Helper()
	plan := build(t, head+flow)
	h := &hand{t: t, plan: plan, state: plan.NewState(), now: 1e18}
	h.apply(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}})
	return h
}

// apply applies an event and returns what kinds of commands followed.
func (h *hand) apply(e machine.Event) string {
	h.t.Helper()
	h.now += int64(time.Millisecond)
	e.At = h.now
	cmds, err := h.plan.Apply(h.state, e)
	if err != nil {
		h.t.Fatal(err)
	}
	names := map[machine.CommandKind]string{
		machine.RunTask: "run", machine.CancelTask: "cancel", machine.StartTimer: "start", machine.StopTimer: "stop",
		machine.Advance: "advance", machine.Decide: "decide", machine.Finish: "finish",
		machine.AskPerson: "ask", machine.Pause: "pause", machine.PassAnswer: "pass", machine.PauseTask: "pause-task",
	}
	var out []string
	for _, c := range cmds {
		name := names[c.Kind]
		if c.Timer != "" {
			name += "-" + string(c.Timer)
		}
		if c.Task.Node != "" {
			name += ":" + c.Task.Node
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func (h *hand) wantNothing(what string, e machine.Event) {
	h.t.Helper()
	values, status, steps := h.state.Values(), h.state.Status, h.state.Steps
	if got := h.apply(e); got != "" {
		h.t.Errorf("%s: commands %q, want none", what, got)
	}
	if diff := cmp.Diff(values, h.state.Values()); diff != "" || h.state.Status != status || h.state.Steps != steps {
		h.t.Errorf("%s changed the state: status %s, steps %d %s", what, h.state.Status, h.state.Steps, diff)
	}
}

func (h *hand) want(what, commands string, e machine.Event) {
	h.t.Helper()
	if got := h.apply(e); got != commands {
		h.t.Errorf("%s: commands %q, want %q", what, got, commands)
	}
}

func ended(node string, visit, attempt int, output any) machine.Event {
	return machine.Event{Kind: machine.TaskEnded, Task: machine.TaskID{Node: node, Visit: visit, Attempt: attempt}, Output: output}
}

func failed(node string, visit, attempt int, kind string) machine.Event {
	e := ended(node, visit, attempt, nil)
	e.Failure = &machine.Failure{Kind: kind, Message: kind}
	return e
}

func fired(timer machine.TimerKind, node string, visit, attempt int) machine.Event {
	return machine.Event{
		Kind: machine.TimerFired, Timer: timer, Task: machine.TaskID{Node: node, Visit: visit, Attempt: attempt},
	}
}

// Events that come late, twice or for something else change nothing.
func TestLateEvents(t *testing.T) {
	advanced := machine.Event{Kind: machine.Advanced}
	h := byHand(t, `
limits: {timeout: 1h, step_timeout: 1m}
state: {log: {type: array, reducer: append, default: []}}
nodes: {a: {kind: exec, command: [x], timeout: 1s, writes: [log], retry: {max_attempts: 2}}, b: {kind: wait, for: 1s}}
edges: [{from: a, to: a, when: visits.a < 2}, {from: a, to: b}, {from: b, to: END}]`)
	h.wantNothing("a second beginning", machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "other"}})
	if h.state.RunID != "run" {
		t.Errorf("run id %q", h.state.RunID)
	}
	h.wantNothing("closing an open superstep", advanced)
	h.wantNothing("the end of another node", ended("b", 1, 1, 0))
	h.wantNothing("the end of another attempt", ended("a", 1, 2, 0))
	h.wantNothing("the end of another visit", ended("a", 2, 1, 0))
	h.wantNothing("the beginning of a task", machine.Event{Kind: machine.TaskBegan, Task: machine.TaskID{Node: "a", Visit: 1, Attempt: 1}})
	h.wantNothing("a timer that was not started", fired(machine.RetryTimer, "a", 1, 1))
	h.wantNothing("a timer of another superstep", machine.Event{Kind: machine.TimerFired, Timer: machine.StepTimer, Task: machine.TaskID{Visit: 7}})
	h.wantNothing("a decision that nobody asked for", machine.Event{Kind: machine.Decided, Target: "b"})
	h.want("a failure", "stop-timeout:a start-retry:a advance", failed("a", 1, 1, "tool"))
	h.wantNothing("its repetition", failed("a", 1, 1, "tool"))
	h.want("the closing", "stop-step", advanced)
	h.wantNothing("its repetition", advanced)
	h.wantNothing("the timeout of the attempt that ended", fired(machine.TaskTimer, "a", 1, 1))
	h.wantNothing("another timer of the parked task", fired(machine.WaitTimer, "a", 1, 1))
	h.want("the retry", "start-step run:a start-timeout:a", fired(machine.RetryTimer, "a", 1, 1))
	h.wantNothing("its repetition", fired(machine.RetryTimer, "a", 1, 1))
	h.wantNothing("a late end of the first attempt", ended("a", 1, 1, "late"))
	h.wantNothing("the timeout of the first attempt", fired(machine.TaskTimer, "a", 1, 1))
	h.wantNothing("the timer of the first superstep", machine.Event{Kind: machine.TimerFired, Timer: machine.StepTimer, Task: machine.TaskID{Visit: 1}})
	h.want("the end", "stop-timeout:a advance", ended("a", 1, 2, "one"))
	h.wantNothing("another end of it", ended("a", 1, 2, "other"))
	h.want("the closing", "stop-step start-step run:a start-timeout:a", advanced)
	h.wantNothing("an end of the first visit", ended("a", 1, 1, "late"))
	h.want("the end of the second visit", "stop-timeout:a advance", ended("a", 2, 1, "two"))
	h.want("the closing", "stop-step start-step start-wait:b advance", advanced)
	h.want("the closing without the waiting", "stop-step", advanced)
	h.wantNothing("a retry of what waits", fired(machine.RetryTimer, "b", 1, 1))
	h.want("the waited-for time", "start-step advance", fired(machine.WaitTimer, "b", 1, 1))
	h.wantNothing("its repetition", fired(machine.WaitTimer, "b", 1, 1))
	if got := h.apply(advanced); !strings.HasSuffix(got, "finish") {
		t.Errorf("commands %q, want the finish", got)
	}
	if diff := cmp.Diff(map[string]any{"log": []any{"one", "two"}}, h.state.Values()); diff != "" || h.state.Steps != 3 {
		t.Errorf("steps %d, state (-want +got):\n%s", h.state.Steps, diff)
	}
	for _, e := range []machine.Event{
		{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "other"}},
		{Kind: machine.CancelAsked},
		advanced,
		{Kind: machine.TimerFired, Timer: machine.RunTimer},
		ended("a", 2, 1, "late"),
		{Kind: machine.Decided, Target: "b"},
	} {
		h.wantNothing("after the end, "+string(e.Kind), e)
	}
	if _, err := h.plan.Apply(h.plan.NewState(), machine.Event{Kind: machine.Advanced}); err != nil {
		t.Errorf("an event before the beginning: %v", err)
	}
	fresh := byHand(t, "nodes: {a: {kind: exec, command: [x]}}\nedges: [{from: a, to: END}]")
	if _, err := fresh.plan.Apply(fresh.state, machine.Event{Kind: "explode"}); err == nil || !strings.Contains(err.Error(), "explode") {
		t.Errorf("an unknown event gives %v", err)
	}
}

// A task that has ended beside one that runs keeps what it came to.
func TestRepeatedEndBesideOthers(t *testing.T) {
	h := byHand(t, `
state: {k: {}}
nodes: {a: {kind: pass}, b: {kind: exec, command: [x], writes: [k]}, c: {kind: exec, command: [x]}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: END}]`)
	h.want("the start", "run:b run:c", machine.Event{Kind: machine.Advanced})
	h.want("the end of b", "", ended("b", 1, 1, "first"))
	h.wantNothing("another end of b", ended("b", 1, 1, "second"))
	h.wantNothing("a failure of b", failed("b", 1, 1, "tool"))
	h.want("the end of c", "advance", ended("c", 1, 1, nil))
	h.want("the closing", "finish", machine.Event{Kind: machine.Advanced})
	if got, _ := h.state.Value("k"); got != "first" {
		t.Errorf("k is %v", got)
	}
}

// A cancel, or a limit of time, waits for the running tasks; the first reason
// to end stands.
func TestEndings(t *testing.T) {
	flow := `
limits: {timeout: 1m}
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: 1}}, b: {kind: exec, command: [x], timeout: 5s, writes: [n]}}
edges: [{from: a, to: b}, {from: b, to: END}]`
	cancel := machine.Event{Kind: machine.CancelAsked}
	timeout := machine.Event{Kind: machine.TimerFired, Timer: machine.RunTimer}
	stopped := failed("b", 1, 1, "cancelled")
	stopped.Partial = map[string]any{"text": "so f"}
	for _, c := range []struct {
		name   string
		events []machine.Event
		status machine.Status
		reason string
		kind   string
	}{
		{"cancelled", []machine.Event{cancel, stopped}, machine.Cancelled, "cancelled", ""},
		{"cancelled, then out of time", []machine.Event{cancel, timeout, stopped}, machine.Cancelled, "cancelled", ""},
		{"out of time, then cancelled", []machine.Event{timeout, cancel, stopped}, machine.Limit, "timeout", "timeout"},
		{"cancelled twice", []machine.Event{cancel, cancel, stopped}, machine.Cancelled, "cancelled", ""},
		{"cancelled, then an attempt's timeout", []machine.Event{cancel, fired(machine.TaskTimer, "b", 1, 1), stopped}, machine.Cancelled, "cancelled", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := byHand(t, flow)
			h.apply(machine.Event{Kind: machine.Advanced})
			for i, e := range c.events {
				if h.state.Ended() {
					t.Fatalf("ended before event %d: something still runs", i)
				}
				got := h.apply(e)
				if want := i == 0; strings.Contains(got, "cancel:b") != want {
					t.Errorf("event %d gives %q", i, got)
				}
			}
			s := h.state
			if s.Status != c.status || s.Reason != c.reason || s.Quality != machine.FailedQuality {
				t.Errorf("status %s, reason %s, quality %s", s.Status, s.Reason, s.Quality)
			}
			if (s.Failure == nil) != (c.kind == "") || s.Failure != nil && s.Failure.Kind != c.kind {
				t.Errorf("failure %v, want %q", s.Failure, c.kind)
			}
			b := h.plan.Graph.Node("b").Index
			if s.Steps != 1 || s.Visits(b) != 0 {
				t.Errorf("steps %d, visits of b %d: an interrupted execution is none", s.Steps, s.Visits(b))
			}
			want := map[string]any{"b": map[string]any{"text": "so f"}}
			if diff := cmp.Diff(want, s.Partial()); diff != "" {
				t.Errorf("partial (-want +got):\n%s", diff)
			}
			if n, _ := s.Value("n"); n != 1 {
				t.Errorf("n is %v", n)
			}
		})
	}
}

// A task that is parked when the run ends was interrupted too.
func TestEndWhileParked(t *testing.T) {
	for name, flow := range map[string]string{
		"waiting":  "nodes: {a: {kind: pass}, b: {kind: wait, for: 1h}}\nedges: [{from: a, to: b}, {from: b, to: END}]",
		"retrying": "nodes: {a: {kind: pass}, b: {kind: exec, command: [x], retry: {max_attempts: 2}}}\nedges: [{from: a, to: b}, {from: b, to: END}]",
	} {
		t.Run(name, func(t *testing.T) {
			h := byHand(t, flow)
			h.apply(machine.Event{Kind: machine.Advanced})
			h.apply(failed("b", 1, 1, "tool")) // of no meaning to what waits
			h.apply(machine.Event{Kind: machine.Advanced})
			h.want("the cancel", "finish", machine.Event{Kind: machine.CancelAsked})
			b := h.plan.Graph.Node("b").Index
			if s := h.state; s.Status != machine.Cancelled || s.Steps != 1 || s.Visits(b) != 0 {
				t.Errorf("status %s, steps %d, visits %d", s.Status, s.Steps, s.Visits(b))
			}
		})
	}
}

// What ended by itself while it was being cancelled is not lost when only the
// attempt was to end.
func TestTimeoutRace(t *testing.T) {
	h := byHand(t, `
nodes: {a: {kind: exec, command: [x], timeout: 1s}}
edges: [{from: a, to: END}]`)
	h.want("the timeout", "cancel:a", fired(machine.TaskTimer, "a", 1, 1))
	h.wantNothing("its repetition", fired(machine.TaskTimer, "a", 1, 1))
	h.want("the end", "stop-timeout:a advance", failed("a", 1, 1, "cancelled"))
	h.apply(machine.Event{Kind: machine.Advanced})
	if f := h.state.Failure; f == nil || f.Kind != "timeout" || !strings.Contains(f.Message, "1s") {
		t.Errorf("failure %v, want a timeout", f)
	}
}

// The same among many tasks, which are found in another way than few.
func TestLateEventsAmongMany(t *testing.T) {
	var nodes, names []string
	for i := range 100 {
		names = append(names, fmt.Sprint("n", i))
		nodes = append(nodes, fmt.Sprintf("n%d: {kind: exec, command: [x], writes: [log]}", i))
	}
	h := byHand(t, fmt.Sprintf(`
limits: {max_concurrency: 100, max_steps: 500}
state: {log: {type: array, reducer: append, default: []}}
nodes: {a: {kind: pass}, %s}
edges: [{from: a, to: [%s]}, {from: [%[2]s], to: END}]`, strings.Join(nodes, ", "), strings.Join(names, ", ")))
	h.apply(machine.Event{Kind: machine.Advanced})
	if n := len(h.state.Running()); n != 100 {
		t.Fatalf("%d tasks run", n)
	}
	h.wantNothing("the end of another attempt", ended("n70", 1, 2, 0))
	h.wantNothing("the end of another visit", ended("n70", 2, 1, 0))
	h.wantNothing("the end of no node", ended("n100", 1, 1, 0))
	for i := range names {
		h.apply(ended(names[99-i], 1, 1, 99-i))
		h.wantNothing("another end", ended(names[99-i], 1, 1, "other"))
	}
	h.want("the closing", "finish", machine.Event{Kind: machine.Advanced})
	log, _ := h.state.Value("log")
	for i, v := range log.([]any) {
		if v != i {
			t.Fatalf("log is %v", log)
		}
	}
}
