// Package controlflow builds the control-flow graph of a flow, with its groups of edges (GraphSpec §6).
package controlflow

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

// Kind says why the edges of a group fire. The zero value is unset.
type Kind uint8

const (
	// ByGuard is a declaration whose condition holds, or all of the node with routing all.
	ByGuard    Kind = iota + 1
	ByDecision      // the router model chose it
	ByDefault       // no condition held
	ByGoto          // the node's own choice: one label, or several when Subset is set
	OnFailure       // the node failed
)

// Group is a set of edges that fire together. Only one group of a node fires after a visit.
type Group struct {
	Edges []int // indexes in Graph.Edges; none for ByGoto
	// Targets are the vertices that they lead to, in order, one for each edge.
	Targets []int
	Kind    Kind
	// Subset says that any subset of the targets may fire, not all always.
	Subset bool
	// Join is the node at which the branches join although it declares no join; -1: none.
	Join int
}

// Arc leads from a node to a vertex, by one of the node's groups.
type Arc struct{ From, To, Group int }

// Graph is the control-flow graph of a well-formed flow. The trees are computed on first use.
type Graph struct {
	*Vertices
	bound  *bind.Graph
	Groups [][]Group // by node
	Arcs   []Arc     // of all groups
	// Joins says which nodes may join branches without declaring it.
	Joins []bool
	// Digraph has every arc, NoFailures only those of successes. Both have one more vertex: a node
	// that may go anywhere leads to it, and it leads to all.
	Digraph, NoFailures *graphalg.Digraph
	Reached             []bool // from the start, by vertex
	SCC                 []int  // component of each vertex
	Cyclic              []bool // by vertex: it lies on a cycle
	// Anywhere says that some node may choose any other one, FansOut that some node may start
	// several at once, Catches that some edge fires on failures.
	Anywhere, FansOut, Catches bool
	// Dominators returns the dominator tree of the paths from the start, PostDominators that of the
	// paths back from END, which ignores fail nodes.
	Dominators, PostDominators func() *graphalg.Tree
	// PostDominatorsNoFailures returns PostDominators for runs in which nothing fails.
	PostDominatorsNoFailures func() *graphalg.Tree
}

// New computes the control flow of a well-formed graph.
func New(from *Vertices, bound *bind.Graph) *Graph {
	w := &Graph{Vertices: from, bound: bound, Groups: make([][]Group, from.End)}
	for i, n := range w.Source.Nodes {
		w.Groups[i] = w.groupsOf(n, w.Out[i])
		w.Anywhere = w.Anywhere || n.Goto.IsSet() && !n.HasEnds
		w.FansOut = w.FansOut || CanFanOut(w.Groups[i])
		w.Catches = w.Catches || w.HasGroup(i, OnFailure)
	}
	for v, groups := range w.Groups {
		for i := range groups {
			for _, to := range groups[i].Targets {
				w.Arcs = append(w.Arcs, Arc{v, to, i})
			}
		}
	}
	w.Digraph = w.digraph(true)
	if w.NoFailures = w.Digraph; w.Catches {
		w.NoFailures = w.digraph(false)
	}
	w.findImplicitJoins()
	w.Reached = w.Digraph.Reach(w.Start())
	var count int
	w.SCC, count = w.Digraph.SCC()
	w.markCycles(count)
	w.Dominators = sync.OnceValue(func() *graphalg.Tree { return w.Digraph.Dominators(w.Start()) })
	w.PostDominators = sync.OnceValue(func() *graphalg.Tree { return w.Digraph.Reverse().Dominators(w.End) })
	w.PostDominatorsNoFailures = sync.OnceValue(func() *graphalg.Tree { return w.NoFailures.Reverse().Dominators(w.End) })
	return w
}

// CanFanOut reports whether one of a node's groups may start several branches at once.
func CanFanOut(groups []Group) bool {
	return slices.ContainsFunc(groups, func(g Group) bool { return len(g.Targets) > 1 || g.Subset })
}

// groupsOf sorts a node's edges into groups, conditions in the order in which they are tried.
func (w *Graph) groupsOf(n *spec.Node, out []int) []Group {
	var guards, decide, plain, failGuards, failPlain, always []int
	for _, i := range out {
		switch e := w.Source.Edges[i]; {
		case e.Condition == "conditional":
			guards = append(guards, i)
		case e.Condition == "llm_decide":
			decide = append(decide, i)
		case e.Condition == "on_success":
			plain = append(plain, i)
		case e.Condition == "always":
			plain, always = append(plain, i), append(always, i)
		case e.When.IsSet():
			failGuards = append(failGuards, i)
		default:
			failPlain = append(failPlain, i)
		}
	}
	groups := make([]Group, 0, len(out)+len(n.Ends))
	if len(n.Ends) > 0 {
		groups = append(groups, w.groupLabels(n)...)
	}
	groups = append(groups, w.groupGuarded(ByGuard, guards, n.Routing == "all")...)
	for _, i := range decide {
		groups = append(groups, w.newGroup(ByDecision, i))
	}
	groups = append(groups, w.groupDefaults(plain, len(decide) > 0)...)
	groups = append(groups, w.groupGuarded(OnFailure, failGuards, n.Routing == "all")...)
	if len(failPlain) == 0 {
		failPlain = always
	}
	if len(failPlain) > 0 {
		groups = append(groups, w.newGroup(OnFailure, failPlain...))
	}
	return groups
}

// groupLabels returns the targets that a node may choose: one of them, or any subset for a list.
func (w *Graph) groupLabels(n *spec.Node) []Group {
	all := Group{Kind: ByGoto, Subset: true}
	var out []Group
	for _, end := range n.Ends {
		v := w.Vertex(end.Target.Value)
		if !slices.Contains(all.Targets, v) {
			all.Targets = append(all.Targets, v)
			out = append(out, Group{Kind: ByGoto, Targets: []int{v}})
		}
	}
	if choice := w.bound.Nodes[n.Index].Goto; choice != nil && choice.Type().IsList() {
		return []Group{all}
	}
	return out
}

// SplitByDeclaration splits a list of edges into lists that one declaration declares.
func (w *Vertices) SplitByDeclaration(edges []int) [][]int {
	var out [][]int
	for i, e := range edges {
		if i > 0 && w.Source.Edges[e].Decl == w.Source.Edges[edges[i-1]].Decl {
			out[len(out)-1] = append(out[len(out)-1], e)
		} else {
			out = append(out, edges[i:i+1:i+1])
		}
	}
	return out
}

// groupGuarded groups conditional edges by declaration, in the order of priority.
func (w *Graph) groupGuarded(kind Kind, edges []int, all bool) []Group {
	if len(edges) == 0 {
		return nil
	}
	slices.SortStableFunc(edges, func(a, b int) int {
		return cmp.Compare(w.Source.Edges[b].Priority, w.Source.Edges[a].Priority)
	})
	if all {
		g := w.newGroup(kind, edges...)
		g.Subset = len(edges) > 1 // of one target, too: any of the conditions may hold
		return []Group{g}
	}
	var out []Group
	for _, same := range w.SplitByDeclaration(edges) {
		out = append(out, w.newGroup(kind, same...))
	}
	return out
}

// groupDefaults groups the edges without a condition. Next to decisions only the fallback fires.
func (w *Graph) groupDefaults(plain []int, decides bool) []Group {
	if len(plain) > 0 && !decides {
		return []Group{w.newGroup(ByDefault, plain...)}
	}
	var out []Group
	for _, i := range plain {
		if w.Source.Edges[i].Fallback {
			out = append(out, w.newGroup(ByDefault, i))
		}
	}
	return out
}

// newGroup returns a group of edges.
func (w *Graph) newGroup(kind Kind, edges ...int) Group {
	g := Group{Kind: kind, Edges: edges, Targets: make([]int, len(edges))}
	for i, e := range edges {
		g.Targets[i] = w.To[e]
	}
	return g
}

// digraph returns the graph of all arcs, perhaps without those of failures.
func (w *Graph) digraph(failures bool) *graphalg.Digraph {
	arcs := slices.DeleteFunc(slices.Clone(w.Arcs), func(a Arc) bool { return !failures && w.GroupOf(a).Kind == OnFailure })
	anywhere := w.End + 1
	for v, n := range w.Source.Nodes {
		if n.Goto.IsSet() && !n.HasEnds {
			arcs = append(arcs, Arc{From: v, To: anywhere})
		}
	}
	for v := 0; w.Anywhere && v <= w.End; v++ {
		arcs = append(arcs, Arc{From: anywhere, To: v})
	}
	return w.NewDigraph(arcs)
}

// GroupOf returns the group of an arc.
func (w *Graph) GroupOf(a Arc) *Group { return &w.Groups[a.From][a.Group] }

// NewDigraph returns the graph of some arcs, with one vertex more than Vertices.
func (w *Vertices) NewDigraph(arcs []Arc) *graphalg.Digraph {
	from, to := make([]int, len(arcs)), make([]int, len(arcs))
	for i, a := range arcs {
		from[i], to[i] = a.From, a.To
	}
	return graphalg.New(w.End+2, from, to)
}

// markCycles finds the vertices on cycles.
func (w *Graph) markCycles(count int) {
	size := make([]int, count)
	for _, c := range w.SCC {
		size[c]++
	}
	w.Cyclic = make([]bool, len(w.SCC))
	for v, c := range w.SCC {
		w.Cyclic[v] = size[c] > 1 || slices.Contains(w.Digraph.Next(v), v)
	}
}

// HasGroup reports whether a node has a group of one of the kinds.
func (w *Graph) HasGroup(v int, kinds ...Kind) bool {
	return slices.ContainsFunc(w.Groups[v], func(g Group) bool { return slices.Contains(kinds, g.Kind) })
}

// ManyBranches is the count of branches that nothing bounds.
const ManyBranches = 1 << 20

// MostArrivals returns how many branches can arrive at a join, at most ManyBranches. It counts from the
// last join on every path to it, or from the start. dead reports whether a group can never fire.
func (w *Graph) MostArrivals(join int, dead func(*Group) bool) int {
	start := w.Start() // or the closest dominator that is a join
	for v := w.Dominators().Parent[join]; v >= 0 && start == w.Start(); v = w.Dominators().Parent[v] {
		if w.Source.Nodes[v].Join != nil {
			start = v
		}
	}
	kept := slices.DeleteFunc(slices.Clone(w.Arcs), func(a Arc) bool {
		return a.From == join || dead(w.GroupOf(a)) // branches that leave the join don't count
	})
	again := w.NewDigraph(kept).Reverse().Reach(start)
	arcs := w.NewDigraph(slices.DeleteFunc(kept, func(a Arc) bool { return a.To == start }))
	of, count := arcs.SCC()
	before, most := arcs.Reverse().Reach(join), make([]int, count)
	most[of[join]] = 1
	order := make([]int, w.End)
	for v := range order {
		order[v] = v
	}
	slices.SortFunc(order, func(u, v int) int { return cmp.Compare(of[u], of[v]) })
	for _, v := range order {
		for i := range w.Groups[v] {
			g, sum := &w.Groups[v][i], 0
			if v == join || dead(g) || !before[v] {
				continue
			}
			for _, t := range g.Targets {
				if of[t] != of[v] {
					sum += most[of[t]]
				} else if len(g.Targets) > 1 {
					sum = ManyBranches // a cycle may start them any number of times
				}
			}
			returns := func(t int) bool { return again[t] }
			if g.Kind == ByGoto && g.Subset || len(g.Targets) > 1 && slices.ContainsFunc(g.Targets, returns) {
				sum *= ManyBranches // a goto may name a node twice, a branch may return to start
			}
			most[of[v]] = max(most[of[v]], min(sum, ManyBranches))
		}
	}
	return most[of[start]]
}

// AllGroups iterates over the groups of all nodes.
func (w *Graph) AllGroups() iter.Seq2[int, *Group] {
	return func(yield func(int, *Group) bool) {
		for v, groups := range w.Groups {
			for i := range groups {
				if !yield(v, &groups[i]) {
					return
				}
			}
		}
	}
}

// Vertices numbers the nodes of a graph by their index, and END after them.
type Vertices struct {
	Source *spec.Graph
	End    int
	// From and To hold the vertices of each edge, or -1 for an unknown name.
	From, To []int
	// Out holds the edges that leave each node, Into those that lead to each vertex, in their order.
	Out, Into [][]int
}

// NewVertices numbers the nodes of a graph, which need not be well formed.
func NewVertices(g *spec.Graph) *Vertices {
	w := &Vertices{Source: g, End: len(g.Nodes)}
	ends := make([]int, 2*len(g.Edges))
	w.From, w.To = ends[:len(g.Edges)], ends[len(g.Edges):]
	for i, e := range g.Edges {
		w.From[i], w.To[i] = -1, w.Vertex(e.To.Value)
		if n := g.Node(e.From.Value); n != nil {
			w.From[i] = n.Index
		}
	}
	w.Out, w.Into = groupByVertex(w.From, w.End), groupByVertex(w.To, w.End+1)
	return w
}

// WellFormed reports whether every end of every edge is known.
func (w *Vertices) WellFormed() bool {
	g := w.Source
	isUnknown := func(end spec.End) bool { return w.Vertex(end.Target.Value) < 0 }
	return g.IsComplete() && g.Node(g.Start.Value) != nil && !slices.Contains(w.From, -1) && !slices.Contains(w.To, -1) &&
		!slices.ContainsFunc(g.Nodes, func(n *spec.Node) bool { return slices.ContainsFunc(n.Ends, isUnknown) })
}

// Vertex returns the vertex of a node or of END, or -1 for another name.
func (w *Vertices) Vertex(name string) int {
	if n := w.Source.Node(name); n != nil {
		return n.Index
	}
	if name == spec.END {
		return w.End
	}
	return -1
}

// Start returns the vertex of the first node of a well-formed graph.
func (w *Vertices) Start() int { return w.Source.Node(w.Source.Start.Value).Index }

// Name returns the name of a node, or END.
func (w *Vertices) Name(v int) string {
	if v == w.End {
		return spec.END
	}
	return w.Source.Nodes[v].ID.Value
}

// groupByVertex returns, for each of n vertices, the positions in a list that hold it.
func groupByVertex(at []int, n int) [][]int {
	counts := make([]int, n)
	for _, v := range at {
		if v >= 0 {
			counts[v]++
		}
	}
	lists, room := make([][]int, n), make([]int, len(at))
	for v, count := range counts {
		lists[v], room = room[:0:count], room[count:]
	}
	for i, v := range at {
		if v >= 0 {
			lists[v] = append(lists[v], i)
		}
	}
	return lists
}

// Bypass returns how a join of all branches treats one that left by a failure edge, or "".
func Bypass(n *spec.Node) string {
	if n.Join == nil || n.Join.Wait != "all" {
		return ""
	}
	return cmp.Or(n.Join.OnBypass.Value, "drop")
}

// ToleratesFailures reports whether a run may continue although a branch of some fan-out has failed.
func ToleratesFailures(g *spec.Graph) bool {
	tolerant := func(how string) bool { return how != "" && how != "fail_all" }
	return tolerant(g.Parallel.OnFailure) ||
		slices.ContainsFunc(g.Nodes, func(n *spec.Node) bool { return n.Parallel != nil && tolerant(n.Parallel.OnFailure) })
}

// ParallelOf returns the settings for the fan-out of a node: its own before those of the graph.
func ParallelOf(g *spec.Graph, node int) spec.Parallel {
	p := g.Parallel
	if own := g.Nodes[node].Parallel; own != nil {
		p.OnFailure, p.Join = cmp.Or(own.OnFailure, p.OnFailure), cmp.Or(own.Join, p.Join)
		if own.Conflict != "" {
			p.Conflict, p.ConflictSpan = own.Conflict, own.ConflictSpan
		}
	}
	return p
}

// maxSubset is the most targets of a group whose subsets are distinguished.
const maxSubset = 5

// findImplicitJoins sets Joins, and the Join of each group: where branches join without a declaration.
func (w *Graph) findImplicitJoins() {
	var any, firsts []int // targets of groups that may fire in part; joins of each subset, if there are few targets
	for v, g := range w.AllGroups() {
		g.Join = -1
		switch {
		case ParallelOf(w.Source, v).Join != "auto":
		case g.Subset && g.Kind != ByGoto && len(g.Targets) <= maxSubset && !slices.Contains(g.Targets, v):
			for some := range 1 << len(g.Targets) {
				var targets []int
				for i, t := range g.Targets {
					if some>>i&1 > 0 {
						targets = append(targets, t)
					}
				}
				if join := w.findFirstCommon(v, targets); join >= 0 {
					firsts = append(firsts, join)
				}
			}
		case g.Subset:
			any = append(any, g.Targets...)
		case len(g.Targets) > 1 && !slices.Contains(g.Targets, v):
			g.Join = w.findFirstCommon(v, g.Targets)
		}
	}
	w.Joins = w.NoFailures.Reach(any...)
	for _, join := range firsts {
		w.Joins[join] = w.Joins[join] || w.Source.Nodes[join].Join == nil
	}
	for v, g := range w.AllGroups() {
		if g.Join < 0 || w.Source.Nodes[g.Join].Join != nil {
			g.Join = -1
			continue
		}
		w.Joins[g.Join] = true
		if w.hasJoinBefore(v, g) { // it takes precedence
			g.Join = -1
		}
	}
}

// hasJoinBefore reports whether a declared join of several branches is before their implicit one.
func (w *Graph) hasJoinBefore(fork int, g *Group) bool {
	var reached map[int]int
	seen := map[int]bool{g.Join: true, fork: true}
	for todo := slices.Clone(g.Targets); len(todo) > 0; todo = todo[1:] {
		v := todo[0]
		if seen[v] || v >= w.End {
			continue
		}
		if seen[v] = true; w.Source.Nodes[v].Join != nil {
			if reached == nil {
				reached = w.findBranches(fork, g.Targets)
			}
			if reached[v] == severalBranches {
				return true
			}
		}
		todo = append(todo, w.Digraph.Next(v)...)
	}
	return false
}

const severalBranches = -2

// findBranches returns the first node of the branch that reaches a vertex, or severalBranches.
func (w *Graph) findBranches(fork int, targets []int) map[int]int {
	reached := map[int]int{}
	var todo []int
	reach := func(v, branch int) {
		if before, known := reached[v]; v == fork || known && (before == branch || before == severalBranches) {
			return
		} else if known {
			branch = severalBranches
		}
		reached[v] = branch
		todo = append(todo, v)
	}
	for _, first := range targets {
		reach(first, first)
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, next := range w.Digraph.Next(todo[0]) {
			reach(next, reached[todo[0]])
		}
	}
	return reached
}

// findFirstCommon returns the first node that all branches of a node can reach without failures,
// or -1. The distance of a node is its distance in the longest branch. At the same distance it
// prefers a node that declares a join.
func (w *Graph) findFirstCommon(fork int, targets []int) int {
	var fronts [][]int // of each branch: the vertices as far away as the step
	for _, first := range targets {
		if first != w.End {
			fronts = append(fronts, []int{first})
		}
	}
	seen, reached := map[[2]int]bool{}, map[int]int{} // by branch and vertex, and by how many branches
	for going := len(fronts) > 1; going; {
		going = false
		var met []int
		for b, front := range fronts {
			fronts[b] = nil
			for _, v := range front {
				if v == fork || seen[[2]int{b, v}] {
					continue
				}
				seen[[2]int{b, v}], going = true, true
				if reached[v]++; reached[v] == len(fronts) && v < len(w.Source.Nodes) {
					met = append(met, v)
				}
				fronts[b] = append(fronts[b], w.NoFailures.Next(v)...)
			}
		}
		if len(met) > 0 {
			slices.Sort(met)
			declares := func(v int) bool { return w.Source.Nodes[v].Join != nil }
			return met[max(0, slices.IndexFunc(met, declares))]
		}
	}
	return -1
}
