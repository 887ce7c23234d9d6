// The store of --store memory: nobody can come back to such a run, so its
// journal is not kept at all and a long run does not grow by it.

package cli

import (
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// unkept has no runs; cached results live as long as the process.
type unkept struct{ store.Memory }

// Create starts a journal that keeps nothing.
func (*unkept) Create(runner.RunRecord, ...machine.Event) (runner.Journal, error) {
	return noJournal{}, nil
}

// noJournal is a journal that keeps nothing.
type noJournal struct{}

// Append forgets an event.
func (noJournal) Append(machine.Event) error { return nil }

// AppendAll forgets events.
func (noJournal) AppendAll([]machine.Event) error { return nil }

// Snapshot forgets a state.
func (noJournal) Snapshot(runner.Snapshot) error { return nil }

// Journaled is 0: nothing calls for a snapshot.
func (noJournal) Journaled() int { return 0 }

// Note forgets how the run stands.
func (noJournal) Note(runner.RunSummary) error { return nil }

// Adopt does nothing: there is nothing to replace.
func (noJournal) Adopt(runner.RunRecord) error { return nil }

// Enter lets the run in: nobody else knows of it.
func (noJournal) Enter(string, int) (runner.GroupState, error) {
	return runner.GroupState{Inside: true}, nil
}

// Asked delivers nothing: nobody else knows of the run.
func (noJournal) Asked() <-chan runner.Request { return nil }

// Offers delivers nothing either.
func (noJournal) Offers() <-chan runner.Offer { return nil }

// Settle has nothing to settle.
func (noJournal) Settle(string, []machine.Event, string) (bool, error) { return false, nil }

// Close does nothing.
func (noJournal) Close() error { return nil }

// AppendLog forgets what was said.
func (*unkept) AppendLog(string, []runner.LogChunk, []int64) (int64, error) { return 1, nil }
