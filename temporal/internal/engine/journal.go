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

// errLeft is the error of a driver whose run continues in a new workflow.
var errLeft = errors.New("the run continues in a new workflow")

// journal is a store.Store of one run. Its cache is the run's own.
type journal struct {
	store.Memory // for the cache

	wait func(ready func() bool) error // lets the workflow do something else

	record    store.RunRecord
	runDir    string
	base      int // events before texts
	texts     [][]byte
	snapshots []store.Snapshot // in order
	journaled int
	standing  store.RunSummary
	noted     bool // by a driver in this workflow
	slot      groupSlot
	failed    error
	session   *keptSession       // with which the run began; nil for none
	left      *store.Session     // for the next run; nil for none
	previous  string             // the workflow run with the events before texts
	live      []runner.LiveEvent // the latest, from number liveFrom on
	liveFrom  int
	verdicts  map[string]string // why offers were refused; "" if they were accepted

	// sure is the number of final events. Later ones belong to the workflow task that began
	// with event task of the history. task is 0 if that is completed, and -1 if none has
	// begun.
	sure, task int
	replayed   int // the latest workflow task that was replayed, which is completed
}

// beginTask notes the workflow task that adds to the journal, by the event with which it
// began. What it adds is final only if it is replayed: another worker may do it again with
// other events. A worker that is queried reads the history to its end, even where no
// workflow task has begun yet.
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

// atMost limits the events of a snapshot, any number if negative, to the final ones.
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

// Session returns the session with which the run began.
func (j *journal) Session(id string) (store.Session, error) {
	if j.session == nil {
		return store.Session{}, fmt.Errorf("session %q: %w", id, store.ErrNoSession)
	}
	return j.session.session()
}

// SaveSession keeps a session for the workflow.
func (j *journal) SaveSession(left store.Session) error {
	j.left = &left
	return nil
}

// seed returns the journal for the next workflow.
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
	return k, k.Append(first...)
}

// Open opens the journal for a driver.
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

// length returns the number of events, including those of earlier workflows.
func (j *journal) length() int {
	return j.base + len(j.texts)
}

// after returns the texts of events after the first n, of about size bytes.
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

// Events returns events after the first n, of about size bytes.
func (j *journal) Events(_ string, n, size int) ([]machine.Event, error) {
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

// stands returns the summary of the run.
func (j *journal) stands(record *store.RunRecord) standing {
	if j.standing.Status == "" {
		return standingOf(record, nil)
	}
	return standingOf(record, &j.standing)
}

// RunDir returns the folder of the run.
func (j *journal) RunDir(string) string { return j.runDir }

// keeper is the journal for its driver.
type keeper struct{ *journal }

// Append adds events.
func (k keeper) Append(events ...machine.Event) error {
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

// Snapshot adds a snapshot.
func (k keeper) Snapshot(s store.Snapshot) error {
	j := k.journal
	s.Events = j.base + len(j.texts)
	if n := len(j.snapshots); n > 0 && j.snapshots[n-1].Events == s.Events {
		j.snapshots = j.snapshots[:n-1]
	}
	j.snapshots, j.journaled = append(j.snapshots, s), 0
	return nil
}

// Journaled returns the bytes of the events since the last snapshot.
func (k keeper) Journaled() int {
	return k.journaled
}

// Note changes the summary of the run.
func (k keeper) Note(s store.RunSummary) error {
	k.noted, k.standing = true, s
	return nil
}

// Adopt replaces the version of the run. There are no snapshots to delete, because the
// workflow began with the whole journal.
func (k keeper) Adopt(record store.RunRecord) error {
	k.record = record
	return nil
}

// Asked returns nil: requests reach the driver by runner.Drive.
func (k keeper) Asked() <-chan store.Request { return nil }

// Offers returns nil: offers reach the driver by runner.Drive.
func (k keeper) Offers() <-chan store.Offer { return nil }

// Settle accepts or refuses an offer.
func (k keeper) Settle(id string, events []machine.Event, refused string) (taken bool, err error) {
	if refused == "" {
		if err := k.Append(events...); err != nil {
			return false, err
		}
	}
	k.verdicts[id] = refused
	return refused == "", nil
}
