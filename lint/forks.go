// Branches: which nodes can be live at the same time, told by dominators of a
// graph in which every edge that may fire together with others is a vertex.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
)

// forks is the dominator tree of the graph with its fan-outs split: where a
// node has a group of several targets, each of its targets hangs below a
// vertex of its own, an arm. What an arm covers runs in that branch only.
type forks struct {
	flow   *controlflow.Graph
	graph  *graphalg.Digraph // with arms
	back   *graphalg.Digraph
	tree   *graphalg.Tree
	first  int   // the first arm
	target []int // of each arm, from first
	// armAt is where the arms of a node begin, -1 for a node that starts no
	// branches; armCount is how many there are.
	armAt, armCount []int
	// up is the nearest cover of a vertex, or itself, whose parent in the tree
	// starts branches: an arm or a meeting of arms. -1 when there is none.
	up []int
	// order has the vertices so that all but back edges lead forwards.
	order, place []int
	// sets are the arms from which a meeting is reached, by vertex, and fired
	// those that each group of a node fires, by node; nil for a single target.
	sets  map[int]armSet
	fired map[int][]armSet
	// joins are the joins among the children of a node in the tree.
	joins map[int][]int
	times *timing // see there
	// joinCounts are what arrivals found, and regions the vertices that it visited.
	joinCounts map[int]joinCount
	regions    int
}

// newForks computes the branches of a graph; nil when a node may lead anywhere, since
// nothing is known then.
func newForks(w *controlflow.Graph) *forks {
	if w.Anywhere {
		return nil
	}
	n := w.End
	k := &forks{
		flow: w, first: n + 2, armAt: make([]int, n), armCount: make([]int, n), sets: map[int]armSet{},
		fired: map[int][]armSet{}, joins: map[int][]int{}, joinCounts: map[int]joinCount{},
	}
	k.split()
	k.back = k.graph.Reverse()
	k.tree = k.graph.Dominators(w.Start())
	k.sort(w.Start())
	k.climb()
	k.meetings()
	for _, v := range k.order {
		if p := k.tree.Parent[v]; k.sets[v] != nil && v < n && w.Source.Nodes[v].Join != nil {
			k.joins[p] = append(k.joins[p], v)
		}
	}
	return k
}

// meetings computes sets to its least fixpoint: meetings on a cycle are reached from
// each other's arms.
func (k *forks) meetings() {
	for changed := true; changed; {
		changed = false
		for _, v := range k.order {
			p := k.tree.Parent[v]
			if p < 0 || !k.starts(p) || v >= k.first {
				continue
			}
			if set := k.armsInto(v, p); !slices.Equal(set, k.sets[v]) {
				k.sets[v], changed = set, true
			}
		}
	}
}

// split builds the graph with arms.
func (k *forks) split() {
	var from, to []int
	next, all := k.first, 0
	for v, groups := range k.flow.Groups {
		k.armAt[v] = -1
		for i := range groups {
			all += len(groups[i].Targets)
		}
		targets, fans := distinctTargets(groups)
		if fans {
			k.armAt[v], k.armCount[v] = next, len(targets)
		}
		for _, t := range targets {
			if !fans {
				from, to = append(from, v), append(to, t)
				continue
			}
			from, to = append(from, v, next), append(to, next, t)
			k.target = append(k.target, t)
			next++
		}
	}
	if k.graph = k.flow.Digraph; next > k.first || len(from) < all {
		k.graph = graphalg.New(next, from, to)
	}
}

// distinctTargets are all targets of a node, and whether several fire together.
func distinctTargets(groups []controlflow.Group) (targets []int, fans bool) {
	if len(groups) == 1 {
		return groups[0].Targets, len(groups[0].Targets) > 1
	}
	seen := map[int]bool{}
	for i := range groups {
		fans = fans || len(groups[i].Targets) > 1
		for _, t := range groups[i].Targets {
			if !seen[t] {
				seen[t] = true
				targets = append(targets, t)
			}
		}
	}
	return targets, fans
}

// any reports whether branches start anywhere.
func (k *forks) any() bool { return len(k.target) > 0 }

// isArm reports whether a vertex is an arm.
func (k *forks) isArm(v int) bool { return v >= k.first }

// node is where an arm leads; any other vertex is its own.
func (k *forks) node(v int) int {
	if k.isArm(v) {
		return k.target[v-k.first]
	}
	return v
}

// armTarget is where arm i of a node leads.
func (k *forks) armTarget(v, i int) int { return k.target[k.armAt[v]+i-k.first] }

// newArmSet is an empty set of arms of a node.
func (k *forks) newArmSet(v int) armSet { return make(armSet, (k.armCount[v]+63)/64) }

// meets reports whether several branches of one fan-out may meet at a node, or one begins.
func (k *forks) meets(v int) bool { return k.up[v] == v }

// starts reports whether a vertex is a node that starts branches.
func (k *forks) starts(v int) bool { return v < len(k.armAt) && k.armAt[v] >= 0 }

// sort orders the reached vertices by a depth-first search, last left first.
func (k *forks) sort(root int) {
	type open struct{ v, next int }
	seen := make([]bool, k.graph.Len())
	seen[root] = true
	stack := []open{{root, 0}}
	var done []int
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		next := k.graph.Next(top.v)
		if top.next == len(next) {
			done = append(done, top.v)
			stack = stack[:len(stack)-1]
			continue
		}
		to := next[top.next]
		top.next++
		if !seen[to] {
			seen[to] = true
			stack = append(stack, open{to, 0})
		}
	}
	k.order, k.place = make([]int, len(done)), make([]int, k.graph.Len())
	for i := range k.place {
		k.place[i] = -1
	}
	for i, v := range done {
		at := len(done) - 1 - i
		k.order[at], k.place[v] = v, at
	}
}

func (k *forks) climb() {
	k.up = make([]int, k.graph.Len())
	for v := range k.up {
		k.up[v] = -1
	}
	for _, v := range k.tree.Order {
		switch p := k.tree.Parent[v]; {
		case p < 0:
		case k.starts(p):
			k.up[v] = v
		default:
			k.up[v] = k.up[p]
		}
	}
}

// armsInto collects the arms of v from which its child m is reached.
func (k *forks) armsInto(m, v int) armSet {
	set := k.newArmSet(v)
	for _, p := range k.back.Next(m) {
		if !k.tree.Reached(p) {
			continue
		}
		if c := k.tree.Below(v, p); c >= 0 && c != m {
			set.addAll(k.arms(c, v))
		}
	}
	return set
}

// arms is the set of arms of v that lead to its child c.
func (k *forks) arms(c, v int) armSet {
	if c < k.first {
		if set := k.sets[c]; set != nil {
			return set
		}
		return k.newArmSet(v)
	}
	set := k.newArmSet(v)
	set.add(c - k.armAt[v])
	return set
}

// parting is where two vertices that can be live at once part: the node that
// starts both branches, and its children that cover one each.
type parting struct {
	node, left, right int
	// perhaps says that the node need not fire both edges.
	perhaps bool
}

// together reports whether x and y can be live at the same time because they
// are in different branches of one fan-out.
func (k *forks) together(x, y int) (parting, bool) {
	if !k.tree.Reached(x) || !k.tree.Reached(y) {
		return parting{}, false
	}
	v := k.tree.Common(x, y)
	if v == x || v == y || !k.starts(v) {
		return parting{}, false
	}
	at := parting{node: v, left: k.tree.Below(v, x), right: k.tree.Below(v, y)}
	return at, k.fires(&at)
}

// fires reports whether one group fires both sides of a parting, and that the
// sides share no arm.
func (k *forks) fires(at *parting) bool {
	v := at.node
	left, right := k.side(at.left, v), k.side(at.right, v)
	if left.meets(right) {
		return false
	}
	found := false
	for i, set := range k.firedBy(v) {
		if set == nil || !left.in(set) || !right.in(set) {
			continue
		}
		if !k.flow.Groups[v][i].Subset {
			at.perhaps = false
			return true
		}
		found, at.perhaps = true, true
	}
	return found
}

// firedBy lists the arms of v that each of its groups fires, computed once.
func (k *forks) firedBy(v int) []armSet {
	if sets, ok := k.fired[v]; ok {
		return sets
	}
	arm := make(map[int]int, k.armCount[v])
	for i := range k.armCount[v] {
		arm[k.armTarget(v, i)] = i
	}
	sets := make([]armSet, len(k.flow.Groups[v]))
	for i, g := range k.flow.Groups[v] {
		if len(g.Targets) < 2 {
			continue
		}
		sets[i] = k.newArmSet(v)
		for _, t := range g.Targets {
			sets[i].add(arm[t])
		}
	}
	k.fired[v] = sets
	return sets
}

// begin reports whether two branches of one fan-out begin with x and y, x
// first: nodes of one superstep start in the order of their declaration.
func (k *forks) begin(at parting, x, y int) bool {
	return k.isArm(at.left) && k.isArm(at.right) && k.node(at.left) == y && k.node(at.right) == x && at.right < at.left
}

// joined reports whether branches that a group starts meet at a join.
func (k *forks) joined(v int, g *controlflow.Group) bool {
	fired := k.newArmSet(v)
	for i := range k.flow.Groups[v] {
		if set := k.firedBy(v)[i]; set != nil && &k.flow.Groups[v][i] == g {
			fired = set
		}
	}
	return slices.ContainsFunc(k.joins[v], func(m int) bool {
		both := k.newArmSet(v)
		for i, set := range k.arms(m, v) {
			both[i] = set & fired[i]
		}
		return both.count() > 1
	})
}
