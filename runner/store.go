// Where the journals of runs are kept.

package runner

import (
	"errors"

	"github.com/graphrun/graphrun/runner/machine"
)

// ErrRunExists says that a run of that id is in the store already.
var ErrRunExists = errors.New("a run of that id exists")

// ErrNoRun says that the store has no run of that id.
var ErrNoRun = errors.New("no such run")

// Store keeps journals. It is safe for concurrent use.
type Store interface {
	// Create starts the journal of a new run, with the graph file's text as it
	// is at the start. It fails with ErrRunExists.
	Create(run RunRecord) (Journal, error)
	// Events returns a run's journal in order. It fails with ErrNoRun.
	Events(runID string) ([]machine.Event, error)
	// Run returns what Create was given. It fails with ErrNoRun.
	Run(runID string) (RunRecord, error)
}

// RunRecord identifies a run and what it runs.
type RunRecord struct {
	ID string
	// File and Source are the name and the text of the graph file.
	File   string
	Source []byte
}

// Journal is the log of one run. One goroutine writes it.
type Journal interface {
	// Append adds an event; it is kept for good when Append returns nil.
	Append(e machine.Event) error
}
