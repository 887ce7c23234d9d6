// Package graphalg has linear algorithms over directed graphs. None recurses, so paths may be long.
package graphalg

import (
	"slices"
)

// Digraph is a directed graph of the vertices 0 to N-1. It is for one goroutine at a time.
type Digraph struct {
	start []int // the targets of v are to[start[v]:start[v+1]]
	to    []int
	back  *Digraph // see Reverse
}

// New builds the graph of n vertices with an edge from[i] → to[i] for each i, in that order.
func New(n int, from, to []int) *Digraph {
	g := &Digraph{start: make([]int, n+1), to: make([]int, len(to))}
	for _, v := range from {
		g.start[v+1]++
	}
	for v := range n {
		g.start[v+1] += g.start[v]
	}
	next := slices.Clone(g.start)
	for i, v := range from {
		g.to[next[v]] = to[i]
		next[v]++
	}
	return g
}

// Len returns the number of vertices.
func (g *Digraph) Len() int { return len(g.start) - 1 }

// Next returns the targets of v. The caller must not change them.
func (g *Digraph) Next(v int) []int { return g.to[g.start[v]:g.start[v+1]] }

// Reverse returns the graph with every edge reversed.
func (g *Digraph) Reverse() *Digraph {
	if g.back == nil {
		from := make([]int, 0, len(g.to))
		for v := range g.Len() {
			from = append(from, slices.Repeat([]int{v}, len(g.Next(v)))...)
		}
		g.back = New(g.Len(), g.to, from)
	}
	return g.back
}

// Reach marks the vertices that some vertices reach, themselves included.
func (g *Digraph) Reach(from ...int) []bool {
	seen := make([]bool, g.Len())
	for todo := slices.Clone(from); len(todo) > 0; {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[v] {
			seen[v] = true
			todo = append(todo, g.Next(v)...)
		}
	}
	return seen
}

// SCC returns the strongly connected component of each vertex, and how many there are. A
// component's number is greater than those of the components it leads to. This is Tarjan's
// algorithm (SIAM J. Comput. 1(2), 1972) with a stack of its own.
func (g *Digraph) SCC() (of []int, count int) {
	n := g.Len()
	of = slices.Repeat([]int{-1}, n)
	order, low, edge := make([]int, n), make([]int, n), make([]int, n) // order 0 is not visited; edge counts targets that are done
	path, open := make([]int, 0, n), make([]int, 0, n)
	clock := 0
	enter := func(v int) {
		clock++
		order[v], low[v] = clock, clock
		path, open = append(path, v), append(open, v)
	}
	for root := range n {
		if order[root] == 0 {
			enter(root)
		}
		for len(path) > 0 {
			v := path[len(path)-1]
			if next := g.Next(v); edge[v] < len(next) {
				w := next[edge[v]]
				edge[v]++
				if order[w] == 0 {
					enter(w)
				} else if of[w] < 0 {
					low[v] = min(low[v], order[w])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1]
				low[up] = min(low[up], low[v])
			}
			if low[v] != order[v] {
				continue
			}
			first := len(open) - 1
			for open[first] != v {
				first--
			}
			for _, w := range open[first:] {
				of[w] = count
			}
			open = open[:first]
			count++
		}
	}
	return of, count
}

// Distances returns the fewest edges from a vertex to each that it reaches.
func Distances(next func(int) []int, from int) map[int]int {
	out := map[int]int{from: 0}
	for todo := []int{from}; len(todo) > 0; todo = todo[1:] {
		for _, to := range next(todo[0]) {
			if _, seen := out[to]; !seen {
				out[to] = out[todo[0]] + 1
				todo = append(todo, to)
			}
		}
	}
	return out
}

// Path returns a shortest path between two vertices with both its ends, or nil.
func Path(next func(int) []int, from, to int) []int {
	parent := map[int]int{from: from}
	for todo := []int{from}; len(todo) > 0; todo = todo[1:] {
		for _, w := range next(todo[0]) {
			if _, seen := parent[w]; !seen {
				parent[w] = todo[0]
				todo = append(todo, w)
			}
		}
		if _, found := parent[to]; !found {
			continue
		}
		path := []int{to}
		for v := to; v != from; path = append(path, v) {
			v = parent[v]
		}
		slices.Reverse(path)
		return path
	}
	return nil
}

// Tree is the dominator tree of the part of a graph that a root reaches.
type Tree struct {
	// Parent is the immediate dominator of each vertex: the last vertex that every path from
	// the root passes before it. -1 for the root and for vertices that it doesn't reach.
	Parent []int
	// Order lists the vertices that the root reaches in reverse postorder.
	Order []int

	index     []int // in Order; -1 for a vertex that is not reached
	pre, last []int // preorder number of a vertex in the tree, and the last one below it
}

// Dominators computes the dominator tree from root by the algorithm of Cooper, Harvey and
// Kennedy (2001): parents climb to their common ancestor until none changes.
func (g *Digraph) Dominators(root int) *Tree {
	n := g.Len()
	t := &Tree{Parent: slices.Repeat([]int{-1}, n), Order: g.reversePostorder(root), index: slices.Repeat([]int{-1}, n)}
	for i, v := range t.Order {
		t.index[v] = i
	}
	back := g.Reverse()
	t.Parent[root] = root
	for changed := true; changed; {
		changed = false
		for _, v := range t.Order[1:] {
			parent := -1
			for _, p := range back.Next(v) {
				if t.Parent[p] < 0 || parent == root {
					continue
				}
				if parent < 0 {
					parent = p
				}
				parent = t.CommonDominator(parent, p)
			}
			if parent != t.Parent[v] {
				t.Parent[v], changed = parent, true
			}
		}
	}
	t.Parent[root] = -1
	t.numberVertices()
	return t
}

// reversePostorder returns the vertices that root reaches in reverse postorder.
func (g *Digraph) reversePostorder(root int) []int {
	type open struct{ v, next int }
	seen := make([]bool, g.Len())
	seen[root] = true
	var out []int
	for stack := []open{{root, 0}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		next := g.Next(top.v)
		if top.next == len(next) {
			out = append(out, top.v)
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
	slices.Reverse(out)
	return out
}

// numberVertices numbers the tree so that Covers takes constant time.
func (t *Tree) numberVertices() {
	n := len(t.Parent)
	size, next := make([]int, n), make([]int, n) // next is the first free number below a vertex
	t.pre, t.last = slices.Repeat([]int{-1}, n), make([]int, n)
	for _, v := range slices.Backward(t.Order) {
		size[v]++
		if p := t.Parent[v]; p >= 0 {
			size[p] += size[v]
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

// Dominates reports whether the root reaches w, and every path to it passes v, which may be w.
func (t *Tree) Dominates(v, w int) bool {
	return t.pre[v] >= 0 && t.pre[w] >= t.pre[v] && t.pre[w] <= t.last[v]
}

// CommonDominator returns the last vertex that every path to v or w passes. The root must reach both.
func (t *Tree) CommonDominator(v, w int) int {
	for v != w {
		if t.index[v] > t.index[w] {
			v = t.Parent[v]
		} else {
			w = t.Parent[w]
		}
	}
	return v
}
