package machine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner/machine"
)

// takenUp is a resume that brings executions back.
func takenUp(revive ...machine.TaskID) machine.Event {
	return machine.Event{Kind: machine.Resumed, Revive: revive}
}

// A driver that takes up an open superstep asks again for what was under way, and
// for that alone.
func TestResumedInOpenSuperstep(t *testing.T) {
	const flow = `
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x], retry: {max_attempts: 2}}
  w: {kind: wait, for: 1h}
  h: {kind: human, prompt: "?"}
  e: {kind: exec, command: [x], each: '[1]', writes: {n: output}}
  x: {kind: exec, command: [x]}
  end: {kind: pass}
state: {n: {type: array, items: {type: integer}}}
edges:
  - {from: a, to: [b, w, h, e, x]}
  - {from: [b, w, h, e, x], to: end}
  - {from: [b, e], to: end, condition: on_failure}
  - {from: end, to: END}`
	begun := act{closes, "start-wait:w ask:h run:b run:e run:x", "running", "h"}
	element := ended("e", 1, 1, "no integer")
	element.Task.Element = 1
	visit := func(node string) machine.TaskID { return machine.TaskID{Node: node, Visit: 1} }
	for name, acts := range map[string][]act{
		"what waits for a retry, a time or a person goes on waiting": {
			begun,
			{failed("b", 1, 1, "tool"), "start-retry:b", "running", "h"},
			{resume, "start-retry:b start-wait:w ask:h run:e run:x", "running", "h"},
		},
		"what has ended well is not brought back": {
			begun,
			{ended("b", 1, 1, nil), "", "running", "h"},
			{takenUp(visit("b")), "start-wait:w ask:h run:e run:x", "running", "h"},
		},
		"nor is what runs, or another visit": {
			begun,
			{takenUp(visit("b"), machine.TaskID{Node: "b", Visit: 2}), "run:b start-wait:w ask:h run:e run:x", "running", "h"},
		},
		"an each whose elements did well and whose writes don't fit comes to the same": {
			begun,
			{element, "", "running", "h"},
			{takenUp(visit("e")), "run:b start-wait:w ask:h run:x", "running", "h"},
			{ended("b", 1, 1, nil), "", "running", "h"},
			{ended("x", 1, 1, nil), "advance", "running", "h"},
		},
	} {
		t.Run(name, func(t *testing.T) { byHand(t, flow).acts(acts...) })
	}
}

// Nothing is brought back into a superstep that has closed.
func TestResumedAfterFailureThatWasHandled(t *testing.T) {
	h := byHand(t, `
nodes: {a: {kind: exec, command: [x]}, h: {kind: human, prompt: "?"}}
edges: [{from: a, to: h, condition: on_failure}, {from: a, to: h}, {from: h, to: END}]`)
	h.acts(
		act{failed("a", 1, 1, "tool"), "advance", "running", ""},
		act{closes, "ask:h advance", "running", "h"},
		act{closes, "pause", "paused human", "h"},
	)
	steps := h.state.Steps
	h.acts(
		act{takenUp(machine.TaskID{Node: "h", Visit: 1}, machine.TaskID{Node: "a", Visit: 1}), "ask:h pause", "paused human", "h"},
		act{says("h", "y"), "advance", "running", ""},
		act{closes, "finish", "completed end", ""},
	)
	if h.state.Steps != steps {
		t.Errorf("%d steps, %d before", h.state.Steps, steps)
	}
}

// Subgraphs that stand before a node and after one are not one breakpoint: the run
// stands at that of the first in declaration order.
func TestBreakpointsOfTwoPhases(t *testing.T) {
	h := byHand(t, `
graphs: {child: {start: c, nodes: {c: {kind: pass}}, edges: [{from: c, to: END}]}}
nodes: {a: {kind: pass}, g: {kind: graph, graph: "#child"}, h: {kind: graph, graph: "#child"}, i: {kind: graph, graph: "#child"}}
edges: [{from: a, to: [g, h, i]}, {from: [g, h, i], to: END}]`)
	stands := func(node, phase string) machine.Event {
		e := ended(node, 1, 1, nil)
		e.Child = &machine.ChildEnd{Steps: 1}
		e.Park = &machine.Parking{At: &machine.Breakpoint{Phase: phase, Nodes: []string{"c"}}}
		return e
	}
	h.acts(
		act{closes, "run:g run:h run:i", "running", ""},
		act{stands("i", "before"), "", "running", ""},
		act{stands("h", "after"), "", "running", ""},
		act{stands("g", "before"), "advance", "running", ""},
		act{closes, "pause", "paused pause", ""},
	)
	if diff := cmp.Diff(&machine.Breakpoint{Phase: "before", Nodes: []string{"g/c", "i/c"}}, h.state.PausedAt); diff != "" {
		t.Errorf("stands at (-want +got):\n%s", diff)
	}
}

// What a task wrote before one of its writes did not fit is not told as a change.
func TestDeltaAfterRolledBackWrites(t *testing.T) {
	h := byHand(t, `
state: {x: {}, n: {type: integer, maximum: 5, default: 0, reducer: "current + update"}}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x], writes: {n: output}}
  c: {kind: exec, command: [x], writes: {x: output, n: output}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: END}, {from: c, to: END, condition: on_failure}]`)
	h.state.Watched = true
	h.acts(
		act{closes, "run:b run:c", "running", ""},
		act{ended("b", 1, 1, 4), "", "running", ""},
		act{ended("c", 1, 1, 3), "advance", "running", ""},
		act{closes, "finish", "completed end", ""},
	)
	if diff := cmp.Diff([]machine.KeyValue{{Key: "n", Value: 4}}, h.state.Delta()); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A breakpoint in a subgraph is that subgraph's alone.
func TestBreakpointsOfSubgraphs(t *testing.T) {
	plan := build(t, head+`
graphs: {child: {start: c, nodes: {c: {kind: pass}}, edges: [{from: c, to: END}]}}
nodes: {a: {kind: pass}, g: {kind: graph, graph: "#child"}, h: {kind: graph, graph: "#child"}}
edges: [{from: a, to: [g, h]}, {from: [g, h], to: END}]`)
	s := plan.NewState()
	info := &machine.RunInfo{ID: "run", PauseBefore: []string{"g/c", "h/d/e", "c"}, PauseAfter: []string{"h/c"}}
	got := map[string][2][]string{}
	for _, e := range []machine.Event{{Kind: machine.RunBegan, Run: info}, closes} {
		e.At = simEpoch
		cmds, err := plan.Apply(s, e)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cmds {
			if c.Kind == machine.RunTask {
				got[c.Task.Node] = [2][]string{c.Work.PauseBefore, c.Work.PauseAfter}
			}
		}
	}
	if diff := cmp.Diff(map[string][2][]string{"g": {{"c"}, nil}, "h": {{"d/e"}, {"c"}}}, got); diff != "" {
		t.Errorf("breakpoints before and after (-want +got):\n%s", diff)
	}
}

// An each that waits for room is at work; its outputs together fit the limit of the
// state, or it fails.
func TestEachOfLargeOutputs(t *testing.T) {
	h := byHand(t, `
limits: {max_concurrency: 1, max_state_bytes: 1000}
nodes: {a: {kind: exec, command: [x], each: "[1, 2, 3]"}}
edges: [{from: a, to: END}]`)
	element := func(i int, output any) machine.Event {
		e := ended("a", 1, 1, output)
		e.Task.Element = i
		return e
	}
	for i := range 2 {
		if got := h.state.Active(); len(got) != 1 || got[0].Doing != "running" {
			t.Errorf("before the end of element %d: active %+v", i+1, got)
		}
		h.apply(element(i+1, strings.Repeat("x", 600)))
	}
	h.apply(closes)
	if f := h.state.Failure; f == nil || !strings.Contains(f.Message, "the list of the outputs of the elements") {
		t.Errorf("failure %v (%s)", f, h.state.Status)
	}
}
