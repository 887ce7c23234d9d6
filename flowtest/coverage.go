// Coverage of a flow by its cases.

package flowtest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
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
	hits  *hits
	taken [3][]int // by edge, the number of runs that took it 0, 1 and more times
}

// Covered counts the reached parts of one kind.
type Covered[M any] struct {
	Covered int `json:"covered"`
	Total   int `json:"total"`
	Missing []M `json:"missing"`
}

// Percent returns the share of reached parts, from 0 to 100. It is 100 if there are none.
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

// Loop is an edge that closes a loop, and how often no case took it: "0", "1" or "many" times.
type Loop struct {
	Edge  string `json:"edge"`
	Taken string `json:"taken"`
}

// hits counts how often a run, or all runs, reached each part of a flow.
type hits struct {
	graph                *spec.Graph
	nodes                []int
	fired, trues, falses []int // by edge; trues and falses count values of conditions
}

func newHits(g *spec.Graph) *hits {
	edges := func() []int { return make([]int, len(g.Edges)) }
	return &hits{g, make([]int, len(g.Nodes)), edges(), edges(), edges()}
}

func (h *hits) countNode(id string) {
	if n := h.graph.Node(id); n != nil {
		h.nodes[n.Index]++
	}
}

// countEdges counts the edges of a node that fired, and the values of conditions.
func (h *hits) countEdges(e *runner.Event) {
	for _, c := range e.Candidates {
		if c.Edge < 0 || c.Edge >= len(h.fired) {
			continue
		}
		if c.Fired {
			h.fired[c.Edge]++
		}
		if isTrue, isFalse := guardOutcome(&c); isTrue {
			h.trues[c.Edge]++
		} else if isFalse {
			h.falses[c.Edge]++
		}
	}
}

// guardOutcome reports whether the condition of an edge was true, and whether it was false.
func guardOutcome(c *machine.Candidate) (isTrue, isFalse bool) {
	return c.When != "" && c.Fired, c.When != "" && !c.Fired && strings.HasSuffix(c.Why, " is false")
}

func newCoverage(g *spec.Graph) *Coverage {
	c := &Coverage{graph: g, hits: newHits(g)}
	for i := range c.taken {
		c.taken[i] = make([]int, len(g.Edges))
	}
	return c
}

func (c *Coverage) addRun(run *hits) {
	sum := c.hits
	for i, n := range run.nodes {
		sum.nodes[i] += n
	}
	for i, n := range run.fired {
		sum.fired[i] += n
		sum.trues[i] += run.trues[i]
		sum.falses[i] += run.falses[i]
		c.taken[min(n, 2)][i]++
	}
}

// countParts computes the exported fields.
func (c *Coverage) countParts() {
	g := c.graph
	c.Nodes, c.Edges, c.Failures = newCovered[string](), newCovered[string](), newCovered[string]()
	c.Guards, c.Loops = newCovered[Guard](), newCovered[Loop]()
	for i, n := range g.Nodes {
		c.Nodes.addPart(c.hits.nodes[i] > 0, n.ID.Value)
	}
	names := EdgeNames(g)
	for i, e := range g.Edges {
		c.Edges.addPart(c.hits.fired[i] > 0, names[i])
		if e.Condition == "on_failure" {
			c.Failures.addPart(c.hits.fired[i] > 0, names[i])
		}
		if e.When.IsSet() {
			c.Guards.addPart(c.hits.falses[i] > 0, Guard{names[i], false})
			c.Guards.addPart(c.hits.trues[i] > 0, Guard{names[i], true})
		}
	}
	for _, i := range findBackEdges(g) {
		for at, taken := range []string{"0", "1", "many"} {
			c.Loops.addPart(c.taken[at][i] > 0, Loop{names[i], taken})
		}
	}
}

func newCovered[M any]() Covered[M] { return Covered[M]{Missing: []M{}} }

func (c *Covered[M]) addPart(reached bool, what M) {
	c.Total++
	if reached {
		c.Covered++
	} else {
		c.Missing = append(c.Missing, what)
	}
}

// EdgeNames names every edge, in order: "from -> to", and an id or number if that is ambiguous.
func EdgeNames(g *spec.Graph) []string {
	out, count, number := make([]string, len(g.Edges)), map[string]int{}, map[string]int{}
	for i, e := range g.Edges {
		out[i] = e.From.Value + " -> " + e.To.Value
		count[out[i]]++
	}
	for i, e := range g.Edges {
		name := out[i]
		if number[name]++; count[name] > 1 {
			out[i] += " (" + cmp.Or(e.ID.Value, strconv.Itoa(number[name])) + ")"
		}
	}
	return out
}

// findBackEdges lists the edges that close a loop in a depth-first search from the start.
func findBackEdges(g *spec.Graph) []int {
	out, closed := []int{}, map[string]bool{} // false while the search is below the node
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

// WriteLCOV writes nodes and edges by their first line, and a condition as two branches.
func WriteLCOV(w io.Writer, r *Report) error {
	var b bytes.Buffer
	for _, flow := range sortedNames(r.Coverage) {
		r.Coverage[flow].writeLCOV(&b, flow)
	}
	_, err := b.WriteTo(w)
	return err
}

func (c *Coverage) writeLCOV(b *bytes.Buffer, flow string) {
	path, err := filepath.Abs(flow)
	if err != nil {
		path = flow
	}
	g, lines := c.graph, map[int]int{}
	at := func(offset, hits int) int {
		line := g.File.Position(offset).Line
		lines[line] = max(lines[line], hits)
		return line
	}
	fmt.Fprintf(b, "TN:\nSF:%s\n", path)
	for i, n := range g.Nodes {
		line := at(n.ID.Span.From, c.hits.nodes[i])
		fmt.Fprintf(b, "FN:%d,%s\nFNDA:%d,%s\n", line, n.ID.Value, c.hits.nodes[i], n.ID.Value)
	}
	branches, reached := 0, 0
	for i, e := range g.Edges {
		line := at(e.Span.From, c.hits.fired[i])
		if !e.When.IsSet() {
			continue
		}
		for branch, n := range []int{c.hits.trues[i], c.hits.falses[i]} {
			fmt.Fprintf(b, "BRDA:%d,%d,%d,%d\n", line, i, branch, n)
			branches++
			reached += min(n, 1)
		}
	}
	fmt.Fprintf(b, "FNF:%d\nFNH:%d\nBRF:%d\nBRH:%d\n", c.Nodes.Total, c.Nodes.Covered, branches, reached)
	covered := 0
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(b, "DA:%d,%d\n", line, lines[line])
		covered += min(lines[line], 1)
	}
	fmt.Fprintf(b, "LF:%d\nLH:%d\nend_of_record\n", len(lines), covered)
}
