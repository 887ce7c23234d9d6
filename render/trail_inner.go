// Trails of the graphs of a file, which several nodes may run.

package render

import (
	"maps"
	"time"

	"github.com/graphrun/graphrun/spec"
)

// inner returns the trails of the graphs of a file, summed over all nodes that ran them. A
// graph that is one of several tools has none, since a trail does not say which tool ran.
func (t *Trail) inner(g *spec.Graph) map[*spec.Graph]*Trail {
	out := map[*spec.Graph]*Trail{}
	if t.Coverage { // coverage knows one graph only
		return out
	}
	all := append([]*spec.Graph{g.Whole()}, g.Whole().Graphs...)
	for _, inner := range all[1:] {
		out[inner] = NewTrail()
	}
	t.addInner(g, out)
	for _, around := range all {
		if tools := toolGraphs(around); len(tools) > 1 {
			for _, ref := range tools {
				delete(out, g.Inner(ref))
			}
		}
	}
	return out
}

// addInner adds the trails of subgraphs to those of the file's graphs.
func (t *Trail) addInner(g *spec.Graph, out map[*spec.Graph]*Trail) {
	for _, n := range g.Nodes {
		own := t.Inner[n.ID.Value]
		inner := g.Inner(graphOf(g, n))
		if own == nil || inner == nil {
			continue
		}
		out[inner].add(own)
		own.addInner(inner, out)
	}
}

// graphOf returns the name of the graph that a node runs, or "" if unknown.
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

// toolGraphs returns the names of graphs that are tools.
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
