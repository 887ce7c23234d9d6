// Package store keeps the journals of runs: every event of a run in order, so that any process
// can resume, replay or show it. A Store has them all, and what belongs to runs besides: logs,
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

// Store keeps journals, and results of nodes. It is safe for concurrent use. Readers see all of
// what was appended at once, or nothing. Methods with a run id fail with ErrNoRun.
type Store interface {
	// Create creates a run with its first events, and opens its journal: all of it or
	// nothing. It fails with ErrRunExists.
	Create(run RunRecord, first ...machine.Event) (Journal, error)
	// Fork creates a run as Create does. Its journal begins with the first n events of another
	// run and their snapshots.
	Fork(run RunRecord, from string, n int, first ...machine.Event) (Journal, error)
	// Open opens the journal of a run for a driver named owner; the store names it if that is
	// empty. It fails with a *DrivenError while another driver has the run: until its journal
	// is closed or its process has ended.
	Open(runID, owner string) (Journal, error)
	// Run returns what Create was given.
	Run(runID string) (RunRecord, error)
	// Events returns events of a run after its first n in order, about size bytes of them and
	// at least one; none if there are no more.
	Events(runID string, n, size int) ([]machine.Event, error)
	// Snapshot returns the latest snapshot of a run after at most `most` events, or after any
	// number if most is negative. It returns the zero Snapshot if there is none.
	Snapshot(runID string, most int) (Snapshot, error)
	// List returns the runs that a filter lets through, the last started first.
	List(filter RunFilter) ([]RunSummary, error)
	// Ask leaves a request for the driver of a run; the next driver begins without requests. A
	// request to pause does not replace one to cancel.
	Ask(runID string, request Request) error
	// Delete deletes a run. It fails with a *DrivenError while a driver has the run.
	Delete(runID string) error

	// Offer leaves answers for the driver of a run, now or later, until one settles them.
	Offer(runID string, offer Offer) error
	// Offered returns whether an offer is open, and why it was refused. An offer that is
	// neither was taken or withdrawn, or its run was deleted.
	Offered(id string) (open bool, refused string, err error)
	// Withdraw deletes an offer. It returns what Offered did.
	Withdraw(id string) (open bool, refused string, err error)

	// AppendLog numbers and stores chunks, and deletes those with the numbers of drop, at
	// once. It returns the first number. One driver at a time calls it.
	AppendLog(runID string, chunks []LogChunk, drop []int64) (first int64, err error)
	// Log returns at most so many chunks with numbers greater than after, in order.
	Log(runID string, after int64, most int) ([]LogChunk, error)

	// Session returns a session. It fails with ErrNoSession.
	Session(id string) (Session, error)
	// SaveSession merges what a run left into its session: the keys one by one, the
	// conversation as a whole unless it is nil.
	SaveSession(s Session) error
	// Sessions lists all sessions, the last updated first, then by id.
	Sessions() ([]Session, error)
	// DeleteSession deletes a session; its runs stay. It fails with ErrNoSession.
	DeleteSession(id string) error

	// Cached returns the value of a key unless it has expired.
	Cached(key string, now time.Time) (value any, ok bool, err error)
	// Cache stores a value.
	Cache(entry CacheEntry) error
	// ClearCache deletes the values of nodes of a graph, and returns how many: of all nodes if
	// nodes is nil, of all graphs if graph is "".
	ClearCache(graph string, nodes []string) (int, error)

	// Close closes the store. Journals are closed before.
	Close() error
}

// Journal is the log of one run, open for its driver. One goroutine writes it. After an error
// nothing more can be appended: open the run again to see what was stored.
type Journal interface {
	// Append stores events durably, all or none, for the price of one.
	Append(events ...machine.Event) error
	// Snapshot stores the state after all events so far; s.Events is ignored. A driver does so
	// when Journaled exceeds the size of the state: what is written and what is read then stay
	// within a factor of two.
	Snapshot(s Snapshot) error
	// Journaled returns the size in bytes of the events since the last snapshot, or -1 if the
	// run needs no snapshots.
	Journaled() int
	// Note changes what List shows: Status, Reason, Quality, Steps, Due and Updated.
	Note(s RunSummary) error
	// Adopt replaces Graph, File, Source and Files of the run, and deletes its snapshots: they
	// are of the graph before.
	Adopt(run RunRecord) error
	// Enter asks for a slot in a group of at most limit runs, until Close. The first call
	// queues the run, in order of arrival; further calls ask whether it is its turn.
	Enter(group string, limit int) (GroupState, error)
	// Asked delivers the requests to this driver, each within about a second and never one
	// twice in a row; nil if there never are any. A journal that can't be written any more
	// delivers a request to cancel; the next append returns the reason.
	Asked() <-chan Request
	// Offers delivers the open offers, each once and within about a second; nil if there never
	// are any.
	Offers() <-chan Offer
	// Settle takes an offer: it adds events as Append does and deletes the offer, at once.
	// With a reason it refuses the offer. taken is false if the offer was withdrawn; nothing
	// was added then.
	Settle(id string, events []machine.Event, refused string) (taken bool, err error)
	// Close releases the run for other drivers. Closing twice is fine.
	Close() error
}

// FolderStore is a Store that keeps the folders of runs. It removes them when it deletes a run,
// together with the folders whose names end in .tasks, in which programs leave their marks.
// Other folders last as long as their run is driven.
type FolderStore interface {
	// RunDir is the absolute path of a run's folder, which need not exist.
	RunDir(runID string) string
}

// ErrRunExists says that a run of that id is in the store already.
var ErrRunExists = errors.New("a run of that id exists")

// ErrNoRun says that the store has no run of that id.
var ErrNoRun = errors.New("no such run")

// ErrDamaged says that the store can't read what it wrote.
var ErrDamaged = errors.New("the file is damaged")

// ErrNoSession says that the store has no session of that id.
var ErrNoSession = errors.New("no such session")

// ErrJournalClosed says that a journal was written to after it was closed.
var ErrJournalClosed = errors.New("the journal is closed")

// DrivenError reports that another driver holds a run.
type DrivenError struct {
	RunID string
	// Owner is the name the driver gave itself.
	Owner string
}

// Error names the run and its driver.
func (e *DrivenError) Error() string { return fmt.Sprintf("run %q is driven by %s", e.RunID, e.Owner) }
