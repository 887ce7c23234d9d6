// The store of --store memory: nobody can come back to such a run, so its
// journal is not kept at all and a long run does not grow by it.

package cli

import (
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// unkept has no runs; cached results live as long as the process.
type unkept struct{ store.Memory }

// Create starts a journal that keeps nothing.
func (*unkept) Create(store.RunRecord, ...machine.Event) (store.Journal, error) {
	return noJournal{}, nil
}

// noJournal is a journal that keeps nothing.
type noJournal struct{}

// Append forgets an event.
func (noJournal) Append(machine.Event) error { return nil }

// AppendAll forgets events.
func (noJournal) AppendAll([]machine.Event) error { return nil }

// Snapshot forgets a state.
func (noJournal) Snapshot(store.Snapshot) error { return nil }

// Journaled is 0: nothing calls for a snapshot.
func (noJournal) Journaled() int { return 0 }

// Note forgets how the run stands.
func (noJournal) Note(store.RunSummary) error { return nil }

// Adopt does nothing: there is nothing to replace.
func (noJournal) Adopt(store.RunRecord) error { return nil }

// Enter lets the run in: nobody else knows of it.
func (noJournal) Enter(string, int) (store.GroupState, error) {
	return store.GroupState{Inside: true}, nil
}

// Asked delivers nothing: nobody else knows of the run.
func (noJournal) Asked() <-chan store.Request { return nil }

// Offers delivers nothing either.
func (noJournal) Offers() <-chan store.Offer { return nil }

// Settle has nothing to settle.
func (noJournal) Settle(string, []machine.Event, string) (bool, error) { return false, nil }

// Close does nothing.
func (noJournal) Close() error { return nil }

// AppendLog forgets what was said.
func (*unkept) AppendLog(string, []store.LogChunk, []int64) (int64, error) { return 1, nil }
