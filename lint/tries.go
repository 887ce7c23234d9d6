// The groups of a node, tried one after the other.

package lint

import "github.com/graphrun/graphrun/internal/analysis/controlflow"

// tries are the groups of a node that has run. Each knows that those before it have not
// fired: what that shows is learned once for all behind them.
type tries struct {
	ran    *knowledge
	groups []controlflow.Group
	// By whether the node has failed: what is known when a number of groups have not
	// fired, and what learning that once more would cost.
	before  [2]*knowledge
	learned [2]int
	cost    [2]int
}

// fewGroups is for how many groups of a node keeping what was learned costs more than it
// saves.
const fewGroups = 4

// onward is what knowledge.onward tells, for groups that are asked about in order, and
// costs the same steps.
func (t *tries) onward(taken int) *knowledge {
	if len(t.groups) <= fewGroups {
		return t.ran.onward(t.groups, taken)
	}
	g, f, failed := &t.groups[taken], t.ran.f, 0
	if g.Kind == controlflow.OnFailure {
		failed = 1
	}
	before := t.before[failed]
	if before == nil {
		before = t.ran.clone()
		if failed == 0 && !before.counts.refused {
			before.leave(before.at)
		}
		t.before[failed] = before
	}
	if !before.tells(g) || !before.counts.lets(f.graph.Nodes[before.at], g.Kind) {
		return t.ran.onward(t.groups, taken)
	}
	f.weighed += t.cost[failed]
	for ; t.learned[failed] < taken; t.learned[failed]++ {
		if earlier := &t.groups[t.learned[failed]]; triedBefore(earlier, g) {
			weighed, spent := f.weighed, f.solver.Spent
			before.learn(earlier, false)
			t.cost[failed] += f.weighed - weighed - (f.solver.Spent - spent)
		}
	}
	out := before.clone()
	if g.Kind != controlflow.ByDefault {
		out.learn(g, true)
	}
	out.through(len(g.Targets) > 1)
	return out
}
