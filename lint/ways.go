// Ways through a graph: from where to where they lead, and the shortest of them.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
)

// alive has the arcs that are not proven never to be taken.
func (f *facts) alive() *graphalg.Digraph {
	if f.theAlive == nil {
		var from, to []int
		for v, groups := range f.flow().Groups {
			for i := range groups {
				if !f.isDead(&groups[i]) {
					from, to = append(from, slices.Repeat([]int{v}, len(groups[i].Targets))...), append(to, groups[i].Targets...)
				}
			}
		}
		f.theAlive = graphalg.New(len(f.graph.Nodes)+2, from, to)
	}
	return f.theAlive
}

// calm are the targets of a node's ways that successes take and that are not proven dead.
func (f *facts) calm(v int) []int {
	var out []int
	groups := f.flow().Groups[v]
	for i := range groups {
		if groups[i].Kind != controlflow.OnFailure && !f.isDead(&groups[i]) {
			out = append(out, groups[i].Targets...)
		}
	}
	return out
}

// before reports which vertices have a way of at least one edge to a vertex.
func (f *facts) before(to int) []bool {
	back := f.alive().Reverse()
	return back.Reach(back.Next(to)...)
}

// leads reports whether there is a way of at least one edge from one vertex to another.
func (f *facts) leads(from, to int) bool { return f.before(to)[from] }

// stuck reports whether no way leads from a vertex to END.
func (f *facts) stuck(v int) bool {
	if f.theEnding == nil {
		f.theEnding = f.before(f.End)
	}
	return v != f.End && !f.theEnding[v]
}

// wayTo is a shortest way from the start to a vertex; nil when there is none.
func (f *facts) wayTo(v int) []int {
	return shortest(f.alive().Next, len(f.graph.Nodes)+2, f.Start(), v)
}

// shortest is a shortest path by breadth-first search, both ends included;
// nil when there is none.
func shortest(next func(int) []int, n, from, to int) []int {
	parent := slices.Repeat([]int{-1}, n)
	parent[from] = from
	for todo := []int{from}; len(todo) > 0 && parent[to] < 0; todo = todo[1:] {
		for _, w := range next(todo[0]) {
			if parent[w] < 0 {
				parent[w] = todo[0]
				todo = append(todo, w)
			}
		}
	}
	if parent[to] < 0 {
		return nil
	}
	path := []int{to}
	for v := to; v != from; path = append(path, v) {
		v = parent[v]
	}
	slices.Reverse(path)
	return path
}

// cycleThrough is a shortest cycle through v; nil when it lies on none.
func cycleThrough(g *graphalg.Digraph, v int) []int {
	begin := g.Len() // v, as it is left
	path := shortest(func(x int) []int {
		if x == begin {
			x = v
		}
		return g.Next(x)
	}, begin+1, begin, v)
	if path != nil {
		path[0] = v
	}
	return path
}

// leastSteps is the least number of the step at which each node can run; 1
// where nothing is known.
func (f *facts) leastSteps() []int {
	if f.theSteps == nil {
		f.theSteps = make([]int, len(f.graph.Nodes)+2)
		if !f.flow().Anywhere {
			f.theSteps = graphalg.Distances(f.flow().Digraph.Next, len(f.theSteps), f.Start())
		}
		for v, far := range f.theSteps {
			f.theSteps[v] = max(far, 0) + 1
		}
	}
	return f.theSteps
}
