// Where the branches of a rehearsed run stand (GraphSpec §7).

package lint

import (
	"cmp"
	"slices"
)

// scene is a run between two supersteps, or within one.
type scene struct {
	next, parked []standing
	// held are due when no step is left for them: what runs beside them ends.
	held        []standing
	cut         bool       // there was something for which no step was left
	waiting     []standing // at the join that is their node
	detours     []detour
	lost        []loss
	came        map[int]bool // fan-outs, by id, of which a branch has come through
	visits      []int        // by node
	ended       []int        // visits that ended well, by node
	steps, fans int
	// values are those of state keys that have been looked at or written. What
	// is derived has been written, but nobody knows what.
	values  map[string]any
	derived map[string]bool
	fixed   map[string]bool // keys whose values the graph itself has written
	wrote   map[string]bool // keys that have been written at all
	trail   *trail
	// guesses are outcomes of conditions that can't be evaluated.
	guesses map[string]guess
	// shared says that other scenes have the maps, too: see own.
	shared bool
	// pos is how far the run has followed the guide, -1 once it has branches.
	pos int
	// mixed says that what is due is not in the order of the branches.
	mixed bool
}

// standing is where one branch stands.
type standing struct {
	node   int
	at     spot
	step   int
	passed bool // it has come through the node that the policy speaks of
	// refused: the node's limit has not let it run.
	refused bool
	failed  bool
	source  int // the node that led to a join
	// branches is what the expression of that name has at a join, as far as it is
	// about errors.
	branches map[string]any
	back     bool // from being parked
	// over is a fan-out all of whose branches have failed, which comes to its join like
	// one branch, under wait_all.
	over *branching
}

// spot is the lane of a fan-out that a token is on.
type spot struct {
	fan  *branching
	lane int
}

// branching is one time that several edges fired.
type branching struct {
	id, origin, depth int
	at                spot
	first             []int // the first vertex of each branch
}

// arrived is how many tokens wait at a join.
func (s *scene) arrived(join int) int {
	n := 0
	for _, t := range s.waiting {
		if t.node == join {
			n++
		}
	}
	return n
}

func (at spot) depth() int {
	if at.fan == nil {
		return 0
	}
	return at.fan.depth
}

func (at spot) id() int {
	if at.fan == nil {
		return 0
	}
	return at.fan.id
}

// common is the innermost branch around both.
func commonSpot(a, b spot) spot {
	for a.fan != b.fan {
		if a.depth() >= b.depth() {
			a = a.fan.at
		} else {
			b = b.fan.at
		}
	}
	a.lane = min(a.lane, b.lane)
	return a
}

// compare orders branches by declaration.
func (at spot) compare(other spot) int {
	a, b, inA, inB := at, other, 0, 0
	for a.fan != b.fan {
		if a.depth() >= b.depth() {
			inA, a = a.id(), a.fan.at
		} else {
			inB, b = b.id(), b.fan.at
		}
	}
	return cmp.Or(a.lane-b.lane, inA-inB)
}

// leave takes a token out of the fan-outs that end at the node it comes to: it is
// their only one, and several branches could have come there.
func (r *rehearsal) leave(s *scene, at spot, node int, lists ...[]standing) spot {
	for at.fan != nil && r.endsAt(at.fan, node) {
		live := 1
		for _, list := range append(lists, s.parked, s.waiting) {
			for _, t := range list {
				if t.at.within(at.fan) {
					live++
				}
			}
		}
		bypasses := func(d detour) bool { return d.places[0].within(at.fan) }
		if live > 1 || slices.ContainsFunc(s.detours, bypasses) {
			break
		}
		at = at.fan.at
	}
	return at
}

func (at spot) within(f *branching) bool {
	for ; at.fan != nil; at = at.fan.at {
		if at.fan == f {
			return true
		}
	}
	return false
}

// onTheWay reports whether a token can still meet those of a join, which stand at
// some places, without going back to where their fan-out began.
func (r *rehearsal) onTheWay(join int, places []spot, t standing) bool {
	for _, at := range places {
		if at.fan == nil {
			continue
		}
		if shared := commonSpot(t.at, spot{fan: at.fan}).fan; shared != nil && r.reaching(join, shared.origin)[t.node] {
			return true
		}
	}
	return false
}

// reaching marks the nodes from which a node can be reached over at least one
// edge without passing another.
func (r *rehearsal) reaching(v, avoid int) []bool {
	key := [2]int{v, avoid}
	if set, ok := r.reaches[key]; ok {
		return set
	}
	set := make([]bool, len(r.f.graph.Nodes)+2)
	for todo := []int{v}; len(todo) > 0; todo = todo[1:] {
		for _, p := range r.f.flow().Reverse.Next(todo[0]) {
			if p != avoid && !set[p] {
				set[p] = true
				todo = append(todo, p)
			}
		}
	}
	r.reaches[key] = set
	return set
}

// fired is one way on of a token; lost says that its branch has failed instead, gone
// that it has been cancelled.
type fired struct {
	from *standing
	to   []int
	lost bool
	gone bool
}

// dispatch moves the tokens along what fired.
func (r *rehearsal) dispatch(s *scene, list []fired) {
	list = slices.Clone(list)
	var next []standing
	merged := map[int]bool{}
	due := map[int]int{}
	send := func(from *standing, to int, at spot) {
		t := standing{node: to, at: at, source: from.node, passed: from.passed || from.node == r.p.place}
		switch {
		case to == r.f.End:
			s.comes(at, spot{})
			r.arrives(s, from, to)
		case r.f.graph.Nodes[to].Join != nil:
			s.waiting = append(s.waiting, t)
		default:
			if i, is := due[to]; is {
				was := next[i].at
				next[i].at, next[i].passed = commonSpot(was, at), next[i].passed || t.passed
				s.comes(was, next[i].at)
				s.comes(at, next[i].at)
				s.moved(was, next[i].at)
				s.moved(at, next[i].at)
				merged[i], s.mixed = true, true
				return
			}
			due[to] = len(next)
			next = append(next, t)
		}
	}
	for i := range list {
		if list[i].lost && !list[i].gone && !r.lose(s, list, i) {
			return
		}
	}
	if len(s.held) > 0 {
		next, s.held, s.mixed = append(next, s.held...), nil, true
	}
	for i := range list {
		from := list[i].from
		if list[i].lost || list[i].gone {
			continue
		}
		if from.at.fan != nil && r.failedVisit(from) {
			r.takeDetour(s, from.node, from.at, nil)
		}
		if len(list[i].to) == 1 {
			send(from, list[i].to[0], from.at)
			continue
		}
		s.fans++
		fan := &branching{id: s.fans, origin: from.node, depth: from.at.depth() + 1, at: from.at, first: list[i].to}
		for lane, to := range list[i].to {
			send(from, to, spot{fan, lane})
		}
	}
	for i := range next {
		if merged[i] {
			rest := slices.Delete(slices.Clone(next), i, i+1)
			was := next[i].at
			next[i].at = r.leave(s, was, next[i].node, rest)
			s.moved(was, next[i].at)
		}
	}
	if next, ok := r.fireJoins(s, next); ok && !r.broken {
		r.push(s, next)
	}
}

// fireJoins settles every join that need not wait any longer; not ok when the run
// gets stuck at one, or goes on in a way that is not followed.
func (r *rehearsal) fireJoins(s *scene, next []standing) (after []standing, ok bool) {
	for again := true; again; {
		again = false
		for _, join := range r.joins(s) {
			if !r.due(s, next, join) {
				continue
			}
			if next, ok = r.settle(s, next, join); !ok {
				return nil, false
			}
			again = true
			break
		}
		if again || len(next)+len(s.parked) > 0 {
			continue
		}
		if join := r.tied(s); join >= 0 {
			if next, ok = r.settle(s, next, join); !ok {
				return nil, false
			}
			again = true
		}
	}
	for _, join := range r.joins(s) {
		if r.f.graph.Nodes[join].Join.Wait != "all" && s.arrived(join) > 0 && !r.awaited(s, next, join) {
			return nil, false
		}
	}
	return next, true
}

// tied is the join that acts when all tokens wait at joins; -1 for none.
func (r *rehearsal) tied(s *scene) int {
	all := r.joins(s)
	for _, join := range all {
		if r.f.graph.Nodes[join].Join.Wait == "all" && s.arrived(join) > 0 {
			return join
		}
	}
	if len(all) == 0 || len(s.waiting) > 0 {
		return -1
	}
	return all[0]
}

// due reports whether a join waits no longer.
func (r *rehearsal) due(s *scene, next []standing, join int) bool {
	n := r.f.graph.Nodes[join].Join
	if n.Wait != "all" && s.arrived(join) > 0 {
		failed := func(t standing) bool { return t.node == join && t.over != nil }
		return s.arrived(join) >= max(n.Count, 1) || slices.ContainsFunc(s.waiting, failed)
	}
	return !r.awaited(s, next, join) && (n.Wait != "all" || !r.lasts(s, next, join))
}

// joins are the joins at which tokens wait, in order.
func (r *rehearsal) joins(s *scene) []int {
	var out []int
	for _, t := range s.waiting {
		out = append(out, t.node)
	}
	for _, d := range s.detours {
		out = append(out, d.join)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// awaited reports whether a token that has not arrived can still reach the join.
func (r *rehearsal) awaited(s *scene, next []standing, join int) bool {
	places := r.spots(s, join)
	comes := func(t standing) bool { return r.onTheWay(join, places, t) }
	return slices.ContainsFunc(next, comes) || slices.ContainsFunc(s.parked, comes) ||
		slices.ContainsFunc(s.waiting, func(t standing) bool { return t.node != join && comes(t) }) ||
		slices.ContainsFunc(s.detours, func(d detour) bool { // whoever bypasses another join may bypass this one
			return d.join != join && !slices.Contains(d.passed, join) &&
				slices.ContainsFunc(d.places, func(at spot) bool { return comes(standing{node: d.join, at: at}) })
		})
}

// fire makes one token of a join's arrivals; an any or N join cancels what is
// still on its way.
func (r *rehearsal) fire(s *scene, next []standing, join int) []standing {
	places := r.spots(s, join)
	var arrivals []standing
	for _, t := range s.waiting {
		if t.node == join {
			arrivals = append(arrivals, t)
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(t standing) bool { return t.node == join })
	s.forget(join)
	if r.f.graph.Nodes[join].Join.Wait != "all" {
		late := func(t standing) bool { return r.onTheWay(join, places, t) }
		s.detours = slices.DeleteFunc(s.detours, func(d detour) bool { return late(standing{node: d.join, at: d.places[0]}) })
		gone := func(t standing) bool {
			if late(t) {
				s.outran(t.at, places)
			}
			return late(t)
		}
		next = slices.DeleteFunc(next, gone)
		waits := len(s.parked)
		s.parked = slices.DeleteFunc(s.parked, gone)
		s.steps -= waits - len(s.parked) // what is cancelled is no step
		s.waiting = slices.DeleteFunc(s.waiting, gone)
	}
	s.mixed = true
	out := arrivals[0]
	out.back, out.failed, out.refused, out.over = false, false, false, nil
	for _, a := range arrivals[1:] {
		out.at, out.passed = commonSpot(out.at, a.at), out.passed || a.passed
	}
	for _, a := range arrivals {
		s.comes(a.at, out.at)
	}
	out.branches = r.branchesOf(s, join, arrivals)
	out.at = r.leave(s, out.at, join, next)
	for _, at := range places {
		s.moved(at, out.at)
	}
	return append(next, out)
}
