// Failures of branches, and joins that no token reaches (§7).

package referencetest

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// resetConflicts resets conflicting keys to their values at the split, since a failure edge handled
// the conflict (§7 Merging).
func (s *scope) resetConflicts(st *step) {
	for _, c := range st.settled {
		w := write{key: c.key, absent: true}
		state, _ := s.computeState(&thread{past: c.fan.before, hoisted: c.fan.source.hoisted})
		if v, ok := state[c.key]; ok {
			w.update, w.absent = v, false
		}
		st.writes = append(st.writes, w)
	}
}

// cancelToken cancels a branch. Its unfinished step writes nothing; earlier writes stay.
func (s *scope) cancelToken(t *token) {
	if t.step != nil && !t.step.done {
		s.stopUnits(t.step)
	}
	s.run.cancels++
	s.dropToken(t)
	s.gone = append(s.gone, t)
}

// propagateFailure handles a failure that no edge takes (§6, §7). on_failure of the enclosing fan-outs
// decides, starting with the innermost one; without a fan-out the run fails.
func (s *scope) propagateFailure(t *token, e *Error, by *step) {
	for i := len(t.place) - 1; i >= 0; i-- {
		if f := t.place[i].fan; !t.joined[f] {
			s.propagateFailureFrom(t, f, e, by)
			return
		}
	}
	s.endBy(by, "failed", e)
}

// propagateFailureFrom is like propagateFailure, but starts at fan-out f.
func (s *scope) propagateFailureFrom(t *token, f *fan, e *Error, by *step) {
	for i := len(t.place) - 1; i >= 0; i-- {
		around := t.place[i].fan
		if t.joined[around] || !slices.ContainsFunc(t.place[:i+1], func(fr frame) bool { return fr.fan == around }) || i > slices.IndexFunc(t.place, func(fr frame) bool { return fr.fan == f }) {
			continue
		}
		if failurePolicy(s.graph, around.source.node) == "fail_all" {
			continue
		}
		s.failBranch(around, t.place[i].lane, t, e, by)
		return
	}
	s.endBy(by, "failed", e)
}

// failBranch ends a branch that failed, and cancels every token on it. If all branches of the fan-out
// have failed, the fan-out has failed too.
func (s *scope) failBranch(f *fan, l int, t *token, e *Error, by *step) {
	s.degraded = true
	if by.done { // the failed step belongs to the past of its branch
		t.past = unionPasts(t.past, past{by: true})
	}
	failedAt := t
	for _, inner := range s.fans { // the progress of other tokens on the branch depends on timing
		s.run.timed = s.run.timed || slices.Contains(inner.place, frame{f, l})
	}
	for _, o := range slices.Clone(s.live) {
		if o == t || o.isOnBranch(f, l) {
			s.cancelToken(o)
		}
	}
	failedAt.failed = e
	f.lanes[l].failed, f.lanes[l].failedStep = e, by
	if slices.ContainsFunc(f.lanes, func(l *lane) bool { return l.failed == nil }) {
		return
	}
	first := f.lanes[0]
	if failurePolicy(s.graph, f.source.node) == "wait_all" && s.passErrors(f) {
		return
	}
	for i := len(f.place) - 1; i >= 0; i-- {
		if around := f.place[i].fan; !f.source.joined[around] {
			substitute := &token{thread: f.source.thread, scope: s, node: first.failedStep.node.ID.Value, step: first.failedStep}
			substitute.past = f.before
			s.propagateFailureFrom(substitute, around, first.failed, first.failedStep)
			return
		}
	}
	s.endBy(first.failedStep, "failed", first.failed)
}

// passErrors passes the errors of a fan-out whose branches all failed to its join: the first join in
// file order that all branches can reach. It returns false if there is no such join, or if no failed
// branch could reach it.
func (s *scope) passErrors(f *fan) bool {
	for _, n := range s.graph.Nodes {
		id := n.ID.Value
		if n.Join == nil && f.implicit != id || slices.ContainsFunc(f.lanes, func(l *lane) bool { return l.first != id && !s.reaches(l.first, id, f) }) {
			continue
		}
		t := &token{thread: f.source.thread, scope: s, node: id}
		t.past, t.rank = f.before, f.source.rank+1
		t.lanes = maps.Clone(t.lanes)
		t.lanes[f] = map[int]bool{-1: true} // on none of the branches
		for _, g := range s.gone {
			if g.isInFan(f) && g.failed != nil && s.reaches(g.node, id, f) {
				t.carried = append(t.carried, g)
			}
		}
		if len(t.carried) > 0 {
			s.live = append(s.live, t)
			return true
		}
	}
	return false
}

// joinDecision names a join that was decided, and the fan-out for which it was.
type joinDecision struct {
	fan  *fan
	node string
}

func (s *scope) markDecided(place []frame, n *spec.Node) {
	for _, fr := range place {
		s.decidedJoins[joinDecision{fr.fan, n.ID.Value}] = true
	}
}

func (s *scope) wasDecided(place []frame, n *spec.Node) bool {
	return slices.ContainsFunc(place, func(fr frame) bool { return s.decidedJoins[joinDecision{fr.fan, n.ID.Value}] })
}

// failUnreachedJoin fails a join with `on_bypass: fail` that no token reached, because branches took
// failure edges (§7 "fail fails also when nobody arrived").
func (s *scope) failUnreachedJoin() bool {
	for _, n := range s.graph.Nodes {
		if n.Join == nil || n.Join.OnBypass.Value != "fail" {
			continue
		}
		detours := slices.Clone(s.detours)
		slices.SortFunc(detours, func(a, b *detour) int { return comparePath(a.step, b.step) })
		for _, d := range detours {
			f := s.findUnreachedFan(d.step, n)
			if f == nil {
				continue
			}
			substitute := &token{thread: d.step.thread, scope: s, node: n.ID.Value}
			substitute.past, substitute.rank, substitute.hoisted = f.before, f.source.rank+1, f.source.hoisted
			substitute.order = append(slices.Clone(d.step.order), -1)
			substitute.place, substitute.joined = f.place, f.source.joined
			substitute.lanes = maps.Clone(d.step.lanes)
			substitute.lanes[f] = map[int]bool{-1: true} // on none of the branches
			substitute.branch = findBranch(substitute.thread)
			s.degraded = true
			s.markDecided(d.step.place, n)
			s.live = append(s.live, substitute)
			s.makeStep(substitute, nil, nil)
			substitute.step.preset = &Error{Kind: "bypassed", Node: n.ID.Value, Message: "bypassed"}
			return true
		}
	}
	return false
}

// findUnreachedFan returns the outermost fan-out of a detour from which no token reached a join and
// none can any more, or nil.
func (s *scope) findUnreachedFan(d *step, n *spec.Node) *fan {
	if s.wasDecided(d.place, n) || slices.ContainsFunc(s.live, func(o *token) bool { return s.canReturnToJoin(o, d, n) }) {
		return nil
	}
	if slices.ContainsFunc(s.steps, func(st *step) bool { return st.node == n && st.past[d] }) {
		return nil // the branch arrived after all
	}
	for _, fr := range d.place {
		if !d.joined[fr.fan] && s.joinsBranchesOf(fr.fan, n) && s.reachesDirectly(d.node.ID.Value, n, fr.fan) {
			return fr.fan
		}
	}
	return nil
}

// canReturnToJoin reports whether a token may still reach a join that a detour left.
func (s *scope) canReturnToJoin(o *token, d *step, n *spec.Node) bool {
	for _, fr := range d.place {
		if (o.past[d] || o.isInFan(fr.fan)) && (o.node == n.ID.Value || s.reaches(o.node, n.ID.Value, fr.fan)) {
			return true
		}
	}
	return false
}

// reachesDirectly reports whether a path leads to a join without passing another join.
func (s *scope) reachesDirectly(from string, to *spec.Node, f *fan) bool {
	seen, todo := map[string]bool{}, []string{from}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, w := range listTransitions(s.graph) {
			if w.from != at || seen[w.to] || w.to == spec.END || w.to == f.source.node.ID.Value {
				continue
			}
			seen[w.to] = true
			if w.to == to.ID.Value {
				return true
			}
			if s.graph.Node(w.to).Join == nil && f.implicit != w.to {
				todo = append(todo, w.to)
			}
		}
	}
	return false
}
