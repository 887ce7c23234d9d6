// Branches of a rehearsed run that fail while others go on (GraphSpec §7).

package lint

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// loss is a branch that failed, and where.
type loss struct {
	node int
	at   spot
	told bool // a join has heard of it
}

// tolerated reports whether a run goes on although a branch fails there.
func (r *rehearsal) tolerated(at spot) bool {
	for ; at.fan != nil; at = at.fan.at {
		if controlflow.FailurePolicy(r.f.graph, at.fan.origin) != "fail_all" {
			return true
		}
	}
	return false
}

// lose ends the branch of the i-th token, which has failed: under fail_all with all
// of its fan-out. False when the run ends by it, or goes on in a way that is not
// followed.
func (r *rehearsal) lose(s *scene, list []fired, i int) bool {
	from := list[i].from
	for at := from.at; at.fan != nil; at = at.fan.at {
		fan := at.fan
		if controlflow.FailurePolicy(r.f.graph, fan.origin) == "fail_all" {
			in := func(t standing) bool { return t.at.within(fan) }
			s.waiting, s.held = slices.DeleteFunc(s.waiting, in), slices.DeleteFunc(s.held, in)
			s.steps += len(s.parked)
			s.parked = slices.DeleteFunc(s.parked, in)
			s.steps -= len(s.parked) // what is cancelled is no step
			s.detours = slices.DeleteFunc(s.detours, func(d detour) bool { return d.places[0].within(fan) })
			for j := range list {
				list[j].gone = list[j].gone || in(*list[j].from)
			}
			continue
		}
		s.detours = slices.DeleteFunc(s.detours, func(d detour) bool {
			known := controlflow.FailurePolicy(r.f.graph, fan.origin) == "wait_all" || r.reaching(d.join, fan.origin)[from.node]
			return known && d.has(at)
		})
		s.lost = append(s.lost, loss{node: from.node, at: at})
		if r.lives(s, fan, list, i) {
			return true
		}
		s.detours = slices.DeleteFunc(s.detours, func(d detour) bool { // nothing is left of it
			return !slices.ContainsFunc(d.places, func(at spot) bool { return !at.within(fan) })
		})
		if s.came[fan.id] {
			r.gap("branches may fail after others have ended")
			return false
		}
		if join := r.f.meetsLost(fan.origin, fan.first); join >= 0 && controlflow.FailurePolicy(r.f.graph, fan.origin) == "wait_all" {
			s.waiting = append(s.waiting, standing{node: join, at: fan.at, source: -1, over: fan, passed: from.passed || from.node == r.p.place})
			return true
		}
	}
	return false
}

// meetsLost is the join at which a node's fan-out of which all branches have failed
// goes on under wait_all: the nearest that all of them could have reached, also one that
// nobody declared; -1 for none. The branches began with these vertices.
func (f *facts) meetsLost(fork int, first []int) int {
	best, least := -1, 0
	auto := f.joinsAt(fork) == "auto"
	for v, n := range f.graph.Nodes {
		if n.Join == nil && !auto {
			continue
		}
		worst := 0
		for _, begins := range first {
			path := shortest(f.flow().Digraph.Next, len(f.graph.Nodes)+2, begins, v)
			if begins == f.End || path == nil {
				worst = -1
				break
			}
			worst = max(worst, len(path))
		}
		if worst >= 0 && (best < 0 || worst < least) {
			best, least = v, worst
		}
	}
	return best
}

// joinsAt says how the branches of a node's fan-out join: explicit or auto.
func (f *facts) joinsAt(fork int) string {
	if own := f.graph.Nodes[fork].Parallel; own != nil && own.Join != "" {
		return own.Join
	}
	return f.graph.Parallel.Join
}

// comes notes that a branch has come through the fan-outs from a place to another.
func (s *scene) comes(from, to spot) {
	for fan := from.fan; fan != to.fan && fan != nil; fan = fan.at.fan {
		s.came = maps.Clone(s.came)
		if s.came == nil {
			s.came = map[int]bool{}
		}
		s.came[fan.id] = true
	}
}

// outran notes that the fan-outs which a token leaves have not failed: others, from
// these places, only came first to an any or N join.
func (s *scene) outran(at spot, places []spot) {
	scope := spot{fan: at.fan}
	for _, other := range places {
		scope = commonSpot(scope, other)
	}
	s.comes(at, scope)
}

// lives reports whether anything is left of a fan-out once the first tokens of a
// list that have failed are gone.
func (r *rehearsal) lives(s *scene, fan *branching, list []fired, last int) bool {
	in := func(t standing) bool { return t.at.within(fan) }
	return slices.ContainsFunc(s.waiting, in) || slices.ContainsFunc(s.parked, in) || slices.ContainsFunc(s.held, in) ||
		slices.ContainsFunc(list[:last+1], func(m fired) bool { return !m.lost && !m.gone && in(*m.from) }) ||
		slices.ContainsFunc(list[last+1:], func(m fired) bool { return !m.gone && in(*m.from) })
}

// branchesOf is what `branches` tells at a join of who has failed.
func (r *rehearsal) branchesOf(s *scene, join int, arrivals []standing) map[string]any {
	out := map[string]any{}
	for _, a := range arrivals {
		from := a.at
		if a.over != nil {
			from = spot{fan: a.over}
		}
		for fan := from.fan; fan != nil; fan = fan.at.fan {
			for i := range s.lost {
				l := &s.lost[i]
				if l.at.fan == fan && !l.told && r.leadsTo(fan, l.at.lane, join) {
					l.told = true
					out[r.f.Name(l.node)] = map[string]any{"error": map[string]any{}}
				}
			}
		}
	}
	for _, a := range arrivals {
		if a.source < 0 {
			continue
		}
		out[r.f.Name(a.source)] = map[string]any{"error": nil}
	}
	return out
}

const tooMany = "there are too many runs to try"

// gap notes what is not followed.
func (r *rehearsal) gap(what string) {
	if r.gaps == "" {
		r.gaps = what
	}
}
