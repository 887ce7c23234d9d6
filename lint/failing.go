// What may fail, and what follows then.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/spec"
)

// canFail reports whether what a node calls, or whom it asks, may fail.
func canFail(n *spec.Node) bool {
	switch n.Kind.Value {
	case "set", "pass", "wait":
		return false
	case "human":
		return n.Timeout > 0 && n.Field("default") == nil // nobody may be there
	}
	return true
}

// mayErr reports whether an expression of a node may fail, besides the values that a
// set node writes, which are tried.
func (f *facts) mayErr(v int) bool {
	return slices.ContainsFunc(f.uses().OfNode(v), func(u dataflow.Use) bool {
		return u.Field != "set" && u.Program != nil && !u.Optional
	})
}

// meetsLost is the join at which a node's fan-out of which all branches have failed
// goes on under wait_all: the nearest that all of them could have reached, also one that
// nobody declared; -1 for none. The branches began with these vertices.
func (f *facts) meetsLost(fork int, first []int) int {
	best, least := -1, 0
	auto := f.joinsAt(fork) == "auto"
	far := make([][]int, len(first))
	for i, begins := range first {
		far[i] = distances(f.flow().Digraph.Next, len(f.graph.Nodes)+2, begins)
	}
	for v, n := range f.graph.Nodes {
		if n.Join == nil && !auto {
			continue
		}
		worst := 0
		for i, begins := range first {
			if begins == f.End || far[i][v] < 0 {
				worst = -1
				break
			}
			worst = max(worst, far[i][v])
		}
		if worst >= 0 && (best < 0 || worst < least) {
			best, least = v, worst
		}
	}
	return best
}

// joinsAt says how the branches of a node's fan-out join: explicit or auto.
func (f *facts) joinsAt(fork int) string {
	if own := f.graph.Nodes[fork].Parallel; own != nil && own.Join != "" {
		return own.Join
	}
	return f.graph.Parallel.Join
}

// certainEdges are the edges that fire after a visit whatever the state is; a visit
// that was refused and has not failed was skipped.
func (f *facts) certainEdges(v int, failed, refused bool) []int {
	var plain, always, failPlain []int
	guarded, failGuarded := false, false
	for _, i := range f.edgesOut()[v] {
		switch e := f.graph.Edges[i]; e.Condition {
		case "on_success":
			plain = append(plain, i)
		case "always":
			plain, always = append(plain, i), append(always, i)
		case "conditional", "llm_decide":
			guarded = true
		default:
			if failGuarded = failGuarded || e.When.IsSet(); !e.When.IsSet() {
				failPlain = append(failPlain, i)
			}
		}
	}
	n := f.graph.Nodes[v]
	switch {
	case failed && failGuarded:
		return nil
	case failed && len(failPlain) > 0:
		return failPlain
	case failed:
		return always
	case refused || !guarded && !chooses(n):
		return plain
	}
	return nil
}

// chooses reports whether a node names its next nodes itself.
func chooses(n *spec.Node) bool { return n.HasEnds || n.Goto.IsSet() }
