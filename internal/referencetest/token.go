// Tokens: the current ends of branches, and which tokens wait for which (§7).

package referencetest

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// token is the current end of a branch. It is at a node, where it runs or waits for other tokens.
type token struct {
	thread
	scope *scope
	node  string
	from  *step // whose edge led here; nil at the start
	value any   // the input that the edge gave
	cause *Error
	step  *step // nil while it waits at a join
	// carried are failed branches whose errors a fan-out passes to its join when all its branches
	// failed.
	carried []*token
	failed  *Error // of a branch that failed
}

// isOnBranch reports whether a token is on a branch of a fan-out, or on a branch inside that branch,
// and no join has merged it.
func (t *token) isOnBranch(f *fan, l int) bool {
	return !t.joined[f] && slices.Contains(t.place, frame{f, l})
}

func (t *token) isInFan(f *fan) bool {
	return slices.ContainsFunc(t.place, func(fr frame) bool { return fr.fan == f })
}

// placeToken places a token at its node. The token ends at END, waits at a join, or gets a step.
func (s *scope) placeToken(t *token) {
	if t.node == spec.END {
		s.ended = append(s.ended, t)
		return
	}
	for k, fr := range t.place { // a token that returns to the source of a fan-out leaves the fan-out
		if fr.fan.source.node.ID.Value == t.node {
			t.place = t.place[:k]
			t.branch = findBranch(t.thread)
			break
		}
	}
	s.live = append(s.live, t)
	if s.watchReach(t); s.frozen {
		return
	}
	if s.graph.Node(t.node).Join != nil || s.findImplicitFan(t) != nil {
		return
	}
	s.makeStep(t, []*token{t}, nil)
}

// findBranch returns the first node of the innermost branch that was not joined.
func findBranch(t thread) string {
	for i := len(t.place) - 1; i >= 0; i-- {
		if fr := t.place[i]; !t.joined[fr.fan] {
			return fr.fan.lanes[fr.lane].first
		}
	}
	return ""
}

// findImplicitFan returns the outermost fan-out that has the token's node as its implicit join.
func (s *scope) findImplicitFan(t *token) *fan {
	for _, fr := range t.place {
		if fr.fan.implicit == t.node && !t.joined[fr.fan] {
			return fr.fan
		}
	}
	return nil
}

// makeStep makes the step of one token, or of the tokens that a join merged.
func (s *scope) makeStep(t *token, met []*token, lost []*token) {
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
	for _, l := range slices.Concat(lost, s.listFailedElsewhere(met, lost)) {
		if l.failed == nil {
			continue
		}
		if _, ok := st.branches[l.failed.Node]; !ok {
			st.branches[l.failed.Node] = map[string]any{"error": l.failed.toData()}
		}
	}
}

// listFailedElsewhere lists the tokens of branches that failed where no path leads to the join. wait_all
// passes their errors to the join, but not their writes (§7).
func (s *scope) listFailedElsewhere(met, lost []*token) []*token {
	return slices.DeleteFunc(slices.Clone(s.gone), func(g *token) bool {
		return g.failed == nil || slices.Contains(lost, g) || !slices.ContainsFunc(met, func(w *token) bool {
			f := s.findAwaitedFan(w, g.place)
			if f == nil || failurePolicy(s.graph, f.source.node) != "wait_all" {
				return false
			}
			first := f.lanes[findLane(g.place, f)].first
			return first == w.node || s.reaches(first, w.node, f)
		})
	})
}

// findAwaitedFan returns the fan-out that a waiting token shares with a branch for which it waits at its
// node, or nil if it does not wait for that branch. At an implicit join the branches must belong to the
// fan-out that it joins.
func (s *scope) findAwaitedFan(w *token, other []frame) *fan {
	f := findSharedFan(w.place, other)
	if f == nil || s.graph.Node(w.node).Join != nil {
		return f
	}
	outer := s.findImplicitFan(w)
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

// listWaitingGroups lists the groups of tokens that wait together, by node in file order.
func (s *scope) listWaitingGroups() [][]*token {
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
					if slices.ContainsFunc(group, func(g *token) bool { return s.findAwaitedFan(g, t.place) != nil || s.findAwaitedFan(t, g.place) != nil }) {
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

// canReachGroup reports whether a token shares a fan-out with a group and can still reach its node.
func (s *scope) canReachGroup(o *token, group []*token) bool {
	return slices.ContainsFunc(group, func(w *token) bool {
		f := s.findAwaitedFan(w, o.place)
		return f != nil && s.reaches(o.node, w.node, f)
	})
}

func (s *scope) reaches(from, to string, f *fan) bool {
	return s.run.flow.reaches(s.graph, from, to, f.source.node.ID.Value)
}

// isBlocked reports whether a group must wait because another token may still reach it.
func (s *scope) isBlocked(group []*token) bool {
	return slices.ContainsFunc(s.live, func(o *token) bool {
		return (o.step != nil || o.node != group[0].node) && s.canReachGroup(o, group)
	})
}
