// Copies of scenes, which share what none of them has changed.

package lint

import (
	"maps"
	"slices"
)

// clone is a scene that goes on by itself.
func (s *scene) clone() *scene {
	out := *s
	out.next, out.parked, out.waiting = slices.Clone(s.next), slices.Clone(s.parked), slices.Clone(s.waiting)
	out.visits, out.ended, out.detours = slices.Clone(s.visits), slices.Clone(s.ended), slices.Clone(s.detours)
	out.lost = slices.Clone(s.lost)
	s.shared, out.shared = true, true
	return &out
}

// own makes the maps of a scene its own before one is changed: most scenes change none.
func (s *scene) own() {
	if !s.shared {
		return
	}
	s.values, s.derived, s.fixed = maps.Clone(s.values), maps.Clone(s.derived), maps.Clone(s.fixed)
	s.wrote, s.guesses = maps.Clone(s.wrote), maps.Clone(s.guesses)
	s.shared = false
}
