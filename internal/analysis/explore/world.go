// Questions about a whole graph, for test cases and bounds.

package explore

import (
	"errors"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// World answers questions about one graph within one budget.
type World struct {
	graph  *spec.Graph
	model  *Model
	plan   *machine.Plan
	arcs   *graphalg.Digraph // END is the vertex after the nodes
	budget int
}

// Budgets in steps.
const (
	worldBudget = 6_000_000 // for all questions about a graph
	worldMost   = 150_000   // for one question
	worldNicer  = 30_000    // to find a run that also completes
)

// NewWorld prepares a graph without errors. kinds are node kinds besides the built-in ones.
func NewWorld(g *spec.Graph, kinds []spec.Kind) (*World, error) {
	bound, found := bind.Check(g, kinds, nil)
	if found.HasErrors() {
		return nil, errors.New(found[0].Message)
	}
	plan, found := machine.BuildBound(g, bound, nil, nil)
	if plan == nil {
		return nil, errors.New(found[0].Message)
	}
	vertices := controlflow.NewVertices(g)
	flow := controlflow.New(vertices, vertices.EdgesOut(), bound)
	model := NewModel(g, bound, dataflow.NewUses(g, bound, vertices.From), nil, -1)
	return &World{graph: g, model: model, plan: plan, arcs: flow.Digraph, budget: worldBudget}, nil
}

// Usual returns the usual result of a node.
func (w *World) Usual(node int) any { return w.model.makeUsual(node) }

// Fire asks for a run that fires an edge and ends, but not at a limit. It prefers a run that
// completes.
func (w *World) Fire(edge int) Answer {
	e := w.graph.Edges[edge]
	from, to, end := w.graph.Node(e.From.Value).Index, len(w.graph.Nodes), len(w.graph.Nodes)
	if n := w.graph.Node(e.To.Value); n != nil {
		to = n.Index
	}
	start := w.graph.Node(w.graph.Start.Value).Index
	guide := append(graphalg.Path(w.arcs.Next, start, from), graphalg.Path(w.arcs.Next, to, end)...)
	guide = slices.DeleteFunc(guide, func(v int) bool { return v >= end })
	fired := func(r *Run) bool {
		root := r.State.Scope("")
		return !r.broken && r.State.Ended() && root != nil && root.Fired[edge] > 0
	}
	completes := false
	a := w.Ask(guide, func(r *Run) bool {
		completes = fired(r) && r.State.Status == machine.Completed && r.asking == 0
		return completes || fired(r) && r.State.Status != machine.Limit
	})
	if a.Found && !completes {
		b := w.askLimited(guide, worldNicer, func(r *Run) bool { return fired(r) && r.State.Status == machine.Completed && r.asking == 0 })
		if b.Found {
			return b
		}
	}
	return a
}

// Ask asks for a run. It first tries runs that visit the nodes of a guide.
func (w *World) Ask(guide []int, found func(*Run) bool) Answer {
	return w.askLimited(guide, worldMost, found)
}

func (w *World) askLimited(guide []int, most int, found func(*Run) bool) Answer {
	count, visits := map[int]int{}, map[int]int{}
	for _, v := range guide {
		if count[v]++; count[v] > 1 { // distinguish the rounds of a loop
			visits[v] = count[v] + 1
		}
	}
	return Explore(Question{
		Model: w.model, Plan: w.plan, Watch: -1, Guide: guide, Visits: visits, Found: found, Budget: &w.budget, Most: most,
	})
}
