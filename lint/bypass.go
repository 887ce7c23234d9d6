// Joins that a failure may bypass (GraphSpec §7).

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

// failsBypassed reports whether a join fails when a branch bypasses it.
func (f *facts) failsBypassed(n *spec.Node) bool { return controlflow.Bypass(n) == "fail" }

// skipsUnmade reports whether a node may lead on as after a success although no visit
// of it has succeeded: it is skipped at its limit of visits after it has failed.
func (f *facts) skipsUnmade(v int) bool {
	n := f.graph.Nodes[v]
	if n.OnMaxVisits != "skip" || !canFail(n) && !f.mayErr(v) || !f.flow().Cyclic[v] && !f.flow().FansOut {
		return false
	}
	return controlflow.Tolerates(f.graph) ||
		slices.ContainsFunc(f.flow().Groups[v], func(g controlflow.Group) bool { return g.Kind == controlflow.OnFailure })
}

// mayLose reports whether a node may fail, and no edge is sure to catch it.
func (f *facts) mayLose(v int) bool {
	n := f.graph.Nodes[v]
	limited := n.VisitLimit(f.graph) > 0 && n.OnMaxVisits != "skip" && f.flow().Cyclic[v]
	return (canFail(n) || limited || f.mayErr(v) || f.failsBypassed(n)) && len(f.certainEdges(v, true, false)) == 0
}
