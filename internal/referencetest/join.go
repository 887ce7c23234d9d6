// Joins: when they run, and how they merge branches (§7).

package referencetest

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// quorum returns how many arrivals a join waits for; 0 means all.
func quorum(n *spec.Node) int {
	switch {
	case n.Join == nil || n.Join.Wait == "all":
		return 0
	case n.Join.Wait == "any":
		return 1
	}
	return n.Join.Count
}

// fireJoin runs, fails or drops one join, if a join can be decided now.
func (s *scope) fireJoin() bool {
	groups := s.listWaitingGroups()
	for _, group := range groups {
		if q := quorum(s.graph.Node(group[0].node)); q > 0 && len(group) >= q {
			s.joinTokens(group, nil)
			return true
		}
	}
	for _, group := range groups {
		if !s.isBlocked(group) {
			s.decideJoin(group)
			return true
		}
	}
	if len(groups) > 0 && !slices.ContainsFunc(s.live, func(t *token) bool { return t.step != nil }) {
		s.decideJoin(groups[0]) // all wait for each other, so the first join in the file runs
		return true
	}
	return s.failUnreachedJoin()
}

// decideJoin runs a join that no further token can reach, or, if it was bypassed, applies on_bypass.
func (s *scope) decideJoin(group []*token) {
	n := s.graph.Node(group[0].node)
	q := quorum(n)
	if q == 0 && !s.isBypassed(group) || q > 0 && len(group) >= q {
		s.joinTokens(group, nil)
		return
	}
	s.degraded = true
	bypass := "drop"
	if n.Join != nil && n.Join.OnBypass.IsSet() {
		bypass = n.Join.OnBypass.Value
	}
	switch bypass {
	case "continue":
		s.joinTokens(group, nil)
	case "fail":
		s.joinTokens(group, &Error{Kind: "bypassed", Node: n.ID.Value, Message: "bypassed"})
	default:
		for _, t := range group {
			s.dropToken(t)
			s.ended = append(s.ended, t)
		}
	}
}

// isBypassed reports whether a branch for which a group waited took a failure edge and did not arrive
// (§7 "A failure never counts as an arrival").
func (s *scope) isBypassed(group []*token) bool {
	for _, d := range s.detours {
		came := slices.ContainsFunc(group, func(w *token) bool { return w.past[d.step] })
		if came {
			continue
		}
		for _, w := range group {
			f := s.findAwaitedFan(w, d.step.place)
			if f == nil || w.joined[f] || d.step.joined[f] || !s.reaches(d.step.node.ID.Value, w.node, f) {
				continue
			}
			own := findLane(d.step.place, f)
			if !slices.ContainsFunc(group, func(o *token) bool { return findLane(o.place, f) == own }) {
				return true
			}
		}
	}
	return false
}

// findLane returns the branch of a fan-out that a place is on, or -1.
func findLane(place []frame, f *fan) int {
	for _, fr := range place {
		if fr.fan == f {
			return fr.lane
		}
	}
	return -1
}

// joinTokens merges the tokens that arrived, and those that failed or were cancelled before, into
// one step (§7 Merging, §5 Rank).
func (s *scope) joinTokens(group []*token, preset *Error) {
	n := s.graph.Node(group[0].node)
	if quorum(n) > 0 {
		for _, o := range slices.Clone(s.live) {
			if !slices.Contains(group, o) && s.canReachGroup(o, group) {
				s.cancelToken(o)
				s.run.timed = true
			}
		}
	}
	var lost []*token
	for _, g := range s.gone {
		if s.canReachGroup(g, group) || g.step == nil && g.node == group[0].node && slices.ContainsFunc(group, func(w *token) bool { return s.findAwaitedFan(w, g.place) != nil }) {
			lost = append(lost, g)
		}
	}
	for _, t := range group {
		s.dropToken(t)
		lost = append(lost, t.carried...)
	}
	first := group[0]
	t := &token{thread: s.mergeThreads(group, lost), scope: s, node: first.node, from: first.from, value: first.value, cause: first.cause}
	t.rank = 1
	for p := range t.past {
		t.rank = max(t.rank, p.rank+1)
	}
	t.place = s.placeAfterJoin(group)
	t.joined = maps.Clone(first.joined)
	for _, m := range group {
		for _, fr := range m.place {
			if s.joinsBranchesOf(fr.fan, n) || s.divergesAt(group, fr.fan) {
				t.joined[fr.fan] = true
			}
		}
	}
	t.branch = findBranch(t.thread)
	for _, m := range group {
		s.markDecided(m.place, n)
	}
	s.live = append(s.live, t)
	s.makeStep(t, group, lost)
	t.step.preset = preset
	if _, found := s.computeState(&t.thread); len(found) > 0 {
		t.step.settled = found
		if preset == nil {
			t.step.preset = &Error{Kind: "conflict", Node: n.ID.Value, Message: "conflicting writes to " + found[0].key}
		}
	}
}

// mergeThreads merges the pasts of several tokens into one thread. The steps of lost branches move to
// the place directly after the split.
func (s *scope) mergeThreads(arrived, lost []*token) thread {
	out := arrived[0].thread
	out.past, out.hoisted, out.lanes = past{}, map[*step]int{}, map[*fan]map[int]bool{}
	var places [][]frame
	for _, m := range slices.Concat(arrived, lost) {
		places = append(places, m.place)
		maps.Copy(out.hoisted, m.hoisted)
	}
	for _, m := range arrived {
		maps.Copy(out.past, m.past)
		for f, lanes := range m.lanes { // a lost branch may be merged at several joins
			out.lanes[f] = unionLanes(out.lanes[f], lanes)
		}
	}
	split := findSplit(places)
	for _, l := range lost {
		for p := range l.past {
			if !out.past[p] {
				out.hoisted[p] = p.rank
			}
		}
	}
	for _, l := range lost {
		maps.Copy(out.past, l.past)
	}
	for p := range out.hoisted {
		if split != nil && !split.before[p] {
			out.hoisted[p] = split.source.rank
		}
	}
	return out
}

func unionLanes(a, b map[int]bool) map[int]bool {
	out := maps.Clone(a)
	if out == nil {
		out = map[int]bool{}
	}
	maps.Copy(out, b)
	return out
}

// findSplit returns the outermost fan-out at which places differ, or nil if they do not.
func findSplit(places [][]frame) *fan {
	for i := 0; ; i++ {
		var at *fan
		lanes := map[frame]bool{}
		ends := false
		for _, p := range places {
			if i >= len(p) {
				ends = true
				continue
			}
			lanes[p[i]] = true
			if at == nil || p[i].fan.source.rank < at.source.rank {
				at = p[i].fan
			}
		}
		switch {
		case len(lanes) == 0:
			return nil
		case len(lanes) > 1 || ends:
			return at
		}
	}
}

// placeAfterJoin returns the place of a joined token. It is outside of the fan-out if all its branches
// met; otherwise it is on the first branch that arrived.
func (s *scope) placeAfterJoin(group []*token) []frame {
	place := group[0].place
	if len(group) == 1 {
		return place
	}
	k := 0
	for slices.ContainsFunc(group, func(g *token) bool { return len(g.place) > k }) {
		same := true
		for _, g := range group {
			same = same && len(g.place) > k && g.place[k] == place[k]
		}
		if !same {
			break
		}
		k++
	}
	if k >= len(place) {
		return place
	}
	lanes := map[int]bool{}
	for _, g := range group {
		if len(g.place) > k {
			lanes[g.place[k].lane] = true
		}
	}
	if len(lanes) == len(place[k].fan.lanes) {
		return place[:k]
	}
	return place[:k+1]
}

// divergesAt reports whether members of a group are on different branches of a fan-out.
func (s *scope) divergesAt(group []*token, f *fan) bool {
	lanes := map[int]bool{}
	for _, m := range group {
		lanes[findLane(m.place, f)] = true
	}
	return len(lanes) > 1
}

// joinsBranchesOf reports whether a node is the implicit join of a fan-out, or has a `join` that two of
// its branches can reach.
func (s *scope) joinsBranchesOf(f *fan, n *spec.Node) bool {
	id, count := n.ID.Value, 0
	if n.Join == nil {
		return f.implicit == id
	}
	for _, l := range f.lanes {
		if l.first == id || s.reaches(l.first, id, f) {
			count++
		}
	}
	return count > 1
}
