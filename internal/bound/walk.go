// The paths through a graph or a cycle without branches, the cheapest and the most expensive one.
// Intervals decide conditions over numbers.

package bound

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// Limits of a walk.
const (
	maxStates = 20_000
	maxMoves  = 120_000
)

// state is a point of a run between two steps.
type state struct {
	at     int        // the node that runs next
	values []interval // by variable
}

// key returns a string that is equal for equal states.
func (s state) key() string {
	b := make([]byte, 0, 8+16*len(s.values))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.at))
	for _, v := range s.values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.lo))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.hi))
	}
	return string(b)
}

// outcome says how a visit of a node may end.
type outcome struct {
	targets []int // empty if the run ends
	values  []interval
	extra   span
	failed  bool // it may have cost nothing but the step
}

// followPaths finds the states that can be reached from a node inside a region. beyond returns the
// cost of a move that leaves the region. The result is nil if there are too many states.
func (w *walk) followPaths(from int, values []interval, inside func(v int) bool, beyond func(v int) cost) *moves {
	m := &moves{name: w.Name}
	known, queue := map[string]int{}, make([]state, begun)
	number := func(s state) int {
		key := s.key()
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

// The first states: the run has completed, it has ended otherwise, it begins.
const (
	completed = iota
	ended
	begun
)

// moves is a graph of states.
type moves struct {
	states int
	list   []move
	name   func(v int) string
}

// move is one step.
type move struct {
	from, to int
	span     span
	ran      int // the node; -1 if it refused the visit, which is not a step
}

// findCheapest returns the fewest steps or calls of a path that completes.
func (m *moves) findCheapest(metric int) (total float64, path []string, ok bool) {
	const unit = 1e6
	best, via := slices.Repeat([]float64{math.Inf(1)}, m.states), slices.Repeat([]int{-1}, m.states)
	best[begun] = 0
	for changed := true; changed; {
		changed = false
		for i := range m.list {
			one := &m.list[i]
			if sum := best[one.from] + unit*one.span.least[metric] + one.span.least[1-metric]; sum < best[one.to] {
				best[one.to], via[one.to], changed = sum, i, true
			}
		}
	}
	for at := completed; via[at] >= 0; at = m.list[via[at]].from {
		path = m.appendNode(path, via[at])
	}
	slices.Reverse(path)
	return math.Floor(best[completed] / unit), path, via[completed] >= 0
}

// appendNode appends the node of a move to a path.
func (m *moves) appendNode(path []string, i int) []string {
	if v := m.list[i].ran; v >= 0 {
		return append(path, m.name(v))
	}
	return path
}

// maxRelaxed limits the moves that findMostExpensive tries.
const maxRelaxed = 5_000_000

// arrival is the most expensive path to a state in some number of steps.
type arrival struct {
	total      float64
	via, steps int // the last move, and the steps before it
}

// findMostExpensive returns the most expensive path of at most limit steps. cut says that others exist.
func (m *moves) findMostExpensive(metric, limit int) (total float64, path []string, cut bool) {
	var arrivals [][]arrival // by steps and state
	reach := func(steps, state int, by arrival) bool {
		for len(arrivals) <= steps {
			arrivals = append(arrivals, slices.Repeat([]arrival{{math.Inf(-1), -1, 0}}, m.states))
		}
		isBetter := by.total > arrivals[steps][state].total
		if isBetter {
			arrivals[steps][state] = by
		}
		return isBetter
	}
	last := arrival{via: -1}
	reach(0, begun, last)
	for steps := 0; steps < len(arrivals); steps++ {
		if steps*len(m.list) > maxRelaxed {
			return math.Inf(1), nil, true
		}
		for changed := true; changed; { // refused visits stay in this layer
			changed = false
			for i := range m.list {
				one := &m.list[i]
				by := arrival{arrivals[steps][one.from].total + one.span.most[metric], i, steps}
				takes := int(one.span.least[inSteps])
				switch {
				case math.IsInf(arrivals[steps][one.from].total, -1):
				case takes > 0 && steps == limit:
					cut = true
				case reach(min(steps+takes, limit), one.to, by):
					if changed = true; by.total > last.total {
						last = by
					}
				}
			}
		}
	}
	for total = last.total; last.via >= 0; last = arrivals[last.steps][m.list[last.via].from] {
		path = m.appendNode(path, last.via)
	}
	slices.Reverse(path)
	return total, path, cut
}

// boundByPaths sets the upper bounds to those of all paths through the graph.
func (w *walk) boundByPaths(m *moves, out *Bounds) {
	w.boundByLimit(out)
	limit := w.Source.Limits.MaxSteps
	steps, path, cut := m.findMostExpensive(inSteps, limit)
	if !cut && steps <= float64(limit) {
		out.Steps.Max, out.Steps.Limit, out.LLMCalls.Limit = steps, "", ""
	}
	if !cut && out.Steps.Limit == "" || len(path) == limit {
		out.Steps.MaxPath = path
	}
	for metric, r := range map[int]*Range{inTokens: &out.Tokens, inUSD: &out.CostUSD} { //lint:ignore mapiter each by itself
		total, _, _ := m.findMostExpensive(metric, limit)
		r.Max = min(r.Max, total)
	}
	calls, path, _ := m.findMostExpensive(inCalls, limit)
	if calls <= out.LLMCalls.Max {
		out.LLMCalls.Max, out.LLMCalls.MaxPath = calls, path
	}
}
