// Notes: what a watcher of a run is told. They are derived from the events and
// never read back.

package machine

import "time"

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
