// Joins that a failure may bypass (GraphSpec §7).

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

// failsBypassed reports whether a join fails when a branch bypasses it.
func (f *facts) failsBypassed(n *spec.Node) bool { return bypass(n) == "fail" }

// bypass is what a join of all does when a branch left by a failure edge and
// does not come back: drop, continue or fail; "" for another node.
func bypass(n *spec.Node) string {
	if n.Join == nil || n.Join.Wait != "all" {
		return ""
	}
	if how := n.Join.OnBypass.Value; how != "" {
		return how
	}
	return "drop"
}

// waitsForAll reports whether v runs only when no failure has bypassed it. Where its
// own failure edges lead when it fails because of one, see bypasses.
func (a *assignment) waitsForAll(v int) bool {
	if v >= a.f.End {
		return false
	}
	how := bypass(a.f.graph.Nodes[v])
	return how == "drop" || how == "fail"
}

// calm is what every path without failures passes.
func (a *assignment) calm() *graphalg.Tree { return a.k.Flow.PostDominatorsNoFailures() }

func (a *assignment) policy(fork int) string { return failurePolicy(a.f.graph, fork) }

// joinsAlone reports whether branches of some fan-out meet at a join that nobody
// declared.
func (f *facts) joinsAlone() bool {
	return f.graph.Parallel.Join == "auto" || slices.ContainsFunc(f.graph.Nodes, func(n *spec.Node) bool {
		return n.Parallel != nil && n.Parallel.Join == "auto"
	})
}

// skipsUnmade reports whether a node may lead on as after a success although no visit
// of it has succeeded: it is skipped at its limit of visits after it has failed.
func (f *facts) skipsUnmade(v int) bool {
	n := f.graph.Nodes[v]
	if n.OnMaxVisits != "skip" || !canFail(n) && !f.mayErr(v) || !f.flow().Cyclic[v] && !f.flow().FansOut {
		return false
	}
	tolerant := func(how string) bool { return how != "" && how != "fail_all" }
	return tolerant(f.graph.Parallel.OnFailure) ||
		slices.ContainsFunc(f.flow().Groups[v], func(g controlflow.Group) bool { return g.Kind == controlflow.OnFailure }) ||
		slices.ContainsFunc(f.graph.Nodes, func(n *spec.Node) bool { return n.Parallel != nil && tolerant(n.Parallel.OnFailure) })
}
