// What a join of the first N cancels.

package lint

import (
	"slices"
)

// first adds the states after a join of the first N, which runs next: what was on its way
// there is cancelled. Where branches of several fan-outs may come to it, only what
// belongs to the join's own is, and which that is nobody knows: all of it, any part or
// nothing.
func (w *boundWalk) first(out []boundState, s boundState, join int) []boundState {
	comes := func(v int) bool { return v != join && w.reaches[join][v] }
	rivals := 0
	for _, v := range slices.Concat(s.active, s.parked) {
		if comes(v) {
			rivals++
		}
	}
	for _, other := range s.waiting {
		if comes(other.join) {
			rivals++
		}
	}
	all := 1<<rivals - 1
	if !w.nested[join] {
		return w.release(out, s.cancel(all, comes), 0)
	}
	if rivals > maxCancelled {
		w.tooMany = true // too many ways
		return nil
	}
	for cancelled := range all + 1 {
		out = w.release(out, s.cancel(cancelled, comes), 0)
	}
	return out
}

// cancel drops of the tasks and arrivals that a function names those whose bit is set.
func (s boundState) cancel(bits int, named func(v int) bool) boundState {
	dropped := func(v int) bool {
		if !named(v) {
			return false
		}
		bit := bits & 1
		bits >>= 1
		return bit == 1
	}
	s.active = slices.DeleteFunc(slices.Clone(s.active), dropped)
	s.parked = slices.DeleteFunc(slices.Clone(s.parked), dropped)
	s.waiting = slices.DeleteFunc(slices.Clone(s.waiting), func(a arrival) bool { return dropped(a.join) })
	return s
}
