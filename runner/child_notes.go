// The journal of a subgraph in that of the run around it.

package runner

import (
	"errors"

	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// journal is the journal of a subgraph; nil when the run around it has none.
func (n *nesting) journal() store.Journal {
	if n.parent.journal == nil {
		return nil
	}
	return journal.NewChild(n.notes(), 0, 0)
}

// notes are those of the task that runs the subgraph.
func (n *nesting) notes() journal.Notes {
	return journal.Notes{
		Keep: func(events []any) error { return n.parent.sendNote(n.task, n.wrapped(events), nil) },
		Replace: func(snapshot map[string]any) error {
			return n.parent.sendNoted(machine.Event{Task: n.task, Anew: true, Output: snapshot})
		},
		Shared: n.call > 0,
	}
}

// flush makes durable what a subgraph's journal holds back. It reports whether
// that went well.
func (d *driver) flush() bool {
	if kept, ok := d.journal.(*journal.Child); ok {
		d.journalErr = errors.Join(d.journalErr, kept.Flush())
	}
	return d.journalErr == nil
}

// wrapped is a note of a subgraph's events as the log of its task has it.
func (n *nesting) wrapped(events []any) any {
	if n.call == 0 {
		return events
	}
	return journal.OfCall(n.call, n.file, events)
}
