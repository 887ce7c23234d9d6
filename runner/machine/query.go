// Queries of drivers and readers.

package machine

import (
	"slices"
	"time"
)

// Active is an execution that has begun and not ended.
type Active struct {
	Place
	Task TaskID
	Kind string // of the node
	// Began is when it began, as Unix nanoseconds.
	Began   int64
	Finally bool
	// Doing is "running", "retrying" (between attempts), "waiting" (for time to pass),
	// "asking" (people) or "queued" (for room).
	Doing string
}

// Current returns the executions that have begun and not ended, in path order, those of a
// subgraph behind the node that runs it.
func (s *State) Current() []Active {
	var all []*Task
	for _, sc := range s.Scopes {
		for _, t := range sc.activeTasks() {
			if t.Begun && (!t.Done || t.Deciding) {
				all = append(all, t)
			}
		}
	}
	slices.SortStableFunc(all, (*Task).compare)
	out := make([]Active, len(all))
	for i, t := range all {
		out[i] = Active{
			Place: t.place(), Task: TaskID{Task: t.ID, Attempt: t.attempt()}, Kind: t.scope.plan.nodes[t.Node].kind,
			Began: t.At, Finally: t.Final, Doing: t.doing(),
		}
	}
	return out
}

// doing names what the busiest unit of a task does.
func (t *Task) doing() string {
	names := []string{"running", "retrying", "waiting", "asking", "queued"}
	busiest := len(names) - 1
	for _, u := range t.Units {
		switch u.State {
		case running:
			busiest = 0
		case delayed:
			busiest = min(busiest, 1)
		case waiting:
			busiest = min(busiest, 2)
		case asking:
			busiest = min(busiest, 3)
		}
	}
	if t.Deciding {
		busiest = 0
	}
	return names[busiest]
}

// Attempts returns the attempts that the driver runs.
func (s *State) Attempts() []TaskID {
	var out []TaskID
	for _, sc := range s.Scopes {
		for _, t := range sc.activeTasks() {
			for _, u := range t.Units {
				if u.State == running && u.Scope == 0 {
					out = append(out, t.id(u))
				}
			}
		}
	}
	return out
}

// InFinally reports whether the end of the run is decided and the nodes of finally run.
func (s *State) InFinally() bool { return !s.Ended() && len(s.Scopes) > 0 && s.root().End != nil }

// MaxSteps returns the step limit of the run.
func (s *State) MaxSteps() int {
	if len(s.Scopes) == 0 {
		return s.plan.Graph.Limits.MaxSteps
	}
	return s.root().limits.MaxSteps
}

// MaxStateBytes returns the limit of the state and of each value that enters the run.
func (s *State) MaxStateBytes() int {
	if len(s.Scopes) == 0 {
		return DefaultStateBytes
	}
	return s.root().maxBytes
}

// Steps returns how many steps have ended, those of subgraphs included.
func (s *State) Steps() int { return s.Done }

// Due returns the first moment at which something that waits goes on by itself: a wait,
// a retry, a question without an answer; Unix nanoseconds, 0: nothing does.
func (s *State) Due() int64 {
	due := int64(0)
	s.eachMoment(func(at int64) { due = earlier(due, at) })
	if s.Parked && due > 0 {
		due = s.untilLimit(due)
	}
	return due
}

// WaitsUntil returns when a run goes on that only waits for time to pass, or when a limit
// of its time is over before; 0: it does something else.
func (s *State) WaitsUntil() int64 {
	if s.Status != Running || len(s.Stopping) > 0 {
		return 0
	}
	for _, sc := range s.Scopes {
		for _, t := range sc.activeTasks() {
			if t.Deciding || !t.Begun {
				return 0
			}
			for _, u := range t.Units {
				if u.State == running && u.Scope == 0 && !u.hasOpenCall() || u.State == queued {
					return 0
				}
			}
		}
	}
	due := s.Due()
	if due == 0 {
		return 0
	}
	return s.untilLimit(due)
}

// untilLimit returns a moment, or when a limit of time is over that ends before.
func (s *State) untilLimit(due int64) int64 {
	for _, sc := range s.Scopes {
		if left, ok := sc.timeLeft(); ok {
			due = earlier(due, s.Now+int64(left))
		}
		for _, f := range sc.Fans {
			if d := sc.plan.branchTimeout(f.Source); d > 0 {
				due = earlier(due, s.Now+int64(d-time.Duration(s.Active-f.Began)))
			}
		}
		for _, t := range sc.activeTasks() {
			for _, u := range t.Units {
				due = earlier(due, u.Ends)
			}
		}
	}
	return due
}

// earlier returns the earlier of two moments, 0 being none.
func earlier(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// eachMoment calls do for each moment that something waits for.
func (s *State) eachMoment(do func(at int64)) {
	for _, sc := range s.Scopes {
		for _, t := range sc.activeTasks() {
			for _, u := range t.Units {
				switch u.State {
				case waiting, delayed:
					do(u.Until)
				case asking:
					for i := range u.Questions {
						if q := &u.Questions[i]; !q.Settled {
							do(q.Until)
							do(q.Remind)
						}
					}
				}
			}
		}
	}
}

// Finals returns the results of the finally nodes so far, in the order in which they ran.
func (s *State) Finals() []FinallyEnd {
	if len(s.Scopes) == 0 {
		return nil
	}
	return s.root().Finals
}

// Partial returns what interrupted nodes had produced, by node; nil: nothing.
func (s *State) Partial() map[string]any {
	if len(s.Scopes) == 0 || len(s.root().Partial) == 0 {
		return nil
	}
	out := map[string]any{}
	for node, value := range s.root().Partial { //lint:ignore mapiter a map is made of a map
		out[s.plan.nodes[node].id] = value
	}
	return out
}

// ReasonOf returns why a node of the outermost graph ended as it did in its last visit; "":
// it did not say.
func (s *State) ReasonOf(node string) string {
	if n := s.plan.Graph.Node(node); n != nil && len(s.Scopes) > 0 {
		return s.root().Reasons[n.Index]
	}
	return ""
}

// Undriven returns how long the run was paused, ended or without a driver since it began.
func (s *State) Undriven() time.Duration {
	return max(0, time.Duration(s.Now-s.Began-s.Active))
}

// MayRun reports whether a node of the outermost graph runs, or may still be reached.
func (s *State) MayRun(id string) bool {
	n := s.plan.Graph.Node(id)
	if n == nil || s.Status == Completed {
		return false
	}
	seen := make([]bool, len(s.plan.nodes))
	var reach func(node int) bool
	reach = func(node int) bool {
		if node < 0 || seen[node] {
			return false
		}
		seen[node] = true
		return node == n.Index || slices.ContainsFunc(s.plan.nodes[node].targets, reach)
	}
	return slices.ContainsFunc(s.root().Tasks, func(t *Task) bool {
		if slices.ContainsFunc(t.Units, func(u *Unit) bool { return u.State == asking && u.hasAnswers() }) {
			return slices.ContainsFunc(s.plan.nodes[t.Node].targets, reach) // it only waits for a resume
		}
		return reach(t.Node)
	})
}

// ValueLimit checks values that a task brings into the run. Any goroutine may use it.
type ValueLimit struct{ bytes int }

// ValueLimit returns the limit for the values of a task.
func (s *State) ValueLimit(task TaskID) ValueLimit {
	if t := s.task(task.Task); t != nil {
		return ValueLimit{t.scope.maxBytes}
	}
	return ValueLimit{s.MaxStateBytes()}
}

// Check returns the failure of a value that is too large, what says which; nil: it fits.
func (l ValueLimit) Check(v any, what string) *Failure {
	if sizeOf(v) <= l.bytes {
		return nil
	}
	return &Failure{Kind: "limit", Message: tooLarge(what, l.bytes)}
}

// ScopesAround returns the scopes that a task is in, innermost first.
func (s *State) ScopesAround(task TaskID) []*Scope {
	t := s.task(task.Task)
	if t == nil {
		return s.Scopes[:1]
	}
	var out []*Scope
	t.scope.eachEnclosing(func(sc *Scope) { out = append(out, sc) })
	return out
}

// Place returns where a task stands; false: it is gone.
func (s *State) Place(task TaskID) (Place, bool) {
	if t := s.task(task.Task); t != nil {
		return t.place(), true
	}
	return Place{}, false
}

// Count returns how many steps of the outermost graph have ended.
func (s *State) Count() int {
	if len(s.Scopes) == 0 {
		return 0
	}
	return s.root().Count
}

// Value returns what a state key of the outermost graph holds while no branches are open;
// false: it has no value, or branches may differ.
func (s *State) Value(name string) (any, bool) {
	root := s.root()
	key, known := root.plan.keyOf[name]
	if !known || len(root.Fans) > 0 || root.Views[0].Vals[key] == absent {
		return nil, false
	}
	return root.Views[0].Vals[key], true
}

// Visits returns how often a node of the outermost graph has run while no branches are
// open; false: branches may differ.
func (s *State) Visits(node int) (int, bool) {
	root := s.root()
	if len(root.Fans) > 0 {
		return 0, false
	}
	return root.Views[0].visitsOf(node), true
}

// Live returns how many branches of the outermost graph have not ended.
func (s *State) Live() int {
	if len(s.Scopes) == 0 {
		return 0
	}
	return len(s.root().Tasks)
}

// Branching reports whether branches of the outermost graph are open.
func (s *State) Branching() bool { return len(s.root().Fans) > 0 }
