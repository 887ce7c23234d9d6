// join-never-fires: a join waits for more branches than can arrive.

package lint

import (
	"github.com/graphrun/graphrun/spec"
)

func joinNeverFires() Rule {
	return Rule{
		Name: "join-never-fires", Group: "parallel", Severity: spec.Error, needs: needShape,
		Summary: "a join waits for more branches than can ever reach it",
		Doc: "A join with wait: N runs when N branches have arrived. If the graph can send it fewer, it never runs and the run ends without it. " +
			"Lower the number, or write wait: all, which waits for the branches that there are.",
		Bad: `graphrun: v1
name: vote
start: ask
nodes:
  ask: {kind: pass}
  one: {kind: pass}
  two: {kind: pass}
  count: {kind: pass, join: {wait: 3}}
edges:
  - {from: ask, to: [one, two]}
  - {from: [one, two], to: count}
  - {from: count, to: END}
`,
		change: []string{"  count: {kind: pass, join: {wait: 3}}", "  three: {kind: pass}\n  count: {kind: pass, join: {wait: 2}}", "one, two]", "one, two, three]"},
		check:  checkJoinNeverFires,
	}
}

func checkJoinNeverFires(f *facts) {
	f.eachJoin(func(v, most int, alone bool) {
		n := f.graph.Nodes[v]
		if n.Join.Wait == "N" && n.Join.Count > most && (alone || most > 1 && !f.forks().ManyAt(f.forks().Dominators.Parent[v])) {
			f.report(n.Join.Span, "%q waits for %d branches, but at most %d can reach it", n.ID.Value, n.Join.Count, most)
		}
	})
}

// eachJoin calls visit for the joins that the start reaches and that say how
// many branches they wait for.
func (f *facts) eachJoin(visit func(v, most int, alone bool)) {
	k := f.forks()
	if k == nil {
		return
	}
	for v, n := range f.graph.Nodes {
		if n.Join != nil && n.Join.Valid() && k.Dominators.Reached(v) {
			most, alone := f.forks().Arrivals(v)
			visit(v, most, alone)
		}
	}
}
