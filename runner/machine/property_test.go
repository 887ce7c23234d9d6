package machine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/graphrun/graphrun/runner/machine"
)

// randomFlow is a small graph without fan-out: cycles, guards on counters,
// failure edges, retries, visit limits, waits.
func randomFlow(t *rapid.T) string {
	count := rapid.IntRange(1, 5).Draw(t, "nodes")
	name := func(i int) string { return string(rune('a' + i)) }
	var b strings.Builder
	fmt.Fprintf(&b, "%slimits: {max_steps: %d, on_max_steps: %s", head,
		rapid.IntRange(1, 25).Draw(t, "max_steps"),
		rapid.SampledFrom([]string{"fail", "return_last", "flag"}).Draw(t, "on_max_steps"))
	limited := rapid.Bool().Draw(t, "limited")
	if limited {
		fmt.Fprintf(&b, ", max_visits: %d", rapid.IntRange(1, 5).Draw(t, "max_visits"))
	}
	b.WriteString("}\nstate: {n: {type: integer, default: 0}, log: {type: array, reducer: append, default: []}, m: {type: object, default: {}}}\nnodes:\n")
	for i := range count {
		kind := rapid.SampledFrom([]string{
			"kind: set, set: {n: n + 1}", "kind: set, set: {log: visits." + name(i) + ", n: n + 2}", "kind: pass",
			"kind: exec, command: [x], writes: {n: n + 1, log: output}",
			"kind: exec, command: [x], retry: {max_attempts: 3, on: [tool]}", "kind: wait, for: 1s",
		}).Draw(t, "kind")
		limit := rapid.SampledFrom([]string{"", "", ", max_visits: 2", ", max_visits: 2, on_max_visits: skip"}).Draw(t, "limit")
		fmt.Fprintf(&b, "  %s: {%s%s}\n", name(i), kind, limit)
		limited = limited || limit == ", max_visits: 2"
	}
	b.WriteString("edges:\n")
	for i := range count {
		// A visit that a limit refuses is no step: what catches it goes to END.
		randomEdges(t, &b, name(i), limited, func() string {
			at := rapid.IntRange(0, count).Draw(t, "to")
			if at == count {
				return "END"
			}
			return name(at)
		})
	}
	return b.String()
}

// randomEdges gives a node guarded edges, one fallback at most, and one edge
// for its failures at most.
func randomEdges(t *rapid.T, b *strings.Builder, from string, rescued bool, to func() string) {
	for range rapid.IntRange(0, 3).Draw(t, "guards") {
		guard := rapid.SampledFrom([]string{
			"n %% 3 == %d", "n < %d", "visits." + from + " <= %d", "step > %d", "len(log) == %d", "m.none > %d",
		}).Draw(t, "guard")
		fmt.Fprintf(b, "  - {from: %s, to: %s, when: \"%s\", priority: %d}\n", from, to(),
			fmt.Sprintf(guard, rapid.IntRange(0, 6).Draw(t, "against")), rapid.IntRange(-1, 1).Draw(t, "priority"))
	}
	fallback := rapid.SampledFrom([]string{"on_success", "always", ""}).Draw(t, "fallback")
	failure := rapid.SampledFrom([]string{"condition: on_failure", "condition: on_failure, when: \"error.kind == 'tool'\"", ""}).Draw(t, "failure")
	rescue := to
	if rescued {
		rescue = func() string { return "END" }
	}
	switch fallback {
	case "always":
		fmt.Fprintf(b, "  - {from: %s, to: %s, condition: always}\n", from, rescue())
	case "on_success":
		fmt.Fprintf(b, "  - {from: %s, to: %s}\n", from, to())
	}
	if failure != "" {
		fmt.Fprintf(b, "  - {from: %s, to: %s, %s}\n", from, rescue(), failure)
	}
	if fallback == "" {
		fmt.Fprintf(b, "  - {from: %s, to: END, when: \"step > 20\"}\n", from)
	}
}

// loose builds a plan from what Parse makes of a flow: random graphs have
// unreachable nodes and cycles without a way out, which run all the same.
func loose(t *rapid.T, flow string) *machine.Plan {
	return planOf(t, flow, func(rule string) bool {
		return slices.Contains([]string{"unreachable-node", "end-unreachable", "inescapable-cycle"}, rule)
	})
}

// simulate drives a machine to its end and returns the events and commands.
// Every event is applied as often as times says.
func simulate(t *rapid.T, plan *machine.Plan, answers []bool, times int) (*machine.State, []machine.Event, []string, []string) {
	s := plan.NewState()
	now := int64(1e18)
	var events []machine.Event
	var commands, path []string
	asked := 0
	queue := []machine.Event{{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "run"}}}
	for len(queue) > 0 {
		e := queue[0]
		queue = queue[1:]
		now += 1e6
		e.At = now
		events = append(events, e)
		if len(events) > 2000 {
			t.Fatalf("the run does not end: %v", path)
		}
		first, err := plan.Apply(s, e)
		if err != nil {
			t.Fatal(err)
		}
		cmds := slices.Clone(first)
		for _, at := range s.Ran {
			path = append(path, plan.Graph.Nodes[at].ID.Value)
		}
		// The closing of a superstep is the one event that says nothing of what
		// it closes: only its driver sends it, once.
		for range times - 1 {
			if e.Kind == machine.Advanced {
				break
			}
			again, err := plan.Apply(s, e)
			if err != nil {
				t.Fatal(err)
			}
			if len(again) > 0 {
				t.Fatalf("repeating event %d, %s, gives commands %v", len(events), e.Kind, again)
			}
		}
		for _, c := range cmds {
			commands = append(commands, fmt.Sprint(c.Kind, c.Task, c.Timer, c.For))
			switch c.Kind {
			case machine.Advance:
				queue = append(queue, machine.Event{Kind: machine.Advanced})
			case machine.RunTask:
				end := machine.Event{Kind: machine.TaskEnded, Task: c.Task, Output: asked}
				if !answers[asked%len(answers)] {
					end.Output, end.Failure = nil, &machine.Failure{Kind: []string{"tool", "failed"}[asked%2], Message: "no"}
				}
				asked++
				queue = append(queue, end)
			case machine.StartTimer:
				if c.Timer == machine.RetryTimer || c.Timer == machine.WaitTimer {
					now += int64(c.For)
					queue = append(queue, machine.Event{Kind: machine.TimerFired, Task: c.Task, Timer: c.Timer})
				}
			}
		}
	}
	return s, events, commands, path
}

// Every run ends; its steps are its path; what it remembers is of one mind; its
// events, replayed or repeated, give the same run.
func TestRandomRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flow := randomFlow(t)
		plan := loose(t, flow)
		answers := rapid.SliceOfN(rapid.Bool(), 1, 6).Draw(t, "answers")
		s, events, commands, path := simulate(t, plan, answers, 1)
		if !s.Ended() {
			t.Fatalf("the run hangs as %q, path %v\n%s", s.Status, path, flow)
		}
		if s.Steps != len(path) || s.Steps > s.MaxSteps() {
			t.Fatalf("%d of %d steps, path %v\n%s", s.Steps, s.MaxSteps(), path, flow)
		}
		checkSound(t, plan, s, path)

		again := plan.NewState()
		for _, e := range events {
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var back machine.Event
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatal(err)
			}
			if _, err := plan.Apply(again, back); err != nil {
				t.Fatal(err)
			}
		}
		compareStates(t, "replay", flow, s, again)
		twice, _, other, otherPath := simulate(t, plan, answers, 2)
		compareStates(t, "every event twice", flow, s, twice)
		if diff := cmp.Diff(commands, other); diff != "" {
			t.Fatalf("with every event twice the commands differ (-once +twice):\n%s\n%s", diff, flow)
		}
		if !slices.Equal(path, otherPath) {
			t.Fatalf("with every event twice the path is %v, not %v\n%s", otherPath, path, flow)
		}
	})
}

// checkSound checks what holds for every ended run without fan-out.
func checkSound(t *rapid.T, plan *machine.Plan, s *machine.State, path []string) {
	fired := 0
	for _, n := range s.FiredEdges() {
		fired += n
	}
	want := map[machine.Status][]string{
		machine.Completed: {"end", "max_steps"}, machine.Stuck: {"no_edge"}, machine.Limit: {"max_steps", "max_visits"},
		machine.Failed: {"node_failed", "expression"},
	}
	if !slices.Contains(want[s.Status], s.Reason) {
		t.Fatalf("status %s with reason %s", s.Status, s.Reason)
	}
	if (s.Quality == machine.FailedQuality) != (s.Status != machine.Completed) || (s.Failure == nil) != (s.Status == machine.Completed) {
		t.Fatalf("status %s with quality %s and failure %v", s.Status, s.Quality, s.Failure)
	}
	visits := map[string]int{}
	for _, id := range path {
		visits[id]++
	}
	for i, n := range plan.Graph.Nodes {
		// A skipped execution is a step and no visit.
		if v := s.Visits(i); v > visits[n.ID.Value] || v < visits[n.ID.Value] && n.OnMaxVisits != "skip" {
			t.Fatalf("%s has %d visits, path %v", n.ID.Value, v, path)
		}
	}
	// A max_visits failure that is caught fires an edge without a step.
	if s.Reason == "end" && fired < len(path) {
		t.Fatalf("%d edges fired on path %v", fired, path)
	}
}

func compareStates(t *rapid.T, what, flow string, want, got *machine.State) {
	if diff := cmp.Diff(want.Values(), got.Values()); diff != "" {
		t.Fatalf("%s gives another state (-want +got):\n%s\n%s", what, diff, flow)
	}
	if want.Status != got.Status || want.Reason != got.Reason || want.Quality != got.Quality || want.Steps != got.Steps ||
		want.Limited != got.Limited || want.Superstep != got.Superstep {
		t.Fatalf("%s ends as %s %s %s after %d, not %s %s %s after %d\n%s", what,
			got.Status, got.Reason, got.Quality, got.Steps, want.Status, want.Reason, want.Quality, want.Steps, flow)
	}
	if diff := cmp.Diff(want.Output, got.Output); diff != "" {
		t.Fatalf("%s gives another output (-want +got):\n%s\n%s", what, diff, flow)
	}
	if diff := cmp.Diff(want.FiredEdges(), got.FiredEdges()); diff != "" {
		t.Fatalf("%s fires other edges (-want +got):\n%s\n%s", what, diff, flow)
	}
}
