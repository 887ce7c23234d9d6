package machine_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Elements have attempts of their own: a list that can't be written is not made again.
func TestEachIsNotMadeAgainForItsWrites(t *testing.T) {
	plan := build(t, head+`
state: {l: {type: array, items: {type: string}}}
nodes: {a: {kind: exec, each: "1..3", command: [x], retry: {max_attempts: 2}, writes: [l]}, b: {kind: pass}}
edges: [{from: a, to: END}, {from: a, to: b, condition: on_failure}, {from: b, to: END}]`)
	ran := 0
	s := newSim(t, plan, func(machine.TaskID, int) reply { ran++; return after(1, 7) })
	s.run(machine.RunInfo{}, nil)
	if ran != 3 || strings.Join(s.path, " ") != "a b" || s.state.Quality != machine.Degraded {
		t.Errorf("%d elements ran, path %v, quality %s", ran, s.path, s.state.Quality)
	}
}

// wildFlow is a graph whose nodes fail, ask, wait and write what does not fit.
func wildFlow(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.Intn(len(list))] }
	var b strings.Builder
	fmt.Fprintf(&b, "%slimits: {max_steps: 30, max_concurrency: %d}\n", head, 1+random.Intn(3))
	b.WriteString("state: {n: {type: integer, default: 0}, l: {type: array, items: {type: string}, default: []}}\nnodes:\n")
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		fmt.Fprintf(&b, "  %s: {%s%s%s%s}\n", name,
			pick("kind: exec, command: [x]", "kind: exec, command: [x]", "kind: wait, for: 1s", "kind: set, set: {n: output}", "kind: human, prompt: p, timeout: 5s, default: 1"),
			pick("", ", each: '1..3'", ", each: '1..2', parallel: {on_failure: continue_others}"),
			pick("", ", retry: {max_attempts: 3, initial_interval: 1s}", ", retry: [{on: [invalid_output], max_attempts: 2}, {max_attempts: 3}]"),
			pick("", ", max_visits: 2"))
	}
	text := b.String()
	for _, kind := range []string{"exec", "human"} { // what they give is written where it may not fit
		text = strings.ReplaceAll(text, "{kind: "+kind, "{writes: ["+pick("n", "l")+"], kind: "+kind)
	}
	text = strings.ReplaceAll(text, "kind: set, set: {n: output}, retry", "kind: set, set: {n: visits.a}, x-retry")
	text = strings.ReplaceAll(text, "set: {n: output}", "set: {n: visits.a}")
	var edges strings.Builder
	for _, name := range names {
		for range 1 + random.Intn(2) {
			fmt.Fprintf(&edges, "  - {from: %s, to: %s}\n", name, pick("a", "b", "c", "d", "END"))
		}
		fmt.Fprintf(&edges, "  - {from: %s, to: %s, condition: on_failure}\n", name, pick("a", "b", "c", "d", "END"))
	}
	return text + "edges:\n" + edges.String()
}

// Between two counted steps a run has no more events than its attempts can make.
func TestNoRunJournalsWithoutEnd(t *testing.T) {
	runs, most := 0, 0
	for seed := range int64(4000) {
		random := rand.New(rand.NewSource(seed))
		g, found := spec.Parse("flow.yaml", []byte(wildFlow(random)), spec.Options{})
		if append(found, spec.Check(g)...).HasErrors() {
			continue
		}
		plan, found := machine.Build(g, nil)
		if found.HasErrors() {
			continue
		}
		runs++
		s := newSim(t, plan, func(machine.TaskID, int) reply {
			switch random.Intn(4) {
			case 0:
				return fails(random.Float64())
			case 1:
				return after(random.Float64(), "text")
			case 2:
				return reply{asks: []machine.Ask{{ID: "q", Key: "q", Prompt: "?"}}}
			}
			return after(random.Float64(), 1)
		})
		s.answer = func(*machine.Question) reply { return after(1, "yes") }
		s.run(machine.RunInfo{}, nil)
		again, steps, since := plan.NewState(), 0, 0
		for i := range s.events {
			if _, err := plan.Apply(again, s.events[i]); err != nil {
				t.Fatal(err)
			}
			since++
			if again.Steps != steps {
				steps, since = again.Steps, 0
			}
			if most = max(most, since); since > 150 {
				t.Fatalf("seed %d: %d events without a step:\n%s", seed, since, wildFlow(rand.New(rand.NewSource(seed))))
			}
		}
	}
	if runs < 300 {
		t.Errorf("only %d of the graphs are valid", runs)
	}
	t.Logf("%d runs, at most %d events between two steps", runs, most)
}

// A run that goes round all the same is stopped, and says where.
func TestRunThatGoesRoundIsStopped(t *testing.T) {
	h := byHand(t, `
nodes: {a: {kind: wait, for: 1s}}
edges: [{from: a, to: END}]`)
	h.apply(machine.Event{Kind: machine.Advanced, Superstep: 1})
	h.state.GoRound()
	h.apply(machine.Event{Kind: machine.TimerFired, Timer: machine.WaitTimer, Task: machine.TaskID{Node: "a", Visit: 1, Attempt: 1}})
	f := h.state.Failure
	if h.state.Status != machine.Failed || f == nil || f.Kind != "internal" || !strings.Contains(f.Message, "at a without a step") {
		t.Errorf("status %s, failure %v", h.state.Status, f)
	}
}
