// Runs kept in memory.

package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
)

// Memory is a Store in memory. The zero value is empty and ready.
// Events are kept as text, as in a file, so that a run can't tell the two apart.
type Memory struct{ Records }

// memory is the content of a Memory.
type memory struct {
	mu     sync.Mutex // of all that follows, runs and journals included
	runs   map[string]*memoryRun
	order  []*memoryRun // as they were created
	values map[string][]byte
}

type memoryRun struct {
	summary   RunSummary
	events    [][]byte // what is there never changes
	snapshots []Snapshot
	journal   *DriverJournal // nil: nobody drives the run
}

// thisProgram is a driver without a name.
const thisProgram = "this program"

// Create starts a journal.
func (m *Memory) Create(record RunRecord, first ...machine.Event) (Journal, error) {
	return m.memory.create(record, first, func() (source memoryRun, err error) { return source, nil })
}

// Fork starts a journal with the beginning of another one.
func (m *Memory) Fork(record RunRecord, from string, n int, first ...machine.Event) (Journal, error) {
	return m.memory.create(record, first, func() (source memoryRun, err error) {
		run, err := m.memory.find(from)
		if err != nil {
			return source, err
		}
		source.events = run.events[:min(max(n, 0), len(run.events))]
		source.snapshots = slices.DeleteFunc(slices.Clone(run.snapshots), func(s Snapshot) bool { return s.Events > n })
		return source, nil
	})
}

// create starts the journal of a run with the events and snapshots of another one.
func (m *memory) create(record RunRecord, first []machine.Event, inherit func() (source memoryRun, err error)) (Journal, error) {
	texts, err := EncodeEvents(first)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[record.ID] != nil {
		return nil, fmt.Errorf("run %q: %w", record.ID, ErrRunExists)
	}
	run, err := inherit()
	if err != nil {
		return nil, err
	}
	run.summary = RunSummary{RunRecord: copyRecord(record), Status: machine.Running, Updated: record.Started}
	run.events = append(slices.Clone(run.events), texts...)
	if m.runs == nil {
		m.runs = map[string]*memoryRun{}
	}
	m.runs[record.ID] = &run
	m.order = append(m.order, &run)
	return m.drive(&run, thisProgram)
}

// Open goes on with a journal.
func (m *Memory) Open(runID, owner string) (Journal, error) {
	m.memory.mu.Lock()
	run, err := m.memory.find(runID)
	if err == nil && run.journal != nil {
		err = run.driven()
	}
	if err != nil {
		m.memory.mu.Unlock()
		return nil, err
	}
	journal, err := m.memory.drive(run, cmp.Or(owner, thisProgram))
	m.memory.mu.Unlock()
	m.memory.Notify(runID)
	return journal, err
}

// drive opens the journal of a run without a driver. The caller holds the lock.
func (m *memory) drive(run *memoryRun, owner string) (*DriverJournal, error) {
	from, journaled := 0, 0
	if n := len(run.snapshots); n > 0 {
		from = run.snapshots[n-1].Events
	}
	for _, text := range run.events[from:] {
		journaled += len(text)
	}
	run.summary.Owner = owner
	run.journal = NewJournal(OpenRun{
		Base: m, RunID: run.summary.ID, Events: len(run.events), Journaled: journaled,
		Update: func(do func(tx JournalTx) error) error {
			return m.Update(false, func(tx Tx) error { return do(memoryRunTx{tx.(*memoryTx), run}) })
		},
		Release: func() error {
			return m.Update(false, func(tx Tx) error {
				run.journal, run.summary.Owner = nil, ""
				return ClearDriver(tx, run.summary.ID)
			})
		},
	})
	return run.journal, m.update(func(tx Tx) error { return ClearDriver(tx, run.summary.ID) })
}

func (r *memoryRun) driven() error {
	return &DrivenError{RunID: r.summary.ID, Owner: r.summary.Owner}
}

// Run returns a run's record.
func (m *Memory) Run(runID string) (RunRecord, error) {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	run, err := m.memory.find(runID)
	if err != nil {
		return RunRecord{}, err
	}
	return copyRecord(run.summary.RunRecord), nil
}

// copyRecord returns a record that shares nothing with another.
func copyRecord(record RunRecord) RunRecord {
	record.Labels, record.Source = maps.Clone(record.Labels), slices.Clone(record.Source)
	record.Files = maps.Clone(record.Files)
	for name, text := range record.Files {
		record.Files[name] = slices.Clone(text)
	}
	return record
}

// List returns the runs that a filter lets through, the last started first.
func (m *Memory) List(filter RunFilter) ([]RunSummary, error) {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	var out []RunSummary
	for _, run := range slices.Backward(m.memory.order) {
		if filter.Match(&run.summary) {
			line := run.summary
			line.Source, line.Files, line.Labels = nil, nil, maps.Clone(line.Labels)
			out = append(out, line)
		}
	}
	slices.SortStableFunc(out, func(a, b RunSummary) int { return b.Started.Compare(a.Started) })
	if filter.Limit > 0 && len(out) > filter.Limit {
		out = out[:filter.Limit]
	}
	return out, nil
}

// Delete forgets a run.
func (m *Memory) Delete(runID string) error {
	d := &m.memory
	d.mu.Lock()
	defer d.mu.Unlock()
	run, err := d.find(runID)
	if err != nil {
		return err
	}
	if run.journal != nil {
		return run.driven()
	}
	delete(d.runs, runID)
	d.order = slices.DeleteFunc(d.order, func(r *memoryRun) bool { return r == run })
	return d.update(func(tx Tx) error { return DeleteRecords(tx, runID) })
}

// Close does nothing: a Memory is gone when nobody holds it.
func (m *Memory) Close() error { return nil }

// find returns a run. The caller has the lock.
func (m *memory) find(runID string) (*memoryRun, error) {
	if run := m.runs[runID]; run != nil {
		return run, nil
	}
	return nil, fmt.Errorf("run %q: %w", runID, ErrNoRun)
}

// Stretch returns a part of a run's journal.
func (m *Memory) Stretch(runID string, n, size int) ([]machine.Event, error) {
	return m.memory.Stretch(runID, n, size)
}

// Stretch returns events without the first n, of about so many bytes.
func (m *memory) Stretch(runID string, n, size int) ([]machine.Event, error) {
	m.mu.Lock()
	run, err := m.find(runID)
	if err != nil {
		m.mu.Unlock()
		return nil, err
	}
	texts := run.events[min(max(n, 0), len(run.events)):]
	m.mu.Unlock()
	events := []machine.Event{}
	for _, text := range texts {
		e, err := DecodeEvent(text)
		if err != nil {
			return nil, fmt.Errorf("run %q: %w", runID, err)
		}
		events = append(events, e)
		if size -= len(text); size <= 0 {
			break
		}
	}
	return events, nil
}

// Snapshot returns the latest snapshot of at most so many events.
func (m *Memory) Snapshot(runID string, most int) (Snapshot, error) {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	run, err := m.memory.find(runID)
	if err != nil {
		return Snapshot{}, err
	}
	for _, s := range slices.Backward(run.snapshots) {
		if most < 0 || s.Events <= most {
			return Snapshot{Events: s.Events, State: slices.Clone(s.State)}, nil
		}
	}
	return Snapshot{}, nil
}
