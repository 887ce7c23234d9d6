// step-limit-too-low: max_steps is used up before END can be reached.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

func stepLimitTooLow() Rule {
	return Rule{
		Name: "step-limit-too-low", Severity: spec.Warning, needs: needShape,
		Summary: "the shortest path to END takes more steps than max_steps allows",
		Doc: "Every node execution is a step. When even the shortest path from the start to END takes more steps than limits.max_steps, every run ends at the limit. " +
			"Raise the limit.",
		Bad: `graphrun: v1
name: steps
start: one
limits: {max_steps: 2}
nodes:
  one: {kind: pass}
  two: {kind: pass}
  three: {kind: pass}
edges:
  - {from: one, to: two}
  - {from: two, to: three}
  - {from: three, to: END}
`,
		Good: `graphrun: v1
name: steps
start: one
limits: {max_steps: 3}
nodes:
  one: {kind: pass}
  two: {kind: pass}
  three: {kind: pass}
edges:
  - {from: one, to: two}
  - {from: two, to: three}
  - {from: three, to: END}
`,
		check: checkStepLimit,
	}
}

func checkStepLimit(f *facts) {
	w := f.flow()
	if w.wild {
		return
	}
	path := shortest(w.graph.Next, len(f.graph.Nodes)+2, f.start(), f.end)
	steps := len(path) - 1
	if limit := f.graph.Limits; limit.MaxSteps > 0 && steps > limit.MaxSteps && limit.OnMaxSteps == "fail" {
		f.report(limit.Span, "max_steps is %d, but the shortest path to END takes %s: %s",
			limit.MaxSteps, plural(steps, "step"), f.pathText(path))
	}
}

// shortest is a shortest path by breadth-first search, both ends included;
// nil when there is none.
func shortest(next func(int) []int, n, from, to int) []int {
	parent := make([]int, n)
	for i := range parent {
		parent[i] = -1
	}
	parent[from] = from
	todo := []int{from}
	for len(todo) > 0 && parent[to] < 0 {
		v := todo[0]
		todo = todo[1:]
		for _, w := range next(v) {
			if parent[w] < 0 {
				parent[w] = v
				todo = append(todo, w)
			}
		}
	}
	if parent[to] < 0 {
		return nil
	}
	var path []int
	for v := to; ; v = parent[v] {
		path = append(path, v)
		if v == from {
			slices.Reverse(path)
			return path
		}
	}
}
