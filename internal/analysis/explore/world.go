// World: questions about the edges of a whole graph, for test cases.

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

// World answers questions about one graph, with one budget for all.
type World struct {
	graph  *spec.Graph
	model  *Model
	plan   *machine.Plan
	arcs   *graphalg.Digraph // END is the vertex after the nodes
	budget int
}

// Steps for all edges of a graph, and for one question.
const (
	worldBudget = 6_000_000
	worldMost   = 150_000
	worldNicer  = 30_000 // to find a run that completes, too
)

// NewWorld prepares a graph without errors. kinds are those beside the built-in ones.
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
func (w *World) Usual(node int) any { return w.model.usual(node) }

// Fire asks for a run that fires an edge and ends: one that completes, or else any but
// one that a limit ends.
func (w *World) Fire(edge int) Answer {
	e := w.graph.Edges[edge]
	from, to, end := w.graph.Node(e.From.Value).Index, len(w.graph.Nodes), len(w.graph.Nodes)
	if n := w.graph.Node(e.To.Value); n != nil {
		to = n.Index
	}
	start := w.graph.Node(w.graph.Start.Value).Index
	guide := append(w.path(start, from), w.path(to, end)...)
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
		b := w.ask(guide, worldNicer, func(r *Run) bool { return fired(r) && r.State.Status == machine.Completed && r.asking == 0 })
		if b.Found {
			return b
		}
	}
	return a
}

// Ask asks for a run, trying first those that visit the nodes of a guide.
func (w *World) Ask(guide []int, found func(*Run) bool) Answer { return w.ask(guide, worldMost, found) }

func (w *World) ask(guide []int, most int, found func(*Run) bool) Answer {
	count, visits := map[int]int{}, map[int]int{}
	for _, v := range guide {
		if count[v]++; count[v] > 1 { // rounds of a loop are to be told apart
			visits[v] = count[v] + 1
		}
	}
	return Explore(Question{
		Model: w.model, Plan: w.plan, Watch: -1, More: -1, Guide: guide, Visits: visits, Found: found, Budget: &w.budget, Most: most,
	})
}

func (w *World) path(from, to int) []int { return graphalg.Path(w.arcs.Next, from, to) }
