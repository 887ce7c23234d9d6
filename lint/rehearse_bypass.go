// Branches of a rehearsed run that bypass a join (GraphSpec §7), as
// runner/machine has them.

package lint

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// detour is a branch that a failure edge led away from the way to a join.
type detour struct {
	join int
	// places are where what has become of the branch stands.
	places []spot
	// passed are the joins before that did not go on because of it.
	passed []int
}

// on reports whether a place is on a branch, or on one that it started.
func (at spot) on(branch spot) bool {
	for ; at.fan != nil; at = at.fan.at {
		if at.fan == branch.fan {
			return at.lane == branch.lane
		}
	}
	return false
}

func (d *detour) has(at spot) bool {
	return slices.ContainsFunc(d.places, func(branch spot) bool { return branch.fan == nil || at.on(branch) })
}

// failedVisit reports whether the failure edges of a node are for a visit.
func (r *rehearsal) failedVisit(t *standing) bool {
	return t.failed || t.refused && r.f.graph.Nodes[t.node].OnMaxVisits != "skip"
}

// takeDetour notes at the next joins on the ways from a node that a branch has
// left these ways.
func (r *rehearsal) takeDetour(s *scene, from int, branch spot, passed []int) {
	noted := map[int]bool{}
	for at := branch; at.fan != nil; at = at.fan.at {
		if from == at.fan.origin {
			continue // what begins there waits for nobody here
		}
		for _, join := range r.nextJoins(from, at.fan.origin) {
			if noted[join] || slices.Contains(passed, join) {
				continue
			}
			noted[join] = true
			if !slices.ContainsFunc(s.detours, func(d detour) bool { return d.join == join && d.places[0] == at }) {
				s.detours = append(s.detours, detour{join: join, places: []spot{at}, passed: passed})
			}
		}
	}
}

// nextJoins are the joins to which ways lead from a node that pass no other join
// and not the node where the branches around began.
func (r *rehearsal) nextJoins(from, origin int) []int {
	var out []int
	seen := map[int]bool{}
	for todo := []int{from}; len(todo) > 0; todo = todo[1:] {
		for _, to := range r.f.flow().Digraph.Next(todo[0]) {
			if to >= r.f.End || to == origin || seen[to] {
				continue
			}
			if seen[to] = true; r.f.graph.Nodes[to].Join != nil {
				out = append(out, to)
			} else {
				todo = append(todo, to)
			}
		}
	}
	return out
}

// moved follows a token to where it met others, or left the fan-outs that ended.
func (s *scene) moved(from, to spot) {
	for i := range s.detours {
		if d := &s.detours[i]; d.has(from) && !d.has(to) {
			d.places = append(slices.Clip(d.places), to)
		}
	}
}

// missing are the branches that bypass a join so far.
func (r *rehearsal) missing(s *scene, join int) []detour {
	var out []detour
	for i := range s.detours {
		d := &s.detours[i]
		if d.join == join && !slices.ContainsFunc(s.waiting, func(t standing) bool { return t.node == join && d.has(t.at) }) {
			out = append(out, *d)
		}
	}
	return out
}

// spots are the places of a join's arrivals and of the branches that left the
// way to it.
func (r *rehearsal) spots(s *scene, join int) []spot {
	var out []spot
	for _, t := range s.waiting {
		if t.node == join {
			out = append(out, t.at)
		}
	}
	for i := range s.detours {
		if s.detours[i].join == join {
			out = append(out, s.detours[i].places...)
		}
	}
	return out
}

// settle lets a join that waits no longer go on, or ends what waits there; not ok
// when it fails, which is not followed.
func (r *rehearsal) settle(s *scene, next []standing, join int) (after []standing, ok bool) {
	n := r.f.graph.Nodes[join]
	missing := r.missing(s, join)
	arrived := s.arrived(join) > 0
	switch how := controlflow.Bypass(n); {
	case arrived && (len(missing) == 0 || how == "continue" || n.Join.Wait != "all"):
		return r.fire(s, next, join), true
	case how == "fail":
		r.gap(fmt.Sprintf("the join %q may fail", n.ID.Value))
		return nil, false
	case len(missing) == 0:
		s.forget(join)
		return next, true
	}
	at, passed := missing[0].places[0], []int{join}
	for _, d := range missing {
		at, passed = commonSpot(at, d.places[0]), append(passed, d.passed...)
	}
	for _, t := range s.waiting {
		if t.node == join {
			at = commonSpot(at, t.at)
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(t standing) bool { return t.node == join })
	s.forget(join)
	r.takeDetour(s, join, at, passed)
	return next, true
}

// forget drops the detours around a join.
func (s *scene) forget(join int) {
	s.detours = slices.DeleteFunc(s.detours, func(d detour) bool { return d.join == join })
}

// lasts reports whether a branch is at work whose end a join waits for, although
// it can't come there any more: it may fail, and wait_all tells the join.
func (r *rehearsal) lasts(s *scene, next []standing, join int) bool {
	var fans []*branching
	for _, at := range r.spots(s, join) {
		for f := at.fan; f != nil; f = f.at.fan {
			if controlflow.FailurePolicy(r.f.graph, f.origin) == "wait_all" {
				fans = append(fans, f)
			}
		}
	}
	return slices.ContainsFunc(slices.Concat(next, s.parked), func(t standing) bool {
		return slices.ContainsFunc(fans, func(f *branching) bool {
			return t.at.within(f) && r.leadsTo(f, t.at.laneOf(f), join)
		})
	})
}

// laneOf is the branch of a fan-out that a place within it is on.
func (at spot) laneOf(f *branching) int {
	for at.fan != f {
		at = at.fan.at
	}
	return at.lane
}

// leadsTo reports whether a branch, as it began, could have come to a node
// without going back to where the fan-out began.
func (r *rehearsal) leadsTo(f *branching, lane, node int) bool {
	first := f.first[lane]
	return first == node || first != r.f.End && r.reaching(node, f.origin)[first]
}

// endsAt reports whether branches of a fan-out meet at a node.
func (r *rehearsal) endsAt(f *branching, node int) bool {
	ways := 0
	for lane := range f.first {
		if r.leadsTo(f, lane, node) {
			ways++
		}
	}
	return ways > 1
}
