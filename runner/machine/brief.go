// Brief notes: most supersteps are one node that runs at once, and two notes
// tell of them what six would.

package machine

// pending are notes that have not been taken yet, because they may become part
// of a brief one. Another note, or the end of the event, takes them.
type pending struct {
	any     bool
	opened  bool // a superstep of one task
	started bool // that task
	updated bool // State.changes
	// what the task was when it started
	node, visit, attempt, step int32
	began                      int64
}

// noteOpened tells that a superstep begins.
func (s *State) noteOpened() {
	if len(s.tasks) != 1 || s.tasks[0].at.fan != nil {
		s.noteSuperstep(NoteSuperstepStarted)
		return
	}
	s.pending.any, s.pending.opened, s.pending.node = true, true, int32(s.tasks[0].node)
}

// noteStarted and noteCompleted are small enough to cost an unwatched run no call.
func (s *State) noteStarted(t *task) {
	if s.Watched {
		s.takeStarted(t)
	}
}

func (s *State) noteCompleted(t *task) {
	if s.Watched {
		s.takeCompleted(t)
	}
}

func (s *State) takeStarted(t *task) {
	if !s.pending.opened || s.pending.started {
		s.taskNote(NoteNodeStarted, t)
		return
	}
	s.pending.started = true
	s.pending.visit, s.pending.attempt = int32(t.visit), int32(t.attempt)
	s.pending.step, s.pending.began = int32(t.step), t.began
}

func (s *State) takeCompleted(t *task) {
	kind := NoteNodeCompleted
	if s.pending.opened && s.pending.started {
		kind, s.pending = NoteEntered, pending{}
	}
	note := s.taskNote(kind, t)
	note.Output, note.Cached, note.Skipped = t.output, t.cached, t.skipped
}

// noteLeft tells all that there is to tell of the end of a superstep with one task;
// false when the task has come to nothing.
func (s *State) noteLeft() bool {
	t := &s.tasks[0]
	if t.status != succeeded && t.status != failed {
		return false
	}
	updated := s.pending.updated
	s.pending = pending{}
	s.noteResolved(NoteLeft, t, 0).Updated = updated
	return true
}

// takePending takes the pending notes.
func (s *State) takePending() {
	if !s.pending.any {
		return
	}
	p := s.pending
	s.pending = pending{}
	if p.updated {
		s.noteDelta()
	}
	if p.opened {
		s.noteAlone(NoteSuperstepStarted, p.node)
	}
	if p.started {
		n := s.note(NoteNodeStarted)
		n.Node, n.Visit, n.Attempt, n.Step, n.Began = p.node, p.visit, p.attempt, p.step, p.began
	}
}

func (s *State) noteDelta() { s.note(NoteStateUpdated).last = int32(len(s.changes)) }

// noteAlone takes the note of a superstep of one node.
func (s *State) noteAlone(kind NoteKind, node int32) {
	n := s.note(kind)
	n.first = int32(len(s.taken))
	s.taken = append(s.taken, Taken{Edge: -1, To: node})
	n.last = int32(len(s.taken))
}

// BriefNotes returns what the last Apply noted, NoteEntered and NoteLeft among
// it. The slice and what it points to are valid until the next Apply.
func (s *State) BriefNotes() []Note {
	s.takePending()
	return s.notes
}

// Notes returns what the last Apply noted, without brief notes. The slice and
// what it points to are valid until the next Apply.
func (s *State) Notes() []Note {
	s.takePending()
	brief := s.notes
	if !s.expanded {
		s.expanded = true
		s.notes = s.full[:0]
		for i := range brief {
			s.expand(&brief[i])
		}
		s.full, s.notes = s.notes, brief
	}
	return s.full
}

// expand takes the notes that a brief one stands for.
func (s *State) expand(n *Note) {
	again := func(kind NoteKind) {
		s.notes = append(s.notes, *n)
		s.notes[len(s.notes)-1].Kind = kind
	}
	in := n.Superstep
	from := len(s.notes)
	switch n.Kind {
	case NoteEntered:
		s.noteAlone(NoteSuperstepStarted, n.Node)
		again(NoteNodeStarted)
		again(NoteNodeCompleted)
	case NoteLeft:
		if n.Updated {
			s.noteDelta()
		}
		again(NoteEdgesResolved)
		s.noteAlone(NoteSuperstepCompleted, n.Node)
	default:
		again(n.Kind)
	}
	for i := range s.notes[from:] {
		s.notes[from+i].Superstep = in
	}
}
