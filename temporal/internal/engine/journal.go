// The journal of one run inside its workflow: the workflow's history makes it anew.

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

// errLeft is the error of a driver whose run continues in a new workflow.
var errLeft = errors.New("the run continues in a new workflow")

// journal is a store.Store of one run. Results that are cached are those of this run. It
// is its own Journal. Its driver uses it while the workflow waits for the stage to settle,
// and the workflow when it has.
type journal struct {
	store.Memory // what is not of the run

	wait func(ready func() bool) error // lets the workflow do something else

	record    store.RunRecord
	runDir    string
	base      int // events before texts
	texts     [][]byte
	snapshots []store.Snapshot // in order
	journaled int
	standing  store.RunSummary
	noted     bool // by who drives the run here
	slot      groupSlot
	failed    error
	session   *keptSession       // that the run began with; nil: none
	left      *store.Session     // what the run leaves; nil: nothing
	previous  string             // the workflow run with the events before texts
	live      []runner.LiveEvent // the latest, from number liveFrom on
	liveFrom  int
	liveSize  int               // bytes, about
	verdicts  map[string]string // of offers: why they were refused; "": they were taken

	// sure is how many events there are for good; those after them are of the workflow
	// task that began with event task of the history. 0: it has been completed; -1: none
	// has begun.
	sure, task int
	replayed   int // the latest workflow task that was replayed, and so has been completed
}

// beginTask says that a workflow task begins, or goes on, that began with an event of the
// history. What it adds is sure only if it is replayed. One that a worker is at, or was
// when it was lost, may be done again with other events; and a worker that is asked
// something reads the history to its end, also where no workflow task has begun yet.
func (j *journal) beginTask(task int, replayed bool) {
	if replayed {
		j.task, j.replayed = 0, task
		return
	}
	if task == j.replayed {
		task = -1
	}
	if task != j.task {
		j.sure, j.task = j.base+len(j.texts), task
	}
}

// atMost bounds how many events a snapshot may have, any number when negative, to those
// that are there for good.
func (j *journal) atMost(most int) int {
	if j.task != 0 && (most < 0 || most > j.sure) {
		return j.sure
	}
	return most
}

// newJournal returns the journal of a run, as far as its start has it.
func newJournal(record store.RunRecord, start *Start) *journal {
	j := &journal{record: record, runDir: start.RunDir, session: start.Session, verdicts: map[string]string{}}
	seed := start.Seed
	if seed == nil {
		return j
	}
	j.base, j.previous = seed.Base, seed.Previous
	if seed.Stood != nil {
		j.standing = *seed.Stood
	}
	j.slot.claim, j.slot.turn = seed.Claim, seed.Turn
	if seed.Base > 0 {
		j.snapshots = []store.Snapshot{{Events: seed.Base, State: seed.Snapshot}}
	}
	for _, text := range seed.Events {
		j.texts, j.journaled = append(j.texts, text), j.journaled+len(text)
	}
	return j
}

// Session is the one that the run began with.
func (j *journal) Session(id string) (store.Session, error) {
	if j.session == nil {
		return store.Session{}, fmt.Errorf("session %q: %w", id, store.ErrNoSession)
	}
	return j.session.session()
}

// SaveSession has the workflow keep what the run leaves.
func (j *journal) SaveSession(left store.Session) error {
	j.left = &left
	return nil
}

// seed is what another workflow goes on with.
func (j *journal) seed(previous string) *Seed {
	out := &Seed{Base: j.base, Previous: previous, Claim: j.slot.claim, Turn: j.slot.turn}
	if n := len(j.snapshots); n > 0 {
		last := j.snapshots[n-1]
		out.Base, out.Snapshot = last.Events, last.State
	}
	for _, text := range j.texts[out.Base-j.base:] {
		out.Events = append(out.Events, text)
	}
	return out
}

// Create begins the journal.
func (j *journal) Create(record store.RunRecord, first ...machine.Event) (store.Journal, error) {
	if len(j.texts) > 0 {
		return nil, store.ErrRunExists
	}
	labels := j.record.Labels
	j.record = record
	j.record.Labels = labels
	j.standing.Status = machine.Running
	k := keeper{j}
	return k, k.AppendAll(first)
}

// Open goes on with the journal.
func (j *journal) Open(runID, _ string) (store.Journal, error) {
	if runID != j.record.ID {
		return nil, store.ErrNoRun
	}
	if j.failed != nil {
		return nil, j.failed
	}
	return keeper{j}, nil
}

// Run returns the record.
func (j *journal) Run(runID string) (store.RunRecord, error) {
	if runID != j.record.ID {
		return store.RunRecord{}, store.ErrNoRun
	}
	return j.record, nil
}

// length is how many events there are, those before this workflow included.
func (j *journal) length() int {
	return j.base + len(j.texts)
}

// after are the texts of the events after the first n, of about size bytes.
func (j *journal) after(n, size int) [][]byte {
	out := j.texts[min(max(0, n-j.base), len(j.texts)):]
	for i := range out {
		if size -= len(out[i]); size <= 0 {
			return out[:i+1]
		}
	}
	return out
}

// part returns the part of the journal that a query wants.
func (j *journal) part(q *journalQuery) *journalPart {
	out := &journalPart{Base: j.base, Previous: j.previous, Sure: j.sure, Task: j.task}
	for _, text := range j.after(q.From, q.Size) {
		out.Events = append(out.Events, json.RawMessage(text))
	}
	out.Live, out.LiveFrom = j.liveAfter(q.Live)
	return out
}

const allBytes = int(^uint(0) >> 1)

// Events returns the events that are here.
func (j *journal) Events(string) ([]machine.Event, error) { return decodeEvents(j.after(0, allBytes)) }

// EventsAfter returns the events after the first n.
func (j *journal) EventsAfter(_ string, n int) ([]machine.Event, error) {
	return decodeEvents(j.after(n, allBytes))
}

// Stretch returns events after the first n, of about size bytes.
func (j *journal) Stretch(_ string, n, size int) ([]machine.Event, error) {
	return decodeEvents(j.after(n, size))
}

func decodeEvents[T ~[]byte](texts []T) ([]machine.Event, error) {
	out := make([]machine.Event, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = store.DecodeEvent(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Snapshot returns the latest snapshot of at most so many events.
func (j *journal) Snapshot(_ string, most int) (out store.Snapshot, err error) {
	for _, s := range slices.Backward(j.snapshots) {
		if most < 0 || s.Events <= most {
			return s, nil
		}
	}
	return out, nil
}

// List returns the run.
func (j *journal) List(store.RunFilter) ([]store.RunSummary, error) {
	return []store.RunSummary{j.stands(&j.record).RunSummary}, nil
}

// stands is how the run stands.
func (j *journal) stands(record *store.RunRecord) standing {
	if j.standing.Status == "" {
		return standingOf(record, nil)
	}
	return standingOf(record, &j.standing)
}

// RunDir is the folder of the run.
func (j *journal) RunDir(string) string { return j.runDir }

// keeper is the journal as its driver has it.
type keeper struct{ *journal }

// Append adds an event.
func (k keeper) Append(e machine.Event) error { return k.AppendAll([]machine.Event{e}) }

// AppendAll adds events.
func (k keeper) AppendAll(events []machine.Event) error {
	j := k.journal
	texts := make([][]byte, len(events))
	for i := range events {
		var err error
		if texts[i], err = store.EncodeEvent(&events[i]); err != nil {
			return err
		}
	}
	if j.failed != nil {
		return j.failed
	}
	for _, text := range texts {
		j.texts, j.journaled = append(j.texts, text), j.journaled+len(text)
	}
	return nil
}

// Snapshot keeps a state.
func (k keeper) Snapshot(s store.Snapshot) error {
	j := k.journal
	s.Events = j.base + len(j.texts)
	if n := len(j.snapshots); n > 0 && j.snapshots[n-1].Events == s.Events {
		j.snapshots = j.snapshots[:n-1]
	}
	j.snapshots, j.journaled = append(j.snapshots, s), 0
	return nil
}

// Journaled is the size of the events since the last snapshot.
func (k keeper) Journaled() int {
	return k.journaled
}

// Note tells how the run stands.
func (k keeper) Note(s store.RunSummary) error {
	k.noted, k.standing = true, s
	return nil
}

// Adopt replaces the version of the run. There is no snapshot of the one before: the
// workflow began with the whole journal.
func (k keeper) Adopt(record store.RunRecord) error {
	k.record = record
	return nil
}

// Asked is nil: requests come by the stage.
func (k keeper) Asked() <-chan store.Request { return nil }

// Offers is nil: offers come by the stage.
func (k keeper) Offers() <-chan store.Offer { return nil }

// Settle takes or refuses an offer.
func (k keeper) Settle(id string, events []machine.Event, refused string) (taken bool, err error) {
	if refused == "" {
		if err := k.AppendAll(events); err != nil {
			return false, err
		}
	}
	k.verdicts[id] = refused
	return refused == "", nil
}
