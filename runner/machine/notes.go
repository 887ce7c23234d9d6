// Taking notes: only when somebody watches.

package machine

import (
	"cmp"
	"slices"
	"time"
)

func (s *State) note(n Note) {
	n.Superstep = s.Superstep
	s.notes = append(s.notes, n)
}

func (s *State) taskNote(kind NoteKind, t *task) Note {
	n := &s.plan.nodes[t.node]
	return Note{
		Kind: kind, Step: t.step, Node: n.id, NodeKind: n.kind,
		Visit: t.visit, Attempt: t.attempt, Began: t.began,
	}
}

func (s *State) noteSuperstep(kind NoteKind) {
	start := len(s.names)
	for i := range s.tasks {
		s.names = append(s.names, s.plan.nodes[s.tasks[i].node].id)
	}
	s.note(Note{Kind: kind, Nodes: s.names[start:len(s.names):len(s.names)]})
}

func (s *State) noteStarted(t *task) {
	if !s.Watched {
		return
	}
	s.note(s.taskNote(NoteNodeStarted, t))
}

func (s *State) noteCompleted(t *task) {
	if !s.Watched {
		return
	}
	note := s.taskNote(NoteNodeCompleted, t)
	note.Output, note.Cached, note.Skipped = plainObject(t.output), t.cached, t.skipped
	s.note(note)
}

func (s *State) noteEmitted(t *task, values map[string]any) {
	if !s.Watched {
		return
	}
	note := s.taskNote(NoteNodeEmitted, t)
	note.Output = values
	s.note(note)
}

func (s *State) noteFailed(t *task) {
	if !s.Watched {
		return
	}
	note := s.taskNote(NoteNodeFailed, t)
	note.Failure = t.failure
	s.note(note)
}

func (s *State) noteRetrying(t *task, failure *Failure, attempts int, delay time.Duration) {
	if !s.Watched {
		return
	}
	note := s.taskNote(NoteNodeRetrying, t)
	note.Failure, note.MaxAttempts, note.Delay = failure, attempts, delay
	s.note(note)
}

// noteUpdates tells which keys the superstep changed, sorted by name.
func (s *State) noteUpdates() {
	if len(s.delta) == 0 {
		return
	}
	p := s.plan
	slices.SortFunc(s.delta, func(a, b int) int { return cmp.Compare(p.keys[a].name, p.keys[b].name) })
	s.delta = slices.Compact(s.delta)
	start := len(s.changes)
	for _, i := range s.delta {
		s.changes = append(s.changes, KeyValue{p.keys[i].name, s.env[p.keys[i].name]})
	}
	s.note(Note{Kind: NoteStateUpdated, Delta: s.changes[start:len(s.changes):len(s.changes)]})
}

// noteClosed tells how each task of the superstep was routed, then that it is over.
func (p *Plan) noteClosed(s *State) {
	if !s.Watched {
		return
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.status != succeeded && t.status != failed {
			continue
		}
		note := s.taskNote(NoteEdgesResolved, t)
		note.Output = plainObject(t.output)
		start := len(s.names)
		for _, r := range s.routes {
			if r.task == i {
				s.names = append(s.names, p.targetName(r.to))
			}
		}
		note.Next = s.names[start:len(s.names):len(s.names)]
		note.Candidates = p.candidates(s, i)
		s.note(note)
	}
	s.noteSuperstep(NoteSuperstepCompleted)
}

func (p *Plan) targetName(to int) string {
	if to == endNode {
		return "END"
	}
	return p.nodes[to].id
}
