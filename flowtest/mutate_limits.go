// Changes of limits: visits, attempts and steps by one, times left out.

package flowtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/spec"
)

// limitSite is a number or a time in a graph that bounds its runs.
type limitSite struct {
	at     spec.Span
	name   string
	number *int           // is moved by one
	time   *time.Duration // is dropped
	equal  bool           // no input can show that it is dropped
}

// limitSites lists the limits of a graph and its nodes.
func limitSites(g *spec.Graph) []limitSite {
	free := func(takes func(n *spec.Node) bool) bool { return !slices.ContainsFunc(g.Nodes, takes) }
	own := func(n *spec.Node) bool { return n.Timeout == 0 && takesTime(n) }
	l := &g.Limits
	out := []limitSite{
		{at: limitAt(g, "max_steps"), name: "limits.max_steps", number: &l.MaxSteps},
		{at: limitAt(g, "timeout"), name: "limits.timeout", time: &l.Timeout, equal: free(takesTime)},
		{at: limitAt(g, "step_timeout"), name: "limits.step_timeout", time: &l.StepTimeout, equal: free(takesTime)},
		{at: limitAt(g, "node_timeout"), name: "limits.node_timeout", time: &l.NodeTimeout, equal: free(own)},
		{at: g.Parallel.Span, name: "parallel.branch_timeout", time: &g.Parallel.BranchTimeout, equal: free(takesTime)},
		{at: limitAt(g, "max_visits"), name: "limits.max_visits", number: &l.MaxVisits},
	}
	attempts := func(of string, blocks []spec.Retry) {
		for i := range blocks {
			out = append(out, limitSite{at: blocks[i].Span, name: "max_attempts of " + of, number: &blocks[i].MaxAttempts})
		}
	}
	attempts("the graph", g.Retry)
	for _, n := range g.Nodes {
		out = append(out, limitSite{at: nodeAt(n, "max_visits"), name: "max_visits of " + n.ID.Value, number: &n.MaxVisits})
		attempts(n.ID.Value, n.Retry)
		out = append(out, limitSite{at: nodeAt(n, "timeout"), name: "the timeout of " + n.ID.Value, time: &n.Timeout})
		if n.Parallel != nil {
			out = append(out, limitSite{at: n.Parallel.Span, name: "the branch_timeout of " + n.ID.Value, time: &n.Parallel.BranchTimeout})
		}
	}
	return out
}

// limitMutants changes the limits of a graph and its nodes.
func limitMutants(g *spec.Graph) []mutant {
	var out []mutant
	for i, s := range limitSites(g) {
		if s.time != nil && *s.time > 0 {
			own := withOwnLimits(g)
			*limitSites(own)[i].time = 0
			out = append(out, mutant{at: s.at, what: s.name + " is dropped", graph: own, equal: s.equal})
		}
		isSteps := s.number == &g.Limits.MaxSteps
		if s.number == nil || isSteps && s.at == g.Limits.Span { // it is the default
			continue
		}
		for _, n := range around(*s.number) {
			own := withOwnLimits(g)
			*limitSites(own)[i].number = n
			equal := isSteps && longestRun(g, g.Limits.MaxSteps+2) <= min(g.Limits.MaxSteps, n)
			out = append(out, mutant{at: s.at, what: fmt.Sprintf("%s is %d", s.name, n), graph: own, equal: equal})
		}
	}
	return out
}

// withOwnLimits returns a copy of a graph that shares no limit with it.
func withOwnLimits(g *spec.Graph) *spec.Graph {
	nodes := map[string]*spec.Node{}
	for _, n := range g.Nodes {
		own := *n
		own.Retry = slices.Clone(n.Retry)
		if n.Parallel != nil {
			parallel := *n.Parallel
			own.Parallel = &parallel
		}
		nodes[n.ID.Value] = &own
	}
	out := *g.WithNodes(nodes)
	out.Retry = slices.Clone(g.Retry)
	return &out
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
