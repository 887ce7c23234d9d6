// Package store keeps the journals of runs: every event of a run in order, so that any process can
// resume, replay or show it. A Store also holds other data of runs: logs, sessions, answers that wait
// for a driver, cached results of nodes. A Journal is open for the driver of one run.
//
// Memory keeps runs while the process lives. Package sqlite keeps them in a file that processes share.
// Package storetest has the suite that every Store passes.
package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Store keeps journals and other data of runs. It is safe for concurrent use. Readers see an append as
// a whole or not at all. Methods with a run id fail with ErrNoRun if there is no such run.
type Store interface {
	// Create creates a run with its first events, and opens its journal. It fails with ErrRunExists.
	Create(run RunRecord, first ...machine.Event) (Journal, error)
	// Fork creates a run with another run's first n events and their snapshots, then first.
	Fork(run RunRecord, from string, n int, first ...machine.Event) (Journal, error)
	// Open opens the journal of a run for a driver named owner, or the default name. It fails
	// with a *DrivenError while another live driver has the run.
	Open(runID, owner string) (Journal, error)
	// Run returns the record that Create or Fork stored.
	Run(runID string) (RunRecord, error)
	// Events returns events after a run's first n, about size bytes and at least one, if any.
	Events(runID string, n, size int) ([]machine.Event, error)
	// Snapshot returns the latest snapshot after at most `most` events (negative: any), or the
	// zero Snapshot.
	Snapshot(runID string, most int) (Snapshot, error)
	// List returns the runs that a filter selects, latest start first.
	List(filter RunFilter) ([]RunSummary, error)
	// SendRequest stores a request for the current driver of a run. A pause does not replace a cancel.
	SendRequest(runID string, request Request) error
	// Delete deletes a run. It fails with a *DrivenError while a driver has the run.
	Delete(runID string) error

	// SendOffer stores answers for the current or next driver of a run, which settles them.
	SendOffer(runID string, offer Offer) error
	// OfferStatus reports whether an offer is open, and why it was refused. If neither, it was
	// accepted, withdrawn or deleted with its run.
	OfferStatus(id string) (open bool, refused string, err error)
	// WithdrawOffer deletes an offer and returns its last status.
	WithdrawOffer(id string) (open bool, refused string, err error)

	// AppendLog numbers and stores chunks, and deletes the chunks in drop. It returns the first number.
	// Only the driver of the run calls it.
	AppendLog(runID string, chunks []LogChunk, drop []int64) (first int64, err error)
	// Log returns at most `most` chunks with numbers greater than after, in order.
	Log(runID string, after int64, most int) ([]LogChunk, error)

	// Session returns a session. It fails with ErrNoSession.
	Session(id string) (Session, error)
	// SaveSession merges a session by key. It replaces the conversation unless that is nil.
	SaveSession(s Session) error
	// Sessions lists all sessions, latest update first, then by id.
	Sessions() ([]Session, error)
	// DeleteSession deletes a session but not its runs. It fails with ErrNoSession.
	DeleteSession(id string) error

	// LoadCached returns the value of a key unless it has expired.
	LoadCached(key string, now time.Time) (value any, ok bool, err error)
	// SaveCached stores a value.
	SaveCached(entry CacheEntry) error
	// ClearCache deletes and counts the values of some nodes (nil: all) of a graph ("": all).
	ClearCache(graph string, nodes []string) (int, error)

	// Close closes the store. Its journals must be closed before.
	Close() error
}

// Journal is the journal of one run for its driver. One goroutine writes it. After an error it accepts
// nothing more: open the run again to see what was stored.
type Journal interface {
	// Append stores events durably, all or none, in one commit.
	Append(events ...machine.Event) error
	// Snapshot stores the state after all events so far. It ignores s.Events. A driver writes one when
	// BytesSinceSnapshot exceeds its size, so that reads and writes stay within a factor of two.
	Snapshot(s Snapshot) error
	// BytesSinceSnapshot returns the size of events since the last snapshot, or -1 without snapshots.
	BytesSinceSnapshot() int
	// SaveSummary updates Status, Reason, Quality, Steps, Due and Updated of the summary.
	SaveSummary(s RunSummary) error
	// ReplaceGraph replaces Graph, File, Source and Files of the run, and deletes its snapshots.
	ReplaceGraph(run RunRecord) error
	// EnterGroup asks for a slot in a group of at most limit runs. The run keeps the slot until Close.
	// The first call queues the run, further calls ask whether it is its turn.
	EnterGroup(group string, limit int) (GroupState, error)
	// Requests delivers requests within about a second, and never the same one twice in a row. It may
	// be nil. If the storage is lost, it delivers a cancel, and the next append returns the cause.
	Requests() <-chan Request
	// Offers delivers each open offer once, within about a second. It may be nil.
	Offers() <-chan Offer
	// SettleOffer accepts an offer: in one transaction it adds the events and deletes the offer. If
	// refused is not "", it refuses the offer for that reason. It adds nothing to the journal if the
	// offer was withdrawn; then accepted is false.
	SettleOffer(id string, events []machine.Event, refused string) (accepted bool, err error)
	// Close releases the run for other drivers. It may be called twice.
	Close() error
}

// FolderStore is a Store that keeps the folders of runs. With a run it deletes the run's folder, and
// the folder with the suffix .tasks, which marks its programs.
type FolderStore interface {
	// RunDir returns the absolute path of a run's folder. The folder may not exist yet.
	RunDir(runID string) string
}

// ErrRunExists means that the store already has a run with that id.
var ErrRunExists = errors.New("a run of that id exists")

// ErrNoRun means that the store has no run with that id.
var ErrNoRun = errors.New("no such run")

// ErrDamaged means that the stored data is damaged.
var ErrDamaged = errors.New("the file is damaged")

// ErrNoSession means that the store has no session with that id.
var ErrNoSession = errors.New("no such session")

// ErrJournalClosed means that a driver wrote to a closed journal.
var ErrJournalClosed = errors.New("the journal is closed")

// DrivenError reports that another driver holds a run.
type DrivenError struct {
	RunID string
	// Owner is the name of the driver.
	Owner string
}

// Error names the run and its driver.
func (e *DrivenError) Error() string { return fmt.Sprintf("run %q is driven by %s", e.RunID, e.Owner) }
