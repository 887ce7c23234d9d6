// Notes of subgraphs in the journal of the run around them.

package journal

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// The note that takes the place of those before it.
const (
	snapshotState  = "snapshot"
	snapshotEvents = "events"
)

// The notes of a graph that a task calls as a tool, among others of the task.
const (
	callNumber = "graph_call"
	callFile   = "file" // as the file's tools name the graph
	callEvents = "events"
)

// OfCall is a note of a graph that a task runs as a call of a tool, from 1.
func OfCall(number int, file string, events []any) any {
	return map[string]any{callNumber: number, callFile: file, callEvents: events}
}

// ReadCall reads what OfCall has made; number is 0 when the note is another.
func ReadCall(note any) (number int, file string, events any) {
	fields, _ := note.(map[string]any)
	number, _ = fields[callNumber].(int)
	file, _ = fields[callFile].(string)
	return number, file, fields[callEvents]
}

// closingSize is about the size of an event that only closes a superstep.
const closingSize = 60

// plainEvent is an event as plain data, and about its size in a
func plainEvent(e *machine.Event) (plain any, size int, err error) {
	if e.Kind == machine.Advanced && e.Edit == nil { // most of a subgraph's events
		return map[string]any{"kind": string(e.Kind), "at": int(e.At), "superstep": e.Superstep}, closingSize, nil
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil, 0, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&plain)
	return plain, len(text), err
}

// ReadNotes reads what a Child has noted of a subgraph. size is that of the events.
func ReadNotes(g *spec.Graph, plan *machine.Plan, log []any) (r *Reading, size int, err error) {
	r = &Reading{Graph: g, Plan: plan, nested: true}
	var events []machine.Event
	for _, note := range log {
		switch note := note.(type) {
		case map[string]any:
			state, _ := note[snapshotState].(string)
			before, _ := note[snapshotEvents].(int)
			if r.From, err = readSnapshot(store.Snapshot{Events: before, State: []byte(state)}, plan); err != nil {
				return nil, 0, err
			}
			r.From.Head.Steps = 0 // of no interest: the run around has no path of it
			events, size = nil, 0
		case []any:
			for _, item := range note {
				event, n, err := readNoted(item)
				if err != nil {
					return nil, 0, err
				}
				events, size = append(events, event), size+n
			}
		}
	}
	r.Take(events)
	return r, size, nil
}

// readNoted reads an event; n is its size in the journal.
func readNoted(item any) (event machine.Event, n int, err error) {
	text, err := json.Marshal(item)
	if err == nil {
		err = json.Unmarshal(text, &event)
	}
	if err != nil {
		return event, 0, fmt.Errorf("a noted event of a subgraph can't be read: %w", err)
	}
	return event, len(text), nil
}

// EachEvent visits all events of a run, those that count no more too, and those of its
// subgraphs with the notes that hold them.
func EachEvent(kept store.Store, runID string, visit func(*machine.Event)) error {
	for read := 0; ; {
		events, err := kept.Stretch(runID, read, stretchSize)
		if err != nil || len(events) == 0 {
			return err
		}
		read += len(events)
		eachInside(events, visit)
	}
}

// eachInside visits events and, in their notes, those of subgraphs.
func eachInside(events []machine.Event, visit func(*machine.Event)) {
	for i := range events {
		e := &events[i]
		visit(e)
		if e.Kind != machine.TaskNoted {
			continue
		}
		notes := e.Output
		if call, ok := notes.(map[string]any); ok {
			notes = call[callEvents]
		}
		list, _ := notes.([]any)
		var inside []machine.Event
		for _, item := range list {
			if fields, ok := item.(map[string]any); !ok || fields["kind"] == nil {
				continue
			}
			if event, _, err := readNoted(item); err == nil {
				inside = append(inside, event)
			}
		}
		eachInside(inside, visit)
	}
}
