// Dominators: which vertices every path to a vertex passes.

package graphalg

// Tree is the dominator tree of the part of a graph that a root reaches.
type Tree struct {
	// Parent is the immediate dominator of each vertex: the last vertex that
	// every path from the root passes before it. -1 for the root and for
	// vertices that it doesn't reach.
	Parent []int
	// Order lists the vertices that the root reaches, parents before children.
	Order []int

	pre, last []int // preorder number of a vertex, and the last one below it
	// head is the top of the heavy path of a vertex: a walk to the root changes
	// its path at most log N times.
	head, heavy []int
}

// Dominators computes the dominator tree from root by the algorithm of
// Lengauer and Tarjan (TOPLAS 1(1), 1979) with path compression, in O(E log N).
func (g *Digraph) Dominators(root int) *Tree {
	n := g.Len()
	room := make([]int, 8*n)
	piece := func(i int) []int { return room[i*n : (i+1)*n : (i+1)*n] }
	w := &domination{
		graph: g, vertex: make([]int, 0, n), idom: make([]int, n),
		number: piece(0), parent: piece(1), semi: piece(2), ancestor: piece(3), label: piece(4),
		first: piece(5), after: piece(6), path: piece(7)[:0],
	}
	for v := range n {
		w.number[v], w.parent[v], w.ancestor[v], w.label[v], w.idom[v] = -1, -1, -1, v, -1
	}
	w.search(root)
	w.compute()
	t := &Tree{Parent: w.idom, Order: w.vertex}
	t.index()
	return t
}

// domination is the working state of one computation; numbers are places in
// the order of the depth-first search.
type domination struct {
	graph                                       *Digraph
	vertex                                      []int // by number
	number, parent, semi, ancestor, label, idom []int
	// The vertices whose semidominator is a vertex, as linked lists.
	first, after []int
	path         []int
}

// search numbers the vertices in depth-first order.
func (w *domination) search(root int) {
	type open struct{ v, next int }
	stack := []open{{root, 0}}
	w.enter(root, -1)
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		next := w.graph.Next(top.v)
		if top.next == len(next) {
			stack = stack[:len(stack)-1]
			continue
		}
		to := next[top.next]
		top.next++
		if w.number[to] < 0 {
			w.enter(to, top.v)
			stack = append(stack, open{to, 0})
		}
	}
}

func (w *domination) enter(v, from int) {
	w.number[v], w.semi[v], w.parent[v] = len(w.vertex), len(w.vertex), from
	w.vertex = append(w.vertex, v)
}

func (w *domination) compute() {
	back := w.graph.Reverse()
	n := len(w.vertex)
	first, after := w.first, w.after
	for v := range first {
		first[v] = -1
	}
	for i := n - 1; i > 0; i-- {
		v := w.vertex[i]
		for _, u := range back.Next(v) {
			if w.number[u] >= 0 {
				w.semi[v] = min(w.semi[v], w.semi[w.eval(u)])
			}
		}
		s := w.vertex[w.semi[v]]
		after[v], first[s] = first[s], v
		p := w.parent[v]
		w.ancestor[v] = p
		for x := first[p]; x >= 0; x = after[x] {
			if u := w.eval(x); w.semi[u] < w.semi[x] {
				w.idom[x] = u
			} else {
				w.idom[x] = p
			}
		}
		first[p] = -1
	}
	for i := 1; i < n; i++ {
		if v := w.vertex[i]; w.idom[v] != w.vertex[w.semi[v]] {
			w.idom[v] = w.idom[w.idom[v]]
		}
	}
}

// eval is the vertex of least semidominator on the way from v up to the root
// of its tree in the forest, which it compresses.
func (w *domination) eval(v int) int {
	if w.ancestor[v] < 0 {
		return w.label[v]
	}
	w.path = w.path[:0]
	for u := v; w.ancestor[w.ancestor[u]] >= 0; u = w.ancestor[u] {
		w.path = append(w.path, u)
	}
	for i := len(w.path) - 1; i >= 0; i-- {
		u := w.path[i]
		a := w.ancestor[u]
		if w.semi[w.label[a]] < w.semi[w.label[u]] {
			w.label[u] = w.label[a]
		}
		w.ancestor[u] = w.ancestor[a]
	}
	return w.label[v]
}

// index numbers the tree so that Covers takes constant time, and orders it.
func (t *Tree) index() {
	n := len(t.Parent)
	room, work := make([]int, 4*n), make([]int, 2*n)
	piece := func(i int) []int { return room[i*n : (i+1)*n : (i+1)*n] }
	t.pre, t.last, t.head, t.heavy = piece(0), piece(1), piece(2), piece(3)
	size, next := work[:n], work[n:] // next: the first free number below a vertex
	// In depth-first order a dominator comes before what it dominates.
	for i := len(t.Order) - 1; i >= 0; i-- {
		v := t.Order[i]
		size[v]++
		if p := t.Parent[v]; p >= 0 {
			size[p] += size[v]
		}
	}
	for v := range n {
		t.pre[v], t.last[v], t.heavy[v] = -1, -1, -1
	}
	for _, v := range t.Order {
		if p := t.Parent[v]; p >= 0 && (t.heavy[p] < 0 || size[v] > size[t.heavy[p]]) {
			t.heavy[p] = v
		}
	}
	for _, v := range t.Order {
		t.head[v] = v
		if p := t.Parent[v]; p >= 0 && t.heavy[p] == v {
			t.head[v] = t.head[p]
		}
	}
	for _, v := range t.Order {
		at := 0
		if p := t.Parent[v]; p >= 0 {
			at = next[p]
			next[p] += size[v]
		}
		t.pre[v], t.last[v], next[v] = at, at+size[v]-1, at+1
	}
}

// Reached reports whether the root reaches v.
func (t *Tree) Reached(v int) bool { return t.pre[v] >= 0 }

// Covers reports whether every path from the root to w passes v; a vertex
// covers itself. False when the root doesn't reach both.
func (t *Tree) Covers(v, w int) bool {
	return t.pre[v] >= 0 && t.pre[w] >= t.pre[v] && t.pre[w] <= t.last[v]
}

// Common is the last vertex that every path to v and every path to w passes;
// the root reaches both.
func (t *Tree) Common(v, w int) int {
	for t.head[v] != t.head[w] {
		// The path whose head is later in preorder, or deeper, is left first.
		if t.pre[t.head[v]] > t.pre[t.head[w]] {
			v = t.Parent[t.head[v]]
		} else {
			w = t.Parent[t.head[w]]
		}
	}
	if t.pre[v] < t.pre[w] {
		return v
	}
	return w
}

// Below is the child of v that covers w; -1 when v doesn't cover w or is w.
func (t *Tree) Below(v, w int) int {
	if v == w || !t.Covers(v, w) {
		return -1
	}
	for t.head[v] != t.head[w] {
		h := t.head[w]
		if t.Parent[h] == v {
			return h
		}
		w = t.Parent[h]
	}
	return t.heavy[v]
}
