// Package graphalg has linear algorithms over directed graphs of numbered
// vertices. Nothing recurses, so a path of a million vertices is no danger.
package graphalg

import "slices"

// Digraph is a directed graph of the vertices 0 to N-1, kept as one list of
// targets cut into one piece for each vertex. Its edges do not change once it is
// built. It is for one goroutine at a time: Reverse keeps what it made.
type Digraph struct {
	start []int // the targets of v are to[start[v]:start[v+1]]
	to    []int
	back  *Digraph // see Reverse
}

// New builds the graph of n vertices with an edge from[i] → to[i] for each i.
// The two lists are of one length and hold vertices only. The targets of a
// vertex keep the order of the lists.
func New(n int, from, to []int) *Digraph {
	g := sized(n, from)
	for i, v := range from {
		g.put(v, to[i])
	}
	g.close()
	return g
}

// sized is a graph that has room for an edge from each of the vertices, and
// takes them by put, each at the place start says next.
func sized(n int, from []int) *Digraph {
	room := make([]int, n+1+len(from))
	g := &Digraph{start: room[:n+1], to: room[n+1:]}
	for _, v := range from {
		g.start[v+1]++
	}
	for v := range n {
		g.start[v+1] += g.start[v]
	}
	return g
}

func (g *Digraph) put(v, to int) {
	g.to[g.start[v]] = to
	g.start[v]++
}

// close ends the building: each piece has moved its start to its end.
func (g *Digraph) close() {
	copy(g.start[1:], g.start)
	g.start[0] = 0
}

// Len is the number of vertices.
func (g *Digraph) Len() int { return len(g.start) - 1 }

// Next are the targets of v; the caller does not change them.
func (g *Digraph) Next(v int) []int { return g.to[g.start[v]:g.start[v+1]] }

// Reverse is the graph with every edge turned round.
func (g *Digraph) Reverse() *Digraph {
	if g.back == nil {
		g.back = sized(g.Len(), g.to)
		for v := range g.Len() {
			for _, to := range g.Next(v) {
				g.back.put(to, v)
			}
		}
		g.back.close()
	}
	return g.back
}

// Reach marks the vertices that can be reached from the given ones, which
// are reached themselves.
func (g *Digraph) Reach(from ...int) []bool {
	seen := make([]bool, g.Len())
	var todo []int
	visit := func(v int) {
		if !seen[v] {
			seen[v] = true
			todo = append(todo, v)
		}
	}
	for _, v := range from {
		visit(v)
	}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, w := range g.Next(v) {
			visit(w)
		}
	}
	return seen
}

// SCC numbers the strongly connected components: of[v] is the component of v,
// count their number. A component's number is greater than those of the
// components it leads to. This is Tarjan's algorithm (SIAM J. Comput. 1(2),
// 1972) with a stack of its own.
func (g *Digraph) SCC() (of []int, count int) {
	n := g.Len()
	of = make([]int, n)
	room := make([]int, 3*n)
	order, low, edge := room[:n], room[n:2*n], room[2*n:] // order 0: not visited yet; edge: how many targets are done
	for v := range of {
		of[v] = -1
	}
	var path, open []int
	clock := 0
	enter := func(v int) {
		clock++
		order[v], low[v] = clock, clock
		path, open = append(path, v), append(open, v)
	}
	for root := range n {
		if order[root] != 0 {
			continue
		}
		enter(root)
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
			if low[v] == order[v] {
				open = closeComponent(of, open, v, count)
				count++
			}
		}
	}
	return of, count
}

// closeComponent gives a number to the vertices of open down to v and drops them.
func closeComponent(of, open []int, v, number int) []int {
	for {
		w := open[len(open)-1]
		open = open[:len(open)-1]
		of[w] = number
		if w == v {
			return open
		}
	}
}

// Distances are how many edges lead from a vertex to each of n at least; -1 for no way.
func Distances(next func(int) []int, n, from int) []int {
	out := slices.Repeat([]int{-1}, n)
	out[from] = 0
	for todo := []int{from}; len(todo) > 0; todo = todo[1:] {
		for _, to := range next(todo[0]) {
			if out[to] < 0 {
				out[to] = out[todo[0]] + 1
				todo = append(todo, to)
			}
		}
	}
	return out
}
