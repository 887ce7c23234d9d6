// Changes of limits: visits and attempts, by one.

package flowtest

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// limitMutants move the limits of a graph and its nodes by one, up and down.
func limitMutants(g *spec.Graph) []mutant {
	var out []mutant
	for _, n := range g.Nodes {
		for _, most := range around(n.MaxVisits) {
			own := *n
			own.MaxVisits = most
			out = append(out, mutant{
				at: n.Span, what: fmt.Sprintf("max_visits of %s is %d", n.ID.Value, most),
				graph: g.WithNodes(map[string]*spec.Node{n.ID.Value: &own}),
			})
		}
		for i := range n.Retry {
			for _, block := range moreOrFewer(&n.Retry[i]) {
				own := *n
				own.Retry = slices.Clone(n.Retry)
				own.Retry[i] = block
				out = append(out, mutant{
					at: block.Span, what: fmt.Sprintf("max_attempts of %s is %d", n.ID.Value, block.MaxAttempts),
					graph: g.WithNodes(map[string]*spec.Node{n.ID.Value: &own}),
				})
			}
		}
	}
	for _, most := range around(g.Limits.MaxVisits) {
		own := *g
		own.Limits.MaxVisits = most
		out = append(out, mutant{what: fmt.Sprintf("limits.max_visits is %d", most), graph: &own})
	}
	for i := range g.Retry {
		for _, block := range moreOrFewer(&g.Retry[i]) {
			own := *g
			own.Retry = slices.Clone(g.Retry)
			own.Retry[i] = block
			out = append(out, mutant{at: block.Span, what: fmt.Sprintf("max_attempts of the graph is %d", block.MaxAttempts), graph: &own})
		}
	}
	return out
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
