// Branches that bypass a join: they left the way to it by a failure edge and do
// not come back (GraphSpec §7). A failure never counts as an arrival.

package machine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

func bypassOf(decl *spec.Join) onBypass {
	switch decl.OnBypass.Value {
	case "continue":
		return bypassContinues
	case "fail":
		return bypassFails
	}
	return bypassDrops
}

// forgetDead forgets the branches of fan-outs that have failed: what comes of those
// is not the join's to judge.
func (b *barrier) forgetDead() {
	b.detours = slices.DeleteFunc(b.detours, func(d detour) bool {
		return !slices.ContainsFunc(d.places, func(at place) bool { return !at.dead() })
	})
}

// missing are the branches that have not come back.
func (b *barrier) missing() []detour {
	var out []detour
	for i := range b.detours {
		d := &b.detours[i]
		if !slices.ContainsFunc(b.arrivals, func(a arrival) bool { return d.has(a.at) }) {
			out = append(out, *d)
		}
	}
	return out
}

// takeDetour notes at the next joins on the ways from a node that a branch has
// left these ways. failed is the node whose failure led it away. Joins further on
// hear of it from the next ones, should these not go on; those of passed have.
func (p *Plan) takeDetour(s *State, from int, branch place, failed int, passed []int) {
	noted := map[reachKey]bool{}
	for at := branch; at.fan != nil; at = at.fan.at {
		if from == at.fan.origin {
			continue // what begins there waits for nobody here
		}
		for _, next := range p.nextJoins(from, at) {
			key := reachKey{next.node, next.fan.number()}
			if noted[key] || slices.Contains(passed, next.node) {
				continue
			}
			noted[key] = true
			b := s.barrierAt(next.node, next.fan)
			if !slices.ContainsFunc(b.detours, func(d detour) bool { return d.places[0] == at }) {
				b.detours = append(b.detours, detour{node: failed, places: []place{at}, passed: passed})
			}
		}
	}
}

// nextJoins are the joins to which ways lead from a node that pass no other join
// and not the node where the branches around began: there others would begin.
func (p *Plan) nextJoins(from int, at place) []barrier {
	var out []barrier
	seen := make(nodeSet, len(p.nodes)/64+1)
	queue := []int{from}
	for len(queue) > 0 {
		node := queue[0]
		queue = queue[1:]
		for _, to := range p.nodes[node].targets {
			if to == endNode || to == at.fan.origin || !seen.add(to) {
				continue
			}
			if isJoin, fan := p.joinOf(to, at); isJoin {
				out = append(out, barrier{node: to, fan: fan})
			} else {
				queue = append(queue, to)
			}
		}
	}
	return out
}

// bypassing reports whether a branch of a fan-out bypasses a join that has not
// settled what becomes of it.
func (s *State) bypassing(f *fanout) bool {
	for i := range s.barriers {
		if slices.ContainsFunc(s.barriers[i].detours, func(d detour) bool { return d.places[0].within(f) }) {
			return true
		}
	}
	return false
}

// moved follows a token to where it met others, or left the fan-outs that ended.
func (s *State) moved(from, to place) {
	for i := range s.barriers {
		for j := range s.barriers[i].detours {
			if d := &s.barriers[i].detours[j]; d.has(from) && !d.has(to) {
				d.places = append(d.places, to)
			}
		}
	}
}

// forgive takes a branch that failed for good from those that bypass a join: its
// fan-out's policy has dropped it where it could still have come there, or will
// give its error to the join.
func (p *Plan) forgive(s *State, branch place, failure *Failure) {
	node := noNode
	if n := p.Graph.Node(failure.Node); n != nil {
		node = n.Index
	}
	for i := range s.barriers {
		b := &s.barriers[i]
		b.detours = slices.DeleteFunc(b.detours, func(d detour) bool { // of branches in it: they are gone
			return !slices.ContainsFunc(d.places, func(at place) bool { return at == branch || !at.on(branch) })
		})
		if len(b.detours) == 0 || branch.fan.policy != "wait_all" &&
			(node == noNode || !p.reaching(s, b.node, branch.fan.origin).has(node)) {
			continue
		}
		b.detours = slices.DeleteFunc(b.detours, func(d detour) bool { return d.has(branch) })
	}
}

// lasts reports whether a branch is at work whose end the join waits for, although
// it can't come there any more: under wait_all every branch that could have come,
// for it may fail; and those that bypass a join which then fails, for the failure
// of the join may cancel them.
func (p *Plan) lasts(s *State, b *barrier) bool {
	var missing []detour
	if p.nodes[b.node].onBypass == bypassFails {
		missing = b.missing()
	}
	fans := slices.DeleteFunc(b.allFans(), func(f *fanout) bool { return f.policy != "wait_all" })
	if len(missing)+len(fans) == 0 {
		return false
	}
	for _, list := range [...][]task{s.next, s.parked} {
		for i := range list {
			at := list[i].at
			if slices.ContainsFunc(missing, func(d detour) bool { return d.has(at) }) {
				return true
			}
			if slices.ContainsFunc(fans, func(f *fanout) bool {
				return at.within(f) && p.leadsTo(s, f, laneOf(at, f), b.node)
			}) {
				return true
			}
		}
	}
	return false
}

// settleJoin lets a join that waits no longer go on, or does what its on_bypass
// says. It returns how the run ends, if it does.
func (p *Plan) settleJoin(s *State, i int) *ending {
	b := &s.barriers[i]
	missing := b.missing()
	how := p.nodes[b.node].onBypass
	switch {
	case len(b.arrivals) > 0 && (len(missing) == 0 || how == bypassContinues || p.counts(b)):
		p.fireJoin(s, i)
	case how == bypassFails:
		p.failJoin(s, i, missing)
	default:
		return p.dropJoin(s, i, missing)
	}
	return nil
}

// dropJoin ends the branches that wait at a join. What they were to become bypasses
// the next joins.
func (p *Plan) dropJoin(s *State, i int, missing []detour) *ending {
	b := s.barriers[i]
	s.barriers = slices.Delete(s.barriers, i, i+1)
	s.degraded = true
	p.noteDropped(s, &b, missing)
	at, passed := missing[0].places[0], []int{b.node}
	for _, d := range missing {
		at = common(at, d.places[0])
		passed = append(passed, d.passed...)
	}
	for _, a := range b.arrivals {
		at = common(at, a.at)
		a.at.add(-1)
	}
	slices.Sort(passed)
	passed = slices.Compact(passed)
	if len(b.arrivals) > 0 {
		clear(s.told)
	} else if s.hasTold(&b, at, passed) {
		return nil
	}
	p.takeDetour(s, b.node, at, missing[0].node, passed)
	for _, a := range b.arrivals {
		for f := a.at.fan; f != nil; f = f.at.fan {
			if f.dead || len(f.failures) == 0 {
				continue
			}
			if first := p.exhausted(s, f); first != nil {
				return p.branchFailed(s, f.at, first.failure, first.order, false)
			}
		}
	}
	return nil
}

// telling is a join at which nobody waits, and the branch of which it tells the next
// joins that it bypasses them.
type telling struct {
	join   reachKey
	branch place
}

// hasTold reports whether a join at which nobody waits has told all next ones of the
// branch but those of passed, and notes that it has. Joins in loops would else tell
// each other along each way there is, of which there may be 2ⁿ.
func (s *State) hasTold(b *barrier, branch place, passed []int) bool {
	what := telling{reachKey{b.node, b.fan.number()}, branch}
	untold, before := s.told[what]
	if before {
		left := slices.DeleteFunc(slices.Clone(untold), func(node int) bool { return !slices.Contains(passed, node) })
		if len(left) == len(untold) {
			return true
		}
		passed = left
	}
	if s.told == nil {
		s.told = map[telling][]int{}
	}
	s.told[what] = passed
	return false
}

// failJoin makes a task of a join that fails instead of running.
func (p *Plan) failJoin(s *State, i int, missing []detour) {
	b := s.barriers[i]
	s.barriers = slices.Delete(s.barriers, i, i+1)
	var at place
	if len(b.arrivals) > 0 {
		at = p.gather(s, &b)
	} else {
		at = missing[0].places[0]
		for _, d := range missing[1:] {
			at = common(at, d.places[0])
		}
		for at.fan != nil && at.fan.live == 0 {
			at = at.fan.at
		}
		at.add(1)
	}
	p.startJoin(s, b.node, at, b.arrivals).failure = p.bypassed(&b, missing)
}

// bypassed is the failure of a join that branches bypass.
func (p *Plan) bypassed(b *barrier, missing []detour) *Failure {
	names := func(nodes []int) []any {
		slices.Sort(nodes)
		var out []any
		for _, node := range slices.Compact(nodes) {
			out = append(out, p.nodes[node].id)
		}
		return out
	}
	var failed, arrived []int
	for _, d := range missing {
		failed = append(failed, d.node)
	}
	for _, a := range b.arrivals {
		if a.over == nil {
			arrived = append(arrived, a.source)
		}
	}
	from := names(failed)
	words := make([]string, len(from))
	for i, name := range from {
		words[i] = strconv.Quote(name.(string))
	}
	return &Failure{
		Kind: "bypassed", Node: p.nodes[b.node].id,
		Message: "a branch left by a failure edge of " + strings.Join(words, " and ") + " and can't come to this join any more",
		Details: map[string]any{"failed": from, "arrived": append([]any{}, names(arrived)...)},
	}
}
