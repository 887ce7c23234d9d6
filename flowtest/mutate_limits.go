// Changes of limits: visits, attempts and steps by one, times left out.

package flowtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/spec"
)

// limitMutants changes the limits of a graph and its nodes.
func limitMutants(g *spec.Graph) []mutant {
	var out []mutant
	add := func(at spec.Span, equal bool, what string, change func(own *spec.Graph)) {
		own := *g
		change(&own)
		out = append(out, mutant{at: at, what: what, graph: &own, equal: equal})
	}
	if at := limitAt(g, "max_steps"); at != g.Limits.Span { // else it is the default
		limit, longest := g.Limits.MaxSteps, longestRun(g, g.Limits.MaxSteps+2)
		for _, n := range around(limit) {
			add(at, longest <= min(limit, n), fmt.Sprintf("limits.max_steps is %d", n), func(own *spec.Graph) { own.Limits.MaxSteps = n })
		}
	}
	own := func(n *spec.Node) bool { return n.Timeout == 0 && takesTime(n) }
	for _, t := range []struct {
		key     string
		at      spec.Span
		field   func(g *spec.Graph) *time.Duration
		applies func(n *spec.Node) bool
	}{
		{"limits.timeout", limitAt(g, "timeout"), func(g *spec.Graph) *time.Duration { return &g.Limits.Timeout }, takesTime},
		{"limits.step_timeout", limitAt(g, "step_timeout"), func(g *spec.Graph) *time.Duration { return &g.Limits.StepTimeout }, takesTime},
		{"limits.node_timeout", limitAt(g, "node_timeout"), func(g *spec.Graph) *time.Duration { return &g.Limits.NodeTimeout }, own},
		{"parallel.branch_timeout", g.Parallel.Span, func(g *spec.Graph) *time.Duration { return &g.Parallel.BranchTimeout }, takesTime},
	} {
		if *t.field(g) > 0 {
			add(t.at, !slices.ContainsFunc(g.Nodes, t.applies), t.key+" is dropped", func(own *spec.Graph) { *t.field(own) = 0 })
		}
	}
	for _, n := range around(g.Limits.MaxVisits) {
		add(limitAt(g, "max_visits"), false, fmt.Sprintf("limits.max_visits is %d", n), func(own *spec.Graph) { own.Limits.MaxVisits = n })
	}
	eachRetry(g.Retry, func(at spec.Span, attempts int, blocks []spec.Retry) {
		add(at, false, fmt.Sprintf("max_attempts of the graph is %d", attempts), func(own *spec.Graph) { own.Retry = blocks })
	})
	for _, n := range g.Nodes {
		out = append(out, nodeMutants(g, n)...)
	}
	return out
}

// nodeMutants changes the limits of a node.
func nodeMutants(g *spec.Graph, n *spec.Node) []mutant {
	var out []mutant
	id := n.ID.Value
	add := func(at spec.Span, what string, change func(own *spec.Node)) {
		own := *n
		change(&own)
		out = append(out, mutant{at: at, what: what, graph: g.WithNodes(map[string]*spec.Node{id: &own})})
	}
	for _, most := range around(n.MaxVisits) {
		add(nodeAt(n, "max_visits"), fmt.Sprintf("max_visits of %s is %d", id, most), func(own *spec.Node) { own.MaxVisits = most })
	}
	eachRetry(n.Retry, func(at spec.Span, attempts int, blocks []spec.Retry) {
		add(at, fmt.Sprintf("max_attempts of %s is %d", id, attempts), func(own *spec.Node) { own.Retry = blocks })
	})
	if n.Timeout > 0 {
		add(nodeAt(n, "timeout"), "the timeout of "+id+" is dropped", func(own *spec.Node) { own.Timeout = 0 })
	}
	if n.Parallel != nil && n.Parallel.BranchTimeout > 0 {
		parallel := *n.Parallel
		parallel.BranchTimeout = 0
		add(n.Parallel.Span, "the branch_timeout of "+id+" is dropped", func(own *spec.Node) { own.Parallel = &parallel })
	}
	return out
}

// eachRetry calls add for each change of a number of attempts.
func eachRetry(blocks []spec.Retry, add func(at spec.Span, attempts int, blocks []spec.Retry)) {
	for i := range blocks {
		for _, n := range around(blocks[i].MaxAttempts) {
			own := slices.Clone(blocks)
			own[i].MaxAttempts = n
			add(blocks[i].Span, n, own)
		}
	}
}

// longestRun bounds the steps of any run of a graph; it is at most limit.
func longestRun(g *spec.Graph, limit int) int {
	free := *g
	free.Limits.MaxSteps = limit
	if b, ok := bound.Of(&free, bound.Options{Load: spec.Beside(g.File.Name)}); ok && b.Steps.Max < float64(limit) {
		return int(b.Steps.Max)
	}
	return limit
}

// takesTime reports whether a node may take any time.
func takesTime(n *spec.Node) bool {
	return !slices.Contains([]string{"fail", "pass", "set"}, n.Kind.Value)
}

// limitAt returns the span of a limit in the file.
func limitAt(g *spec.Graph, key string) spec.Span {
	if v := g.Limits.Written(key); v != nil {
		return v.Span
	}
	return g.Limits.Span
}

// nodeAt returns the span of a node's key in the file.
func nodeAt(n *spec.Node, key string) spec.Span {
	if v := n.Written(key); v != nil {
		return v.Span
	}
	return n.Span
}

// around returns the limits next to one; none for a limit that is not set.
func around(limit int) []int {
	switch {
	case limit > 1:
		return []int{limit - 1, limit + 1}
	case limit == 1:
		return []int{2}
	}
	return nil
}
