// Following every path of one token through a graph, or through a cycle of it: conditions
// over numbers that are followed are decided, all others may go either way.

package lint

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// How many states and moves are followed before a walk is given up.
const (
	maxStates = 20_000
	maxMoves  = 120_000
)

// boundWalk computes the bounds of one graph.
type boundWalk struct {
	f      *facts
	flow   *controlflow.Graph
	depth  int    // of graphs in it that are still read
	file   string // that the graph stands in; "" for the outermost
	family family
	room   int // how many states are followed; 0 for maxStates

	costs  []span // of one execution, by node
	limit  []int  // of visits, by node; 0 for none
	vars   []variable
	varOf  map[string]int
	far    float64 // from 0 on numbers are told apart
	caught bool    // some node has failure edges
}

// boundState is a token between two steps.
type boundState struct {
	at     int        // the node that runs next
	values []interval // by variable
}

// way is one outcome of an execution.
type way struct {
	targets []int // none: the run ends
	values  []interval
	extra   span
	failed  bool // it may have taken nothing
}

// follow finds all states from a node on, as long as a token stays among some nodes;
// what follows behind them takes beyond. It returns nil when there are too many.
func (w *boundWalk) follow(from int, values []interval, inside func(v int) bool, beyond func(v int) cost) *moves {
	m := &moves{name: w.f.Name}
	known, queue := map[string]int{}, make([]boundState, begun)
	number := func(s boundState) int {
		key := fmt.Sprint(s)
		n, ok := known[key]
		if !ok {
			n = len(queue)
			known[key], queue = n, append(queue, s)
		}
		return n
	}
	number(boundState{from, values})
	most := maxStates
	if w.room > 0 {
		most = w.room
	}
	for at := begun; at < len(queue); at++ {
		s := queue[at]
		ways, move := w.step(s)
		move.from = at
		for _, one := range ways {
			next := move
			next.to, next.span = ended, next.span.plus(one.extra)
			if one.failed && move.ran >= 0 {
				next.span.least = cost{inSteps: 1}
			}
			for _, to := range one.targets {
				switch {
				case to >= len(w.f.graph.Nodes):
					if len(one.targets) == 1 {
						next.to = completed
					}
				case inside(to):
					next.to = number(boundState{to, one.values})
				default:
					next.span.most = next.span.most.plus(beyond(to))
				}
			}
			if next.to != at || next.ran >= 0 { // a visit that is refused again takes nothing
				m.list = append(m.list, next)
			}
		}
		if len(queue) > most || len(m.list) > maxMoves {
			return nil
		}
	}
	m.states = len(queue)
	return m
}

// step returns the outcomes of a visit, and the move that they have in common.
func (w *boundWalk) step(s boundState) ([]way, boundMove) {
	v, n := s.at, w.f.graph.Nodes[s.at]
	skips := n.OnMaxVisits == "skip"
	if w.limit[v] > 0 && s.values[w.varOf["visits."+n.ID.Value]].lo >= float64(w.limit[v]) {
		if !skips {
			return w.failures(n, s.values, true), boundMove{ran: -1}
		}
		targets := []int{}
		for _, i := range w.f.certainEdges(v, false, true) {
			targets = append(targets, w.f.To[i])
		}
		return []way{{targets: targets, values: w.counted(v, s.values, false)}}, boundMove{ran: v, span: exactly(1)}
	}
	before := w.counted(v, s.values, true)
	var out []way
	if n.Kind.Value != "fail" {
		out = w.successes(n, w.written(v, before))
	}
	if n.Kind.Value != "pass" || controlflow.Bypass(n) == "fail" || w.f.mayErr(v) || len(out) == 0 {
		out = append(out, w.failures(n, before, false)...)
	}
	return out, boundMove{ran: v, span: w.costs[v]}
}

// successes are the outcomes of a success: edges are tried in order.
func (w *boundWalk) successes(n *spec.Node, values []interval) []way {
	var out []way
	groups, open := w.flow.Groups[n.Index], true
	for i := range groups {
		g := &groups[i]
		one := way{targets: g.Targets, values: values}
		switch {
		case w.f.isDead(g), !open && g.Kind != controlflow.ByGoto, g.Kind == controlflow.OnFailure:
			continue
		case g.Kind == controlflow.ByDecision:
			one.extra = w.decideCost(w.candidates(n.Index))
		case g.Kind == controlflow.ByDefault: // the decision may have been tried, and failed
			one.extra.most = w.decideCost(w.candidates(n.Index)).most
		case g.Kind == controlflow.ByGuard && !g.Subset:
			holds, known := w.decided(w.f.bound.Edges[g.Edges[0]].When.Tree(), values)
			if open = !known || !holds; known && !holds {
				continue
			}
		}
		out = append(out, one)
	}
	if open && !w.f.hasOtherWay(n) || len(out) == 0 {
		out = append(out, way{values: values})
	}
	return out
}

// failures are the outcomes of a failure, or of a visit that is refused.
func (w *boundWalk) failures(n *spec.Node, values []interval, refused bool) []way {
	var out []way
	groups, open := w.flow.Groups[n.Index], true
	for i := range groups {
		if groups[i].Kind != controlflow.OnFailure || !open {
			continue
		}
		holds, known := true, true
		if when := w.f.bound.Edges[groups[i].Edges[0]].When; when != nil {
			if holds, known = w.decided(when.Tree(), values); refused && !known {
				var value any
				value, known = solve.Partial(when.Tree(), refusal)
				holds = value == true
			}
		}
		open = !known || !holds || groups[i].Subset
		if !known || holds || groups[i].Subset {
			out = append(out, way{targets: groups[i].Targets, values: values, failed: true})
		}
	}
	return append(out, way{values: values, failed: true})
}

// refusal returns the part of the error that conditions see when a visit is refused.
func refusal(path []string) (any, bool) {
	return "max_visits", slices.Equal(path, []string{"error", "kind"})
}

// candidates returns the number of edges that a node chooses from.
func (w *boundWalk) candidates(v int) int {
	n := 0
	for _, g := range w.flow.Groups[v] {
		if g.Kind == controlflow.ByDecision {
			n++
		}
	}
	return n
}

// isFollowable reports whether one token goes through the graph at a time.
func (w *boundWalk) isFollowable() bool {
	return !w.flow.Anywhere && !w.flow.FansOut &&
		!slices.ContainsFunc(w.f.graph.Nodes, func(n *spec.Node) bool { return n.Join != nil && n.Join.Count > 1 })
}

// followAll follows a graph without branches; nil when it has too many states.
func (w *boundWalk) followAll() *moves {
	if !w.isFollowable() {
		return nil
	}
	everywhere := func(int) bool { return true }
	m := w.follow(w.f.Start(), w.valuesAt(false, everywhere), everywhere, nil)
	if m == nil && w.room == 0 { // too many values
		w.findVariables(false)
		m = w.follow(w.f.Start(), w.valuesAt(false, everywhere), everywhere, nil)
	}
	return m
}
