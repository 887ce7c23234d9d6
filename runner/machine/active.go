// What a run is at: the executions that have begun and not ended.

package machine

import "slices"

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
