// What runs read before it is written.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/runner/machine"
)

// readsOpen is a run that comes to a use while a thing is not made, tried along a path
// first; nil when none was found. Not possible when every run was tried.
func (f *facts) readsOpen(m *made, u *dataflow.Use, thing int, path []int) (run []int, possible bool) {
	q, of := explore.Question{}, m.things[thing]
	unclear := false
	missing := func(r *explore.Run) bool {
		visits, known := r.State.Visits(of.node)
		unclear = unclear || !known // branches see different pasts
		return known && visits == 0
	}
	if of.key < 0 {
		q.Visits = map[int]int{of.node: 1}
	} else {
		q.Omit = f.graph.State[of.key].Name.Value
		missing = func(r *explore.Run) bool {
			value, known := r.State.Value(q.Omit)
			if !known && r.State.Branching() {
				unclear = true
				return false
			}
			return value == nil
		}
	}
	unclear = q.Omit != "" && f.graph.Key(q.Omit).Once // a model sets it back
	q.Found = func(r *explore.Run) bool {
		if !f.comesTo(r, u) {
			return false
		}
		if missing(r) {
			return true
		}
		unclear = unclear || r.State.Ended() // it may have been written meanwhile
		return false
	}
	a := f.shows(path, q)
	if u.Node < 0 && a.Found {
		a.Witness = append(a.Witness, f.End)
	}
	return a.Witness, a.Found || a.Gap != "" || unclear
}

// comesTo reports whether the last event has made a run evaluate a use.
func (f *facts) comesTo(r *explore.Run, u *dataflow.Use) bool {
	s := r.State
	fails := s.Ended() && s.Failure != nil && s.Failure.Kind == "expression"
	if u.Node < 0 {
		return s.Status == machine.Completed || fails && s.Failure.Node == ""
	}
	if fails && s.Failure.Node == f.graph.Nodes[u.Node].ID.Value {
		return true
	}
	return slices.ContainsFunc(s.Notes(), func(n machine.Note) bool {
		switch {
		case n.Node != f.graph.Nodes[u.Node].ID.Value || n.Skipped:
			return false
		case u.Moment == dataflow.Before && !slices.Contains([]string{"set", "before", "each"}, u.Field):
			return n.Kind == machine.NoteNodeStarted && !s.Ended() // what calls something reads it then
		case u.Moment == dataflow.Before:
			return n.Kind == machine.NoteNodeCompleted
		case n.Kind != machine.NoteEdgesResolved:
			return false
		}
		return f.evaluates(u, r.Ways(&n), n.Failure != nil)
	})
}

// evaluates reports whether a use is evaluated when a node has ended and taken some ways out.
func (f *facts) evaluates(u *dataflow.Use, taken []explore.Taken, failed bool) bool {
	fired := func(e int) bool {
		return slices.ContainsFunc(taken, func(t explore.Taken) bool { return t.Edge == e })
	}
	switch u.Field {
	case "when":
		if failed != (f.graph.Edges[u.Edge].Condition == "on_failure") {
			return false
		}
		for _, g := range f.flow().Groups[u.Node] {
			if slices.Contains(g.Edges, u.Edge) {
				return true
			}
			if slices.ContainsFunc(g.Edges, fired) {
				return false // its condition has held before this one is tried
			}
		}
	case "transform":
		return fired(u.Edge)
	}
	return !failed
}
