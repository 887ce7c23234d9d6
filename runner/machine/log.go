// Logs: what running tasks want to find again after a crash.

package machine

// keepNote adds to the log of an attempt that is under way; a late note is a
// no-op.
func (s *State) keepNote(e *Event) {
	if e.Output == nil {
		return
	}
	t := s.find(e.Task)
	if t == nil {
		t = s.undecided(e.Task)
	}
	if t == nil {
		return
	}
	if t.waitsFor {
		if t.choice != nil {
			return
		}
	} else if t.each != nil {
		run := t.each.running[e.Task.Element-1]
		if run == nil || run.attempt != e.Task.Attempt {
			return
		}
	} else if t.status != running {
		return
	}
	if s.logs == nil {
		s.logs = map[TaskID][]any{}
	}
	if e.Anew {
		delete(s.logs, e.Task)
	}
	s.logs[e.Task] = append(s.logs[e.Task], e.Output)
}

// undecided is the task that a decision is about, or nil.
func (s *State) undecided(id TaskID) *task {
	for i := range s.tasks {
		if t := &s.tasks[i]; t.waitsFor && s.taskID(t) == id {
			return t
		}
	}
	return nil
}

// Noted is what an attempt under way has noted, and how many steps of a subgraph
// that it runs are counted already; nil when it has noted nothing or is to end.
func (s *State) Noted(id TaskID) (log []any, counted int) {
	t := s.find(id)
	if t == nil {
		return nil, 0
	}
	cause, asked := t.cause, t.asked
	if t.each != nil {
		run := t.each.running[id.Element-1]
		if run == nil {
			return nil, 0
		}
		cause, asked = run.cause, run.asked
	}
	if cause != nil {
		return nil, 0
	}
	return s.logs[id], asked.counted()
}
