// Graphs with their compiled expressions, and facts that follow from the edges alone.

package referencetest

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Flow is a parsed graph with compiled expressions.
type Flow struct {
	Graph *spec.Graph
	bound map[*spec.Graph]*bind.Graph
	known map[reachKey]bool // cached results of reaches
}

type reachKey struct {
	graph           *spec.Graph
	from, to, avoid string
}

// Parse reads a graph file; the error lists findings of the parser and the binder. Parse does not run
// spec.Check; the caller does.
func Parse(text string) (*Flow, error) {
	g, found := spec.Parse("flow.yaml", []byte(text), spec.Options{})
	if found.HasErrors() {
		return nil, &spec.InvalidError{Findings: found}
	}
	f := &Flow{Graph: g, bound: map[*spec.Graph]*bind.Graph{}, known: map[reachKey]bool{}}
	for _, one := range append([]*spec.Graph{g}, g.Graphs...) {
		bound, found := bind.Bind(one, nil, nil)
		if found.HasErrors() {
			return nil, &spec.InvalidError{Findings: found}
		}
		f.bound[one] = bound
	}
	return f, nil
}

// transition is a way from one node to another: an edge, or an entry of `ends`.
type transition struct {
	from, to string
	failure  bool
}

// listTransitions lists all transitions of a graph (§6).
func listTransitions(g *spec.Graph) []transition {
	var out []transition
	for _, e := range g.Edges {
		out = append(out, transition{e.From.Value, e.To.Value, e.Condition == "on_failure"})
	}
	for _, n := range g.Nodes {
		for _, end := range n.Ends {
			out = append(out, transition{n.ID.Value, end.Target.Value, false})
		}
	}
	return out
}

// reaches reports whether a path of one or more edges leads to a node without passing the node avoid
// (§7 "without passing the node where the fan-out … began").
func (f *Flow) reaches(g *spec.Graph, from, to, avoid string) bool {
	key := reachKey{g, from, to, avoid}
	v, ok := f.known[key]
	if !ok {
		v = distance(g, from, to, avoid, true) > 0
		f.known[key] = v
	}
	return v
}

// distance returns the smallest number of edges of a path that does not pass the node avoid, or -1 if
// there is no such path. A path without edges does not count.
func distance(g *spec.Graph, from, to, avoid string, failures bool) int {
	all := listTransitions(g)
	seen := map[string]bool{}
	front := []string{from}
	for steps := 1; len(front) > 0; steps++ {
		var next []string
		for _, w := range all {
			if !slices.Contains(front, w.from) || w.failure && !failures || seen[w.to] {
				continue
			}
			if w.to == to {
				return steps
			}
			if w.to != avoid && w.to != spec.END {
				seen[w.to] = true
				next = append(next, w.to)
			}
		}
		front = next
	}
	return -1
}

// findImplicitJoin returns the first node that all branches of a fan-out can reach, or "" (§7). If that
// node has a `join`, there is no implicit join.
func findImplicitJoin(g *spec.Graph, source string, targets []string) string {
	begin := slices.DeleteFunc(slices.Clone(targets), func(t string) bool { return t == spec.END })
	if len(begin) < 2 || !joinsImplicitly(g, source) {
		return ""
	}
	best, longest := (*spec.Node)(nil), 0
	for _, n := range g.Nodes {
		id, most := n.ID.Value, 0
		if id == source {
			continue
		}
		for _, b := range begin {
			d := distance(g, b, id, source, false)
			if b == id {
				d = 0
			}
			if b == source || d < 0 {
				most = -1
				break
			}
			most = max(most, d)
		}
		if most < 0 {
			continue
		}
		if best == nil || most < longest || most == longest && n.Join != nil && best.Join == nil {
			best, longest = n, most
		}
	}
	if best == nil || best.Join != nil {
		return ""
	}
	return best.ID.Value
}

// joinsImplicitly reads parallel.join, which is auto unless a file says explicit (§2).
func joinsImplicitly(g *spec.Graph, source string) bool {
	if p := g.Node(source).Parallel; p != nil && p.Join != "" {
		return p.Join == "auto"
	}
	parallel, _ := g.Settings()["parallel"].(map[string]any)
	return parallel["join"] != "explicit"
}

// failurePolicy returns parallel.on_failure of the node where branches began (§2, §4).
func failurePolicy(g *spec.Graph, source *spec.Node) string {
	if source.Parallel != nil && source.Parallel.OnFailure != "" {
		return source.Parallel.OnFailure
	}
	if g.Parallel.OnFailure != "" {
		return g.Parallel.OnFailure
	}
	return "fail_all"
}

// conflictPolicy returns parallel.conflict of the node where branches began.
func conflictPolicy(g *spec.Graph, source *spec.Node) string {
	if source.Parallel != nil && source.Parallel.Conflict != "" {
		return source.Parallel.Conflict
	}
	if g.Parallel.Conflict != "" {
		return g.Parallel.Conflict
	}
	return "last_wins"
}

// canonical converts plain data to the form that expressions read.
func canonical(v any) any {
	out, err := eval.Canonical(v)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", v, err))
	}
	return out
}
