// Changes of limits: visits, attempts and steps by one, times left out.

package flowtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// limitMutants change the limits of a graph and its nodes.
func limitMutants(g *spec.Graph) []mutant {
	out := append(stepMutants(g), timeMutants(g)...)
	for _, most := range around(g.Limits.MaxVisits) {
		own := *g
		own.Limits.MaxVisits = most
		out = append(out, mutant{at: limitAt(g, "max_visits"), what: fmt.Sprintf("limits.max_visits is %d", most), graph: &own})
	}
	for i := range g.Retry {
		for _, block := range moreOrFewer(&g.Retry[i]) {
			own := *g
			own.Retry = slices.Clone(g.Retry)
			own.Retry[i] = block
			out = append(out, mutant{at: block.Span, what: fmt.Sprintf("max_attempts of the graph is %d", block.MaxAttempts), graph: &own})
		}
	}
	for _, n := range g.Nodes {
		out = append(out, nodeMutants(g, n)...)
	}
	return out
}

// nodeMutants change the limits of a node.
func nodeMutants(g *spec.Graph, n *spec.Node) []mutant {
	var out []mutant
	id := n.ID.Value
	add := func(at spec.Span, what string, own spec.Node) {
		out = append(out, mutant{at: at, what: what, graph: g.WithNodes(map[string]*spec.Node{id: &own})})
	}
	for _, most := range around(n.MaxVisits) {
		own := *n
		own.MaxVisits = most
		add(nodeAt(n, "max_visits"), fmt.Sprintf("max_visits of %s is %d", id, most), own)
	}
	for i := range n.Retry {
		for _, block := range moreOrFewer(&n.Retry[i]) {
			own := *n
			own.Retry = slices.Clone(n.Retry)
			own.Retry[i] = block
			add(block.Span, fmt.Sprintf("max_attempts of %s is %d", id, block.MaxAttempts), own)
		}
	}
	if n.Timeout > 0 {
		own := *n
		own.Timeout = 0
		add(nodeAt(n, "timeout"), "the timeout of "+id+" is dropped", own)
	}
	if n.Parallel != nil && n.Parallel.BranchTimeout > 0 {
		own, parallel := *n, *n.Parallel
		parallel.BranchTimeout = 0
		own.Parallel = &parallel
		add(n.Parallel.Span, "the branch_timeout of "+id+" is dropped", own)
	}
	return out
}

// stepMutants move the limit of steps that the file sets. Where no run takes so many,
// nobody can tell.
func stepMutants(g *spec.Graph) []mutant {
	at := limitAt(g, "max_steps")
	if at == g.Limits.Span {
		return nil
	}
	limit := g.Limits.MaxSteps
	longest := longestRun(g, limit+2)
	var out []mutant
	for _, most := range around(limit) {
		own := *g
		own.Limits.MaxSteps = most
		out = append(out, mutant{
			at: at, what: fmt.Sprintf("limits.max_steps is %d", most), graph: &own, equal: longest <= min(limit, most),
		})
	}
	return out
}

// longestRun is a bound of the steps of any run of a graph, at most most.
func longestRun(g *spec.Graph, most int) int {
	if n, ok := stepsWithoutLoop(g); ok {
		most = min(most, n)
	}
	free := *g
	free.Limits.MaxSteps = most
	if b, ok := lint.Bound(&free, lint.Options{Load: spec.Beside(g.File.Name)}); ok && b.Steps.Max < float64(most) {
		most = int(b.Steps.Max)
	}
	return most
}

// stepsWithoutLoop counts the ways to each node of a graph that has no loop, names no
// target by an expression and runs no other graph: no node runs more often.
func stepsWithoutLoop(g *spec.Graph) (steps int, ok bool) {
	if len(backEdges(g)) > 0 || len(g.Tools) > 0 || slices.ContainsFunc(g.Nodes, func(n *spec.Node) bool {
		return n.Kind.Value == "graph" || n.Goto.IsSet()
	}) {
		return 0, false
	}
	ways := make([]int, len(g.Nodes))
	var count func(n *spec.Node) int
	count = func(n *spec.Node) int {
		if ways[n.Index] > 0 {
			return ways[n.Index]
		}
		sum := 0
		if n.ID.Value == g.Start.Value {
			sum = 1
		}
		for _, e := range g.Edges {
			if from := g.Node(e.From.Value); from != nil && e.To.Value == n.ID.Value {
				sum += count(from)
			}
		}
		ways[n.Index] = min(sum, maxWays)
		return ways[n.Index]
	}
	for _, n := range g.Nodes {
		steps += count(n)
	}
	return steps, true
}

// maxWays is as many ways to a node as are told apart.
const maxWays = 1 << 20

// timeMutants leave out the times of a graph. What takes none can't tell.
func timeMutants(g *spec.Graph) []mutant {
	var out []mutant
	add := func(key string, set time.Duration, at spec.Span, own spec.Graph, applies func(*spec.Node) bool) {
		if set > 0 {
			out = append(out, mutant{at: at, what: key + " is dropped", graph: &own, equal: !slices.ContainsFunc(g.Nodes, applies)})
		}
	}
	own := *g
	own.Limits.Timeout = 0
	add("limits.timeout", g.Limits.Timeout, limitAt(g, "timeout"), own, takesTime)
	own = *g
	own.Limits.StepTimeout = 0
	add("limits.step_timeout", g.Limits.StepTimeout, limitAt(g, "step_timeout"), own, takesTime)
	own = *g
	own.Limits.NodeTimeout = 0
	add("limits.node_timeout", g.Limits.NodeTimeout, limitAt(g, "node_timeout"), own, func(n *spec.Node) bool {
		return n.Timeout == 0 && takesTime(n)
	})
	own = *g
	own.Parallel.BranchTimeout = 0
	add("parallel.branch_timeout", g.Parallel.BranchTimeout, g.Parallel.Span, own, takesTime)
	return out
}

// takesTime reports whether a node may take any time.
func takesTime(n *spec.Node) bool {
	return !slices.Contains([]string{"fail", "pass", "set"}, n.Kind.Value)
}

// limitAt is where the file sets a limit.
func limitAt(g *spec.Graph, key string) spec.Span {
	if v := g.Limits.Written(key); v != nil {
		return v.Span
	}
	return g.Limits.Span
}

// nodeAt is where the file gives a node a key.
func nodeAt(n *spec.Node, key string) spec.Span {
	if v := n.Written(key); v != nil {
		return v.Span
	}
	return n.Span
}

// around are the limits next to one; none of a limit that is not set.
func around(limit int) []int {
	switch {
	case limit > 1:
		return []int{limit - 1, limit + 1}
	case limit == 1:
		return []int{2}
	}
	return nil
}

func moreOrFewer(block *spec.Retry) []spec.Retry {
	var out []spec.Retry
	for _, most := range around(block.MaxAttempts) {
		own := *block
		own.MaxAttempts = most
		out = append(out, own)
	}
	return out
}
