// What a run is at: the executions that have begun and not ended, and what they have
// noted to find it again after a crash.

package machine

import (
	"cmp"
	"maps"
	"slices"
)

// Active is an execution that has begun and not ended.
type Active struct {
	TaskID
	// Step is the number of the execution; Began is when it began, as Unix nanoseconds.
	Step  int
	Began int64
	// Doing is "running", "retrying" (between attempts), "waiting" (for time to
	// pass) or "asking" (people).
	Doing string
}

// Active returns the executions that have begun and not ended, in the order of
// their steps.
func (s *State) Active() []Active {
	var out []Active
	for _, list := range [...][]task{s.tasks, s.parked} {
		for i := range list {
			t := &list[i]
			if doing := t.doing(); doing != "" {
				out = append(out, Active{TaskID: s.taskID(t), Step: t.step, Began: t.began, Doing: doing})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Active) int { return a.Step - b.Step })
	return out
}

// Dying returns the executions that were told to stop and have not ended, in
// declaration order of the branches.
func (s *State) Dying() []TaskID {
	var out []TaskID
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.each != nil {
			for _, i := range sortedElements(t.each.running) {
				if run := t.each.running[i]; run.cause != nil {
					out = append(out, s.elementID(t, i, run.attempt))
				}
			}
		} else if t.status == running && t.cause != nil {
			out = append(out, s.taskID(t))
		}
	}
	return out
}

// doing is what a task that has begun does; "": it has not, or it has ended.
func (t *task) doing() string {
	switch {
	case t.visit == 0:
		return ""
	case t.status == running, t.status == ready && t.each != nil:
		return "running"
	case t.status == delayed:
		return "retrying"
	case t.status == waiting:
		return "waiting"
	case t.status == asking:
		return "asking"
	}
	return ""
}

// Log is what an attempt under way has noted, in order.
func (s *State) Log(id TaskID) []any { return s.logs[id] }

// Running returns the tasks that the driver is running, elements apart.
func (s *State) Running() []TaskID {
	var out []TaskID
	for i := range s.tasks {
		switch t := &s.tasks[i]; {
		case t.each != nil:
			for _, i := range sortedElements(t.each.running) {
				out = append(out, s.elementID(t, i, t.each.running[i].attempt))
			}
		case t.status == running:
			out = append(out, s.taskID(t))
		}
	}
	return out
}

// Attempts returns the attempts that the driver runs, those of elements too, in
// declaration order of the branches.
func (s *State) Attempts() []TaskID {
	var out []TaskID
	for i := range s.tasks {
		t := &s.tasks[i]
		switch {
		case t.each != nil:
			for _, i := range sortedElements(t.each.running) {
				out = append(out, s.elementID(t, i, t.each.running[i].attempt))
			}
		case t.status == running:
			out = append(out, s.taskID(t))
		}
	}
	return out
}

// Begun returns the step that a task of the open superstep is, and the branch it
// is in; 0 when there is no such task.
func (s *State) Begun(id TaskID) (step int, branch string) {
	t := s.find(id)
	if t == nil {
		return 0, ""
	}
	if t.at.fan != nil {
		branch = s.plan.branchName(t.at)
	}
	return t.step, branch
}

// find returns the task of the open superstep with that id, or nil. A visit that is
// skipped has the number of the one before, which may still be at work.
func (s *State) find(id TaskID) *task {
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.visit == id.Visit && !t.skipped && (t.attempt == id.Attempt || id.Element > 0) && s.plan.nodes[t.node].id == id.Node {
			return t
		}
	}
	return nil
}

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

// savedLog is what an attempt has noted.
type savedLog struct {
	Task  TaskID `json:"task"`
	Notes []any  `json:"notes"`
}

func (k *saver) logs() []savedLog {
	ids := slices.SortedFunc(maps.Keys(k.state.logs), func(a, b TaskID) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), a.Visit-b.Visit, a.Element-b.Element, a.Attempt-b.Attempt)
	})
	var out []savedLog
	for _, id := range ids {
		out = append(out, savedLog{id, k.packList(k.state.logs[id])})
	}
	return out
}
