// Package store keeps the journals of runs: every event of a run in order, so that any process
// can resume, replay or show it. A Store holds them all, and the other data of runs: logs,
// sessions, answers that wait for a driver, cached results of nodes. A Journal is the log of
// one run, open for its driver.
//
// Memory keeps runs for as long as the process lives; package sqlite keeps them in a file that
// processes share. Package storetest has the suite that every Store passes.
package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Store keeps journals, and results of nodes. It is safe for concurrent use. Readers see appends
// whole or not at all. Methods with a run id fail with ErrNoRun.
type Store interface {
	// Create creates a run with its first events, and opens its journal. It fails with ErrRunExists.
	Create(run RunRecord, first ...machine.Event) (Journal, error)
	// Fork creates a run from another run's first n events and their snapshots, and first.
	Fork(run RunRecord, from string, n int, first ...machine.Event) (Journal, error)
	// Open opens the journal of a run for a driver named owner, or the default name. It fails
	// with a *DrivenError while another live driver has the run.
	Open(runID, owner string) (Journal, error)
	// Run returns what Create was given.
	Run(runID string) (RunRecord, error)
	// Events returns events after a run's first n, about size bytes and at least one, if any.
	Events(runID string, n, size int) ([]machine.Event, error)
	// Snapshot returns the latest snapshot after at most `most` events (negative: any), or the
	// zero Snapshot.
	Snapshot(runID string, most int) (Snapshot, error)
	// List returns the runs that a filter selects, the last started first.
	List(filter RunFilter) ([]RunSummary, error)
	// Ask leaves a request for the present driver of a run. A pause does not replace a cancel.
	Ask(runID string, request Request) error
	// Delete deletes a run. It fails with a *DrivenError while a driver has the run.
	Delete(runID string) error

	// Offer leaves answers for the current or next driver of a run, which settles them.
	Offer(runID string, offer Offer) error
	// Offered returns whether an offer is open, and why it was refused. Otherwise it was taken,
	// withdrawn or deleted with its run.
	Offered(id string) (open bool, refused string, err error)
	// Withdraw deletes an offer. It returns what Offered did.
	Withdraw(id string) (open bool, refused string, err error)

	// AppendLog numbers and stores chunks, and deletes those in drop. It returns the first
	// number. One driver at a time calls it.
	AppendLog(runID string, chunks []LogChunk, drop []int64) (first int64, err error)
	// Log returns at most so many chunks with numbers greater than after, in order.
	Log(runID string, after int64, most int) ([]LogChunk, error)

	// Session returns a session. It fails with ErrNoSession.
	Session(id string) (Session, error)
	// SaveSession merges a session by key. It replaces the conversation unless that is nil.
	SaveSession(s Session) error
	// Sessions lists all sessions, the last updated first, then by id.
	Sessions() ([]Session, error)
	// DeleteSession deletes a session; its runs stay. It fails with ErrNoSession.
	DeleteSession(id string) error

	// Cached returns the value of a key unless it has expired.
	Cached(key string, now time.Time) (value any, ok bool, err error)
	// Cache stores a value.
	Cache(entry CacheEntry) error
	// ClearCache deletes and counts the values of some nodes (nil: all) of a graph ("": all).
	ClearCache(graph string, nodes []string) (int, error)

	// Close closes the store. Journals are closed before.
	Close() error
}

// Journal is the log of one run for its driver, written by one goroutine. After an error nothing
// can be appended: open the run again to see what was stored.
type Journal interface {
	// Append stores events durably, all or none, in one commit.
	Append(events ...machine.Event) error
	// Snapshot stores the state after all events so far; s.Events is ignored. A driver writes one
	// when Journaled exceeds its size, so that reads and writes stay within a factor of two.
	Snapshot(s Snapshot) error
	// Journaled returns the bytes of events since the last snapshot, or -1 without snapshots.
	Journaled() int
	// Note updates the summary that List returns: Status, Reason, Quality, Steps, Due and Updated.
	Note(s RunSummary) error
	// Adopt replaces Graph, File, Source and Files of the run, and deletes its snapshots.
	Adopt(run RunRecord) error
	// Enter asks for a slot in a group of at most limit runs, until Close. The first call queues
	// the run; further calls ask whether it is its turn.
	Enter(group string, limit int) (GroupState, error)
	// Asked delivers requests within about a second, never one twice in a row; it may be nil. A
	// journal that can't be written delivers a cancel, and the next append says why.
	Asked() <-chan Request
	// Offers delivers each open offer once, within about a second; it may be nil.
	Offers() <-chan Offer
	// Settle takes an offer: it adds events and deletes the offer, at once. With a reason it
	// refuses the offer. Nothing is added if the offer was withdrawn: taken is false.
	Settle(id string, events []machine.Event, refused string) (taken bool, err error)
	// Close releases the run for other drivers. Closing twice is fine.
	Close() error
}

// FolderStore is a Store that keeps the folders of runs. It deletes a run's folder, and the one
// with the suffix .tasks for marks of programs, with the run.
type FolderStore interface {
	// RunDir is the absolute path of a run's folder, which need not exist.
	RunDir(runID string) string
}

// ErrRunExists means that the store already has a run with that id.
var ErrRunExists = errors.New("a run of that id exists")

// ErrNoRun means that the store has no run with that id.
var ErrNoRun = errors.New("no such run")

// ErrDamaged means that the store can't read what it wrote.
var ErrDamaged = errors.New("the file is damaged")

// ErrNoSession means that the store has no session with that id.
var ErrNoSession = errors.New("no such session")

// ErrJournalClosed means that a journal was written to after it was closed.
var ErrJournalClosed = errors.New("the journal is closed")

// DrivenError reports that another driver holds a run.
type DrivenError struct {
	RunID string
	// Owner is the name the driver gave itself.
	Owner string
}

// Error names the run and its driver.
func (e *DrivenError) Error() string { return fmt.Sprintf("run %q is driven by %s", e.RunID, e.Owner) }
