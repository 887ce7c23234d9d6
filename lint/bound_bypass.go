// Joins that a failure bypasses, as bounds follow them: a branch that failed on
// the way to a join may be missing there for good, or come back.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// nextJoins are the all joins to which ways lead from a node that pass no other
// one.
func (w *boundWalk) nextJoins(from int) []int {
	if list, known := w.joinsAfter[from]; known {
		return list
	}
	var out []int
	seen := map[int]bool{}
	for todo := []int{from}; len(todo) > 0; todo = todo[1:] {
		for _, to := range w.flow.Digraph.Next(todo[0]) {
			if to >= len(w.f.graph.Nodes) || seen[to] {
				continue
			}
			if seen[to] = true; controlflow.Bypass(w.f.graph.Nodes[to]) == "" {
				todo = append(todo, to)
			} else {
				out = append(out, to)
			}
		}
	}
	if w.joinsAfter == nil {
		w.joinsAfter = map[int][]int{}
	}
	w.joinsAfter[from] = out
	return out
}

// detours adds the joins that a branch may bypass which a failure of the node led
// to some targets. It is lost to a join of one fan-out to which no way leads back.
func (w *boundWalk) detours(s *boundState, node int, targets []int) {
	if !w.fans {
		return
	}
	for _, join := range w.nextJoins(node) {
		s.bypassed = including(s.bypassed, join)
		back := slices.ContainsFunc(targets, func(v int) bool { return v == join || w.reaches[join][v] })
		if !back && !w.drops && !w.nested[join] {
			s.lost = including(s.lost, join)
		}
	}
}

// including is a sorted list with one more; the list itself stays as it is.
func including(list []int, v int) []int {
	at, found := slices.BinarySearch(list, v)
	if found {
		return list
	}
	return slices.Insert(slices.Clone(list), at, v)
}

func excluding(list []int, v int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(x int) bool { return x == v })
}

// settle adds what may become of the i-th join at which branches wait, when nobody
// else can reach it: all have come, or one bypasses it.
func (w *boundWalk) settle(out []boundState, s boundState, i int) []boundState {
	join := s.waiting[i].join
	bypassed := slices.Contains(s.bypassed, join)
	working := len(s.active)+len(s.parked) > 0
	known := s
	known.bypassed, known.lost = excluding(s.bypassed, join), excluding(s.lost, join)
	if !slices.Contains(s.lost, join) || controlflow.Bypass(w.f.graph.Nodes[join]) != "drop" {
		out = w.release(out, started(known, i), i)
	}
	if working && (w.drops || bypassed && controlflow.Bypass(w.f.graph.Nodes[join]) == "fail") {
		out = w.release(out, s, i+1) // it may wait for the end of those that can't come
	}
	if bypassed && controlflow.Bypass(w.f.graph.Nodes[join]) == "drop" {
		known.waiting = slices.Delete(slices.Clone(s.waiting), i, i+1)
		out = w.release(out, w.pass(known, join), 0)
	}
	return out
}

// pass is the state in which what a join should have become bypasses the next ones.
func (w *boundWalk) pass(s boundState, join int) boundState {
	s.spent = including(s.spent, join)
	for _, next := range w.nextJoins(join) {
		if !slices.Contains(s.spent, next) {
			s.bypassed = including(s.bypassed, next)
		}
	}
	return s
}

// forsaken is the first of the joins that branches bypass at which nobody waits and
// to which none that is at work comes; -1 for none. free says that nobody else may
// come there either, once other joins have gone on.
func (w *boundWalk) forsaken(s *boundState) (join int, free bool) {
	for _, join := range s.bypassed {
		comes := func(v int) bool { return v != join && w.reaches[join][v] }
		waits := slices.ContainsFunc(s.waiting, func(a arrival) bool { return a.join == join })
		if !waits && !slices.Contains(s.spent, join) && !slices.ContainsFunc(s.active, comes) && !slices.ContainsFunc(s.parked, comes) {
			return join, w.alone(s, join)
		}
	}
	return -1, false
}

// forsake adds what may become of a join that branches bypass and at which nobody
// waits: nothing, or what it should have become bypasses the next ones, or it fails.
func (w *boundWalk) forsake(out []boundState, s boundState, join int) []boundState {
	s.bypassed, s.lost = excluding(s.bypassed, join), excluding(s.lost, join)
	s.spent = including(s.spent, join)
	out = w.release(out, s, 0)
	if controlflow.Bypass(w.f.graph.Nodes[join]) == "fail" {
		s.active = including(s.active, join)
		return w.release(out, s, 0)
	}
	if passed := w.pass(s, join); len(passed.bypassed) > len(s.bypassed) {
		out = w.release(out, passed, 0)
	}
	return out
}

// hears reports whether a join may turn out to be bypassed by who bypasses another.
func (w *boundWalk) hears(s *boundState, join int) bool {
	return slices.ContainsFunc(s.bypassed, func(other int) bool {
		return other != join && w.reaches[join][other] && !slices.Contains(s.spent, other)
	})
}
