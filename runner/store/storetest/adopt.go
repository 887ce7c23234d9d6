// Runs that continue with another version of their graph.

package storetest

import (
	"errors"
	"testing"

	"github.com/graphrun/graphrun/runner/store"
)

func testReplaceGraph(t *testing.T, s store.Store) {
	bystander := createRun(t, s, "two", firstEvent()) // with another text
	if err := bystander.Snapshot(store.Snapshot{State: []byte("y")}); err != nil {
		t.Fatal(err)
	}
	journal, err := s.Create(store.RunRecord{
		ID: "one", Graph: "g", File: "g.yaml", Source: []byte("old"), Files: map[string][]byte{"/a": []byte("a"), "/b": []byte("b")},
		Labels: map[string]string{"k": "v"}, Started: startTime(0),
	})
	if err != nil {
		t.Fatal(err)
	}
	appendEvents(t, journal, newEvents()[:2]...)
	if err := journal.Snapshot(store.Snapshot{State: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	err = journal.ReplaceGraph(store.RunRecord{
		Graph: "h", File: "h.yaml", Source: []byte("new"), Files: map[string][]byte{"/b": []byte("b"), "/c": []byte("c")},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run("one")
	if err != nil || run.ID != "one" || run.Graph != "h" || run.File != "h.yaml" || string(run.Source) != "new" ||
		len(run.Files) != 2 || string(run.Files["/c"]) != "c" || run.Labels["k"] != "v" || !run.Started.Equal(startTime(0)) {
		t.Errorf("the record is %+v (%v)", run, err)
	}
	wantSnapshot(t, s, -1, store.Snapshot{})
	appendEvents(t, journal, newEvents()[2])
	wantEvents(t, s, "one", newEvents()[:3])
	if other, err := s.Run("two"); err != nil || len(other.Source) == 0 {
		t.Errorf("the record of another run is %+v (%v)", other, err)
	}
	if kept, err := s.Snapshot("two", -1); err != nil || string(kept.State) != "y" {
		t.Errorf("the snapshot of another run is %+v (%v)", kept, err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if err := journal.ReplaceGraph(run); !errors.Is(err, store.ErrJournalClosed) {
		t.Errorf("adopting after the end gives %v", err)
	}
}
