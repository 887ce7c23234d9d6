// Runs kept in memory.

package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Memory is a Store in memory. The zero value is empty and ready.
// Events are kept as text, as in a file, so that a run can't tell the two apart.
type Memory struct {
	mu    sync.Mutex // of all that follows, runs and journals included
	runs  map[string]*memoryRun
	order []*memoryRun // as they were created
	cache map[string]memoryEntry

	sessions map[string]Session
	offers   []*memoryOffer // in order
	groups   []*groupMember // in the order in which they came
}

type memoryRun struct {
	summary   RunSummary
	events    [][]byte
	snapshots []Snapshot
	journaled int // bytes since the last snapshot
	log       []LogChunk
	logged    int64 // the last number in log
	journal   *memoryJournal
}

// thisProgram is a driver without a name.
const thisProgram = "this program"

// Create starts a journal.
func (m *Memory) Create(record RunRecord, first ...machine.Event) (Journal, error) {
	texts, size, err := encodeAll(first)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.begin(record)
	if err != nil {
		return nil, err
	}
	run.events, run.journaled = texts, size
	return m.drive(run, thisProgram), nil
}

// Fork starts a journal with the beginning of another one.
func (m *Memory) Fork(record RunRecord, from string, n int, first ...machine.Event) (Journal, error) {
	texts, size, err := encodeAll(first)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	source, err := m.find(from)
	if err != nil {
		return nil, err
	}
	run, err := m.begin(record)
	if err != nil {
		return nil, err
	}
	n = min(max(n, 0), len(source.events))
	run.events = append(slices.Clone(source.events[:n]), texts...)
	last := 0
	for _, s := range source.snapshots {
		if s.Events <= n {
			run.snapshots, last = append(run.snapshots, s), s.Events
		}
	}
	run.journaled = size
	for _, text := range source.events[last:n] {
		run.journaled += len(text)
	}
	return m.drive(run, thisProgram), nil
}

// begin makes a run; the lock is held.
func (m *Memory) begin(record RunRecord) (*memoryRun, error) {
	if m.runs[record.ID] != nil {
		return nil, fmt.Errorf("run %q: %w", record.ID, ErrRunExists)
	}
	if m.runs == nil {
		m.runs = map[string]*memoryRun{}
	}
	record = copied(record)
	run := &memoryRun{summary: RunSummary{
		RunRecord: record, Status: machine.Running, Updated: record.Started,
	}}
	m.runs[record.ID] = run
	m.order = append(m.order, run)
	return run, nil
}

// Open goes on with a journal.
func (m *Memory) Open(runID, owner string) (Journal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.find(runID)
	if err != nil {
		return nil, err
	}
	if run.journal != nil {
		return nil, run.driven()
	}
	return m.drive(run, cmp.Or(owner, thisProgram)), nil
}

func (m *Memory) drive(run *memoryRun, owner string) *memoryJournal {
	run.journal = &memoryJournal{
		store: m, run: run, asked: make(chan Request, 2),
		offers: make(chan Offer), change: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	run.summary.Owner = owner
	go run.journal.deliver()
	return run.journal
}

func (r *memoryRun) driven() error {
	return &DrivenError{RunID: r.summary.ID, Owner: r.summary.Owner}
}

// Run returns a run's record.
func (m *Memory) Run(runID string) (RunRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.find(runID)
	if err != nil {
		return RunRecord{}, err
	}
	return copied(run.summary.RunRecord), nil
}

// copied is a record that shares nothing with another.
func copied(record RunRecord) RunRecord {
	record.Labels, record.Source = maps.Clone(record.Labels), slices.Clone(record.Source)
	record.Files = maps.Clone(record.Files)
	for name, text := range record.Files {
		record.Files[name] = slices.Clone(text)
	}
	return record
}

// List returns the runs that a filter lets through, the last started first.
func (m *Memory) List(filter RunFilter) ([]RunSummary, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []RunSummary
	for _, run := range slices.Backward(m.order) {
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

// Ask leaves a request for the driver of a run, if there is one.
func (m *Memory) Ask(runID string, request Request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.find(runID)
	if err == nil && run.journal != nil {
		run.journal.ask(request)
	}
	return err
}

// Delete forgets a run.
func (m *Memory) Delete(runID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.find(runID)
	if err != nil {
		return err
	}
	if run.journal != nil {
		return run.driven()
	}
	m.drop(run)
	return nil
}

// drop forgets a run; the lock is held.
func (m *Memory) drop(run *memoryRun) {
	delete(m.runs, run.summary.ID)
	m.offers = slices.DeleteFunc(m.offers, func(o *memoryOffer) bool { return o.run == run.summary.ID })
	m.order = slices.DeleteFunc(m.order, func(r *memoryRun) bool { return r == run })
}

// Close does nothing: a Memory is gone when nobody holds it.
func (m *Memory) Close() error { return nil }

// find is called with the lock held.
func (m *Memory) find(runID string) (*memoryRun, error) {
	if run := m.runs[runID]; run != nil {
		return run, nil
	}
	return nil, fmt.Errorf("run %q: %w", runID, ErrNoRun)
}

// memoryEntry is a cached value as text.
type memoryEntry struct {
	graph, node string
	text        []byte
	expires     time.Time
}

// Cached returns a value that has not expired.
func (m *Memory) Cached(key string, now time.Time) (any, bool, error) {
	m.mu.Lock()
	entry, ok := m.cache[key]
	m.mu.Unlock()
	if !ok || !entry.expires.IsZero() && !now.Before(entry.expires) {
		return nil, false, nil
	}
	value, err := DecodeValue(entry.text)
	return value, err == nil, err
}

// Cache keeps a value.
func (m *Memory) Cache(e CacheEntry) error {
	text, err := EncodeValue(e.Value)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cache == nil {
		m.cache = map[string]memoryEntry{}
	}
	m.cache[e.Key] = memoryEntry{graph: e.Graph, node: e.Node, text: text, expires: e.Expires}
	return nil
}

// ClearCache forgets cached values.
func (m *Memory) ClearCache(graph string, nodes []string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.cache)
	maps.DeleteFunc(m.cache, func(_ string, e memoryEntry) bool {
		return cmp.Or(graph, e.graph) == e.graph && (nodes == nil || slices.Contains(nodes, e.node))
	})
	return before - len(m.cache), nil
}
