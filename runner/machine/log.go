// Logs: what running tasks want to find again after a crash.

package machine

// keepNote adds to the log of an attempt that is under way; a late note is a
// no-op.
func (s *State) keepNote(e *Event) {
	t := s.find(e.Task)
	if t == nil {
		return
	}
	if t.each != nil {
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
	s.logs[e.Task] = append(s.logs[e.Task], e.Output)
}
