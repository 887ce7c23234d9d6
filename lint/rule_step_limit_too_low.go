// step-limit-too-low: a limit of the run is used up before END, or before a node
// can do its work.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/spec"
)

func stepLimitTooLow() Rule {
	return Rule{
		Name: "step-limit-too-low", Group: "limits", Severity: spec.Warning, needs: needShape,
		Summary: "a limit of the run is used up before END can be reached, or before a node can do its work",
		Doc: "Every node execution is a step. When even the shortest path from the start to END takes more steps than limits.max_steps, every run ends at the limit. " +
			"So does one that comes to a model call whose max_tokens are as many as limits.max_tokens, or to a wait that is longer than limits.timeout. Raise the limit.",
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
		change: []string{"max_steps: 2", "max_steps: 3"},
		check:  checkStepLimit,
	}
}

func checkStepLimit(f *facts) {
	f.beyondLimits()
	w := f.flow()
	if w.Anywhere {
		return
	}
	path := shortest(w.Digraph.Next, len(f.graph.Nodes)+2, f.Start(), f.End)
	steps := len(path) - 1
	if limit := f.graph.Limits; limit.MaxSteps > 0 && steps > limit.MaxSteps && limit.OnMaxSteps == "fail" {
		f.report(limit.MaxStepsSpan, "max_steps is %d, but the shortest path to END takes %s: %s",
			limit.MaxSteps, plural(steps, "step"), f.pathText(path))
	} else if limit.MaxSteps > 0 && limit.OnMaxSteps == "fail" && limit.MaxStepsSpan.To > 0 && len(f.graph.Nodes) <= maxFollowedNodes {
		f.branchesExceed(limit.MaxSteps, limit.MaxStepsSpan)
	}
}

// maxFollowedNodes is how many nodes a graph may have for its paths to be followed here.
const maxFollowedNodes = 500

// branchesExceed looks for the least that a run takes.
func (f *facts) branchesExceed(limit int, at spec.Span) {
	if !f.hasGuards() {
		return // they have errors of their own
	}
	w := &boundWalk{f: f, depth: maxChildren, family: family{}, room: 1_000}
	w.prepare()
	var least float64
	var path []string
	if m := w.followAll(); m != nil {
		least, path, _ = m.cheapest(inSteps)
	} else {
		names, takes := w.sure()
		least, path = takes[inSteps], names
	}
	if least > float64(limit) {
		f.report(at, "max_steps is %d, but every run that completes takes at least %s: %s",
			limit, plural(int(least), "step"), strings.Join(path, ", "))
	}
}
