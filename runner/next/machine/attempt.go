// Attempts: how a task, or an element of it, is tried, and what comes of it (§4).

package machine

import (
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
)

// UnitState is how a unit stands.
type UnitState int

// The states of a unit.
const (
	queued  UnitState = iota // its attempt waits for room
	running                  // its attempt runs
	waiting                  // a wait node waits
	delayed                  // until the next attempt
	asking                   // until all questions are answered
	ended
)

// Unit is what is tried: a task without elements, or one of its elements.
type Unit struct {
	Element int       `json:"element,omitempty"` // from 1; 0: the task has none
	State   UnitState `json:"state"`
	Attempt int       `json:"attempt"`
	// Round counts how often the attempt was interrupted and answered.
	Round int `json:"round,omitempty"`
	// Tried counts failures by block of a retry list.
	Tried []int `json:"tried,omitempty"`
	// Until is when a delay or a wait ends, Ends when the attempt's timeout does.
	Until int64 `json:"until,omitempty"`
	Ends  int64 `json:"ends,omitempty"`
	// Questions are what the attempt has asked people.
	Questions []Asked `json:"questions,omitempty"`
	// Notes is what the attempt has noted, Calls counts its calls of models.
	Notes []any       `json:"notes,omitempty"`
	Calls *callCounts `json:"calls,omitempty"`
	// Scope is the number of the scope that a graph node runs; Kept is one that was cut
	// off or failed, to go on with. Called are the graphs that the attempt has called.
	Scope  int       `json:"scope,omitempty"`
	Kept   *Scope    `json:"kept,omitempty"`
	Called []*Called `json:"called,omitempty"`
	// Begun says that an attempt has started; CutOff that others of its step ended it.
	Begun  bool `json:"begun,omitempty"`
	CutOff bool `json:"cut_off,omitempty"`
	// Cause is what a running attempt fails with when it has ended.
	Cause *Failure `json:"cause,omitempty"`

	Output  any        `json:"output,omitempty"`
	Failure *Failure   `json:"failure,omitempty"`
	Writes  []Write    `json:"writes,omitempty"`
	Talk    *TalkDelta `json:"talk,omitempty"`
}

// atWork reports whether the unit is under way.
func (u *Unit) atWork() bool {
	return u.State == running || u.State == waiting || u.State == delayed || u.State == asking
}

// id names the attempt that a unit is in.
func (t *Task) id(u *Unit) TaskID { return TaskID{Task: t.ID, Element: u.Element, Attempt: u.Attempt} }

// unit is the unit of an attempt; nil: it is not under way.
func (t *Task) unit(id TaskID) *Unit {
	for _, u := range t.Units {
		if u.Element == id.Element && u.Attempt == id.Attempt && u.State != ended {
			return u
		}
	}
	return nil
}

// handOver gives an attempt to the driver.
func (t *Task) handOver(u *Unit, n *node, env map[string]any) {
	work, failure := t.work(u, n, env)
	if failure != nil {
		t.endAttempt(u, nil, failure)
		return
	}
	s := t.scope.state
	t.scope.around(func(one *Scope) { one.running++ })
	s.command(Command{Kind: RunTask, Task: t.id(u), Work: work})
	t.startTimeout(u, work.Timeout)
}

func (t *Task) startTimeout(u *Unit, timeout time.Duration) {
	if timeout == 0 {
		return
	}
	s := t.scope.state
	if u.Ends == 0 {
		u.Ends = s.Now + int64(timeout)
	}
	s.command(Command{Kind: StartTimer, Timer: TaskTimer, Task: t.id(u), For: s.until(u.Ends)})
}

// until is how long from now until a moment; none when it has passed.
func (s *State) until(moment int64) time.Duration { return time.Duration(max(0, moment-s.Now)) }

// work is what the driver needs to run an attempt.
func (t *Task) work(u *Unit, n *node, env map[string]any) (*Work, *Failure) {
	sc := t.scope
	config, err := bind.EvalFields(n.config, &sc.state.vm, env)
	if err != nil {
		return nil, &Failure{Kind: "expression", Message: err.Error()}
	}
	work := &Work{
		Place: t.place(), Kind: n.kind, Graph: sc.plan, Step: t.Step, Key: t.key(u.Element - 1), Index: u.Element - 1,
		Config: config, Input: t.input(), State: t.view().readable(n), Timeout: t.timeout(n), Talk: t.talk(n),
		Turns: u.earlierTurns(), Log: u.Notes, Answers: u.answers(), Round: u.Round,
	}
	if u.Element > 0 {
		work.Item, work.Elements = t.Each.Items[u.Element-1], len(t.Each.Items)
	}
	if n.cache != nil {
		if failure := t.cacheKey(n, work, env); failure != nil {
			return nil, failure
		}
	}
	return work, nil
}

// timeout is that of an attempt; 0: none.
func (t *Task) timeout(n *node) time.Duration {
	if n.timeout > 0 {
		return n.timeout
	}
	return t.scope.plan.Graph.Limits.NodeTimeout
}

// noted keeps what a running attempt, or a decision, has noted.
func (s *State) noted(t *Task, e *Event) {
	s.spend(t, e)
	if t == nil {
		return
	}
	notes := &t.Notes
	if !t.Deciding {
		u := t.unit(e.Task)
		if u == nil {
			return
		}
		notes = &u.Notes
	}
	if e.Anew {
		*notes = nil
	}
	if e.Output != nil {
		*notes = append(*notes, e.Output)
	}
}

// taskEnded takes what the driver says an attempt came to.
func (s *State) taskEnded(t *Task, e *Event) {
	if i := slices.IndexFunc(s.Stopping, func(st Stopping) bool { return st.Task == e.Task }); i >= 0 {
		s.stopped(i, e)
		return
	}
	if t == nil {
		return
	}
	u := t.unit(e.Task)
	if u == nil || u.State != running || u.Scope != 0 {
		return
	}
	sc := t.scope
	sc.around(func(one *Scope) { one.running-- })
	sc.keepPartial(t.Node, e)
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
		t.ask(u, e.Asks)
		return
	}
	u.Talk = t.talkOf(e)
	t.Cached = e.Cached
	t.endAttempt(u, e.Output, failure)
}

// keepPartial keeps what an attempt had produced, and why it ended as it did.
func (sc *Scope) keepPartial(node int, e *Event) {
	if e.Partial != nil {
		if sc.Partial == nil {
			sc.Partial = map[int]any{}
		}
		sc.Partial[node] = e.Partial
	}
	if _, had := sc.Reasons[node]; e.Reason != "" || had {
		if sc.Reasons == nil {
			sc.Reasons = map[int]string{}
		}
		sc.Reasons[node] = e.Reason
		if e.Reason == "" {
			delete(sc.Reasons, node)
		}
	}
}

// stopped takes the end of an attempt that was told to stop.
func (s *State) stopped(i int, e *Event) {
	st := s.Stopping[i]
	s.Stopping = slices.Delete(s.Stopping, i, i+1)
	if sc := s.byID[st.Scope]; sc != nil {
		sc.keepPartial(st.At, e)
	}
}

// endAttempt ends an attempt: the output is checked, then another attempt follows, or the
// unit has ended.
func (t *Task) endAttempt(u *Unit, output any, failure *Failure) {
	s, n := t.scope.state, &t.scope.plan.nodes[t.Node]
	if u.Ends > 0 {
		s.command(Command{Kind: StopTimer, Timer: TaskTimer, Task: t.id(u)})
	}
	u.Until, u.Ends, u.Cause, u.Questions, u.Called = 0, 0, nil, nil, nil
	if failure == nil {
		output, failure = t.check(u, n, output)
	}
	if failure != nil {
		failure.Node, failure.Attempt = n.id, u.Attempt
		if delay, note, again := t.retryDelay(u, n, failure); again && !t.Late {
			t.noteRetry(failure, note)
			u.newTurns()
			u.Attempt++
			u.State, u.Until, u.Notes, u.Kept = delayed, s.Now+int64(delay), nil, nil
			s.command(Command{Kind: StartTimer, Timer: RetryTimer, Task: t.id(u), For: delay})
			return
		}
		output, u.Writes, u.Talk = nil, nil, nil
	}
	u.State, u.Output, u.Failure, u.Notes = ended, output, failure, nil
	if t.Each != nil {
		t.endElement(u)
		return
	}
	t.Output, t.Failure, t.Writes = u.Output, u.Failure, u.Writes
	t.finish()
}

// check validates an output: its schema, what it writes, where it says to go.
func (t *Task) check(u *Unit, n *node, output any) (any, *Failure) {
	if n.schema != nil {
		output = n.schema.Normalise(output)
		if err := n.schema.Check(output); err != nil {
			return nil, &Failure{Kind: "invalid_output", Message: "output does not fit its schema: " + err.Error()}
		}
	}
	if _, fits := eval.Size(output, t.scope.stateBytes()); !fits {
		return nil, t.scope.tooLarge("the output")
	}
	if u.Element > 0 {
		return output, nil
	}
	return output, t.checkStep(n, output, &u.Writes)
}

// checkStep checks what the output of a whole step leads to.
func (t *Task) checkStep(n *node, output any, writes *[]Write) (failure *Failure) {
	t.Output = output
	defer func() {
		if failure != nil {
			t.Output = nil
		}
	}()
	if n.act != actSet && (len(n.writeKeys) > 0 || len(n.writes) > 0) {
		if *writes, failure = t.collectWrites(n, output); failure != nil {
			return failure
		}
	}
	if _, _, failure = t.gotos(n, output, *writes); failure != nil {
		return failure
	}
	if len(n.emit) > 0 {
		values, err := bind.EvalFields(n.emit, &t.scope.state.vm, t.own(n))
		if err != nil {
			return &Failure{Kind: "expression", Message: "emit: " + err.Error()}
		}
		t.noteEmitted(values)
	}
	return nil
}

// startWait starts the timer of a wait node.
func (t *Task) startWait(u *Unit, n *node, env map[string]any) {
	s := t.scope.state
	config, err := bind.EvalFields(n.config, &s.vm, env)
	if err != nil {
		t.endAttempt(u, nil, &Failure{Kind: "expression", Message: err.Error()})
		return
	}
	delay, failure := waitFor(config, s.Now)
	if failure != nil {
		t.endAttempt(u, nil, failure)
		return
	}
	if limit := t.timeout(n); limit > 0 && delay > limit {
		delay = limit
		u.Cause = &Failure{Kind: "timeout", Message: "attempt took longer than its timeout of " + eval.DurationText(limit)}
	}
	u.State, u.Until = waiting, s.Now+int64(delay)
	s.command(Command{Kind: StartTimer, Timer: WaitTimer, Task: t.id(u), For: delay})
}

// waited ends a wait.
func (t *Task) waited(u *Unit) {
	t.endAttempt(u, nil, u.Cause)
}

// waitFor is how long a wait node waits; a moment that has passed is no wait.
func waitFor(config map[string]any, now int64) (time.Duration, *Failure) {
	if given, ok := config["for"]; ok {
		return waitTime(given)
	}
	text, ok := config["until"].(string)
	until, err := time.Parse(time.RFC3339, text)
	if !ok || err != nil {
		return 0, &Failure{
			Kind:    "invalid_input",
			Message: "until: " + preview(config["until"], 60) + ` is not an RFC 3339 time such as "2030-01-31T12:00:00Z"`,
		}
	}
	return max(0, until.Sub(time.Unix(0, now))), nil
}

// maxWait is the longest wait, 146 years.
const maxWait = 1 << 62

// waitTime is a length of time: the text of a duration, or seconds.
func waitTime(given any) (time.Duration, *Failure) {
	wrong := &Failure{
		Kind:    "invalid_input",
		Message: "for: " + preview(given, 60) + ` is no duration such as "10s" and no number of seconds from 0 up`,
	}
	if text, ok := given.(string); ok {
		delay, err := time.ParseDuration(text)
		if err != nil || delay < 0 {
			return 0, wrong
		}
		return delay, nil
	}
	seconds, ok := number(given)
	if !ok || seconds < 0 {
		return 0, wrong
	}
	return time.Duration(min(seconds*float64(time.Second), maxWait)), nil
}

// stopTimers forgets the timers of a step that has ended.
func (t *Task) stopTimers() {
	if t.scope.limits.StepTimeout > 0 && t.Begun && !t.Final {
		t.scope.state.command(Command{Kind: StopTimer, Timer: StepTimer, Task: TaskID{Task: t.ID}})
	}
}

// stop ends a unit that is not wanted any more: it writes nothing.
func (t *Task) stop(u *Unit) {
	sc := t.scope
	s := sc.state
	id := t.id(u)
	switch u.State {
	case running:
		if u.Scope != 0 {
			if inner := s.scope(u.Scope); inner != nil {
				inner.discard()
			}
			u.Scope = 0
			break
		}
		sc.around(func(one *Scope) { one.running-- })
		place := t.place()
		s.Stopping = append(s.Stopping, Stopping{Task: id, Node: place.Path(), Scope: sc.ID, At: t.Node})
		s.command(Command{Kind: CancelTask, Task: id})
	case waiting:
		s.command(Command{Kind: StopTimer, Timer: WaitTimer, Task: id})
	case delayed:
		s.command(Command{Kind: StopTimer, Timer: RetryTimer, Task: id})
	case asking:
		t.closeQuestions(u)
	}
	for _, c := range u.Called {
		if inner := s.scope(c.Scope); inner != nil {
			inner.discard()
		}
	}
	if u.Ends > 0 {
		s.command(Command{Kind: StopTimer, Timer: TaskTimer, Task: id})
		u.Ends = 0
	}
	if u.State != ended {
		u.State, u.CutOff = ended, true
	}
}

// discard ends a scope whose result nobody wants.
func (sc *Scope) discard() {
	for _, t := range sc.atWork() {
		for _, u := range t.Units {
			t.stop(u)
		}
	}
	sc.suspended = true
	sc.state.remove(sc)
}
