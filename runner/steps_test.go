package runner_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// sharedFiles returns a flow with concurrent subgraphs: as branches and as elements.
func sharedFiles() map[string]string {
	return map[string]string{
		"outer.yaml": `graphrun: v1
name: outer
start: fan
nodes:
  fan: {kind: pass}
  m1: {kind: graph, graph: middle.yaml}
  m2: {kind: graph, graph: middle.yaml}
  e: {kind: graph, graph: leaf.yaml, each: "[1, 2, 3]"}
  last: {kind: pass, join: {wait: all}}
edges:
  - {from: fan, to: [m1, m2, e]}
  - {from: [m1, m2, e], to: last}
  - {from: last, to: END}
`,
		"middle.yaml": `graphrun: v1
name: middle
start: a
nodes:
  a: {kind: pass}
  l: {kind: graph, graph: leaf.yaml}
  k: {kind: graph, graph: leaf.yaml}
edges: [{from: a, to: [l, k]}, {from: [l, k], to: END}]
`,
		"leaf.yaml": `graphrun: v1
name: leaf
start: x
state: {n: {type: integer, default: 0}}
nodes:
  x: {kind: set, set: {n: n + 1}}
  y: {kind: work, do: count, with: "y"}
edges: [{from: x, to: y}, {from: y, to: x, when: n < 2}, {from: y, to: END}]
`,
	}
}

// sharedSteps is the number of steps: fan, m1, m2, e and last; a, l, k and two leaves for each
// middle; four for each leaf.
const sharedSteps = 5 + 2*(3+2*4) + 3*4

// runShared runs outer.yaml with a limit, and resumes it after crashes.
func runShared(t *testing.T, r *runner.Runner, s *crashingStore, limit, step int) *runner.Result {
	t.Helper()
	files := sharedFiles()
	g, found := spec.Parse("outer.yaml", []byte(files["outer.yaml"]), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	result, err := r.Run(context.Background(), g, runner.Options{RunID: "one", MaxSteps: limit})
	for range 100 {
		if !errors.Is(err, errKilled) {
			break
		}
		s.after = step
		result, err = r.Resume(context.Background(), "one", runner.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Concurrent subgraphs share max_steps exactly: the run completes if and only if the limit is at
// least the number of its steps, wherever it crashes. A resume with a higher limit completes it.
func TestSubgraphsShareSteps(t *testing.T) {
	for limit := 1; limit <= sharedSteps+1; limit++ {
		for _, after := range []int{-1, 3 + limit%11, 15 + limit} {
			s := &crashingStore{Store: &store.Memory{}, after: after}
			c := &workCounter{done: map[string]int{}}
			r := c.runner(t, s, sharedFiles())
			got := runShared(t, r, s, limit, -1)
			if limit >= sharedSteps {
				if got.Status != machine.Completed || got.Steps != sharedSteps {
					t.Errorf("limit %d, crash after %d: %s after %d steps: %v", limit, after, got.Status, got.Steps, got.Error)
				}
				continue
			}
			if got.Status != machine.Limit || got.Reason != "max_steps" || got.Steps > limit {
				t.Errorf("limit %d, crash after %d: %s (%s) after %d steps: %v", limit, after, got.Status, got.Reason, got.Steps, got.Error)
			}
			s.after = -1
			got, err := r.Resume(context.Background(), "one", runner.Options{MaxSteps: sharedSteps})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != machine.Completed || got.Steps != sharedSteps {
				t.Errorf("limit %d, crash after %d, then enough: %s after %d steps: %v", limit, after, got.Status, got.Steps, got.Error)
			}
		}
	}
}

// A subgraph that reaches its own max_steps fails, also if its subgraphs used up the steps.
func TestSubgraphsShareTheirOwnLimit(t *testing.T) {
	files := sharedFiles()
	files["middle.yaml"] += "limits: {max_steps: 10}\n" // it needs 11
	c := &workCounter{done: map[string]int{}}
	r := c.runner(t, &store.Memory{}, files)
	g, _ := spec.Parse("outer.yaml", []byte(files["outer.yaml"]), spec.Options{Kinds: r.Kinds()})
	got, err := r.Run(context.Background(), g, runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != machine.Failed || got.Error.Kind != "child_failed" || got.Error.Details["reason"] != "max_steps" {
		t.Errorf("%s: %v %v", got.Status, got.Error, got.Error.Details)
	}
}
