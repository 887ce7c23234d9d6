// Package store keeps the journals of runs: every event that a run was decided
// by, in order, so that any process can go on with the run, replay it or look at
// it. A Store has them all, and what belongs to runs besides: logs, sessions,
// answers that wait to be taken, cached results of nodes. A Journal is the log of
// one run, open for its one driver.
//
// Memory keeps runs for as long as the process lives; package sqlite keeps them
// in a file that processes share. Package storetest has the suite that every
// Store passes.
package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Store keeps journals, and results of nodes. It is safe for concurrent use.
// Whoever reads sees what was appended, never a part of what was appended at once.
type Store interface {
	// Create starts the journal of a new run, with the graph file's text as it
	// is at the start and its first events, and drives it: all of it or nothing. It
	// fails with ErrRunExists.
	Create(run RunRecord, first ...machine.Event) (Journal, error)
	// Fork starts the journal of a new run as Create does, with the first n events
	// of another one and its snapshots of them, and then those of first. It fails
	// with ErrRunExists, and with ErrNoRun when there is no other one.
	Fork(run RunRecord, from string, n int, first ...machine.Event) (Journal, error)
	// Open goes on with a run's journal, for a driver whose name is owner; empty: the
	// store names it. It fails with ErrNoRun, and with a *DrivenError while another
	// driver has the run: until then that may add events. A driver has a run until its
	// journal is closed or its process has ended.
	Open(runID, owner string) (Journal, error)
	// Run returns what Create was given. It fails with ErrNoRun.
	Run(runID string) (RunRecord, error)
	// Events returns a run's journal in order. It fails with ErrNoRun.
	Events(runID string) ([]machine.Event, error)
	// EventsAfter returns a run's journal without its first n events, for those
	// who follow it or go on from a snapshot. It fails with ErrNoRun.
	EventsAfter(runID string, n int) ([]machine.Event, error)
	// Stretch returns a part of a run's journal in order: the events after its first
	// n that come to about size bytes, at least one; none: there are no more. Who
	// reads one stretch after the other holds no more than that in memory, and keeps
	// nothing from being written in between. It fails with ErrNoRun.
	Stretch(runID string, n, size int) ([]machine.Event, error)
	// Snapshot returns the latest snapshot of a run that stands for at most
	// `most` events, or for any number when most is negative. The zero Snapshot
	// says that there is none. It fails with ErrNoRun.
	Snapshot(runID string, most int) (Snapshot, error)
	// List returns the runs that a filter lets through, the last started first.
	List(filter RunFilter) ([]RunSummary, error)
	// Ask leaves a request for the driver of a run: the next one begins without
	// requests. A request to pause does not replace one to cancel. It fails with
	// ErrNoRun.
	Ask(runID string, request Request) error
	// Delete forgets a run. It fails with ErrNoRun, and with a *DrivenError
	// while a driver has the run.
	Delete(runID string) error

	// Offers of answers are kept until the driver of their run has settled them.

	// Offer leaves an offer for whoever drives a run, now or later. It fails with
	// ErrNoRun.
	Offer(runID string, offer Offer) error
	// Offered says how an offer stands: open until a driver has settled it, and
	// refused with the reason if it was. An offer that is neither was taken or
	// withdrawn, or the run is gone.
	Offered(id string) (open bool, refused string, err error)
	// Withdraw forgets an offer. It says how the offer stood, as Offered does.
	Withdraw(id string) (open bool, refused string, err error)

	// Logs are written by one driver at a time and read by all.

	// AppendLog numbers chunks in their order, keeps them and forgets those that
	// are numbered as in drop, all in one. It returns the first number that it
	// gave. It fails with ErrNoRun. The latest chunks may be lost when the power
	// fails.
	AppendLog(runID string, chunks []LogChunk, drop []int64) (first int64, err error)
	// Log returns at most so many chunks with numbers after one, in order. It
	// fails with ErrNoRun.
	Log(runID string, after int64, most int) ([]LogChunk, error)

	// Sessions outlast the runs that share them.

	// Session returns a session. It fails with ErrNoSession.
	Session(id string) (Session, error)
	// SaveSession puts what a run left into its session: the keys one by one,
	// the conversation as a whole unless it is nil.
	SaveSession(s Session) error
	// Sessions lists all sessions, the last updated first, then by id.
	Sessions() ([]Session, error)
	// DeleteSession forgets a session; its runs stay. It fails with ErrNoSession.
	DeleteSession(id string) error

	// Results of nodes that have a cache block outlast their runs, too.

	// Cached returns the value kept under a key, unless it has expired.
	Cached(key string, now time.Time) (value any, ok bool, err error)
	// Cache keeps a value, in the place of an earlier one.
	Cache(entry CacheEntry) error
	// ClearCache forgets what is cached for nodes of a graph, nil being all of
	// its nodes and "" all graphs. It returns how many values that were.
	ClearCache(graph string, nodes []string) (int, error)

	// Close lets go of the store. Journals are closed before.
	Close() error
}

// Journal is the log of one run, open for its driver. One goroutine writes it.
// After an error nothing more can be appended: what is kept is found out by
// opening the run again.
type Journal interface {
	// Append adds an event; it is kept for good when Append returns nil.
	Append(e machine.Event) error
	// AppendAll adds events, all of them or none, for the price of one.
	AppendAll(events []machine.Event) error
	// Snapshot keeps the state that all events so far lead to, so that nobody
	// has to apply them again; Events of s is known. A driver does so when
	// Journaled exceeds the size of the state: what is written and what is read
	// then stay within a factor of two.
	Snapshot(s Snapshot) error
	// Journaled is the size in bytes of the events since the last snapshot.
	Journaled() int
	// Note tells what List shows: Status, Reason, Steps, Due and Updated of s, the
	// rest being known. A new status, reason or due time is kept at once; the others
	// within a few seconds and at Close.
	Note(s RunSummary) error
	// Adopt replaces Graph, File, Source and Files of the run, and forgets its
	// snapshots: they were of the graph before.
	Adopt(run RunRecord) error
	// Enter asks for a place in a group of runs, of which limit are inside at most,
	// until Close: the place is gone with the driver. The first call
	// puts the run into the queue, and who came first is let in first; further calls
	// ask whether it is its turn. Who is inside stays there.
	Enter(group string, limit int) (GroupState, error)
	// Asked delivers the requests that are left for this driver, each within
	// about a second and never one twice in a row; nil: there never are any. A
	// journal that finds out that it can't go on delivers a request to cancel: what
	// is appended then fails with the reason.
	Asked() <-chan Request
	// Offers delivers the offers that are open, each once and within about a
	// second; nil: there never are any.
	Offers() <-chan Offer
	// Settle takes an offer, by adding events as AppendAll does, and forgets it in
	// the same commit; with a reason it refuses it. An offer that was withdrawn
	// meanwhile is not taken: taken is false, and nothing was added.
	Settle(id string, events []machine.Event, refused string) (taken bool, err error)
	// Close releases the run for other drivers. Closing twice is fine.
	Close() error
}

// FolderStore is a Store that has a place for the folders of runs, which it
// removes when it deletes a run, together with the folder beside it whose name
// ends in .tasks, in which programs that run have their marks. Without one a
// folder lasts for as long as its run is driven.
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
