// What drivers write of runs in memory.

package store

import (
	"slices"
)

// memoryRunTx is a transaction of the driver of a run.
type memoryRunTx struct {
	*memoryTx
	run *memoryRun
}

// Append adds events.
func (tx memoryRunTx) Append(_ int, texts [][]byte) error {
	tx.run.events = append(tx.run.events, texts...)
	return nil
}

// Snapshot stores a state.
func (tx memoryRunTx) Snapshot(n int, state []byte) error {
	tx.run.snapshots = slices.DeleteFunc(tx.run.snapshots, func(s Snapshot) bool { return s.Events == n })
	tx.run.snapshots = append(tx.run.snapshots, Snapshot{Events: n, State: slices.Clone(state)})
	return nil
}

// Adopt replaces the graph.
func (tx memoryRunTx) Adopt(r RunRecord) error {
	r, to := copyRecord(r), &tx.run.summary
	to.Graph, to.File, to.Source, to.Files = r.Graph, r.File, r.Source, r.Files
	tx.run.snapshots = nil
	return nil
}

// Note changes what List shows.
func (tx memoryRunTx) Note(s RunSummary) error {
	to := &tx.run.summary
	to.Status, to.Reason, to.Quality, to.Steps, to.Due, to.Updated = s.Status, s.Reason, s.Quality, s.Steps, s.Due, s.Updated
	return nil
}
