// What may fail, and what follows then.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/graphalg"
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
// goes on under wait_all: the first in the file that all of them could have reached; -1
// for none.
func (f *facts) meetsLost(fork int, g *controlflow.Group) int {
	next := func(v int) []int {
		if v == fork {
			return nil
		}
		return f.flow().Digraph.Next(v)
	}
	all := make([]int, len(f.graph.Nodes))
	for _, first := range g.Targets {
		for v, far := range graphalg.Distances(next, len(all)+2, first)[:len(all)] {
			if far >= 0 {
				all[v]++
			}
		}
	}
	return slices.IndexFunc(f.graph.Nodes, func(n *spec.Node) bool {
		return all[n.Index] == len(g.Targets) && (n.Join != nil || n.Index == g.Join)
	})
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
