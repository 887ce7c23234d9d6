// Notes: what a watcher of a run is told. They are derived from the events, never
// read back, and only taken when somebody watches.

package machine

import (
	"cmp"
	"slices"
	"time"
)

// NoteKind says what a note tells. The zero value is unset.
type NoteKind uint8

// The kinds of notes.
const (
	NoteSuperstepStarted NoteKind = iota + 1
	NoteSuperstepCompleted
	NoteNodeStarted
	NoteNodeRetrying
	NoteNodeCompleted
	NoteNodeFailed
	// NoteNodeEmitted tells what a node's emit came to, or, with a failure, of an
	// element that failed where the others go on.
	NoteNodeEmitted
	// NoteElementEnded tells that an element of a node with each has ended for good.
	NoteElementEnded
	// NoteAsked tells a question, a *Question in Output, when it is first asked.
	NoteAsked
	// NoteAnswered tells that one was answered: a *Question too. By is "timeout"
	// when nobody did in time.
	NoteAnswered
	// NoteJoinDropped tells that the branches that wait at a join end, because others
	// bypass it: Failure says which, as it would if the join failed.
	NoteJoinDropped
	NoteEdgesResolved
	NoteStateUpdated
)

// Note is one thing to tell. Which fields are set depends on Kind. It is small
// and names nothing, because every watched step makes some: Plan and State spell
// out what it means.
type Note struct {
	Kind NoteKind
	// Cached and Skipped say how an execution completed; Failed, what kind of
	// outcome was resolved.
	Cached, Skipped, Failed bool
	explained               bool  // State.tested has the task's conditions
	task                    int32 // place in State.tasks
	// Node is the index of the node; -1 in the notes of a superstep.
	Node            int32
	Visit, Attempt  int32
	Step, Superstep int32
	// Began is when the execution began, as Unix nanoseconds.
	Began int64
	// Branch names the branch that the execution is on by the nodes with which
	// it and the branches around it began, outermost first: "b/d"; "" outside of
	// any.
	Branch string
	// Output is plain data, or an *Object, or a *Question.
	Output any
	// By is who answered (NoteAnswered).
	By      string
	Failure *Failure
	// Retry is NoteNodeRetrying's.
	Retry *RetryNote
	// Element is NoteElementEnded's; Failure is why it failed, if it did.
	Element *ElementNote

	// Inside are the subgraphs that the execution runs, as its notes tell of them, where
	// it is cut short or begins again.
	Inside []Logged

	choice *choice
	// first and last are its part of State.taken or State.changes.
	first, last int32
}

// Logged is what an attempt has noted, in order.
type Logged struct {
	Task TaskID
	Log  []any
}

// ElementNote says which element has ended, from 0, and how far the node is.
type ElementNote struct {
	Index               int
	Item                any
	Done, Failed, Total int
}

// Notes returns what the last Apply noted. The slice and what it points to are
// valid until the next Apply.
func (s *State) Notes() []Note { return s.notes }

// Taken returns the ways out that a node took (NoteEdgesResolved), or the nodes
// of a superstep as targets of no edge. It is valid until the next Apply.
func (s *State) Taken(n *Note) []Taken { return s.taken[n.first:n.last:n.last] }

// Delta returns the keys that changed (NoteStateUpdated), sorted by name. It is valid
// until the next Apply.
func (s *State) Delta() []KeyValue { return s.changes }

// Confided returns what nodes have given to secret keys in the last Apply, also
// what the keys can't hold. It is valid until the next Apply.
func (s *State) Confided() []any { return s.confided }

// RetryNote says how an execution will be tried again.
type RetryNote struct {
	MaxAttempts int
	Delay       time.Duration
	// Asked is the delay that the other side asked for, if it is longer than the
	// policy allows; else 0.
	Asked time.Duration
}

// Taken is a way out of a node that was taken.
type Taken struct {
	Edge int32 // index; -1 for a dynamic target
	To   int32 // index of the node; -1 for END
}

// NodeID returns the id of a node, END for -1.
func (p *Plan) NodeID(node int32) string { return p.targetName(int(node)) }

// NodeKind returns the kind of a node.
func (p *Plan) NodeKind(node int32) string { return p.nodes[node].kind }

// NodeCount returns the number of nodes.
func (p *Plan) NodeCount() int { return len(p.nodes) }

// note adds an empty note and returns it, to be filled in place.
func (s *State) note(kind NoteKind) *Note {
	at := len(s.notes)
	if at < cap(s.notes) { // as mostly: without a copy
		s.notes = s.notes[:at+1]
	} else {
		s.notes = append(s.notes, Note{})
	}
	n := &s.notes[at]
	*n = Note{}
	n.Kind, n.Node, n.Superstep = kind, -1, int32(s.Superstep)
	return n
}

func (s *State) taskNote(kind NoteKind, t *task) *Note {
	n := s.note(kind)
	n.Node, n.Visit, n.Attempt = int32(t.node), int32(t.visit), int32(t.attempt)
	n.Step, n.Began = int32(t.step), t.began
	if t.at.fan != nil {
		n.Branch = s.plan.branchName(t.at)
	}
	return n
}

func (s *State) noteSuperstep(kind NoteKind) {
	note := s.note(kind)
	note.first = int32(len(s.taken))
	for i := range s.tasks {
		s.taken = append(s.taken, Taken{Edge: -1, To: int32(s.tasks[i].node)})
	}
	note.last = int32(len(s.taken))
}

// noteStarted and noteCompleted are small enough to cost an unwatched run no call.
func (s *State) noteStarted(t *task) {
	if s.Watched {
		s.taskNote(NoteNodeStarted, t)
	}
}

func (s *State) noteCompleted(t *task) {
	if s.Watched {
		s.takeCompleted(t)
	}
}

func (s *State) takeCompleted(t *task) {
	note := s.taskNote(NoteNodeCompleted, t)
	note.Output, note.Cached, note.Skipped = t.output, t.cached, t.skipped
}

func (s *State) noteEmitted(t *task, values map[string]any) {
	if s.Watched {
		s.taskNote(NoteNodeEmitted, t).Output = values
	}
}

func (s *State) noteElement(t *task, failure *Failure) {
	if s.Watched || s.Warns {
		s.taskNote(NoteNodeEmitted, t).Failure = failure
	}
}

// noteDropped tells that the branches that wait at a join end.
func (p *Plan) noteDropped(s *State, b *barrier, missing []detour) {
	if s.Watched && len(b.arrivals) > 0 {
		note := s.note(NoteJoinDropped)
		note.Node, note.Failure = int32(b.node), p.bypassed(b, missing)
	}
}

// noteElementEnded tells of an element that the driver ran. Those of nodes that
// the machine evaluates end all at once.
func (s *State) noteElementEnded(t *task, i int, failure *Failure) {
	e := t.each
	if !s.Watched || e.next == 0 {
		return
	}
	note := s.taskNote(NoteElementEnded, t)
	note.Failure = failure
	note.Element = &ElementNote{
		Index: i, Item: e.items[i], Failed: e.failed, Total: len(e.items),
		Done: e.next - len(e.running) - len(e.attempts) - len(e.asking),
	}
}

// noteAsked tells the questions of a task that it had not asked before. Those of a
// subgraph tells the subgraph.
func (s *State) noteAsked(t *task, id TaskID, asked, old *questions) {
	for i := range asked.questions {
		q := &asked.questions[i]
		if s.Watched && asked.open(i) && q.Node == "" && (old == nil || old.find(q.ID) == nil) {
			s.taskNote(NoteAsked, t).Output = q.public(id)
		}
	}
}

// noteAnswered tells that a question was answered.
func (s *State) noteAnswered(t *task, id TaskID, q *question, by string) {
	if s.Watched && q.Node == "" {
		note := s.taskNote(NoteAnswered, t)
		note.Output, note.By = q.public(id), by
	}
}

func (s *State) noteFailed(t *task) {
	if s.Watched {
		s.taskNote(NoteNodeFailed, t).Failure = t.failure
	}
}

// noteStopped tells that an execution was cancelled: it is no step any more.
func (s *State) noteStopped(t *task) {
	if !s.Watched {
		return
	}
	failure := Failure{Kind: "cancelled", Message: "the run ended before the node did"}
	if t.cause != nil && t.cause.Kind == "cancelled" {
		failure.Message = t.cause.Message
	} else if s.closing == nil && !s.Ended() {
		failure.Message = "it is not needed any more"
	}
	failure.Node, failure.Attempt = s.plan.nodes[t.node].id, t.attempt
	note := s.taskNote(NoteNodeFailed, t)
	note.Failure, note.Inside = &failure, s.inside(t)
}

// inside are the notes of an execution, by attempt and element.
func (s *State) inside(t *task) (out []Logged) {
	id := s.taskID(t)
	for of, log := range s.logs { //lint:ignore mapiter sorted below
		if of.Node == id.Node && of.Visit == id.Visit {
			out = append(out, Logged{of, log})
		}
	}
	slices.SortFunc(out, func(a, b Logged) int {
		return cmp.Or(a.Task.Element-b.Task.Element, a.Task.Attempt-b.Task.Attempt)
	})
	return out
}

// noteStartedAgain tells that the executions start again which the end of the run
// has cut short.
func (s *State) noteStartedAgain() {
	for _, list := range [...][]task{s.tasks, s.parked, s.next} {
		for i := range list {
			switch t := &list[i]; t.status {
			case ready, running, delayed, waiting, asking:
				if t.step > 0 {
					s.noteAgain(t)
				}
			}
		}
	}
}

// noteAgain tells that an execution begins again, with the subgraphs that it runs.
func (s *State) noteAgain(t *task) {
	if s.Watched {
		s.taskNote(NoteNodeStarted, t).Inside = s.inside(t)
	}
}

func (s *State) noteRetrying(t *task, failure *Failure, next RetryNote) {
	if s.Watched {
		note := s.taskNote(NoteNodeRetrying, t)
		note.Failure, note.Retry = failure, &next
	}
}

// noteUpdates tells which keys the superstep changed, sorted by name, with the
// value that each has now.
func (s *State) noteUpdates() {
	if len(s.changes) == 0 {
		return
	}
	if len(s.changes) > 1 {
		slices.SortFunc(s.changes, func(a, b KeyValue) int { return cmp.Compare(a.Key, b.Key) })
		s.changes = slices.CompactFunc(s.changes, func(a, b KeyValue) bool { return a.Key == b.Key })
		for i := range s.changes {
			s.changes[i].Value = s.env[s.changes[i].Key] // of several writes, the last
		}
	}
	s.note(NoteStateUpdated).last = int32(len(s.changes))
}

// noteClosed tells how each task of the superstep was routed, then that it is over.
func (p *Plan) noteClosed(s *State) {
	if !s.Watched {
		return
	}
	for i := range s.tasks {
		if t := &s.tasks[i]; t.status == succeeded || t.status == failed {
			s.noteResolved(t, i)
		}
	}
	s.noteSuperstep(NoteSuperstepCompleted)
}

// noteResolved tells how a task, the i-th of the superstep, was routed.
func (s *State) noteResolved(t *task, i int) {
	note := s.taskNote(NoteEdgesResolved, t)
	note.Output, note.choice = t.output, t.choice
	note.Skipped, note.Failed = t.skipped, t.status == failed
	note.first = int32(len(s.taken))
	for j := t.firstRoute; j < t.lastRoute; j++ {
		s.taken = append(s.taken, Taken{Edge: int32(s.routes[j].edge), To: int32(s.routes[j].to)})
	}
	note.last = int32(len(s.taken))
	note.explained, note.task = s.Explain, int32(i)
}

func (p *Plan) targetName(to int) string {
	if to == endNode {
		return "END"
	}
	return p.nodes[to].id
}

// KeyValue is a state key and its value.
type KeyValue struct {
	Key   string
	Value any
}
