// The paths through a graph or a cycle without branches. Intervals decide conditions over numbers.

package bound

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// Limits beyond which a walk is given up.
const (
	maxStates = 20_000
	maxMoves  = 120_000
)

// state is a point of a run between two steps.
type state struct {
	at     int        // the node that runs next
	values []interval // by variable
}

// outcome says how a visit of a node may end.
type outcome struct {
	targets []int // empty if the run ends
	values  []interval
	extra   span
	failed  bool // it may have cost nothing but the step
}

// followPaths finds the states that can be reached from a node inside a region. Moves that leave
// it cost what beyond returns. The result is nil if there are too many states.
func (w *walk) followPaths(from int, values []interval, inside func(v int) bool, beyond func(v int) cost) *moves {
	m := &moves{name: w.Name}
	known, queue := map[string]int{}, make([]state, begun)
	number := func(s state) int {
		key := fmt.Sprint(s)
		n, ok := known[key]
		if !ok {
			n = len(queue)
			known[key], queue = n, append(queue, s)
		}
		return n
	}
	number(state{from, values})
	for at := begun; at < len(queue); at++ {
		outcomes, common := w.takeStep(queue[at])
		common.from = at
		for _, one := range outcomes {
			next := common
			next.to, next.span = ended, next.span.add(one.extra)
			if one.failed && next.ran >= 0 {
				next.span.least = cost{inSteps: 1}
			}
			for _, to := range one.targets {
				switch {
				case to >= w.End:
					if len(one.targets) == 1 {
						next.to = completed
					}
				case inside(to):
					next.to = number(state{to, one.values})
				default:
					next.span.most = next.span.most.add(beyond(to))
				}
			}
			if next.to != at || next.ran >= 0 { // a visit that is refused again costs nothing
				m.list = append(m.list, next)
			}
		}
		if len(queue) > maxStates || len(m.list) > maxMoves {
			return nil
		}
	}
	m.states = len(queue)
	return m
}

// takeStep returns the outcomes of a visit, and the fields of move that they share.
func (w *walk) takeStep(s state) ([]outcome, move) {
	v, n := s.at, w.Source.Nodes[s.at]
	if w.limit[v] > 0 && s.values[w.varOf["visits."+n.ID.Value]].lo >= float64(w.limit[v]) {
		if n.OnMaxVisits != "skip" {
			return w.listFailures(n, s.values, true), move{ran: -1}
		}
		one := outcome{values: w.countVisit(v, s.values, false)}
		for e, from := range w.From {
			if c := w.Source.Edges[e].Condition; from == v && (c == "on_success" || c == "always") {
				one.targets = append(one.targets, w.To[e])
			}
		}
		return []outcome{one}, move{ran: v, span: fixedSteps(1)}
	}
	before := w.countVisit(v, s.values, true)
	var out []outcome
	if n.Kind.Value != "fail" {
		out = w.listSuccesses(n, w.applyWrites(v, before))
	}
	if n.Kind.Value != "pass" || controlflow.Bypass(n) == "fail" || len(w.uses.OfNode(v)) > 0 || len(out) == 0 {
		out = append(out, w.listFailures(n, before, false)...)
	}
	return out, move{ran: v, span: w.costs[v]}
}

// listSuccesses returns the outcomes of a success: conditions are tried in order.
func (w *walk) listSuccesses(n *spec.Node, values []interval) []outcome {
	var out []outcome
	open, other := true, false // all conditions may be false; another kind of edge exists
	for i := range w.Groups[n.Index] {
		g := &w.Groups[n.Index][i]
		one := outcome{targets: g.Targets, values: values}
		other = other || g.Kind != controlflow.ByGuard && g.Kind != controlflow.OnFailure
		switch {
		case !open && g.Kind != controlflow.ByGoto, g.Kind == controlflow.OnFailure:
			continue
		case g.Kind == controlflow.ByDecision:
			one.extra = w.boundDecision(n.Index)
		case g.Kind == controlflow.ByDefault: // a decision may have been tried, and failed
			one.extra.most = w.boundDecision(n.Index).most
		case g.Kind == controlflow.ByGuard && !g.Subset:
			yes, no := w.decideCondition(w.bound.Edges[g.Edges[0]].When, w.newDomains(values))
			if open = no; !yes {
				continue
			}
		}
		out = append(out, one)
	}
	if open && !other || len(out) == 0 {
		out = append(out, outcome{values: values})
	}
	return out
}

// listFailures returns the outcomes of a failed or refused visit.
func (w *walk) listFailures(n *spec.Node, values []interval, refused bool) []outcome {
	var out []outcome
	domains := w.newDomains(values)
	if refused {
		known := domains
		domains = func(path []string, typ eval.Type) solve.Domain {
			if slices.Equal(path, []string{"error", "kind"}) {
				return solve.Domain{Kind: solve.String, Values: []any{"max_visits"}}
			}
			return known(path, typ)
		}
	}
	open := true
	for i := range w.Groups[n.Index] {
		g := &w.Groups[n.Index][i]
		if g.Kind != controlflow.OnFailure || !open {
			continue
		}
		yes, no := true, false
		if when := w.bound.Edges[g.Edges[0]].When; when != nil {
			yes, no = w.decideCondition(when, domains)
		}
		open = no || g.Subset
		if yes || g.Subset {
			out = append(out, outcome{targets: g.Targets, values: values, failed: true})
		}
	}
	return append(out, outcome{values: values, failed: true})
}

// followGraph follows all paths of a graph, or returns nil for branches or too many states.
func (w *walk) followGraph() *moves {
	joins := func(n *spec.Node) bool { return n.Join != nil && n.Join.Count > 1 }
	if w.Anywhere || w.FansOut || slices.ContainsFunc(w.Source.Nodes, joins) {
		return nil
	}
	everywhere := func(int) bool { return true }
	return w.followPaths(w.Start(), w.initialValues(false, everywhere), everywhere, nil)
}
