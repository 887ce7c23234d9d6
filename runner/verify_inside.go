// Replays that check: the subgraphs of a run.

package runner

import (
	"bytes"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// insideWalk is both walks through one subgraph.
type insideWalk struct {
	then, now *walker
	rec       *record
	events    []machine.Event // those that count no more too
}

// compareInside applies what a note says of a subgraph to both walks.
func compareInside(then, now *walker, event *machine.Event) (*view.Divergence, error) {
	was, is := then.driver.flow.children[event.Task.Node], now.driver.flow.children[event.Task.Node]
	if was == nil || is == nil {
		return nil, nil
	}
	rec, _, err := was.readNotes([]any{event.Output})
	if err != nil {
		return nil, err
	}
	walk := then.inside[event.Task]
	if walk == nil || event.Anew {
		walk = &insideWalk{rec: &record{Reading: was.reading(), flow: was}}
		walk.rec.From = rec.From
		if event.Anew && !bytes.Equal(was.graph.Text(), is.graph.Text()) {
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
	for i := range rec.Events {
		d, err := walk.step(then, now, event.Task, &rec.Events[i])
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
func (w *insideWalk) begin(then, now *walker, id machine.TaskID) (err error) {
	w.then, err = w.walkerIn(then, id)
	if w.now = w.then; err == nil && now != then {
		w.now, err = w.walkerIn(now, id)
	}
	return err
}

func (w *insideWalk) walkerIn(outer *walker, id machine.TaskID) (*walker, error) {
	d := outer.driver
	child, err := startReading(d.flow.children[id.Node], &nesting{parent: d, task: id, node: d.nested.path(id.Node)}, w.rec)
	if err != nil {
		return nil, err
	}
	return newWalker(child), nil
}

// step compares one event. One that takes others back leaves both walks where
// they stood without them.
func (w *insideWalk) step(then, now *walker, id machine.TaskID, event *machine.Event) (*view.Divergence, error) {
	w.events = append(w.events, *event)
	if len(event.Undo) > 0 {
		w.rec.Take(slices.Clone(w.events))
		if err := w.begin(then, now, id); err != nil {
			return nil, err
		}
		for i := range w.rec.Events[:len(w.rec.Events)-1] {
			if d, err := compareStep(w.then, w.now, &w.rec.Events[i]); err != nil || d != nil {
				return d, err
			}
		}
	}
	return compareStep(w.then, w.now, event)
}
