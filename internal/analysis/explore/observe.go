// What an event has written, entered and read.

package explore

import (
	"maps"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/runner/machine"
)

// observe takes in what the last event came to: what was written, read and entered.
func (r *Run) observe() {
	r.seen, r.noted = len(r.Path), 0
	for i := range r.State.Notes() {
		n := &r.State.Notes()[i]
		if n.Kind == machine.NoteNodeStarted || n.Kind == machine.NoteAsked {
			r.places[n.Task.Task] = n.Place
		}
		if n.Kind == machine.NoteAsked && !n.Again {
			r.asking++
		}
		if n.Kind == machine.NoteNodeStarted && !n.Again {
			r.enter(r.index(n))
		}
	}
	r.check()
}

// index is that of the node of a note.
func (r *Run) index(n *machine.Note) int { return r.s.Model.graph.Node(n.Node).Index }

// Ways are the ways out that a node took.
func (r *Run) Ways(n *machine.Note) []Taken {
	var out []Taken
	for _, c := range n.Candidates {
		if !c.Fired {
			continue
		}
		to := -1
		if node := r.s.Model.graph.Node(c.To); node != nil {
			to = node.Index
		}
		out = append(out, Taken{c.Edge, to})
	}
	return out
}

// byValues reports whether a node has failed because of the values that it computes with,
// and not because it was chosen to.
func (r *Run) byValues(n *machine.Note) bool {
	switch n.Failure.Kind {
	case "expression", "invalid_output", "invalid_input":
		end := r.results[placeName(&n.Place)]
		return end == nil || end.failure == nil
	}
	return false
}

// check goes through the notes of the last event up to the first that reads a slot which
// has to be bound.
func (r *Run) check() {
	notes := r.State.Notes()
	for {
		for _, at := range r.eager {
			if _, bound := r.bound[at]; !bound {
				r.need(at)
			}
		}
		if r.open == noSlot && !r.stopped && r.noted < len(notes) {
			r.checkNote(&notes[r.noted])
		}
		if r.open != noSlot || r.stopped || r.noted >= len(notes) {
			return
		}
		r.noted++
	}
}

func (r *Run) checkNote(n *machine.Note) {
	m, v := r.s.Model, r.index(n)
	switch n.Kind {
	case machine.NoteBranchesJoined:
		r.live -= len(n.Targets) - 1
	case machine.NoteNodeStarted:
		r.read(m.reads[v])
	case machine.NoteNodeCompleted:
		if !n.Skipped {
			r.writes(v, n)
		}
	case machine.NoteNodeFailed:
		r.broken = r.broken || !n.Stopped && r.byValues(n)
		if !n.Stopped && r.byValues(n) {
			r.s.gap("what " + strconv.Quote(n.Node) + " computes fails with the values that are tried")
			for _, e := range m.own[v] { // other values may not fail
				for _, read := range e.Program.Reads() {
					r.read(read.Path[:1])
				}
			}
		}
	case machine.NoteEdgesResolved:
		r.decided(v, n)
		if r.s.Allow != nil && r.open == noSlot && !r.stopped && !r.s.Allow(r, v, r.Ways(n)) {
			r.stopped = true
		}
	}
}

// bind gives the slot that has to be bound the value that it has had all along.
func (r *Run) bind(slot int, value any) {
	r.bound[slot], r.open = value, noSlot
	maps.DeleteFunc(r.unknown, func(_ string, at int) bool { return at == slot })
	r.check()
}

// Visits is how often a node was entered before the last event.
func (r *Run) Visits(v int) int {
	n := 0
	for _, node := range r.Path[:r.seen] {
		if node == v {
			n++
		}
	}
	return n
}

// Read is the value that a path of the environment has for the conditions of a node
// that has just run; false for none, and for what only its expressions can tell.
func (r *Run) Read(path []string, v int) (any, bool) {
	var value any
	switch root := path[0]; {
	case r.s.Model.graph.Key(root) != nil:
		var known bool
		if value, known = r.State.Value(root); !known && r.State.Branching() {
			return nil, false
		}
		path = path[1:]
	case root == "step" && len(path) == 1:
		return r.State.Count(), true
	case root == "visits" && len(path) == 2 && r.s.Model.graph.Node(path[1]) != nil:
		return r.State.Visits(r.s.Model.graph.Node(path[1]).Index)
	case root == "output":
		visits, known := r.State.Visits(v)
		if !known {
			return nil, false
		}
		end := r.results[placeName(&machine.Place{Node: r.s.Model.graph.Nodes[v].ID.Value, Visit: visits})]
		if end == nil || end.failure != nil {
			return nil, false
		}
		value, path = end.output, path[1:]
	default:
		return nil, false
	}
	for _, name := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		value = object[name]
	}
	return value, true
}

func (r *Run) enter(v int) {
	g := r.s.Guide
	if r.rounds > 0 {
		g = r.s.Round
	}
	switch {
	case v == r.s.More:
		r.rounds++
		r.followed, r.again, r.past = 0, 0, false
	case r.followed == len(g):
		r.past = true
	case g[r.followed] == v:
		r.followed++
	case slices.Contains(r.Path, v):
		r.again++
	}
	r.Path = append(r.Path, v)
}

// writes notes where the values come from that a visit has written. Other branches still
// see what was there when they split: what is written beside them is asked for at once, and
// so is what it replaces.
func (r *Run) writes(v int, n *machine.Note) {
	m := r.s.Model
	end := r.results[placeName(&n.Place)]
	for _, w := range m.writes[v] {
		at, known := noSlot, w.part < 0
		switch {
		case known:
		case r.s.Fixed[w.key]:
			at = r.newSlot(slot{key: w.key, source: "fixed"})
		case end != nil && w.part < len(end.slots):
			at = end.slots[w.part]
		}
		if r.live > 1 {
			for _, one := range [...]int{at, r.unknown[w.key]} {
				if one != noSlot {
					r.eager = append(r.eager, one)
				}
			}
		}
		delete(r.unknown, w.key)
		delete(r.Written, w.key)
		if at != noSlot {
			r.unknown[w.key] = at
		}
		if known {
			r.Written[w.key] = true
		}
	}
}

// decided asks for what has decided which way a run has gone: the conditions up to the
// first that held.
func (r *Run) decided(v int, n *machine.Note) {
	m := r.s.Model
	taken := r.Ways(n)
	r.read(m.readsAfter[v])
	if n.Skipped || len(taken) > 0 && taken[0].Edge < 0 {
		return
	}
	list := m.guards[v]
	if n.Failure != nil {
		list = m.catches[v]
	}
	for i := range list {
		r.read(list[i].reads)
		if m.graph.Nodes[v].Routing != "all" && slices.ContainsFunc(taken, func(t Taken) bool { return t.Edge == list[i].edge }) {
			return
		}
	}
}

// read asks for the values of keys that are still open.
func (r *Run) read(keys []string) {
	for _, name := range keys {
		if at := r.unknown[name]; at != noSlot {
			r.need(at)
		}
	}
}

func (r *Run) need(at int) {
	if r.open != noSlot || r.stopped {
		return
	}
	if len(r.slots[at-1].options) == 0 {
		r.s.gap(strconv.Quote(r.slots[at-1].key) + " is known at run time only")
		r.stopped = true
		return
	}
	r.open = at
}
