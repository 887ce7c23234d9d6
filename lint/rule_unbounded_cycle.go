// unbounded-cycle: nothing but max_steps ends a cycle.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

func unboundedCycle() Rule {
	return Rule{
		Name: "unbounded-cycle", Group: "limits", Severity: spec.Warning, needs: needAll,
		Summary: "nothing but max_steps ends a cycle",
		Doc: "A loop that a model's verdict, a program's result or nothing at all decides may go round until max_steps stops the run. " +
			"Bound it on every way around: a guard on the visits of a node on it, on step, or on a counter or a list that all of it only moves towards the guard's limit; a person who is asked on the way, unless a default answers that goes round again; a wait node together with limits.timeout. " +
			"max_visits bounds a node, too, but what it refuses leaves by the failure edges, and what it skips by the edges without a condition: these must not lead round. What programs count is trusted. A cycle is reported only if a run was found that goes round it eight times.",
		Bad: `graphrun: v1
name: draft
start: write
models: {default: openai/gpt-6-luna}
limits: {timeout: 10m}
state:
  draft: {type: string, default: ""}
  verdict: {type: string, default: ""}
nodes:
  write: {kind: llm, prompt: "Write about tea.", writes: [draft]}
  judge: {kind: llm, prompt: "OK or BAD? {{ draft }}", writes: [verdict]}
edges:
  - {from: write, to: judge}
  - {from: judge, to: write, when: "verdict startsWith 'BAD'"}
  - {from: judge, to: END}
`,
		change: []string{"'BAD'", "'BAD' and visits.write < 3"},
		check:  checkUnboundedCycle,
	}
}

func checkUnboundedCycle(f *facts) {
	for _, c := range f.freeCycles() {
		if c.endless != nil {
			f.report(f.graph.Nodes[c.first].ID.Span, "nothing is sure to end the cycle %s before max_steps (%d); give it a guard that counts, such as visits.%s < 5",
				f.pathText(c.endless), f.graph.Limits.MaxSteps, f.Name(c.first))
		}
	}
}

// freeCycle is nodes that lead back to themselves without anything that counts.
type freeCycle struct {
	first int // of its nodes, in the order of the file
	// endless is a cycle of them, from a node back to it, that a run went round
	// eight times; nil when no such run was found.
	endless []int
}

// freeCycles are those that can be reached.
func (f *facts) freeCycles() []freeCycle {
	w := f.flow()
	r := f.openCycles(-1, true)
	if len(r.arcs) == 0 {
		return nil
	}
	free := r.left()
	of, size := free.SCC()
	members := make([][]int, size)
	for v := range f.graph.Nodes {
		if w.Reached[v] {
			members[of[v]] = append(members[of[v]], v)
		}
	}
	var out []freeCycle
	for v := range f.graph.Nodes { // at the first node of each cycle
		group := members[of[v]]
		if !w.Reached[v] || group[0] != v || len(group) < 2 && !slices.Contains(free.Next(v), v) {
			continue
		}
		cycle := cycleThrough(free, v)
		if !f.goesRound(cycle) {
			cycle = nil
		}
		out = append(out, freeCycle{v, cycle})
	}
	return out
}

// unlimited is the key in facts.plans of the graph without policies and max_steps.
const unlimited = -2

// rounds is how often a run has to go round a cycle before it is called unbounded.
const rounds = 8

// goesRound reports whether a run was found that goes round a cycle that often.
func (f *facts) goesRound(cycle []int) bool {
	if i := slices.IndexFunc(cycle, func(v int) bool { return f.graph.Nodes[v].VisitLimit(f.graph) == 0 }); i > 0 {
		cycle = append(cycle[i:len(cycle)-1:len(cycle)-1], cycle[:i+1]...) // refused visits don't count
	}
	v := cycle[0]
	f.planFor(nil) // sets the budgets
	if f.showing <= 0 {
		return false
	}
	plan, known := f.plans[unlimited]
	if !known {
		g, bound := *f.graph, *f.bound
		g.Policies, bound.Never, g.Limits.MaxSteps = nil, nil, 10_000
		plan, _ = machine.BuildBound(&g, &bound, nil, nil)
		f.plans[unlimited] = plan
	}
	if plan == nil {
		return false
	}
	return explore.Explore(explore.Question{
		Model: f.modelFor(nil), Plan: plan, Watch: -1, Guide: f.wayTo(v), Round: cycle[1 : len(cycle)-1], More: v,
		Visits: map[int]int{v: rounds + 1}, Budget: &f.showing, Most: maxShown / 2,
		Found: func(r *explore.Run) bool { return r.Visits(v) > rounds },
	}).Found
}
