// Telling what happened inside the subgraphs of a recorded run.

package runner

import (
	"path/filepath"
	"slices"

	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
)

// untilSink tells what happened up to a step: the event that ends its superstep
// may begin the next one.
type untilSink struct {
	next   Sink
	driver *driver
	at     int
	past   bool
}

// Event passes an event on.
func (s *untilSink) Event(e *Event) error {
	if s.past && e.Type != RunFinished {
		return nil
	}
	s.past = s.past || (e.Type == RunStarted || e.Type == SuperstepCompleted) && s.driver.steps() >= s.at
	return s.next.Event(e)
}

// reader is at a subgraph as its notes tell of it.
type reader struct {
	driver *driver
	notes  *journal.Reading
	events []machine.Event // those that count no more too
}

// inner is a subgraph of a run: that of a task, or of one of its calls of tools.
type inner struct {
	task machine.TaskID
	call int // from 1; 0: the task is the subgraph's
	file string
}

// innerOf says which subgraph a note of a task tells of, and in which flow; nil: of
// none. log is what it tells.
func (d *driver) innerOf(task machine.TaskID, note any) (of inner, flow *Flow, log any) {
	of.task = task
	if flow = d.flow.child(task.Node); flow != nil {
		return of, flow, note
	}
	of.call, of.file, log = journal.ReadCall(note)
	if of.call == 0 {
		return of, nil, nil
	}
	return of, d.flow.of(d.flow.tree.Tool(task.Node, of.file)), log
}

// replayInside tells what a note says of a subgraph's run.
func (d *driver) replayInside(event *machine.Event) error {
	of, flow, log := d.innerOf(event.Task, event.Output)
	if flow == nil || d.opts.Sink == nil {
		return nil
	}
	rec, _, err := flow.readNotes([]any{log})
	if err != nil {
		return err
	}
	begins := len(rec.Events) > 0 && rec.Events[0].Kind == machine.RunBegan
	r := d.readers[of]
	if r == nil && !begins && rec.From.Events == 0 && d.countsLatest() {
		return errBegunBefore
	}
	if r == nil || event.Anew || begins {
		if r, err = d.readerOf(flow, of, rec); err != nil {
			return err
		}
		if err := d.catchUp(r, event); err != nil {
			return err
		}
	}
	for i := range rec.Events {
		if err := r.replayEvent(&rec.Events[i]); err != nil {
			return err
		}
	}
	return nil
}

// readerOf begins to tell of a subgraph, from a snapshot if the record has one.
func (d *driver) readerOf(flow *Flow, of inner, rec *journal.Reading) (*reader, error) {
	child, err := startReading(flow, d.reading(of), rec)
	if err != nil {
		return nil, err
	}
	if d.readers == nil {
		d.readers = map[inner]*reader{}
	}
	if before := d.readers[of]; before != nil {
		child.readers = before.driver.readers
	}
	d.readers[of] = &reader{driver: child, notes: &journal.Reading{Graph: flow.tree.Graph, Plan: flow.tree.Plan, From: rec.From}}
	return d.readers[of], nil
}

// catchUp brings a reader to where its subgraph stood before a note: what was noted
// before the snapshot that reading began with is in the state.
func (d *driver) catchUp(r *reader, event *machine.Event) error {
	log := d.state.Log(event.Task)
	if d.before.Events == 0 || event.Anew || len(log) < 2 {
		return nil
	}
	if _, whole := event.Output.(map[string]any); whole { // a snapshot of the subgraph
		return nil
	}
	rec, _, err := r.driver.flow.readNotes(log[:len(log)-1])
	if err != nil {
		return err
	}
	if r.driver, err = startReading(r.driver.flow, r.driver.nested, rec); err != nil {
		return err
	}
	for i := range rec.Events {
		if err := r.driver.replay(&rec.Events[i]); err != nil {
			return err
		}
	}
	r.notes, r.events = rec, slices.Clone(rec.Events)
	return nil
}

func startReading(flow *Flow, nested *nesting, rec *journal.Reading) (*driver, error) {
	secrets, err := readSecrets(flow.tree.Graph)
	if err != nil {
		secrets = mask.Placeholders(flow.tree.Graph)
	}
	parent := nested.parent
	child := newDriver(flow, Options{
		RunID: parent.opts.RunID, Dir: filepath.Dir(flow.tree.Graph.File.Name), Sink: childSink{parent.relay, nested},
	}, secrets, nested)
	if err := child.startFrom(rec); err != nil {
		return nil, err
	}
	child.state.SetSecrets(secrets)
	child.state.Explain = parent.state.Explain
	return child, nil
}

// replayEvent tells of the next event. One that takes others back leaves the subgraph
// where it stood without them.
func (r *reader) replayEvent(event *machine.Event) error {
	r.events = append(r.events, *event)
	if len(event.Undo) == 0 {
		return r.driver.replayEvent(event)
	}
	r.notes.Take(slices.Clone(r.events))
	child, err := startReading(r.driver.flow, r.driver.nested, r.notes)
	if err != nil {
		return err
	}
	for i := range r.notes.Events[:len(r.notes.Events)-1] {
		if err := child.replay(&r.notes.Events[i]); err != nil {
			return err
		}
	}
	child.readers, r.driver = r.driver.readers, child
	return child.replayEvent(event)
}
