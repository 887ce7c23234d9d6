// Coverage of a flow by its cases.

package flowtest

import (
	"math"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// Coverage counts the parts of a flow that its cases reach.
type Coverage struct {
	Nodes    Covered[string] `json:"nodes"`
	Edges    Covered[string] `json:"edges"`
	Guards   Covered[Guard]  `json:"guards"`
	Failures Covered[string] `json:"failures"`
	Loops    Covered[Loop]   `json:"loops"`

	graph *spec.Graph
	loops []int // the edges that close a loop
	seen  *seen
}

// Covered counts the parts of one sort that were reached.
type Covered[M any] struct {
	Covered int `json:"covered"`
	Total   int `json:"total"`
	Missing []M `json:"missing"`
}

// Percent returns the share that was reached, from 0 to 100; without parts it is 100.
func (c Covered[M]) Percent() float64 {
	if c.Total == 0 {
		return 100
	}
	return math.Floor(1000*float64(c.Covered)/float64(c.Total)) / 10
}

// Guard is a condition that never had a value.
type Guard struct {
	Edge  string `json:"edge"`
	Value bool   `json:"value"`
}

// Loop is an edge that closes a loop, and how often no case took it: "0", "1" or
// "many" times.
type Loop struct {
	Edge  string `json:"edge"`
	Taken string `json:"taken"`
}

// seen counts what one run, or all runs, reached.
type seen struct {
	graph  *spec.Graph
	nodes  []int
	fired  []int
	guards [2][]int // by edge: how often its condition was false, and true
	// loops counts the runs that took an edge 0, 1 and more times.
	loops [3][]int
	runs  int
}

func newSeen(g *spec.Graph) *seen {
	s := &seen{graph: g, nodes: make([]int, len(g.Nodes)), fired: make([]int, len(g.Edges))}
	for i := range s.guards {
		s.guards[i] = make([]int, len(g.Edges))
	}
	for i := range s.loops {
		s.loops[i] = make([]int, len(g.Edges))
	}
	return s
}

func (s *seen) node(id string) {
	if n := s.graph.Node(id); n != nil {
		s.nodes[n.Index]++
	}
}

// resolved notes which edges of a node fired.
func (s *seen) resolved(e *runner.Event) {
	for i := range e.Candidates {
		c := &e.Candidates[i]
		if c.Edge < 0 || c.Edge >= len(s.fired) {
			continue
		}
		if c.Fired {
			s.fired[c.Edge]++
		}
		switch {
		case c.When == "":
		case c.Fired:
			s.guards[1][c.Edge]++
		case strings.HasSuffix(c.Why, " is false"):
			s.guards[0][c.Edge]++
		}
	}
}

func newCoverage(g *spec.Graph) *Coverage {
	return &Coverage{graph: g, seen: newSeen(g), loops: backEdges(g)}
}

// take adds a run, and counts again.
func (c *Coverage) take(s *seen) {
	all := c.seen
	all.runs++
	for i, n := range s.nodes {
		all.nodes[i] += n
	}
	for i, n := range s.fired {
		all.fired[i] += n
		all.loops[min(n, 2)][i]++
		all.guards[0][i] += s.guards[0][i]
		all.guards[1][i] += s.guards[1][i]
	}
	c.count()
}

func (c *Coverage) count() {
	g, s := c.graph, c.seen
	c.Nodes, c.Edges, c.Failures = newCovered[string](), newCovered[string](), newCovered[string]()
	c.Guards, c.Loops = newCovered[Guard](), newCovered[Loop]()
	for i, n := range g.Nodes {
		c.Nodes.count(s.nodes[i] > 0, n.ID.Value)
	}
	names := EdgeNames(g)
	for i, e := range g.Edges {
		c.Edges.count(s.fired[i] > 0, names[i])
		if e.Condition == "on_failure" {
			c.Failures.count(s.fired[i] > 0, names[i])
		}
		if e.When.IsSet() {
			for value := range 2 {
				c.Guards.count(s.guards[value][i] > 0, Guard{names[i], value == 1})
			}
		}
	}
	for _, i := range c.loops {
		for at, taken := range []string{"0", "1", "many"} {
			c.Loops.count(s.loops[at][i] > 0, Loop{names[i], taken})
		}
	}
}

func newCovered[M any]() Covered[M] { return Covered[M]{Missing: []M{}} }

func (c *Covered[M]) count(reached bool, what M) {
	c.Total++
	if reached {
		c.Covered++
	} else {
		c.Missing = append(c.Missing, what)
	}
}

// EdgeNames names every edge in the order of the graph: "from -> to", with an id or a
// number for edges between the same nodes.
func EdgeNames(g *spec.Graph) []string {
	out, count := make([]string, len(g.Edges)), map[string]int{}
	for i, e := range g.Edges {
		out[i] = e.From.Value + " -> " + e.To.Value
		count[out[i]]++
	}
	number := map[string]int{}
	for i, e := range g.Edges {
		name := out[i]
		if count[name] == 1 {
			continue
		}
		number[name]++
		if e.ID.IsSet() {
			out[i] += " (" + e.ID.Value + ")"
		} else {
			out[i] += " (" + strconv.Itoa(number[name]) + ")"
		}
	}
	return out
}

// backEdges lists the edges that close a loop, walked depth first from the start in the
// order of the file.
func backEdges(g *spec.Graph) []int {
	out, closed := []int{}, map[string]bool{} // false while a node is on the way
	edges := map[string][]int{}
	for i, e := range g.Edges {
		edges[e.From.Value] = append(edges[e.From.Value], i)
	}
	var visit func(id string)
	visit = func(id string) {
		if _, seen := closed[id]; seen || g.Node(id) == nil {
			return
		}
		closed[id] = false
		for _, i := range edges[id] {
			to := g.Edges[i].To.Value
			if done, seen := closed[to]; seen && !done {
				out = append(out, i)
			}
			visit(to)
		}
		closed[id] = true
	}
	visit(g.Start.Value)
	for _, n := range g.Nodes {
		visit(n.ID.Value)
	}
	return out
}
