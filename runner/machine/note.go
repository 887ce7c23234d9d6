// Notes: what observers of a run see. They follow from the events, are never read back, and
// are taken only for an observer.

package machine

import (
	"cmp"
	"slices"
)

// NoteKind says what a note reports. The zero value is unset.
type NoteKind uint8

// The kinds of notes.
const (
	NoteNodeStarted NoteKind = iota + 1
	NoteNodeRetrying
	NoteNodeCompleted
	NoteNodeFailed
	// NoteNodeEmitted brings the values of a node's emit; with a Failure, an element failed
	// and the others go on.
	NoteNodeEmitted
	// NoteElementEnded: an element of a node with each has ended for good.
	NoteElementEnded
	// NoteAsked: a question is asked for the first time.
	NoteAsked
	// NoteReminded: a question is still open.
	NoteReminded
	// NoteAnswered: a question was answered. By is "timeout" when nobody did in time.
	NoteAnswered
	// NoteJoinDropped: branches that wait at a join end, because others bypass it.
	NoteJoinDropped
	NoteEdgesResolved
	NoteStateUpdated
	// NoteBranchesStarted: a step fans out to Targets.
	NoteBranchesStarted
	// NoteBranchesJoined: branches meet at a node; Targets are the nodes that they come from.
	NoteBranchesJoined
)

// Note is one fact for observers of the run. Which fields are set depends on Kind.
type Note struct {
	Kind NoteKind
	Place
	Task     TaskID
	NodeKind string
	// Step is the number of a step that has ended, in the order of their ends; 0: it has
	// not, or is no step.
	Step  int
	Began int64
	// Again says that the step runs again: another attempt, or the same after a resume or an
	// answer (NoteNodeStarted).
	Again bool
	// Finally says that the node runs in finally.
	Finally bool
	// Cached and Skipped say how an execution completed.
	Cached, Skipped bool
	Output          any
	Failure         *Failure
	// Stopped says that the execution was cut off: the end of the run did so, or others.
	Stopped bool
	Retry   *RetryNote
	Element *ElementNote
	// Question is what is asked or was answered; Answer and By belong to NoteAnswered.
	Question *Question
	Answer   any
	By       string
	// Targets are the nodes that edges lead to; Candidates spell out every edge.
	Targets    []string
	Candidates []Candidate
	// Delta are the state keys that a step changed, with the values that its branch sees,
	// sorted by name.
	Delta []KeyValue
}

// ElementNote reports the end of an element (from 0) and the progress of the `each`.
type ElementNote struct {
	Index               int
	Item                any
	Done, Failed, Total int
}

// noteFan reports that branches begin.
func (sc *Scope) noteFan(t *Task, targets []target) {
	if n := sc.state.note(NoteBranchesStarted, t); n != nil {
		for _, to := range targets {
			n.Targets = append(n.Targets, sc.plan.targetName(to.to))
		}
	}
}

// noteJoined reports that branches meet, and what the keys hold that they wrote.
func (sc *Scope) noteJoined(t *Task, group []*Task, keys []int) {
	if n := sc.state.note(NoteBranchesJoined, t); n != nil {
		for _, m := range group {
			if m.From.Task != 0 {
				n.Targets = append(n.Targets, sc.plan.nodes[m.From.Node].id)
			}
		}
	}
	sc.state.noteUpdated(t, keys)
}

// NoteCount returns how many notes the last Apply took, or would have taken if the run
// was watched.
func (s *State) NoteCount() int { return s.noted }

// Notes returns the notes of the last Apply. The slice is valid until the next Apply.
func (s *State) Notes() []Note { return s.notes }

// Confided returns the values that nodes wrote to secret keys in the last Apply,
// including invalid ones. It is valid until the next Apply.
func (s *State) Confided() []any { return s.confided }

// note appends a note about a task for the caller to fill. Without an observer it returns
// nil, except for what a node emits: a driver warns of failed elements in any case.
func (s *State) note(kind NoteKind, t *Task) *Note {
	s.noted++
	if !s.Watched && kind != NoteNodeEmitted {
		return nil
	}
	s.notes = append(s.notes, Note{
		Kind: kind, Place: t.place(), Task: TaskID{Task: t.ID, Attempt: t.attempt()}, NodeKind: t.scope.plan.nodes[t.Node].kind,
		Step: t.Number, Began: t.At, Finally: t.Final,
	})
	return &s.notes[len(s.notes)-1]
}

// noteEnd reports the end of a step.
func (t *Task) noteEnd() {
	s := t.scope.state
	if t.Failure != nil {
		if n := s.note(NoteNodeFailed, t); n != nil {
			n.Failure = t.Failure
		}
		return
	}
	if n := s.note(NoteNodeCompleted, t); n != nil {
		n.Output, n.Cached, n.Skipped = t.Output, t.Cached, t.Skipped
	}
}

// noteAgain reports that a step runs again.
func (t *Task) noteAgain() {
	t.Stopped = false
	if n := t.scope.state.note(NoteNodeStarted, t); n != nil {
		n.Again = true
	}
}

// noteStopped reports that a step was cut off.
func (t *Task) noteStopped(why string) {
	t.Stopped = true
	if n := t.scope.state.note(NoteNodeFailed, t); n != nil {
		n.Stopped = true
		n.Failure = &Failure{Kind: "cancelled", Message: why, Node: n.Node, Attempt: n.Task.Attempt}
	}
}

func (t *Task) noteEmitted(values map[string]any) {
	if n := t.scope.state.note(NoteNodeEmitted, t); n != nil {
		n.Output = values
	}
}

func (t *Task) noteRetry(failure *Failure, retry RetryNote) {
	if n := t.scope.state.note(NoteNodeRetrying, t); n != nil {
		n.Failure, n.Retry = failure, &retry
	}
}

func (t *Task) noteElement(u *Unit) {
	if n := t.scope.state.note(NoteElementEnded, t); n != nil {
		e := t.Each
		n.Task, n.Failure = t.id(u), u.Failure
		n.Element = &ElementNote{Index: u.Element - 1, Item: e.Items[u.Element-1], Done: e.Done, Failed: e.Failed, Total: len(e.Items)}
	}
	if u.Failure != nil && t.scope.plan.policyOf(t.Node) != "fail_all" {
		if n := t.scope.state.note(NoteNodeEmitted, t); n != nil {
			n.Task, n.Failure = t.id(u), u.Failure
		}
	}
}

func (t *Task) noteAsked(u *Unit, q *Asked) {
	if n := t.scope.state.note(NoteAsked, t); n != nil {
		n.Task, n.Question = t.id(u), t.question(u, q)
	}
}

func (t *Task) noteAnswered(u *Unit, q *Asked, by string) {
	if n := t.scope.state.note(NoteAnswered, t); n != nil {
		n.Task, n.Question, n.Answer, n.By = t.id(u), t.question(u, q), q.Answer, by
	}
}

func (sc *Scope) noteDropped(group []*Task) {
	if n := sc.state.note(NoteJoinDropped, group[0]); n != nil {
		n.Failure = sc.bypassFailure(group[0].Node, group, sc.bypassing(group))
	}
}

// noteUpdates reports which keys a step changed.
func (s *State) noteUpdates(t *Task) {
	if !s.Watched {
		s.noted += min(1, len(t.Writes))
		return
	}
	var keys []int
	for i := range t.Writes {
		keys = append(keys, t.Writes[i].Key)
	}
	s.noteUpdated(t, keys)
}

// noteUpdated reports the values of keys that a task sees.
func (s *State) noteUpdated(t *Task, keys []int) {
	if len(keys) == 0 {
		return
	}
	n := s.note(NoteStateUpdated, t)
	if n == nil {
		return
	}
	v, p := t.view(), t.scope.plan
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		n.Delta = append(n.Delta, KeyValue{p.keys[key].name, v.value(key)})
	}
	slices.SortFunc(n.Delta, func(a, b KeyValue) int { return cmp.Compare(a.Key, b.Key) })
}

// noteRouted reports which edges fired after a step, and why.
func (t *Task) noteRouted(n *node, out routed) {
	if out.end != nil && out.end.Status != Stuck {
		return
	}
	note := t.scope.state.note(NoteEdgesResolved, t)
	if note == nil {
		return
	}
	note.Failure, note.Output, note.Skipped = t.Failure, t.Output, t.Skipped
	note.Candidates = t.candidates(n, out, false)
	for _, to := range out.targets {
		note.Targets = append(note.Targets, t.scope.plan.targetName(to.to))
	}
}
