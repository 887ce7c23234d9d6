// Visits and steps along a path, as far as conditions and limits ask for them.

package lint

import (
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// pathCounts counts the visits of a path. Counts are exact up to their caps, as long
// as no branches have started.
type pathCounts struct {
	of     *boundWalk // what is counted, and up to where
	visits []int
	step   int
	// refused says that a limit has not let the last node run.
	refused bool
}

// atStart is what is known at the start.
func (f *facts) atStart() *knowledge {
	if f.theCounts == nil {
		f.theCounts = &boundWalk{f: f, flow: f.flow(), limit: f.visitLimits()}
		f.theCounts.findCounters()
	}
	return &knowledge{f: f, counts: pathCounts{of: f.theCounts, visits: make([]int, len(f.theCounts.counters))}}
}

// visitLimits are the limits of visits by node, 0 for none.
func (f *facts) visitLimits() []int {
	out := make([]int, len(f.graph.Nodes))
	for v, n := range f.graph.Nodes {
		out[v] = n.VisitLimit(f.graph)
	}
	return out
}

func (t *pathCounts) clone() pathCounts {
	out := *t
	out.visits = slices.Clone(t.visits)
	return out
}

func (t *pathCounts) appendKey(key []byte) []byte {
	for _, n := range t.visits {
		key = append(strconv.AppendInt(key, int64(n), 10), ' ')
	}
	return strconv.AppendInt(key, int64(min(t.step, t.of.stepCap)), 10)
}

// run counts a visit of a node, unless its limit refuses it.
func (k *knowledge) run(v int) {
	t := &k.counts
	k.at, t.refused = v, false
	c, counted := t.of.counterOf[v]
	if limit := t.of.limit[v]; counted && limit > 0 && t.visits[c] >= limit {
		t.refused = true
		if k.f.graph.Nodes[v].OnMaxVisits == "skip" {
			t.step++
		}
		return
	}
	t.step++
	if limit := k.f.graph.Limits.MaxSteps; limit > 0 && t.step > limit {
		k.bad = true
	}
	if counted {
		t.visits[c] = min(t.visits[c]+1, t.of.counters[c].most)
	}
}

// lets reports whether a group can fire after the last visit: one that was
// refused has failed, or has been skipped.
func (t *pathCounts) lets(n *spec.Node, kind controlflow.Kind) bool {
	switch {
	case !t.refused:
		return true
	case n.OnMaxVisits == "skip":
		return kind == controlflow.ByDefault
	}
	return kind == controlflow.OnFailure
}

// speaks reports whether a condition is about what is counted.
func (t *pathCounts) speaks(tree *eval.Tree) bool {
	found := false
	tree.Each(func(p *eval.Tree) {
		found = found || p.Op == eval.TreePath && (p.Path[0] == "visits" || p.Path[0] == "step")
	})
	return found
}

// counted is what a path of the environment counts, if it does.
func (k *knowledge) counted(path []string) (solve.Domain, bool) {
	t := &k.counts
	switch {
	case len(path) == 2 && path[0] == "visits":
		n := k.f.graph.Node(path[1])
		if n == nil {
			break
		}
		c, ok := t.of.counterOf[n.Index]
		if !ok {
			break
		}
		return k.atLeast(t.visits[c], t.of.counters[c].most, t.of.limit[n.Index]), true
	case len(path) == 1 && path[0] == "step" && t.of.stepCap > 0:
		return k.atLeast(min(t.step, t.of.stepCap), t.of.stepCap, 0), true
	}
	return solve.Domain{}, false
}

// atLeast is a number that was counted, which branches may have counted on.
func (k *knowledge) atLeast(n, most, limit int) solve.Domain {
	if k.fanned {
		return solve.Domain{Kind: solve.Int, Min: float64(n), HasMin: true}
	}
	return upTo(n, most, limit)
}

// entails reports whether a condition that is tried after a node is sure to
// hold there.
func (k *knowledge) entails(v int, p *eval.Program) bool {
	after, at := k.after(v), site{f: k.f, node: k.f.graph.Nodes[v]}
	return after != nil && after.mayCome(at, solve.Claim{Tree: p.Tree(), Holds: true}) && !after.mayCome(at, solve.Claim{Tree: p.Tree()})
}
