// Queries about the state, for drivers and readers.

package machine

import (
	"iter"
	"slices"
	"time"
)

// activeUnits yields the units of the active tasks of scopes.
func activeUnits(scopes ...*Scope) iter.Seq2[*Task, *Unit] {
	return func(yield func(*Task, *Unit) bool) {
		for _, sc := range scopes {
			for _, t := range sc.activeTasks() {
				for _, u := range t.Units {
					if !yield(t, u) {
						return
					}
				}
			}
		}
	}
}

// Active is an execution that has begun and not ended.
type Active struct {
	Place
	Task TaskID
	// Began is a Unix time in nanoseconds.
	Began int64
	// Doing is "running", "retrying", "waiting" (for time), "asking" (people) or "queued".
	Doing string
}

// Current returns the current executions in path order. A subgraph's executions follow its node.
func (s *State) Current() []Active {
	var all []*Task
	for _, sc := range s.Scopes {
		for _, t := range sc.activeTasks() {
			if t.Begun && (!t.Done || t.Deciding) {
				all = append(all, t)
			}
		}
	}
	slices.SortStableFunc(all, (*Task).compareTo)
	out := make([]Active, len(all))
	for i, t := range all {
		out[i] = Active{
			Place: t.place(), Task: TaskID{Task: t.ID, Attempt: t.attemptNumber()}, Began: t.At, Doing: t.describeDoing(),
		}
	}
	return out
}

// describeDoing returns what the busiest unit of a task does.
func (t *Task) describeDoing() string {
	names := [...]string{running: "running", delayed: "retrying", waiting: "waiting", asking: "asking", queued: "queued"}
	for _, state := range []UnitState{running, delayed, waiting, asking} {
		if t.Deciding || slices.ContainsFunc(t.Units, func(u *Unit) bool { return u.State == state }) {
			return names[state]
		}
	}
	return names[queued]
}

// Attempts returns the attempts that the driver runs.
func (s *State) Attempts() []TaskID {
	var out []TaskID
	for t, u := range activeUnits(s.Scopes...) {
		if u.State == running && !u.runsGraph() {
			out = append(out, t.attemptID(u))
		}
	}
	return out
}

// IsInFinally reports whether the end of the run is decided and the nodes of finally run.
func (s *State) IsInFinally() bool { return !s.HasEnded() && s.root().End != nil }

// MaxSteps returns the step limit of the run.
func (s *State) MaxSteps() int { return s.root().limits.MaxSteps }

// MaxStateBytes returns the limit of the state and of each value in the run.
func (s *State) MaxStateBytes() int { return s.root().maxBytes }

// Steps returns how many steps have ended, also in subgraphs.
func (s *State) Steps() int { return s.Done }

// Due returns the Unix time of the next end of a wait, retry delay or question, or 0.
func (s *State) Due() int64 {
	due := int64(0)
	for _, u := range activeUnits(s.Scopes...) {
		switch u.State {
		case waiting, delayed:
			due = earlierMoment(due, u.Until)
		case asking:
			for _, q := range u.pendingQuestions() {
				due = earlierMoment(earlierMoment(due, q.Until), q.Remind)
			}
		}
	}
	if s.Parked && due > 0 {
		due = s.cutToLimit(due)
	}
	return due
}

// WaitsUntil returns when a run that only waits for time continues or times out, or 0.
func (s *State) WaitsUntil() int64 {
	due := s.Due()
	if working, _, _ := s.describeActivity(); working || due == 0 || s.Status != Running {
		return 0
	}
	return s.cutToLimit(due)
}

// cutToLimit returns a time, or an earlier end of a time limit.
func (s *State) cutToLimit(due int64) int64 {
	for _, sc := range s.Scopes {
		if left, ok := sc.timeLeft(); ok {
			due = earlierMoment(due, s.Now+int64(left))
		}
		for _, f := range sc.Fans {
			if d := sc.plan.nodes[f.Source].parallel.BranchTimeout; d > 0 {
				due = earlierMoment(due, s.Now+int64(d-time.Duration(s.Active-f.Began)))
			}
		}
	}
	for _, u := range activeUnits(s.Scopes...) {
		due = earlierMoment(due, u.Ends)
	}
	return due
}

// earlierMoment returns the earlier of two moments. 0 means none.
func earlierMoment(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Partial returns the output so far of interrupted nodes, by node, or nil.
func (s *State) Partial() map[string]any {
	var out map[string]any
	for node, value := range s.root().Partial { //lint:ignore mapiter the result is a map
		out = setEntry(out, s.plan.nodes[node].id, value)
	}
	return out
}

// ReasonOf returns the reason of the last visit of a node of the outermost graph, or "".
func (s *State) ReasonOf(node string) string {
	if n := s.plan.Graph.Node(node); n != nil {
		return s.root().Reasons[n.Index]
	}
	return ""
}

// IdleTime returns how long the run has been paused, ended or without a driver.
func (s *State) IdleTime() time.Duration {
	return max(0, time.Duration(s.Now-s.Began-s.Active))
}

// MayRun reports whether a node of the outermost graph runs or may still be reached.
func (s *State) MayRun(id string) bool {
	n := s.plan.Graph.Node(id)
	if n == nil || s.Status == Completed {
		return false
	}
	return slices.ContainsFunc(s.root().Tasks, func(t *Task) bool {
		isAnswered := slices.ContainsFunc(t.Units, func(u *Unit) bool { return u.State == asking && u.isAnswered() })
		return t.Node == n.Index && !isAnswered || t.scope.canReach(t.Node, n.Index, noNode)
	})
}

// ValueLimit bounds the size of values from a task, in bytes.
type ValueLimit int

// ValueLimit returns the limit for the values of a task.
func (s *State) ValueLimit(task TaskID) ValueLimit {
	return ValueLimit(s.ScopesAround(task)[0].maxBytes)
}

// Check returns a failure that names a value if it is too large, or nil.
func (l ValueLimit) Check(v any, name string) *Failure {
	if measureValue(v) <= int(l) {
		return nil
	}
	return sizeFailure(name, int(l))
}

// ScopesAround returns the scopes that a task is in, innermost first.
func (s *State) ScopesAround(task TaskID) []*Scope {
	t := s.findTask(task.Task)
	if t == nil {
		return s.Scopes[:1]
	}
	var out []*Scope
	t.scope.visitEnclosing(func(sc *Scope) { out = append(out, sc) })
	return out
}

// Place returns the position of a task. It returns false if the task has ended.
func (s *State) Place(task TaskID) (Place, bool) {
	if t := s.findTask(task.Task); t != nil {
		return t.place(), true
	}
	return Place{}, false
}

// RootSteps returns how many steps of the outermost graph have ended.
func (s *State) RootSteps() int { return s.root().Count }
