// join-without-fanout: a join where no branches can meet.

package lint

import "github.com/graphrun/graphrun/spec"

func joinWithoutFanout() Rule {
	return Rule{
		Name: "join-without-fanout", Group: "parallel", Severity: spec.Warning, needs: needShape,
		Summary: "a join that only one branch can ever reach",
		Doc: "A join gathers branches that run at the same time. Ways that exclude each other, such as the two sides of a condition, are no branches: one of them arrives, and there is nothing to wait for. " +
			"Remove the join, or start the branches with a list of targets.",
		Bad: `graphrun: v1
name: sort
start: look
state:
  n: {type: integer, required: true}
nodes:
  look: {kind: pass}
  small: {kind: pass}
  large: {kind: pass}
  done: {kind: pass, join: {wait: all}}
edges:
  - {from: look, to: small, when: n < 10}
  - {from: look, to: large}
  - {from: [small, large], to: done}
  - {from: done, to: END}
`,
		change: []string{"state:\n  n: {type: integer, required: true}\n", "", "small, when: n < 10}\n  - {from: look, to: large}", "[small, large]}"},
		check:  checkJoinWithoutFanout,
	}
}

func checkJoinWithoutFanout(f *facts) {
	f.eachJoin(func(v, _ int, alone bool) {
		n := f.graph.Nodes[v]
		if alone && (n.Join.Wait != "N" || n.Join.Count < 2) {
			f.report(n.Join.Span, "%q joins branches, but only one can reach it", n.ID.Value)
		}
	})
}
