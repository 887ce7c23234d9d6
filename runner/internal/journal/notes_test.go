package journal

import (
	"slices"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

func TestPathComesBack(t *testing.T) {
	path := []int32{0, 1, 127, 128, 300_000, 5}
	text := PackPath(path)
	got, err := UnpackPath(text)
	if err != nil || !slices.Equal(got, path) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := UnpackPath(append(text, 0x80)); err == nil {
		t.Errorf("a path that is cut off is read as %v", got)
	}
}

func TestCallComesBack(t *testing.T) {
	events := []any{map[string]any{"kind": "advanced"}}
	number, file, got := ReadCall(OfCall(2, "tool.yaml", events))
	if list, _ := got.([]any); number != 2 || file != "tool.yaml" || len(list) != 1 {
		t.Errorf("%d, %q, %v", number, file, got)
	}
	for _, other := range []any{nil, "text", events, map[string]any{"name": "x"}} {
		if number, _, _ := ReadCall(other); number != 0 {
			t.Errorf("%v is read as call %d", other, number)
		}
	}
}

// What only closes supersteps waits for the next event with an effect; a snapshot takes
// the place of all before it.
func TestChildNotesTogether(t *testing.T) {
	var kept [][]any
	replaced := 0
	j := NewChild(Notes{
		Keep:    func(events []any) error { kept = append(kept, events); return nil },
		Replace: func(map[string]any) error { replaced++; return nil },
	}, 0, 0)
	for _, kind := range []machine.EventKind{machine.Advanced, machine.Advanced, machine.TaskBegan, machine.Advanced} {
		if err := j.Append(machine.Event{Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	if len(kept) != 1 || len(kept[0]) != 3 {
		t.Errorf("notes before the end: %v", kept)
	}
	if j.Journaled() == 0 {
		t.Error("the events have no size")
	}
	if err := j.Snapshot(store.Snapshot{State: []byte("{}")}); err != nil || replaced != 1 || j.Journaled() != 0 {
		t.Errorf("a snapshot: %v, %d, %d bytes since", err, replaced, j.Journaled())
	}
	if err := j.Close(); err != nil || len(kept) != 1 {
		t.Errorf("what the snapshot stands for is noted again: %v, %v", err, kept)
	}
}
