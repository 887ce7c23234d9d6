// Which edges of a node fire, and which of them together (GraphSpec §6).

package lint

import (
	"cmp"
	"slices"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

// groupKind says why the edges of a group fire. The zero value is unset.
type groupKind uint8

const (
	// byGuard: a conditional declaration that holds; with routing all, every
	// conditional edge of the node, any of which may.
	byGuard    groupKind = iota + 1
	byDecision           // the router model chose it
	byDefault            // no condition held
	byGoto               // the node's own choice: one label, or several when many is set
	onFailure            // the node failed
)

// group is a set of edges that fire together. A node's groups exclude each
// other, but for those of different outcomes of different visits.
type group struct {
	edges []int // indexes in Graph.Edges; none for byGoto
	// targets are the vertices that they lead to, in order: each once, but a join
	// that counts arrivals once for each edge.
	targets []int
	kind    groupKind
	// perhaps says that any subset of the targets may fire, not all always.
	perhaps bool
}

// flow is the control-flow graph of a graph: its nodes as vertices, and what fires
// at each of them.
type flow struct {
	*vertices
	bound  *bind.Graph
	groups [][]group // by node
	// graph has every way from vertex to vertex, calm only those of success.
	graph, calm *graphalg.Digraph
	back        *graphalg.Digraph // graph turned round
	reached     []bool            // from the start
	scc         []int             // component of each vertex
	cyclic      []bool            // by vertex: it lies on a cycle
	// wild says that some node may choose any other as its next, branches that some node
	// leads to several at once.
	wild, branches bool

	tree, postTree, calmPostTree *graphalg.Tree // see the methods of like names
}

// newFlow computes the control flow of a well-formed graph; out are its edges by
// the node that they leave.
func newFlow(from *vertices, out [][]int, bound *bind.Graph) *flow {
	w := &flow{vertices: from, bound: bound, groups: make([][]group, from.end)}
	for i, n := range w.source.Nodes {
		w.groups[i] = w.groupsOf(n, out[i])
		w.wild = w.wild || n.Goto.IsSet() && !n.HasEnds
		w.branches = w.branches || slices.ContainsFunc(w.groups[i], func(g group) bool { return len(g.targets) > 1 || g.perhaps })
	}
	w.graph = w.digraph(true)
	if w.calm = w.graph; w.fails() {
		w.calm = w.digraph(false)
	}
	w.back = w.graph.Reverse()
	w.reached = w.graph.Reach(w.start())
	var count int
	w.scc, count = w.graph.SCC()
	w.markCycles(count)
	return w
}

// dominators tells which vertices every path from the start to a vertex passes.
func (w *flow) dominators() *graphalg.Tree {
	if w.tree == nil {
		w.tree = w.graph.Dominators(w.start())
	}
	return w.tree
}

// postDominators tells which vertices every path from a vertex to END passes. A path
// into a fail node is no such path: it ends the run.
func (w *flow) postDominators() *graphalg.Tree {
	if w.postTree == nil {
		w.postTree = w.back.Dominators(w.end)
	}
	return w.postTree
}

// calmPostDominators are those of runs in which nothing fails.
func (w *flow) calmPostDominators() *graphalg.Tree {
	if w.calmPostTree == nil {
		w.calmPostTree = w.calm.Reverse().Dominators(w.end)
	}
	return w.calmPostTree
}

// groupsOf sorts a node's edges into groups; those of conditions come in the
// order in which they are tried.
func (w *flow) groupsOf(n *spec.Node, out []int) []group {
	var guards, decide, plain, failGuards, failPlain, always []int
	for _, i := range out {
		switch e := w.source.Edges[i]; {
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
	var groups []group
	if len(n.Ends) > 0 {
		groups = append(groups, w.dynamicGroups(n)...)
	}
	groups = append(groups, w.guarded(byGuard, guards, n.Routing == "all")...)
	for _, i := range decide {
		groups = append(groups, w.newGroup(byDecision, i))
	}
	groups = append(groups, w.defaults(plain, len(decide) > 0)...)
	groups = append(groups, w.guarded(onFailure, failGuards, n.Routing == "all")...)
	if len(failPlain) == 0 {
		failPlain = always
	}
	if len(failPlain) > 0 {
		groups = append(groups, w.newGroup(onFailure, failPlain...))
	}
	return groups
}

// dynamicGroups are the targets that a node may choose: one of them, or any
// of them when its expression is known to yield a list.
func (w *flow) dynamicGroups(n *spec.Node) []group {
	b := &w.bound.Nodes[n.Index]
	many := b.Goto != nil && b.Goto.Type().IsList()
	all := group{kind: byGoto, perhaps: true}
	var out []group
	for _, end := range n.Ends {
		v := w.vertex(end.Target.Value)
		if !slices.Contains(all.targets, v) {
			all.targets = append(all.targets, v)
			out = append(out, group{kind: byGoto, targets: []int{v}})
		}
	}
	if many {
		return []group{all}
	}
	return out
}

// guarded groups conditional edges by declaration, in the order of priority.
func (w *flow) guarded(kind groupKind, edges []int, all bool) []group {
	if len(edges) == 0 {
		return nil
	}
	slices.SortStableFunc(edges, func(a, b int) int {
		return cmp.Compare(w.source.Edges[b].Priority, w.source.Edges[a].Priority)
	})
	if all {
		g := w.newGroup(kind, edges...)
		g.perhaps = len(g.targets) > 1
		return []group{g}
	}
	var out []group
	for i := 0; i < len(edges); {
		j := i + 1
		for j < len(edges) && w.source.Edges[edges[j]].Decl == w.source.Edges[edges[i]].Decl {
			j++
		}
		out = append(out, w.newGroup(kind, edges[i:j]...))
		i = j
	}
	return out
}

// defaults are the edges without a condition. Next to decisions they never
// fire on success, but for the one that is marked as the fallback.
func (w *flow) defaults(plain []int, decides bool) []group {
	if len(plain) == 0 {
		return nil
	}
	if !decides {
		return []group{w.newGroup(byDefault, plain...)}
	}
	var out []group
	for _, i := range plain {
		if w.source.Edges[i].Fallback {
			out = append(out, w.newGroup(byDefault, i))
		}
	}
	return out
}

func (w *flow) newGroup(kind groupKind, edges ...int) group {
	g := group{kind: kind, edges: edges, targets: make([]int, 0, len(edges))}
	for _, i := range edges {
		if v := w.to[i]; len(edges) == 1 || !slices.Contains(g.targets, v) || w.countsArrivals(v) {
			g.targets = append(g.targets, v)
		}
	}
	return g
}

// countsArrivals reports whether a vertex is a join that goes on with N branches.
func (w *flow) countsArrivals(v int) bool {
	return v >= 0 && v < len(w.source.Nodes) && w.source.Nodes[v].Join != nil && w.source.Nodes[v].Join.Count > 1
}

// digraph has an arc for each target of each group. Nodes that may lead
// anywhere do.
func (w *flow) digraph(failures bool) *graphalg.Digraph {
	n := len(w.source.Nodes)
	from, to := make([]int, 0, len(w.source.Edges)+1), make([]int, 0, len(w.source.Edges)+1)
	anywhere := n + 1
	for v, groups := range w.groups {
		for i := range groups {
			if groups[i].kind == onFailure && !failures {
				continue
			}
			for _, t := range groups[i].targets {
				from, to = append(from, v), append(to, t)
			}
		}
		if node := w.source.Nodes[v]; node.Goto.IsSet() && !node.HasEnds {
			from, to = append(from, v), append(to, anywhere)
		}
	}
	if w.wild {
		for v := range n + 1 {
			from, to = append(from, anywhere), append(to, v)
		}
	}
	return graphalg.New(n+2, from, to)
}

// fails reports whether some ways are taken on failures only.
func (w *flow) fails() bool {
	return slices.ContainsFunc(w.groups, func(groups []group) bool {
		return slices.ContainsFunc(groups, func(g group) bool { return g.kind == onFailure })
	})
}

// markCycles finds the vertices on cycles.
func (w *flow) markCycles(count int) {
	size := make([]int, count)
	for _, c := range w.scc {
		size[c]++
	}
	w.cyclic = make([]bool, len(w.scc))
	for v, c := range w.scc {
		w.cyclic[v] = size[c] > 1 || slices.Contains(w.graph.Next(v), v)
	}
}

// singleLabel reports whether a node's dynamic target is one label for sure.
func (w *flow) singleLabel(v int) bool {
	p := w.bound.Nodes[v].Goto
	return p != nil && p.Type().String() == "string"
}

// decides reports whether a model chooses where a node leads.
func (w *flow) decides(v int) bool {
	for i := range w.groups[v] {
		if w.groups[v][i].kind == byDecision {
			return true
		}
	}
	return false
}
