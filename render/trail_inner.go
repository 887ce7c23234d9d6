// What a run made of the graphs of a file, each of which any number of nodes may run.

package render

import (
	"maps"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// inner are the trails of the graphs of a file, by graph: what all the nodes that ran
// one made of it, wherever in the file they stand. One that is called as a tool beside
// others has none, since a trail does not say which of the tools ran.
func (t *Trail) inner(g *spec.Graph) map[*spec.Graph]*Trail {
	out := map[*spec.Graph]*Trail{}
	if t.Coverage { // tests tell of one graph
		return out
	}
	all := append([]*spec.Graph{g.Whole()}, g.Whole().Graphs...)
	for _, inner := range all[1:] {
		out[inner] = &Trail{
			Visits: map[string]int{}, Spent: map[string]time.Duration{}, Fired: map[int]int{}, Gone: map[[2]string]int{},
			Failures: map[string]int{}, Errors: map[string]*machine.Failure{},
		}
	}
	t.gather(g, out)
	for _, around := range all {
		if tools := toolGraphs(around); len(tools) > 1 {
			for _, ref := range tools {
				delete(out, g.Inner(ref))
			}
		}
	}
	return out
}

// gather adds what the nodes of a graph ran to the trails of the graphs.
func (t *Trail) gather(g *spec.Graph, out map[*spec.Graph]*Trail) {
	for _, n := range g.Nodes {
		own := t.Inner[n.ID.Value]
		inner := g.Inner(graphOf(g, n))
		if own == nil || inner == nil {
			continue
		}
		out[inner].add(own)
		own.gather(inner, out)
	}
}

// graphOf names the graph that a node runs; "" when it runs none, or one of several tools.
func graphOf(g *spec.Graph, n *spec.Node) string {
	switch n.Kind.Value {
	case "graph":
		if ref := n.Field("graph"); ref != nil {
			return ref.Text.Value
		}
	case "tool", "tools", "agent":
		if tools := toolGraphs(g); len(tools) == 1 {
			return tools[0]
		}
	}
	return ""
}

// toolGraphs names the graphs that are tools of a graph.
func toolGraphs(g *spec.Graph) []string {
	var out []string
	for i := range g.Tools {
		if ref := g.Tools[i].Value.Get("graph"); ref != nil {
			out = append(out, ref.Text.Value)
		}
	}
	return out
}

// add adds another trail of the same graph.
func (t *Trail) add(more *Trail) {
	sum(t.Visits, more.Visits)
	sum(t.Spent, more.Spent)
	sum(t.Fired, more.Fired)
	sum(t.Gone, more.Gone)
	sum(t.Failures, more.Failures)
	maps.Copy(t.Errors, more.Errors)
	if more.Failed != "" {
		t.Failed = more.Failed
	}
	t.Waiting = append(t.Waiting, more.Waiting...)
	t.Running = append(t.Running, more.Running...)
}

func sum[K comparable, N int | time.Duration](into, more map[K]N) {
	for key, n := range more {
		into[key] += n
	}
}
