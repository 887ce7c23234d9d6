// Package concurrency tells what may run beside what in a flow, and when branches
// arrive where they meet.
//
// Branches are told by the dominators of a graph in which every edge that may fire
// together with others is a vertex of its own, an arm: what an arm dominates runs in
// that branch only (Branches). A may-happen-in-parallel analysis over pairs of tokens
// is coarser in what it says and needs no such tree (Pairs).
package concurrency

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
)

// Branches is the dominator tree of the control-flow graph with its fan-outs split:
// where a node has a group of several targets, each target hangs below an arm. It is
// for one goroutine at a time.
type Branches struct {
	Flow       *controlflow.Graph
	Split      *graphalg.Digraph // the control-flow graph with arms
	back       *graphalg.Digraph
	Dominators *graphalg.Tree
	first      int   // the first arm
	target     []int // of each arm, from first
	// armAt is where the arms of a node begin, -1 for a node that starts no
	// branches; armCount is how many there are.
	armAt, ArmCount []int
	// up is the nearest cover of a vertex, or itself, whose parent in the tree
	// starts branches: an arm or a meeting of arms. -1 when there is none.
	up []int
	// Order has the vertices so that all but back edges lead forwards.
	Order, place []int
	// sets are the arms from which a meeting is reached, by vertex, and fired
	// those that each group of a node fires, by node; nil for a single target.
	sets  map[int]ArmSet
	fired map[int][]ArmSet
	// joins are the joins among the children of a node in the tree.
	joins map[int][]int
	// joinCounts are what arrivals found, and regions the vertices that it visited.
	joinCounts map[int]joinCount
	regions    int
}

// New computes the branches of a graph; nil when a node may lead anywhere, since
// nothing is known then.
func New(w *controlflow.Graph) *Branches {
	if w.Anywhere {
		return nil
	}
	n := w.End
	k := &Branches{
		Flow: w, first: n + 2, armAt: make([]int, n), ArmCount: make([]int, n), sets: map[int]ArmSet{},
		fired: map[int][]ArmSet{}, joins: map[int][]int{}, joinCounts: map[int]joinCount{},
	}
	k.split()
	k.back = k.Split.Reverse()
	k.Dominators = k.Split.Dominators(w.Start())
	k.Order, k.place = k.Dominators.Order, slices.Repeat([]int{-1}, k.Split.Len())
	for i, v := range k.Order {
		k.place[v] = i
	}
	k.climb()
	k.meetings()
	for _, v := range k.Order {
		if p := k.Dominators.Parent[v]; k.sets[v] != nil && v < n && w.Source.Nodes[v].Join != nil {
			k.joins[p] = append(k.joins[p], v)
		}
	}
	return k
}

// meetings computes sets to its least fixpoint: meetings on a cycle are reached from
// each other's arms.
func (k *Branches) meetings() {
	for changed := true; changed; {
		changed = false
		for _, v := range k.Order {
			p := k.Dominators.Parent[v]
			if p < 0 || !k.Starts(p) || v >= k.first {
				continue
			}
			if set := k.armsInto(v, p); !slices.Equal(set, k.sets[v]) {
				k.sets[v], changed = set, true
			}
		}
	}
}

// split builds the graph with arms.
func (k *Branches) split() {
	var from, to []int
	next, all := k.first, 0
	for v, groups := range k.Flow.Groups {
		k.armAt[v] = -1
		for i := range groups {
			all += len(groups[i].Targets)
		}
		targets, fans := distinctTargets(groups)
		if fans {
			k.armAt[v], k.ArmCount[v] = next, len(targets)
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
	if k.Split = k.Flow.Digraph; next > k.first || len(from) < all {
		k.Split = graphalg.New(next, from, to)
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

// Any reports whether branches start anywhere.
func (k *Branches) Any() bool { return len(k.target) > 0 }

// IsArm reports whether a vertex is an arm.
func (k *Branches) IsArm(v int) bool { return v >= k.first }

// Node is where an arm leads; any other vertex is its own.
func (k *Branches) Node(v int) int {
	if k.IsArm(v) {
		return k.target[v-k.first]
	}
	return v
}

// ArmTarget is where arm i of a node leads.
func (k *Branches) ArmTarget(v, i int) int { return k.target[k.armAt[v]+i-k.first] }

// NewArmSet is an empty set of arms of a node.
func (k *Branches) NewArmSet(v int) ArmSet { return make(ArmSet, (k.ArmCount[v]+63)/64) }

// Meets reports whether several branches of one fan-out may meet at a node, or one begins.
func (k *Branches) Meets(v int) bool { return k.up[v] == v }

// Starts reports whether a vertex is a node that starts branches.
func (k *Branches) Starts(v int) bool { return v < len(k.armAt) && k.armAt[v] >= 0 }

func (k *Branches) climb() {
	k.up = make([]int, k.Split.Len())
	for v := range k.up {
		k.up[v] = -1
	}
	for _, v := range k.Dominators.Order {
		switch p := k.Dominators.Parent[v]; {
		case p < 0:
		case k.Starts(p):
			k.up[v] = v
		default:
			k.up[v] = k.up[p]
		}
	}
}

// armsInto collects the arms of v from which its child m is reached.
func (k *Branches) armsInto(m, v int) ArmSet {
	set := k.NewArmSet(v)
	for _, p := range k.back.Next(m) {
		if !k.Dominators.Reached(p) {
			continue
		}
		if c := k.Dominators.Below(v, p); c >= 0 && c != m {
			set.AddAll(k.arms(c, v))
		}
	}
	return set
}

// arms is the set of arms of v that lead to its child c.
func (k *Branches) arms(c, v int) ArmSet {
	if c < k.first {
		if set := k.sets[c]; set != nil {
			return set
		}
		return k.NewArmSet(v)
	}
	set := k.NewArmSet(v)
	set.Add(c - k.armAt[v])
	return set
}

// Parting is where two vertices that can be live at once part: the node that
// starts both branches, and its children that cover one each.
type Parting struct {
	Node, Left, Right int
	// Optional says that the node need not fire both edges.
	Optional bool
}

// Together reports whether x and y can be live at the same time because they
// are in different branches of one fan-out.
func (k *Branches) Together(x, y int) (Parting, bool) {
	if !k.Dominators.Reached(x) || !k.Dominators.Reached(y) {
		return Parting{}, false
	}
	v := k.Dominators.Common(x, y)
	if v == x || v == y || !k.Starts(v) {
		return Parting{}, false
	}
	at := Parting{Node: v, Left: k.Dominators.Below(v, x), Right: k.Dominators.Below(v, y)}
	return at, k.fires(&at)
}

// fires reports whether one group fires both sides of a parting, and that the
// sides share no arm.
func (k *Branches) fires(at *Parting) bool {
	v := at.Node
	left, right := k.Side(at.Left, v), k.Side(at.Right, v)
	if left.meets(right) {
		return false
	}
	found := false
	for i, set := range k.FiredBy(v) {
		if set == nil || !left.In(set) || !right.In(set) {
			continue
		}
		if !k.Flow.Groups[v][i].Subset {
			at.Optional = false
			return true
		}
		found, at.Optional = true, true
	}
	return found
}

// FiredBy lists the arms of v that each of its groups fires, computed once.
func (k *Branches) FiredBy(v int) []ArmSet {
	if sets, ok := k.fired[v]; ok {
		return sets
	}
	arm := make(map[int]int, k.ArmCount[v])
	for i := range k.ArmCount[v] {
		arm[k.ArmTarget(v, i)] = i
	}
	sets := make([]ArmSet, len(k.Flow.Groups[v]))
	for i, g := range k.Flow.Groups[v] {
		if len(g.Targets) < 2 {
			continue
		}
		sets[i] = k.NewArmSet(v)
		for _, t := range g.Targets {
			sets[i].Add(arm[t])
		}
	}
	k.fired[v] = sets
	return sets
}

// Waits reports whether v runs when the last of its branches has arrived.
func (k *Branches) Waits(v int) bool {
	if v >= len(k.Flow.Source.Nodes) {
		return v == k.Flow.End
	}
	join := k.Flow.Source.Nodes[v].Join
	return join != nil && (join.Wait == "all" || join.Wait == "N" && join.Count == k.started())
}

// started is how many branches there can be, where only one node starts any, once; 0 for
// more.
func (k *Branches) started() int {
	arms := 0
	for v, groups := range k.Flow.Groups {
		for i := range groups {
			if g := &groups[i]; len(g.Targets) > 1 || g.Subset {
				if arms > 0 || g.Subset || k.Flow.Cyclic[v] {
					return 0
				}
				arms = len(g.Targets)
			}
		}
	}
	return arms
}

// Joined reports whether branches that a group starts meet at a join.
func (k *Branches) Joined(v int, g *controlflow.Group) bool {
	fired := k.NewArmSet(v)
	for i := range k.Flow.Groups[v] {
		if set := k.FiredBy(v)[i]; set != nil && &k.Flow.Groups[v][i] == g {
			fired = set
		}
	}
	return slices.ContainsFunc(k.joins[v], func(m int) bool {
		both := k.NewArmSet(v)
		for i, set := range k.arms(m, v) {
			both[i] = set & fired[i]
		}
		return both.count() > 1
	})
}
