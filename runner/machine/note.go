// Notes for observers of a run. They derive from the events, and the machine never reads them.

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
	// NoteNodeEmitted holds the values of a node's emit, or the Failure of an element.
	NoteNodeEmitted
	NoteElementEnded // an element of `each` has no further attempt
	NoteAsked
	NoteReminded
	NoteAnswered    // By is "timeout" if nobody answered in time
	NoteJoinDropped // the branches that wait at a join end, because others bypass it
	NoteEdgesResolved
	NoteStateUpdated
	NoteBranchesStarted // of a fan-out, to Targets
	NoteBranchesJoined  // Targets are the nodes before the join
)

// Note is one fact for observers of the run. Which fields are set depends on Kind.
type Note struct {
	Kind NoteKind
	Place
	Task     TaskID
	NodeKind string
	// Step is the number of a step that has ended, in the order in which steps end, or 0.
	Step  int
	Began int64
	// Again means that an execution continues: another attempt, or after a resume or answer.
	Again   bool
	Finally bool // the node runs in finally
	// Cached and Skipped say how an execution completed.
	Cached, Skipped bool
	Output          any
	Failure         *Failure
	// Stopped means that the end of the run or of its branch cut the execution off.
	Stopped  bool
	Retry    *RetryNote
	Element  *ElementNote
	Question *Question
	By       string // of NoteAnswered
	// Targets are the nodes that edges lead to; Candidates explain every edge.
	Targets    []string
	Candidates []Candidate
	// Delta holds the changed state keys and their values on the branch, sorted by name.
	Delta []KeyValue
}

// ElementNote reports the end of an element (from 0) and the progress of the `each`.
type ElementNote struct {
	Index               int
	Item                any
	Done, Failed, Total int
}

// NoteCount returns how many notes the last Apply made, or would have made for an observer.
func (s *State) NoteCount() int { return s.noted }

// Notes returns the notes of the last Apply. The slice is valid until the next Apply.
func (s *State) Notes() []Note { return s.notes }

// SecretValues returns the values that the last Apply wrote to secret keys, including invalid ones.
func (s *State) SecretValues() []any { return s.secretValues }

// addNote adds a note about a task. Without an observer it keeps only NoteNodeEmitted.
func (t *Task) addNote(n *Note) {
	s := t.scope.state
	s.noted++
	if !s.Watched && n.Kind != NoteNodeEmitted {
		return
	}
	if n.Task == (TaskID{}) {
		n.Task = TaskID{Task: t.ID, Attempt: t.attemptNumber()}
	}
	n.Place, n.NodeKind, n.Step, n.Began, n.Finally = t.place(), t.node().kind, t.Number, t.At, t.Final
	if n.Kind == NoteNodeCompleted || n.Kind == NoteEdgesResolved {
		n.Output = t.output()
	}
	s.notes = append(s.notes, *n)
}

func (t *Task) noteContinued() {
	t.Stopped = false
	t.addNote(&Note{Kind: NoteNodeStarted, Again: true})
}

func (t *Task) noteStopped(why string) {
	t.Stopped = true
	failure := &Failure{Kind: "cancelled", Message: why, Node: t.node().id, Attempt: t.attemptNumber()}
	t.addNote(&Note{Kind: NoteNodeFailed, Stopped: true, Failure: failure})
}

func (t *Task) noteElement(u *Unit) {
	e := t.Each
	t.addNote(&Note{Kind: NoteElementEnded, Task: t.attemptID(u), Failure: u.Failure, Element: &ElementNote{
		Index: u.Element - 1, Item: e.Items[u.Element-1], Done: e.Done, Failed: len(e.Failures), Total: len(e.Items),
	}})
	if u.Failure != nil && t.node().parallel.OnFailure != "fail_all" {
		t.addNote(&Note{Kind: NoteNodeEmitted, Task: t.attemptID(u), Failure: u.Failure})
	}
}

// noteQuestion reports that a question was asked, is still open, or was answered.
func (t *Task) noteQuestion(kind NoteKind, u *Unit, q *UnitQuestion, by string) {
	t.addNote(&Note{Kind: kind, Task: t.attemptID(u), Question: t.newQuestion(u, q), By: by})
}

// noteStateUpdate reports the values of some keys in a task's view.
func (s *State) noteStateUpdate(t *Task, keys []int) {
	if len(keys) == 0 {
		return
	}
	v, p := t.view(), t.scope.plan
	var delta []KeyValue
	if s.Watched {
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			delta = append(delta, KeyValue{p.keys[key].name, v.value(key)})
		}
		slices.SortFunc(delta, func(a, b KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	}
	t.addNote(&Note{Kind: NoteStateUpdated, Delta: delta})
}

// noteRouted reports which edges fired after a step, and why.
func (t *Task) noteRouted(n *node, out routing) {
	if out.end != nil && out.end.Status != Stuck {
		return
	}
	note := Note{Kind: NoteEdgesResolved, Failure: t.Failure, Skipped: t.Skipped}
	if t.scope.state.Watched {
		note.Candidates, note.Targets = t.explainEdges(n, out, false), t.scope.plan.targetNames(out.targets)
	}
	t.addNote(&note)
}

func (p *Plan) targetNames(targets []target) []string {
	names := make([]string, len(targets))
	for i, to := range targets {
		names[i] = p.targetName(to.to)
	}
	return names
}
