// Taking notes: only when somebody watches.

package machine

import (
	"cmp"
	"slices"
	"time"
)

// note adds an empty note and returns it, to be filled in place.
func (s *State) note(kind NoteKind) *Note {
	s.notes = append(s.notes, Note{})
	n := &s.notes[len(s.notes)-1]
	n.Kind, n.Superstep = kind, s.Superstep
	return n
}

func (s *State) taskNote(kind NoteKind, t *task) *Note {
	note := s.note(kind)
	n := &s.plan.nodes[t.node]
	note.Step, note.Node, note.NodeKind = t.step, n.id, n.kind
	note.Visit, note.Attempt, note.Began = t.visit, t.attempt, t.began
	return note
}

func (s *State) noteSuperstep(kind NoteKind) {
	start := len(s.names)
	for i := range s.tasks {
		s.names = append(s.names, s.plan.nodes[s.tasks[i].node].id)
	}
	s.note(kind).Nodes = s.names[start:len(s.names):len(s.names)]
}

func (s *State) noteStarted(t *task) {
	if s.Watched {
		s.taskNote(NoteNodeStarted, t)
	}
}

func (s *State) noteCompleted(t *task) {
	if s.Watched {
		note := s.taskNote(NoteNodeCompleted, t)
		note.Output, note.Cached, note.Skipped = t.output, t.cached, t.skipped
	}
}

func (s *State) noteEmitted(t *task, values map[string]any) {
	if s.Watched {
		s.taskNote(NoteNodeEmitted, t).Output = values
	}
}

func (s *State) noteFailed(t *task) {
	if s.Watched {
		s.taskNote(NoteNodeFailed, t).Failure = t.failure
	}
}

func (s *State) noteRetrying(t *task, failure *Failure, attempts int, delay time.Duration) {
	if s.Watched {
		note := s.taskNote(NoteNodeRetrying, t)
		note.Failure, note.MaxAttempts, note.Delay = failure, attempts, delay
	}
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
	s.note(NoteStateUpdated).Delta = s.changes[start:len(s.changes):len(s.changes)]
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
		start := len(s.names)
		for _, r := range s.routes {
			if r.task == i {
				s.names = append(s.names, p.targetName(r.to))
			}
		}
		results := p.results(s, i)
		note := s.taskNote(NoteEdgesResolved, t)
		note.Output, note.Results = t.output, results
		note.Nodes = s.names[start:len(s.names):len(s.names)]
	}
	s.noteSuperstep(NoteSuperstepCompleted)
}

func (p *Plan) targetName(to int) string {
	if to == endNode {
		return "END"
	}
	return p.nodes[to].id
}
