// The journal of a run inside its workflow, which the history of the workflow restores.

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// errMoved is the error of a driver whose run continues in a new workflow.
var errMoved = errors.New("the run continues in a new workflow")

// allBytes is more than the size of any journal.
const allBytes = int(^uint(0) >> 1)

// journal is a store.Store of one run. It caches results for this run only.
type journal struct {
	store.Memory // for the cache

	run       *workflowRun
	record    store.RunRecord
	runDir    string
	earlier   []segment // events before texts
	base      int       // number of them
	texts     []json.RawMessage
	snapshots []store.Snapshot // in order
	journaled int              // bytes of events since the last snapshot
	summary   store.RunSummary
	slot      groupSlot
	failed    error
	session   *keptSession       // of the run at its start, if it has one
	left      *store.Session     // of the run at its end, if it has one
	live      []runner.LiveEvent // the latest, from number liveFrom on
	liveFrom  int
	verdicts  map[string]string // why offers were refused; "" if they were accepted

	// finalEvents is the number of final events. Later ones belong to the workflow task that began with
	// history event task; 0 if that is completed, -1 if none has begun.
	finalEvents, task int
	replayed          int // the latest workflow task that was replayed, which is completed
}

// newJournal returns the journal with which a workflow starts.
func newJournal(start *Start) *journal {
	j := &journal{record: start.Record, runDir: start.RunDir, session: start.Session, verdicts: map[string]string{}, summary: start.firstSummary()}
	j.slot.claim, j.slot.turn = start.Claim, start.Turn
	if start.Before != nil {
		j.record = *start.Before
	}
	seed := start.Seed
	if seed == nil {
		return j
	}
	if n := len(seed.Earlier); n > 0 {
		j.earlier, j.base = seed.Earlier, seed.Earlier[n-1].End
		j.snapshots = []store.Snapshot{{Events: j.base, State: seed.Snapshot}}
	}
	for _, text := range seed.Events {
		j.addEvent(text)
	}
	return j
}

func (j *journal) addEvent(text []byte) {
	j.texts, j.journaled = append(j.texts, text), j.journaled+len(text)
}

// newSeed returns the journal for the next workflow. Events before the latest snapshot go to the
// payload store.
func (j *journal) newSeed(b blobs) *Seed {
	out, base := &Seed{Earlier: j.earlier, Summary: &j.summary}, j.base
	if n := len(j.snapshots); n > 0 {
		out.Snapshot, base = j.snapshots[n-1].State, j.snapshots[n-1].Events
	}
	if base > j.base {
		text, err := json.Marshal(j.texts[:base-j.base])
		digest, keepErr := storeBlob(b, text)
		if err := errors.Join(err, keepErr); err != nil {
			panic(err) // the cluster repeats the workflow task
		}
		out.Earlier = append(slices.Clone(j.earlier), segment{base, digest})
	}
	out.Events = j.eventsAfter(base, allBytes)
	return out
}

// beginTask notes the workflow task that adds to the journal, by its first event. Its events are
// final only in a replay: another worker may do the task again. A queried worker reads the
// history to its end, even if no workflow task has begun there.
func (j *journal) beginTask(task int, isReplayed bool) {
	if isReplayed {
		j.task, j.replayed = 0, task
		return
	}
	if task == j.replayed {
		task = -1
	}
	if task != j.task {
		j.finalEvents, j.task = j.eventCount(), task
	}
}

// limitToFinal limits a number of events to the number of final events. A negative number means any.
func (j *journal) limitToFinal(most int) int {
	if j.task != 0 && (most < 0 || most > j.finalEvents) {
		return j.finalEvents
	}
	return most
}

// eventCount returns the number of events, including those of earlier workflows.
func (j *journal) eventCount() int { return j.base + len(j.texts) }

// eventsAfter returns the texts of events after the first n, of about size bytes.
func (j *journal) eventsAfter(n, size int) []json.RawMessage {
	out := j.texts[min(max(0, n-j.base), len(j.texts)):]
	for i := range out {
		if size -= len(out[i]); size <= 0 {
			return out[:i+1]
		}
	}
	return out
}

// queryPart returns the part of the journal that a query asks for.
func (j *journal) queryPart(q *journalQuery) *journalPart {
	out := &journalPart{FinalEvents: j.finalEvents, Task: j.task, Events: j.eventsAfter(q.From, q.Size)}
	if q.Live >= 0 {
		out.LiveFrom = max(q.Live, j.liveFrom)
		out.Live = j.live[min(out.LiveFrom-j.liveFrom, len(j.live)):]
	}
	return out
}

// Create begins the journal.
func (j *journal) Create(record store.RunRecord, first ...machine.Event) (store.Journal, error) {
	if len(j.texts) > 0 {
		return nil, store.ErrRunExists
	}
	record.Labels = j.record.Labels
	j.record, j.summary.Status = record, machine.Running
	return driverJournal{j}, driverJournal{j}.Append(first...)
}

// Open opens the journal for a driver.
func (j *journal) Open(string, string) (store.Journal, error) { return driverJournal{j}, j.failed }

// Run returns the record.
func (j *journal) Run(string) (store.RunRecord, error) { return j.record, nil }

// List returns the run.
func (j *journal) List(store.RunFilter) ([]store.RunSummary, error) {
	return []store.RunSummary{newMemo(&j.record, j.summary).RunSummary}, nil
}

// Events returns events after the first n, of about size bytes.
func (j *journal) Events(_ string, n, size int) ([]machine.Event, error) {
	return decodeEvents(j.eventsAfter(n, size))
}

func decodeEvents(texts []json.RawMessage) ([]machine.Event, error) {
	out := make([]machine.Event, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = store.DecodeEvent(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Snapshot returns the latest snapshot after at most that many events, or any number if negative.
func (j *journal) Snapshot(_ string, most int) (out store.Snapshot, err error) {
	for _, s := range slices.Backward(j.snapshots) {
		if most < 0 || s.Events <= most {
			return s, nil
		}
	}
	return out, nil
}

// RunDir returns the folder of the run.
func (j *journal) RunDir(string) string { return j.runDir }

// Session returns the session with which the run began.
func (j *journal) Session(id string) (store.Session, error) {
	if j.session == nil {
		return store.Session{}, fmt.Errorf("session %q: %w", id, store.ErrNoSession)
	}
	return j.session.Session, nil
}

// SaveSession keeps a session for the workflow.
func (j *journal) SaveSession(left store.Session) error {
	j.left = &left
	return nil
}

// driverJournal is the journal as the driver sees it.
type driverJournal struct{ *journal }

// Append adds events.
func (k driverJournal) Append(events ...machine.Event) error {
	if k.failed != nil {
		return k.failed
	}
	texts, err := store.EncodeEvents(events)
	for _, text := range texts {
		k.addEvent(text)
	}
	return err
}

// Snapshot adds a snapshot.
func (k driverJournal) Snapshot(s store.Snapshot) error {
	s.Events = k.eventCount()
	if n := len(k.snapshots); n > 0 && k.snapshots[n-1].Events == s.Events {
		k.snapshots = k.snapshots[:n-1]
	}
	k.snapshots, k.journaled = append(k.snapshots, s), 0
	return nil
}

// BytesSinceSnapshot returns the bytes of the events since the last snapshot.
func (k driverJournal) BytesSinceSnapshot() int { return k.journaled }

// SaveSummary changes the summary of the run.
func (k driverJournal) SaveSummary(s store.RunSummary) error {
	k.summary = s
	return nil
}

// ReplaceGraph replaces the version of the run. There are no snapshots to delete yet.
func (k driverJournal) ReplaceGraph(record store.RunRecord) error {
	k.record = record
	return nil
}

// Requests returns nil: requests reach the driver by runner.Drive.
func (k driverJournal) Requests() <-chan store.Request { return nil }

// Offers returns nil: offers reach the driver by runner.Drive.
func (k driverJournal) Offers() <-chan store.Offer { return nil }

// SettleOffer accepts or refuses an offer.
func (k driverJournal) SettleOffer(id string, events []machine.Event, refused string) (accepted bool, err error) {
	if refused == "" {
		err = k.Append(events...)
	}
	if err == nil {
		k.verdicts[id] = refused
	}
	return refused == "" && err == nil, err
}
