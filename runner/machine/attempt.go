// Attempts of tasks and of their elements (§4).

package machine

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
)

// UnitState is the state of a unit.
type UnitState int

// The states of a unit.
const (
	queued  UnitState = iota // its attempt waits for max_concurrency
	running                  // its attempt runs
	waiting                  // a wait node waits
	delayed                  // it waits for the next attempt
	asking                   // it waits for answers
	ended
)

// Unit is one piece of work of a task: the whole task, or one element of its `each`.
type Unit struct {
	Element int       `json:"element,omitempty"` // from 1; 0 if the task has no elements
	State   UnitState `json:"state"`
	Attempt int       `json:"attempt"`
	// Round counts how often the attempt was interrupted and answered.
	Round int `json:"round,omitempty"`
	// Tried counts failures by block of a retry list.
	Tried []int `json:"tried,omitempty"`
	// Until is when a delay or a wait ends, Ends is when the attempt times out.
	Until int64 `json:"until,omitempty"`
	Ends  int64 `json:"ends,omitempty"`
	// Questions are the questions of the attempt to people.
	Questions []*UnitQuestion `json:"questions,omitempty"`
	// Notes are the attempt's notes; Calls counts its model calls.
	Notes []any      `json:"notes,omitempty"`
	Calls callCounts `json:"calls,omitzero"`
	// Called are the graphs that the attempt runs or has called.
	Called []*Called `json:"called,omitempty"`
	// Begun means that an attempt has started, CutOff that another unit or branch ended it.
	Begun  bool `json:"begun,omitempty"`
	CutOff bool `json:"cut_off,omitempty"`
	// Cause is the failure of a cancelled attempt that still runs.
	Cause *Failure `json:"cause,omitempty"`

	Output  any        `json:"output,omitempty"`
	Failure *Failure   `json:"failure,omitempty"`
	Writes  []Write    `json:"writes,omitempty"`
	Talk    *TalkDelta `json:"talk,omitempty"`
	// Late is a success that arrived after the run's end. A resume uses it instead of a new attempt.
	Late *Event `json:"late,omitempty"`
}

func (t *Task) attemptID(u *Unit) TaskID {
	return TaskID{Task: t.ID, Element: u.Element, Attempt: u.Attempt}
}

// findUnit returns the unit of an attempt that has not ended, or nil. t may be nil.
func (t *Task) findUnit(id TaskID) *Unit {
	if t == nil {
		return nil
	}
	return findFirst(t.Units, func(u *Unit) bool {
		return u.Element == id.Element && u.Attempt == id.Attempt && u.State != ended
	})
}

// findFirst returns the first element that matches, or nil.
func findFirst[T any](list []*T, matches func(*T) bool) *T {
	for _, one := range list {
		if matches(one) {
			return one
		}
	}
	return nil
}

func (t *Task) sendToDriver(u *Unit, n *node, config, env map[string]any) {
	work, failure := t.newWork(u, n, config, env)
	if failure != nil {
		t.endAttempt(u, nil, failure)
		return
	}
	s := t.scope.state
	t.countRunning(n, 1)
	s.addCommand(Command{Kind: RunTask, Task: t.attemptID(u), Work: work})
	t.startTimeout(u, work.Timeout)
}

// countRunning adds change to the running attempts of all enclosing scopes, for max_concurrency.
func (t *Task) countRunning(n *node, change int) {
	if n.countsForConcurrency() {
		t.scope.visitEnclosing(func(one *Scope) { one.running += change })
	}
}

func (t *Task) startTimeout(u *Unit, timeout time.Duration) {
	if timeout == 0 {
		return
	}
	s := t.scope.state
	u.Ends = cmp.Or(u.Ends, s.Now+int64(timeout))
	s.addCommand(Command{Kind: StartTimer, Timer: TaskTimer, Task: t.attemptID(u), For: s.timeUntil(u.Ends)})
}

// timeUntil returns the time from now until a moment, negative if it has passed.
func (s *State) timeUntil(moment int64) time.Duration { return time.Duration(moment - s.Now) }

func (t *Task) newWork(u *Unit, n *node, config, env map[string]any) (*Work, *Failure) {
	work := &Work{
		Place: t.place(), Kind: n.kind, Graph: t.scope.plan, Key: t.idempotencyKey(u.Element - 1), Index: u.Element - 1,
		Config: config, Input: t.input(), State: t.view().readableState(n), Timeout: t.timeout(n), Talk: t.newTalk(n),
		Turns: u.Calls.Earlier, Log: u.Notes, Answers: u.answers(), Round: u.Round,
	}
	if u.Element > 0 {
		work.Item = t.Each.Items[u.Element-1]
	}
	if n.cache != nil {
		if failure := t.setCacheKey(n, work, env); failure != nil {
			return nil, failure
		}
	}
	return work, nil
}

// timeout returns the timeout of an attempt, or 0 if it has none.
func (t *Task) timeout(n *node) time.Duration {
	return cmp.Or(n.decl.Timeout, t.scope.plan.Graph.Limits.NodeTimeout)
}

// recordNote stores a note of a running attempt or of a decision.
func (s *State) recordNote(t *Task, e *Event) {
	s.addUsage(t, e)
	u := t.findUnit(e.Task)
	switch {
	case t == nil || e.Output == nil:
	case t.Deciding:
		t.Notes = append(t.Notes, e.Output)
	case u != nil:
		u.Notes = append(u.Notes, e.Output)
	}
}

// handleTaskEnd handles the result of an attempt.
func (s *State) handleTaskEnd(t *Task, e *Event) {
	if s.removeStopped(e) {
		t = s.root().findKeptTask(e.Task.Task)
		if t == nil || t.gone || e.Failure != nil || len(e.Asks) > 0 {
			return
		}
		if u := t.findUnit(e.Task); u != nil && u.State == queued { // a resume would run it again
			u.Late = e
		}
		return
	}
	u := t.findUnit(e.Task)
	if u == nil || u.State != running || u.runsGraph() {
		return
	}
	sc := t.scope
	t.countRunning(&sc.plan.nodes[t.Node], -1)
	sc.savePartial(t.Node, e)
	failure := e.Failure
	switch {
	case u.Cause != nil:
		cause := *u.Cause
		if e.Failure != nil {
			cause.Details = e.Failure.Details
		}
		failure = &cause
	case failure != nil:
		own := *failure
		failure = &own
	case len(e.Asks) > 0 && t.Final:
		failure = &Failure{Kind: "invalid_input", Message: "a node of finally can't wait for a person's answer"}
	case len(e.Asks) > 0:
		t.openAsks(u, e.Asks)
		return
	}
	u.Talk = t.eventDelta(e)
	t.Cached = e.Cached
	t.endAttempt(u, e.Output, failure)
}

// savePartial stores the partial output and the reason of an attempt.
func (sc *Scope) savePartial(node int, e *Event) {
	if e.Partial != nil {
		sc.Partial = setEntry(sc.Partial, node, e.Partial)
	}
	if e.Reason != "" {
		sc.Reasons = setEntry(sc.Reasons, node, e.Reason)
	} else {
		delete(sc.Reasons, node)
	}
}

// removeStopped removes a cancelled attempt that has ended, and reports whether there was one.
func (s *State) removeStopped(e *Event) bool {
	i := slices.IndexFunc(s.Stopping, func(st Stopping) bool { return st.Task == e.Task })
	if i < 0 {
		return false
	}
	if sc := s.byID[s.Stopping[i].Scope]; sc != nil {
		sc.savePartial(s.Stopping[i].At, e)
	}
	s.Stopping = slices.Delete(s.Stopping, i, i+1)
	return true
}

// endAttempt checks an attempt's output, then starts the next attempt or ends the unit.
func (t *Task) endAttempt(u *Unit, output any, failure *Failure) {
	s, n := t.scope.state, t.node()
	t.stopTimeout(u)
	u.Until, u.Cause, u.Questions = 0, nil, nil
	u.Called = slices.DeleteFunc(u.Called, func(c *Called) bool { return c.Call > 0 })
	if failure == nil {
		output, u.Writes, failure = t.checkResult(u, n, output, u.Writes)
	}
	if failure != nil {
		failure.Node, failure.Attempt = n.id, u.Attempt
		if delay, note, again := t.retryDelay(u, n, failure); again && !t.Late {
			t.addNote(&Note{Kind: NoteNodeRetrying, Failure: failure, Retry: &note})
			u.Calls.startAttempt()
			u.Attempt++
			u.State, u.Until, u.Notes, u.Called = delayed, s.Now+int64(delay), nil, nil
			s.addCommand(Command{Kind: StartTimer, Timer: RetryTimer, Task: t.attemptID(u), For: delay})
			return
		}
		output, u.Writes, u.Talk = nil, nil, nil
		if t.Each != nil {
			own := *failure
			own.Message = "element " + strconv.Itoa(u.Element-1) + ": " + failure.Message + " (item " + previewValue(t.Each.Items[u.Element-1], 60) + ")"
			failure = &own
		}
	}
	u.State, u.Output, u.Failure, u.Notes = ended, output, failure, nil
	if t.Each != nil {
		t.endElement(u)
		return
	}
	t.Output, t.Failure, t.Writes = u.Output, u.Failure, u.Writes
	t.finishStep()
}

// checkResult validates an attempt's output, writes and goto. u is nil for steps without units.
func (t *Task) checkResult(u *Unit, n *node, output any, writes []Write) (any, []Write, *Failure) {
	if n.schema != nil {
		var err error
		if output, err = n.schema.Accept(output); err != nil {
			return nil, nil, &Failure{Kind: "invalid_output", Message: "output does not fit its schema: " + err.Error()}
		}
	}
	size := 0
	if !n.lazy {
		size, _ = eval.Size(output, t.scope.maxBytes)
	} else if len(writes) > 1 { // a single write is as large as the output
		for i := range writes {
			size += measureValue(writes[i].Update)
		}
	}
	if size > t.scope.maxBytes {
		return nil, nil, sizeFailure("the output", t.scope.maxBytes)
	}
	if e := t.Each; e != nil {
		if e.Size+size > t.scope.maxBytes {
			return nil, nil, sizeFailure("the list of the outputs of the elements", t.scope.maxBytes)
		}
		e.Size += size
		return output, writes, nil
	}
	writes, failure := t.checkStep(n, output, writes)
	return output, writes, failure
}

// checkStep checks the writes and the goto of a whole step. It returns all writes.
func (t *Task) checkStep(n *node, output any, writes []Write) (_ []Write, failure *Failure) {
	t.Output = output
	if n.act != actSet && (len(n.writeKeys) > 0 || len(n.writes) > 0) {
		writes, failure = t.collectWrites(n, output)
	}
	if failure == nil {
		_, _, failure = t.evalTargets(n, output, writes)
	}
	if failure == nil && len(n.bound.Emit) > 0 {
		values, err := bind.EvalFields(n.bound.Emit, &t.scope.state.vm, t.nodeContext(n))
		if err != nil {
			failure = expressionFailure("emit: ", err)
		} else {
			t.addNote(&Note{Kind: NoteNodeEmitted, Output: values})
		}
	}
	if failure != nil {
		t.Output = nil
		return nil, failure
	}
	return writes, nil
}

func (t *Task) startWait(u *Unit, n *node, config map[string]any) {
	s := t.scope.state
	delay, failure := waitDuration(config, s.Now)
	if failure != nil {
		t.endAttempt(u, nil, failure)
		return
	}
	if n.decl.Timeout > 0 && delay > n.decl.Timeout { // limits.node_timeout bounds work, not waits
		delay = n.decl.Timeout
		u.Cause = &Failure{Kind: "timeout", Message: "attempt took longer than its timeout of " + eval.DurationText(n.decl.Timeout)}
	}
	u.State, u.Until = waiting, s.Now+int64(delay)
	s.addCommand(Command{Kind: StartTimer, Timer: WaitTimer, Task: t.attemptID(u), For: delay})
}

// waitDuration returns how long a wait node waits. It is 0 for a time in the past.
func waitDuration(config map[string]any, now int64) (time.Duration, *Failure) {
	if given, ok := config["for"]; ok {
		return parseWait(given)
	}
	text, ok := config["until"].(string)
	until, err := time.Parse(time.RFC3339, text)
	if !ok || err != nil {
		return 0, &Failure{Kind: "invalid_input", Message: "until: " + previewValue(config["until"], 60) +
			` is not an RFC 3339 time such as "2030-01-31T12:00:00Z"`}
	}
	return max(0, until.Sub(time.Unix(0, now))), nil
}

// maxWait is the longest wait, 146 years.
const maxWait = 1 << 62

// parseWait reads a duration as text or as a number of seconds.
func parseWait(given any) (time.Duration, *Failure) {
	wrong := &Failure{Kind: "invalid_input", Message: "for: " + previewValue(given, 60) +
		` is neither a duration such as "10s" nor a number of seconds`}
	if text, ok := given.(string); ok {
		delay, err := time.ParseDuration(text)
		if err != nil || delay < 0 {
			return 0, wrong
		}
		return delay, nil
	}
	seconds, ok := eval.Number(given)
	if !ok || seconds < 0 {
		return 0, wrong
	}
	return time.Duration(min(seconds*float64(time.Second), maxWait)), nil
}

// stopUnit cancels a unit. A cancelled unit writes nothing.
func (t *Task) stopUnit(u *Unit) {
	sc := t.scope
	s := sc.state
	id := t.attemptID(u)
	switch u.State {
	case running:
		if u.runsGraph() {
			break
		}
		t.countRunning(&sc.plan.nodes[t.Node], -1)
		place := t.place()
		s.Stopping = append(s.Stopping, Stopping{Task: id, Node: place.Path(), Scope: sc.ID, At: t.Node})
		s.addCommand(Command{Kind: CancelTask, Task: id})
	case waiting:
		s.addCommand(Command{Kind: StopTimer, Timer: WaitTimer, Task: id})
	case delayed:
		s.addCommand(Command{Kind: StopTimer, Timer: RetryTimer, Task: id})
	case asking:
		t.closeQuestions(u)
	}
	for _, c := range u.Called {
		if inner := s.byID[c.Scope]; inner != nil {
			inner.discardScope()
		}
	}
	u.Called = nil
	t.stopTimeout(u)
	if u.State != ended {
		u.State, u.CutOff = ended, true
	}
}

// discardScope stops and removes a scope whose result is not needed.
func (sc *Scope) discardScope() {
	for t, u := range activeUnits(sc) {
		t.stopUnit(u)
	}
	sc.suspended = true
	sc.state.removeScope(sc)
}
