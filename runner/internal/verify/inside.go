// Replays that check: the subgraphs of a run.

package verify

import (
	"bytes"
	"slices"

	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// insideWalk is both walks through one subgraph.
type insideWalk struct {
	then, now *Walk
	notes     *journal.Reading
	events    []machine.Event // those that count no more too
}

// compareInside applies what a note says of a subgraph to both walks.
func compareInside(then, now *Walk, event *machine.Event) (*view.Divergence, error) {
	was, is := then.Child(event.Task.Node), now.Child(event.Task.Node)
	if was == nil || is == nil {
		return nil, nil
	}
	noted, _, err := journal.ReadNotes(was.Graph, was.Plan, []any{event.Output})
	if err != nil {
		return nil, err
	}
	walk := then.inside[event.Task]
	if walk == nil || event.Anew {
		walk = &insideWalk{notes: &journal.Reading{Graph: was.Graph, Plan: was.Plan, From: noted.From}}
		if event.Anew && !bytes.Equal(was.Graph.Text(), is.Graph.Text()) {
			return &view.Divergence{
				Node: event.Task.Node, Recorded: []string{}, Now: []string{},
				Why: []string{"what is recorded of the subgraph begins in its middle, where another version of it can't begin"},
			}, nil
		}
		if err := walk.begin(then, now, event.Task); err != nil {
			return nil, err
		}
		then.inside[event.Task] = walk
	}
	for i := range noted.Events {
		d, err := walk.step(then, now, event.Task, &noted.Events[i])
		if d != nil && d.Node != "" {
			d.Node = event.Task.Node + "/" + d.Node
		}
		if err != nil || d != nil {
			return d, err
		}
	}
	return nil, nil
}

// begin puts both walks to where the record begins.
func (w *insideWalk) begin(then, now *Walk, id machine.TaskID) (err error) {
	w.then, err = w.walkerIn(then, id)
	if w.now = w.then; err == nil && now != then {
		w.now, err = w.walkerIn(now, id)
	}
	return err
}

func (w *insideWalk) walkerIn(outer *Walk, id machine.TaskID) (*Walk, error) {
	run, err := outer.Child(id.Node).Begin(id, w.notes)
	if err != nil {
		return nil, err
	}
	return New(run), nil
}

// step compares one event. One that takes others back leaves both walks where
// they stood without them.
func (w *insideWalk) step(then, now *Walk, id machine.TaskID, event *machine.Event) (*view.Divergence, error) {
	w.events = append(w.events, *event)
	if len(event.Undo) > 0 {
		w.notes.Take(slices.Clone(w.events))
		if err := w.begin(then, now, id); err != nil {
			return nil, err
		}
		for i := range w.notes.Events[:len(w.notes.Events)-1] {
			if d, err := Compare(w.then, w.now, &w.notes.Events[i]); err != nil || d != nil {
				return d, err
			}
		}
	}
	return Compare(w.then, w.now, event)
}
