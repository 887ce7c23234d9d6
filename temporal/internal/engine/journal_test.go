package engine

import (
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// TestJournalSure: the journal reports which events belong to a workflow task that may be repeated,
// and returns no snapshot of them.
func TestJournalSure(t *testing.T) {
	type task struct {
		began    int
		replayed bool
	}
	for _, c := range []struct {
		name       string
		tasks      []task // each adds an event and a snapshot
		sure, task int
		snapshot   int
	}{
		{"replayed", []task{{3, true}, {9, true}}, 0, 0, 2},
		{"at work", []task{{3, true}, {9, true}, {15, false}}, 2, 15, 2},
		{"at work, woken twice", []task{{3, true}, {9, false}, {9, false}}, 1, 9, 1},
		{"one after the other", []task{{3, false}, {9, false}}, 1, 9, 1},
		{"none has begun", []task{{3, true}, {9, true}, {9, false}}, 2, -1, 2},
		{"none has begun, woken twice", []task{{3, true}, {3, false}, {3, false}}, 1, -1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newJournal(&Start{})
			for _, one := range c.tasks {
				j.beginTask(one.began, one.replayed)
				if err := (driverJournal{j}).Append(machine.Event{Kind: machine.PauseAsked}); err != nil {
					t.Fatal(err)
				}
				if err := (driverJournal{j}).Snapshot(store.Snapshot{}); err != nil {
					t.Fatal(err)
				}
			}
			if j.task != c.task || c.task != 0 && j.finalEvents != c.sure {
				t.Errorf("%d events are sure, those after them of task %d; want %d, %d", j.finalEvents, j.task, c.sure, c.task)
			}
			if s, err := j.Snapshot("r", j.limitToFinal(-1)); err != nil || s.Events != c.snapshot {
				t.Errorf("the snapshot has %d events, want %d (%v)", s.Events, c.snapshot, err)
			}
		})
	}
}
