// Failures of branches, and joins that nobody reaches (§7).

package referencetest

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// settleConflicts gives keys that conflict their value at the split, behind the failure
// edge that took the conflict (§7 Merging).
func (s *scope) settleConflicts(st *step) {
	for _, c := range st.settled {
		w := write{key: c.key, absent: true}
		state, _ := s.stateOf(&thread{past: c.fan.before, hoisted: c.fan.source.hoisted})
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

// propagate handles a failure that no edge takes (§6, §7). on_failure of the enclosing fan-outs
// decides, starting with the innermost one; without a fan-out the run fails.
func (s *scope) propagate(t *token, e *Error, by *step) {
	for i := len(t.place) - 1; i >= 0; i-- {
		if f := t.place[i].fan; !t.joined[f] {
			s.propagateFrom(t, f, e, by)
			return
		}
	}
	s.endBy(by, "failed", e)
}

// propagateFrom handles a failure as propagate does, starting at fan-out f.
func (s *scope) propagateFrom(t *token, f *fan, e *Error, by *step) {
	for i := len(t.place) - 1; i >= 0; i-- {
		around := t.place[i].fan
		if t.joined[around] || !slices.ContainsFunc(t.place[:i+1], func(fr frame) bool { return fr.fan == around }) || i > slices.IndexFunc(t.place, func(fr frame) bool { return fr.fan == f }) {
			continue
		}
		if failurePolicy(s.graph, around.source.node) == "fail_all" {
			continue
		}
		s.dropLane(around, t.place[i].lane, t, e, by)
		return
	}
	s.endBy(by, "failed", e)
}

// dropLane ends a failed branch and cancels every token on it. If all branches of the fan-out have
// failed, the fan-out has failed too.
func (s *scope) dropLane(f *fan, l int, t *token, e *Error, by *step) {
	s.degraded = true
	if by.done { // the failed step is in the past of what failed
		t.past = unionPasts(t.past, past{by: true})
	}
	failedAt := t
	for _, inner := range s.fans { // what others on the branch had done is a matter of time
		s.run.timed = s.run.timed || slices.Contains(inner.place, frame{f, l})
	}
	for _, o := range slices.Clone(s.live) {
		if o == t || o.isOnBranch(f, l) {
			s.cancelToken(o)
		}
	}
	failedAt.failed = e
	f.lanes[l].failed, f.lanes[l].by = e, by
	if slices.ContainsFunc(f.lanes, func(l *lane) bool { return l.failed == nil }) {
		return
	}
	first := f.lanes[0]
	if failurePolicy(s.graph, f.source.node) == "wait_all" && s.bringErrors(f) {
		return
	}
	for i := len(f.place) - 1; i >= 0; i-- {
		if around := f.place[i].fan; !f.source.joined[around] {
			stand := &token{thread: f.source.thread, scope: s, node: first.by.node.ID.Value, step: first.by}
			stand.past = f.before
			s.propagateFrom(stand, around, first.failed, first.by)
			return
		}
	}
	s.endBy(first.by, "failed", first.failed)
}

// bringErrors passes the errors of a fan-out of which every branch failed to its join: the first node
// in file order that all branches can reach. It returns false if there is no such join, or if no failed
// branch could reach it.
func (s *scope) bringErrors(f *fan) bool {
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

// desertion names a join and a fan-out for which the join was decided.
type desertion struct {
	fan  *fan
	node string
}

func (s *scope) markDecided(place []frame, n *spec.Node) {
	for _, fr := range place {
		s.decidedJoins[desertion{fr.fan, n.ID.Value}] = true
	}
}

func (s *scope) wasDecided(place []frame, n *spec.Node) bool {
	return slices.ContainsFunc(place, func(fr frame) bool { return s.decidedJoins[desertion{fr.fan, n.ID.Value}] })
}

// failDeserted fails a join with `on_bypass: fail` that no token reached, because branches took failure
// edges (§7 "fail fails also when nobody arrived").
func (s *scope) failDeserted() bool {
	for _, n := range s.graph.Nodes {
		if n.Join == nil || n.Join.OnBypass.Value != "fail" {
			continue
		}
		bends := slices.Clone(s.bends)
		slices.SortFunc(bends, func(a, b *detour) int { return comparePath(a.step, b.step) })
		for _, d := range bends {
			f := s.findDesertedFan(d.step, n)
			if f == nil {
				continue
			}
			ghost := &token{thread: d.step.thread, scope: s, node: n.ID.Value}
			ghost.past, ghost.rank, ghost.hoisted = f.before, f.source.rank+1, f.source.hoisted
			ghost.order = append(slices.Clone(d.step.order), -1)
			ghost.place, ghost.joined = f.place, f.source.joined
			ghost.lanes = maps.Clone(d.step.lanes)
			ghost.lanes[f] = map[int]bool{-1: true} // on none of the branches
			ghost.branch = branchOf(ghost.thread)
			s.degraded = true
			s.markDecided(d.step.place, n)
			s.live = append(s.live, ghost)
			s.makeStep(ghost, nil, nil)
			ghost.step.preset = &Error{Kind: "bypassed", Node: n.ID.Value, Message: "bypassed"}
			return true
		}
	}
	return false
}

// findDesertedFan returns the outermost fan-out of a detour from which no token came to a join and none
// can come any more, or nil.
func (s *scope) findDesertedFan(d *step, n *spec.Node) *fan {
	if s.wasDecided(d.place, n) || slices.ContainsFunc(s.live, func(o *token) bool { return s.canReturnToJoin(o, d, n) }) {
		return nil
	}
	if slices.ContainsFunc(s.steps, func(st *step) bool { return st.node == n && st.past[d] }) {
		return nil // the branch came after all
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
		for _, w := range listWays(s.graph) {
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
