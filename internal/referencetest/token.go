// Tokens: where branches stand, and who waits for whom (§7).

package referencetest

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// token is the end of a branch: it stands at a node, runs it, or waits there for others.
type token struct {
	thread
	scope *scope
	node  string
	from  *step // that led here; nil at the start
	value any   // what came along the edge
	cause *Error
	step  *step // nil while it waits at a join
	// carried are failed branches that a fan-out brings to its join, with nobody else.
	carried []*token
	failed  *Error // of a branch that failed
}

// on reports whether a token stands on a branch of a fan-out, or on one within it, and
// has not left it by a join.
func (t *token) on(f *fan, l int) bool {
	return !t.joined[f] && slices.Contains(t.place, frame{f, l})
}

func (t *token) in(f *fan) bool {
	return slices.ContainsFunc(t.place, func(fr frame) bool { return fr.fan == f })
}

// arrive brings a token to its node: it ends at END, waits at a barrier, or is ready.
func (s *scope) arrive(t *token) {
	if t.node == spec.END {
		s.ended = append(s.ended, t)
		return
	}
	for k, fr := range t.place { // who comes back to where the branches began leaves the fan-out
		if fr.fan.source.node.ID.Value == t.node {
			t.place = t.place[:k]
			t.branch = branchOf(t.thread)
			break
		}
	}
	s.live = append(s.live, t)
	if s.watchReach(t); s.frozen {
		return
	}
	if s.graph.Node(t.node).Join != nil || s.implicitFor(t) != nil {
		return
	}
	s.ready(t, []*token{t}, nil)
}

// branchOf is the first node of the innermost branch that was not joined.
func branchOf(t thread) string {
	for i := len(t.place) - 1; i >= 0; i-- {
		if fr := t.place[i]; !t.joined[fr.fan] {
			return fr.fan.lanes[fr.lane].first
		}
	}
	return ""
}

// implicitFor is the outermost fan-out that a node joins without saying so.
func (s *scope) implicitFor(t *token) *fan {
	for _, fr := range t.place {
		if fr.fan.implicit == t.node && !t.joined[fr.fan] {
			return fr.fan
		}
	}
	return nil
}

// ready makes a step of a token: that of one, or of those that met.
func (s *scope) ready(t *token, met []*token, lost []*token) {
	st := &step{thread: t.thread, scope: s, node: s.graph.Node(t.node), token: t, cause: t.cause, inputs: map[string]any{}, branches: map[string]any{}}
	t.step = st
	st.input = t.value
	came := slices.DeleteFunc(slices.Clone(met), func(m *token) bool { return m.from == nil })
	slices.SortFunc(came, func(a, b *token) int { return comparePath(a.from, b.from) })
	lists := map[string][]any{}
	for _, m := range came {
		id := m.from.node.ID.Value
		lists[id] = append(lists[id], m.value)
		st.inputs[id] = m.value
		if len(lists[id]) > 1 {
			st.inputs[id] = slices.Clone(lists[id])
		}
		if m.from.failure == nil && (len(met) > 1 || st.node.Join != nil) {
			st.branches[id] = map[string]any{"output": m.from.output}
		}
	}
	if len(came) > 1 {
		st.input, st.cause = st.inputs, nil
	}
	slices.SortFunc(lost, func(a, b *token) int { return slices.Compare(a.order, b.order) })
	for _, l := range slices.Concat(lost, s.failedElsewhere(met, lost)) {
		if l.failed == nil {
			continue
		}
		if _, ok := st.branches[l.failed.Node]; !ok {
			st.branches[l.failed.Node] = map[string]any{"error": l.failed.data()}
		}
	}
}

// failedElsewhere lists the tokens of branches that failed where no way leads to a join,
// but which wait_all brings there: their errors, not what they wrote (§7).
func (s *scope) failedElsewhere(met, lost []*token) []*token {
	return slices.DeleteFunc(slices.Clone(s.gone), func(g *token) bool {
		return g.failed == nil || slices.Contains(lost, g) || !slices.ContainsFunc(met, func(w *token) bool {
			f := s.awaits(w, g.place)
			if f == nil || policyOf(s.graph, f.source.node) != "wait_all" {
				return false
			}
			first := f.lanes[laneOn(g.place, f)].first
			return first == w.node || s.reaches(first, w.node, f)
		})
	})
}

// awaits is the fan-out that a waiting token shares with a branch that it waits for at
// its node; nil: it does not wait for that one. At an implicit join the branches must
// be of the fan-out that it joins.
func (s *scope) awaits(w *token, other []frame) *fan {
	f := shared(w.place, other)
	if f == nil || s.graph.Node(w.node).Join != nil {
		return f
	}
	outer := s.implicitFor(w)
	for _, fr := range w.place {
		if fr.fan == outer && outer != nil {
			return f
		}
		if fr.fan == f {
			break
		}
	}
	return nil
}

// groups lists the tokens that wait together, by node in file order.
func (s *scope) groups() [][]*token {
	var out [][]*token
	for _, n := range s.graph.Nodes {
		var rest []*token
		for _, t := range s.live {
			if t.step == nil && t.node == n.ID.Value {
				rest = append(rest, t)
			}
		}
		for len(rest) > 0 {
			group := []*token{rest[0]}
			rest = rest[1:]
			for grew := true; grew; {
				grew = false
				for i, t := range rest {
					if slices.ContainsFunc(group, func(g *token) bool { return s.awaits(g, t.place) != nil || s.awaits(t, g.place) != nil }) {
						group, grew = append(group, t), true
						rest = slices.Delete(slices.Clone(rest), i, i+1)
						break
					}
				}
			}
			slices.SortFunc(group, func(a, b *token) int { return slices.Compare(a.order, b.order) })
			out = append(out, group)
		}
	}
	return out
}

// mayCome reports whether a token can still reach the node of a group that it shares a
// fan-out with.
func (s *scope) mayCome(o *token, group []*token) bool {
	return slices.ContainsFunc(group, func(w *token) bool {
		f := s.awaits(w, o.place)
		return f != nil && s.reaches(o.node, w.node, f)
	})
}

func (s *scope) reaches(from, to string, f *fan) bool {
	return s.run.flow.reaches(s.graph, from, to, f.source.node.ID.Value)
}

// blocked reports whether somebody may still come to a group.
func (s *scope) blocked(group []*token) bool {
	return slices.ContainsFunc(s.live, func(o *token) bool {
		return (o.step != nil || o.node != group[0].node) && s.mayCome(o, group)
	})
}
