package machine_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// applyAll applies events one after the other, at any time.
func applyAll(t *testing.T, plan *machine.Plan, s *machine.State, events ...machine.Event) {
	t.Helper()
	for _, e := range events {
		e.At = simEpoch
		if _, err := plan.Apply(s, e); err != nil {
			t.Fatal(err)
		}
	}
}

// Of the tasks of a superstep those that found no room have not begun; a node with an
// each runs while it has elements to start.
func TestActiveWithoutRoom(t *testing.T) {
	plan := build(t, head+`
limits: {max_concurrency: 1}
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x]}
  c: {kind: exec, command: [x]}
  e: {kind: exec, command: [x], each: "[1, 2]"}
edges: [{from: a, to: [b, c, e]}, {from: [b, c, e], to: END}]`)
	s := plan.NewState()
	applyAll(t, plan, s, machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}}, closes)
	for _, want := range []string{"b e", "c e", "e"} {
		var running []string
		for _, active := range s.Active() {
			if active.Doing != "running" {
				t.Errorf("%s: %q", active.Node, active.Doing)
			}
			running = append(running, active.Node)
		}
		if got := strings.Join(running, " "); got != want {
			t.Errorf("running are %q, want %q", got, want)
		}
		applyAll(t, plan, s, ended(running[0], 1, 1, nil))
	}
}

// A run is not idle while a router is asked, although all else waits for people.
func TestIdle(t *testing.T) {
	plan := build(t, head+`
models: {router: scripted/x}
nodes:
  a: {kind: pass}
  h: {kind: human, prompt: "?"}
  r: {kind: pass}
  x: {kind: exec, command: [x]}
edges:
  - {from: a, to: [h, r]}
  - {from: r, to: x, condition: llm_decide}
  - {from: r, to: END, condition: llm_decide}
  - {from: [h, x], to: END}`)
	s := plan.NewState()
	applyAll(t, plan, s, machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}}, closes, closes)
	if len(s.Questions()) != 1 || s.Idle() {
		t.Errorf("while the router is asked: idle %v, %d questions", s.Idle(), len(s.Questions()))
	}
	applyAll(t, plan, s, machine.Event{Kind: machine.Decided, Task: machine.TaskID{Node: "r", Visit: 1, Attempt: 1}, Target: "x"})
	if s.Idle() {
		t.Error("idle while x runs")
	}
	applyAll(t, plan, s, ended("x", 1, 1, nil), closes)
	if s.Live() {
		t.Errorf("status %q, with a person to wait for alone", s.Status)
	}
}
