package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// act is an event, what commands follow, and how the run stands then: its status
// and reason, and the targets of the questions that are open.
type act struct {
	event    machine.Event
	commands string
	stands   string
	open     string
}

func (h *hand) acts(list ...act) {
	h.t.Helper()
	for i, a := range list {
		if got := h.apply(a.event); got != a.commands {
			h.t.Errorf("act %d, %s: commands %q, want %q", i, a.event.Kind, got, a.commands)
		}
		if got := strings.TrimSuffix(string(h.state.Status)+" "+h.state.Reason, " "); got != a.stands {
			h.t.Errorf("act %d, %s: %s, want %s", i, a.event.Kind, got, a.stands)
		}
		var open []string
		for _, q := range h.state.Questions() {
			open = append(open, q.Target())
		}
		if got := strings.Join(open, " "); got != a.open {
			h.t.Errorf("act %d, %s: open questions %q, want %q", i, a.event.Kind, got, a.open)
		}
	}
}

func says(node string, value any) machine.Event {
	return machine.Event{Kind: machine.Answered, Task: machine.TaskID{Node: node, Visit: 1, Attempt: 1}, Output: value}
}

var (
	closes = machine.Event{Kind: machine.Advanced}
	resume = machine.Event{Kind: machine.Resumed}
)

// A person is asked: what is not legal, comes twice or too late is no answer.
func TestPersonAnswers(t *testing.T) {
	const flow = `
state: {x: {}}
nodes: {a: {kind: human, prompt: "?", choices: [p, q], writes: [x]%s}}
edges: [{from: a, to: END}]`
	timed := strings.Replace(flow, "%s", ", timeout: 1h, default: q", 1)
	timeIsOver := fired(machine.AnswerTimer, "a", 1, 1)
	for name, test := range map[string]struct {
		flow string
		acts []act
		x    any
	}{
		"once": {strings.Replace(flow, "%s", "", 1), []act{
			{closes, "pause", "paused human", "a"},
			{says("a", "r"), "", "paused human", "a"},
			{says("b", "p"), "", "paused human", "a"},
			{says("a", "p"), "advance", "running", ""},
			{says("a", "q"), "", "running", ""},
			{closes, "finish", "completed end", ""},
		}, "p"},
		"with a time limit it pauses the same": {timed, []act{
			{closes, "pause", "paused human", "a"},
			{timeIsOver, "stop-answer:a advance", "running", ""},
			{says("a", "p"), "", "running", ""},
			{closes, "finish", "completed end", ""},
		}, "q"},
		"an answer in time stops the timer": {timed, []act{
			{closes, "pause", "paused human", "a"},
			{says("a", "p"), "stop-answer:a advance", "running", ""},
			{timeIsOver, "", "running", ""},
			{closes, "finish", "completed end", ""},
		}, "p"},
		"nobody drives: the answer is kept until somebody does": {timed, []act{
			{closes, "pause", "paused human", "a"},
			{held(says("a", "p")), "stop-answer:a", "paused human", ""},
			{held(says("a", "q")), "", "paused human", ""},
			{timeIsOver, "", "paused human", ""},
			{resume, "advance", "running", ""},
			{closes, "finish", "completed end", ""},
		}, "p"},
		"a resume asks again, with the time that is left": {timed, []act{
			{closes, "pause", "paused human", "a"},
			{resume, "ask:a start-answer:a pause", "paused human", "a"},
			{says("a", "q"), "stop-answer:a advance", "running", ""},
			{closes, "finish", "completed end", ""},
		}, "q"},
	} {
		t.Run(name, func(t *testing.T) {
			h := byHand(t, test.flow)
			h.acts(test.acts...)
			if got, _ := h.state.Value("x"); got != test.x {
				t.Errorf("x is %v, want %v", got, test.x)
			}
		})
	}
}

func held(e machine.Event) machine.Event {
	e.Hold = true
	return e
}

// Who is waited for: the run pauses for people when nothing else is left, and waits in
// its process for a time, unless it is asked to pause.
func TestPausesForPeople(t *testing.T) {
	const flow = `
nodes: {a: {kind: pass}, h: {kind: human, prompt: "?"}, w: {kind: wait, for: 1h}, x: {kind: exec, command: [x]}}
edges: [{from: a, to: [%s]}, {from: [h, w, x], to: END}]`
	among := func(nodes string) string { return strings.Replace(flow, "%s", nodes, 1) }
	asksToWait, asksToPause := machine.Event{Kind: machine.PauseAsked, Reason: "wait"}, machine.Event{Kind: machine.PauseAsked}
	for name, test := range map[string]struct {
		flow string
		acts []act
	}{
		"others are at work": {among("h, x"), []act{
			{closes, "ask:h run:x", "running", "h"},
			{asksToWait, "", "running", "h"},
			{ended("x", 1, 1, nil), "advance", "running", "h"},
			{closes, "pause", "paused human", "h"},
			{says("h", "y"), "advance", "running", ""},
			{closes, "finish", "completed end", ""},
		}},
		"an answer while others are at work joins the next superstep": {among("h, x"), []act{
			{closes, "ask:h run:x", "running", "h"},
			{says("h", "y"), "", "running", ""},
			{ended("x", 1, 1, nil), "advance", "running", ""},
			{closes, "advance", "running", ""},
			{closes, "finish", "completed end", ""},
		}},
		"a time is waited for": {among("h, w"), []act{
			{closes, "ask:h start-wait:w advance", "running", "h"},
			{closes, "", "running", "h"},
			{asksToWait, "pause", "paused wait", "h"},
			{fired(machine.WaitTimer, "w", 1, 1), "advance", "running", "h"},
			{closes, "pause", "paused human", "h"},
		}},
		"a retry is waited for": {strings.Replace(among("h, x"), "command: [x]", "command: [x], retry: {max_attempts: 2}", 1), []act{
			{closes, "ask:h run:x", "running", "h"},
			{failed("x", 1, 1, "tool"), "start-retry:x advance", "running", "h"},
			{closes, "", "running", "h"},
			{asksToWait, "pause", "paused wait", "h"},
			{fired(machine.RetryTimer, "x", 1, 1), "run:x", "running", "h"},
		}},
		"a pause comes when the superstep has closed, and keeps the question": {among("h, x"), []act{
			{closes, "ask:h run:x", "running", "h"},
			{asksToPause, "", "running", "h"},
			{ended("x", 1, 1, nil), "advance", "running", "h"},
			{closes, "pause", "paused pause", "h"},
			{says("h", "y"), "", "paused pause", ""},
			{resume, "advance", "running", ""},
			{closes, "finish", "completed end", ""},
		}},
		"a cancel ends it where it pauses": {among("h"), []act{
			{closes, "ask:h advance", "running", "h"},
			{closes, "pause", "paused human", "h"},
			{machine.Event{Kind: machine.CancelAsked}, "finish", "cancelled cancelled", "h"},
			{says("h", "y"), "", "cancelled cancelled", "h"},
		}},
	} {
		t.Run(name, func(t *testing.T) { byHand(t, test.flow).acts(test.acts...) })
	}
}

// A subgraph that waits: one answer is enough for it to go on, and what it is told
// while it runs is passed on.
func TestSubgraphAsks(t *testing.T) {
	const flow = `
graphs: {child: {start: c, nodes: {c: {kind: pass}}, edges: [{from: c, to: END}]}}
nodes: {a: {kind: pass}, g: {kind: graph, graph: "#child"%s}, x: {kind: pass}}
edges: [{from: a, to: [g, x]}, {from: [g, x], to: END}]`
	plain, timed := strings.Replace(flow, "%s", "", 1), strings.Replace(flow, "%s", ", timeout: 1h", 1)
	asks := func(until int64, ids ...string) machine.Event {
		e := ended("g", 1, 1, nil)
		e.Child, e.Park = &machine.ChildEnd{Steps: 3, Waiting: 1}, &machine.Parking{Until: until}
		for _, id := range ids {
			e.Park.Asks = append(e.Park.Asks, machine.Ask{ID: id, Node: id, Prompt: "?"})
		}
		return e
	}
	answer := func(id string, value any) machine.Event {
		e := says("g", value)
		e.Question = id
		return e
	}
	done := ended("g", 1, 1, map[string]any{})
	done.Child = &machine.ChildEnd{Steps: 4}
	stands := asks(0)
	stands.Park.At = &machine.Breakpoint{Phase: "before", Nodes: []string{"c"}}
	const now = int64(1e18)
	for name, test := range map[string]struct {
		flow  string
		acts  []act
		steps int
	}{
		"one of two answers is enough": {plain, []act{
			{closes, "run:g", "running", ""},
			{asks(0, "p", "q"), "ask:g ask:g advance", "running", "g/p g/q"},
			{closes, "pause", "paused human", "g/p g/q"},
			{answer("q", "y"), "run:g", "running", ""}, // its driver asks the rest
			{answer("p", "z"), "pass:g", "running", ""},
			{answer("p", "other"), "", "running", ""},
			{done, "advance", "running", ""},
			{closes, "finish", "completed end", ""},
		}, 7},
		"what it asked before stays answered when it asks more": {plain, []act{
			{closes, "run:g", "running", ""},
			{asks(0, "p", "q"), "ask:g ask:g advance", "running", "g/p g/q"},
			{closes, "pause", "paused human", "g/p g/q"},
			{answer("q", "y"), "run:g", "running", ""},
			{answer("p", "z"), "pass:g", "running", ""},
			{asks(0, "p", "r"), "ask:g advance", "running", "g/r"},
			{closes, "run:g", "running", ""},
		}, 0},
		"it goes on by itself when its time has come, not for people who are late": {plain, []act{
			{closes, "run:g", "running", ""},
			{asks(now+int64(time.Hour), "p"), "ask:g start-answer:g advance", "running", "g/p"},
			{closes, "", "running", "g/p"},
			{machine.Event{Kind: machine.TimerFired, Timer: machine.AnswerTimer, Task: machine.TaskID{Node: "g", Visit: 1, Attempt: 1}}, "stop-answer:g run:g", "running", ""},
			{done, "advance", "running", ""},
			{closes, "finish", "completed end", ""},
		}, 7},
		"its attempt has the time that is left when it waited for a time": {timed, []act{
			{closes, "run:g start-timeout:g", "running", ""},
			{asks(now + int64(2*time.Hour)), "stop-timeout:g start-answer:g advance", "running", ""},
			{closes, "", "running", ""},
			{machine.Event{Kind: machine.TimerFired, Timer: machine.AnswerTimer, Task: machine.TaskID{Node: "g", Visit: 1, Attempt: 1}}, "stop-answer:g run:g start-timeout:g", "running", ""},
			{fired(machine.TaskTimer, "g", 1, 1), "cancel:g", "running", ""},
		}, 0},
		"it stands at a breakpoint, and the run with it": {plain, []act{
			{closes, "run:g", "running", ""},
			{stands, "advance", "running", ""},
			{closes, "pause", "paused pause", ""},
			{resume, "run:g", "running", ""},
			{done, "advance", "running", ""},
			{closes, "finish", "completed end", ""},
		}, 7},
		"a pause asks it to pause": {plain, []act{
			{closes, "run:g", "running", ""},
			{machine.Event{Kind: machine.PauseAsked}, "pause-task:g", "running", ""},
			{asks(0, "p"), "ask:g advance", "running", "g/p"},
			{closes, "pause", "paused pause", "g/p"},
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := byHand(t, test.flow)
			h.acts(test.acts...)
			if test.steps > 0 && h.state.StepsEnded() != test.steps {
				t.Errorf("%d steps, want %d", h.state.StepsEnded(), test.steps)
			}
		})
	}
}

// What waits in a subgraph has its step, and is none of those that ended.
func TestStepsOfSubgraphThatWaits(t *testing.T) {
	h := byHand(t, `
limits: {max_steps: 5}
graphs: {child: {start: c, nodes: {c: {kind: pass}}, edges: [{from: c, to: END}]}}
nodes: {a: {kind: pass}, g: {kind: graph, graph: "#child"}, x: {kind: pass}}
edges: [{from: a, to: [g, x]}, {from: x, to: x, when: visits.x < 9}, {from: [g, x], to: END}]`)
	parks := ended("g", 1, 1, nil)
	parks.Child = &machine.ChildEnd{Steps: 2, Waiting: 1}
	parks.Park = &machine.Parking{Asks: []machine.Ask{{ID: "p", Node: "p", Prompt: "?"}}}
	h.acts(
		act{closes, "run:g", "running", ""},
		act{parks, "ask:g advance", "running", "g/p"},
		act{closes, "advance", "running", "g/p"}, // a, g, x and two in g are five
	)
	if got := h.state.StepsEnded(); got != 3 {
		t.Errorf("%d steps have ended, want a, x and one of g's", got)
	}
	h.acts(act{closes, "finish", "limit max_steps", "g/p"})
	if got := h.state.ChildSteps; got != 1 {
		t.Errorf("%d steps of the subgraph, want the one that ended", got)
	}
}
