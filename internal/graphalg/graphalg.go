// Package graphalg has linear algorithms over directed graphs. None recurses, so paths may be long.
package graphalg

import "slices"

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
