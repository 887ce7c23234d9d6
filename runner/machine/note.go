// Notes: what a watcher of a run is told. They are derived from the events and
// never read back.

package machine

import "time"

// NoteKind says what a note tells. The zero value is unset.
type NoteKind int

// The kinds of notes.
const (
	NoteSuperstepStarted NoteKind = iota + 1
	NoteSuperstepCompleted
	NoteNodeStarted
	NoteNodeRetrying
	NoteNodeCompleted
	NoteNodeFailed
	NoteNodeEmitted
	NoteEdgesResolved
	NoteStateUpdated
)

// Note is one thing to tell. Which fields are set depends on Kind. Slices are
// valid until the next Apply.
type Note struct {
	Kind      NoteKind
	Superstep int
	Step      int
	Node      string
	NodeKind  string
	Visit     int
	Attempt   int
	// Began is when the execution began, as Unix nanoseconds.
	Began int64
	// Output is plain data, or an *Object.
	Output      any
	Cached      bool
	Skipped     bool
	Failure     *Failure
	MaxAttempts int
	Delay       time.Duration
	// Nodes are a superstep's nodes, or the targets of the edges that fired.
	Nodes   []string
	Results []EdgeResult
	Delta   []KeyValue
}
