// Joins: barriers that wait for the branches that can still reach them
// (GraphSpec §7).

package machine

import (
	"slices"
	"strconv"
)

// joinOf returns the barrier that a token has to pass to enter a node, if any.
func (p *Plan) joinOf(node int, at place) (isJoin bool, fan *fanout) {
	if p.nodes[node].join != 0 {
		return true, nil
	}
	for f := at.fan; f != nil; f = f.at.fan {
		if f.auto == node {
			return true, f
		}
	}
	return false, nil
}

// arrive brings a token to a join.
func (s *State) arrive(node int, fan *fanout, a arrival) {
	b := s.barrierAt(node, fan)
	if b.arrivals == nil {
		b.arrivals = make([]arrival, 0, min(len(s.plan.nodes[node].sources), len(s.tasks)))
	}
	b.arrivals = append(b.arrivals, a)
}

// barrierAt is the barrier of a join, made when the first comes to it.
func (s *State) barrierAt(node int, fan *fanout) *barrier {
	i, found := slices.BinarySearchFunc(s.barriers, barrier{node: node, fan: fan}, compareBarriers)
	if !found {
		s.barriers = slices.Insert(s.barriers, i, barrier{node: node, fan: fan})
	}
	return &s.barriers[i]
}

// fireJoins settles every join that need not wait any longer: its node is due, or
// the branches that wait there have ended. It returns how the run ends when one
// can't be satisfied any more.
func (p *Plan) fireJoins(s *State) *ending {
	clear(s.told)
	for {
		if how := p.settleJoins(s); how != nil {
			return how
		}
		if how := p.unsatisfiable(s); how != nil || len(s.barriers) == 0 || len(s.next)+len(s.parked) > 0 {
			return how
		}
		if how := p.breakTie(s); how != nil {
			return how
		}
	}
}

func (p *Plan) settleJoins(s *State) *ending {
	for i := 0; i < len(s.barriers); i++ {
		s.Looked += len(s.barriers) + len(s.next) + len(s.parked)
		b := &s.barriers[i]
		b.forgetDead()
		if len(b.arrivals)+len(b.detours) == 0 {
			s.barriers = slices.Delete(s.barriers, i, i+1)
			i--
			continue
		}
		if !p.satisfied(s, b) {
			continue
		}
		if how := p.settleJoin(s, i); how != nil {
			return how
		}
		i = -1 // settling may have removed tokens that others waited for
	}
	return nil
}

// satisfied reports whether a join waits no longer: an any or N join with enough
// arrivals, or for a fan-out that has failed whole, any other when nothing comes any
// more.
func (p *Plan) satisfied(s *State, b *barrier) bool {
	if p.counts(b) && len(b.arrivals) > 0 {
		return len(b.arrivals) >= p.nodes[b.node].joinCount || slices.ContainsFunc(b.arrivals, func(a arrival) bool { return a.over != nil })
	}
	return !p.awaited(s, b) && (p.counts(b) || !p.lasts(s, b))
}

// counts reports whether a number of arrivals satisfies the join: it is any or N.
func (p *Plan) counts(b *barrier) bool {
	return b.fan == nil && p.nodes[b.node].join != joinAll
}

// awaited reports whether some live token that has not arrived can still reach
// the join.
func (p *Plan) awaited(s *State, b *barrier) bool {
	comes := p.onTheWay(s, b)
	may := func(node int, at place) bool {
		return (b.fan == nil || at.within(b.fan)) && comes(node, at)
	}
	for _, list := range [...][]task{s.next, s.parked} {
		for i := range list {
			if may(list[i].node, list[i].at) {
				return true
			}
		}
	}
	for i := range s.barriers {
		other := &s.barriers[i]
		if other.node == b.node && other.fan == b.fan {
			continue
		}
		for _, a := range other.arrivals {
			if may(other.node, a.at) {
				return true
			}
		}
		// Whoever bypasses the other may turn out to bypass this one.
		for j := range other.detours {
			d := &other.detours[j]
			if !slices.Contains(d.passed, b.node) && slices.ContainsFunc(d.places, func(at place) bool { return may(other.node, at) }) {
				return true
			}
		}
	}
	return false
}

// onTheWay tells the tokens that can still meet those of a join: those that share
// a fan-out with one and reach the join without going back to where that fan-out
// began, for there they would begin another.
func (p *Plan) onTheWay(s *State, b *barrier) func(int, place) bool {
	fans := b.fans()
	return func(at int, where place) bool {
		for _, f := range fans {
			shared := common(where, place{fan: f}).fan
			if shared != nil && p.reaching(s, b.node, shared.origin).has(at) {
				return true
			}
		}
		return false
	}
}

// fireJoin makes one task of a barrier's arrivals. What is still on its way to
// an any or N join is cancelled.
func (p *Plan) fireJoin(s *State, i int) {
	b := s.barriers[i]
	s.barriers = slices.Delete(s.barriers, i, i+1)
	if p.counts(&b) {
		p.removeLate(s, &b)
	}
	p.startJoin(s, b.node, p.gather(s, &b), b.arrivals)
}

// gather takes the tokens of a join into one, which leaves the fan-outs that end
// there.
func (p *Plan) gather(s *State, b *barrier) place {
	at := b.arrivals[0].at
	for _, a := range b.arrivals[1:] {
		at = mergePlaces(at, a.at)
	}
	at = p.leave(s, at, b.node)
	for _, a := range b.arrivals {
		s.moved(a.at, at)
	}
	for _, d := range b.detours {
		for _, from := range d.places {
			s.moved(from, at)
		}
	}
	return at
}

// startJoin puts the join's node into the next superstep.
func (p *Plan) startJoin(s *State, node int, at place, arrivals []arrival) *task {
	clear(s.told) // the others may wait for it
	t := s.addNext()
	t.node, t.at, t.joined = node, at, true
	t.inputs = make([]sourceInput, 0, len(arrivals))
	s.mixed = true // its branch may be declared before others that are due
	for _, a := range arrivals {
		if a.over == nil {
			t.inputs = append(t.inputs, sourceInput{a.source, a.input})
		}
	}
	switch len(t.inputs) {
	case 0:
		t.input = map[string]any{}
	case 1:
		t.input = t.inputs[0].value
	}
	if p.talks && len(arrivals) > 0 {
		t.thread = s.joinThreads(arrivals)
	}
	if p.wanted&useBranches != 0 {
		t.branches = p.branchesOf(s, node, arrivals, at)
	}
	return t
}

// branchesOf is what `branches` holds at a join: the output of each branch that
// arrived, the error of each that could have come there and failed; of a node where
// several failed, that of the last.
func (p *Plan) branchesOf(s *State, node int, arrivals []arrival, joined place) map[string]any {
	var lost []lostBranch
	seen := map[*fanout]bool{}
	tell := func(at place) {
		for f := at.fan; f != nil && !seen[f]; f = f.at.fan {
			seen[f] = true
			for i := range f.failures {
				if l := &f.failures[i]; !l.told && p.leadsTo(s, f, l.lane, node) {
					l.told = true
					lost = append(lost, *l)
				}
			}
		}
	}
	for _, a := range arrivals {
		tell(a.at)
		tell(place{fan: a.over})
	}
	tell(joined)
	slices.SortStableFunc(lost, func(a, b lostBranch) int { return a.order - b.order })
	out := map[string]any{}
	for _, l := range lost {
		out[l.failure.Node] = map[string]any{"output": nil, "error": failureData(l.failure)}
	}
	for _, a := range arrivals {
		if a.over == nil {
			out[p.nodes[a.source].id] = map[string]any{"output": Plain(a.output), "error": nil}
		}
	}
	return out
}

// removeLate ends the tokens that are still on their way to a join which has
// enough arrivals. The fan-outs that they leave have not failed.
func (p *Plan) removeLate(s *State, b *barrier) {
	late := p.onTheWay(s, b)
	for i := range s.barriers { // what might have come from another join, too
		other := &s.barriers[i]
		other.detours = slices.DeleteFunc(other.detours, func(d detour) bool { return late(other.node, d.places[0]) })
	}
	s.removeTokens("join "+p.nodes[b.node].id+" has enough branches", func(node int, at place) bool {
		if !late(node, at) {
			return false
		}
		b.outran(at)
		return true
	})
}

// outran notes that the fan-outs a token leaves have not failed: it only lost the
// race to an any or N join.
func (b *barrier) outran(at place) {
	scope := place{fan: at.fan}
	for _, a := range b.arrivals {
		scope = common(scope, a.at)
	}
	for f := at.fan; f != scope.fan; f = f.at.fan {
		f.ended = true
	}
}

// unsatisfiable finds an N join that no further branch can reach.
func (p *Plan) unsatisfiable(s *State) *ending {
	for i := range s.barriers {
		b := &s.barriers[i]
		if len(b.arrivals) > 0 && p.counts(b) && !p.awaited(s, b) {
			return p.starved(b)
		}
	}
	return nil
}

// breakTie acts when every live token waits at a join. Joins that wait for each
// other can't be told apart by reachability: the first in declaration order
// fires. An N join without enough arrivals leaves the run stuck.
func (p *Plan) breakTie(s *State) *ending {
	for i := range s.barriers {
		if b := &s.barriers[i]; len(b.arrivals) > 0 && !p.counts(b) {
			return p.settleJoin(s, i)
		}
	}
	for i := range s.barriers {
		if b := &s.barriers[i]; len(b.arrivals) > 0 {
			return p.starved(b)
		}
	}
	return p.settleJoin(s, 0) // which only branches bypass that have gone
}

// starved is the end of a run whose join waits for branches that can't come.
func (p *Plan) starved(b *barrier) *ending {
	n := &p.nodes[b.node]
	failure := &Failure{
		Kind: "stuck", Node: n.id,
		Message: "join " + strconv.Quote(n.id) + " waits for " + strconv.Itoa(n.joinCount) + " branches, " +
			strconv.Itoa(len(b.arrivals)) + " arrived, and no live branch can reach it any more",
	}
	for _, a := range b.arrivals {
		failure.Candidates = append(failure.Candidates, Candidate{
			Edge: -1, To: n.id, Condition: "join", Why: "arrived from " + p.nodes[a.source].id,
		})
	}
	return &ending{status: Stuck, reason: "no_edge", failure: failure}
}
