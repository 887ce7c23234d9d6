// Package store keeps the journals of runs. Memory keeps them for as long as
// the process lives.
package store

import (
	"fmt"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// Memory is a runner.Store in memory. The zero value is empty and ready.
type Memory struct {
	mu   sync.Mutex
	runs map[string]*memoryRun
}

type memoryRun struct {
	record runner.RunRecord
	mu     sync.Mutex
	events []machine.Event
}

// Create starts a journal.
func (m *Memory) Create(record runner.RunRecord) (runner.Journal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[record.ID] != nil {
		return nil, fmt.Errorf("run %q: %w", record.ID, runner.ErrRunExists)
	}
	if m.runs == nil {
		m.runs = map[string]*memoryRun{}
	}
	run := &memoryRun{record: record}
	m.runs[record.ID] = run
	return run, nil
}

// Append adds an event.
func (r *memoryRun) Append(e machine.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return nil
}

// Events returns a run's events so far.
func (m *Memory) Events(runID string) ([]machine.Event, error) {
	run, err := m.find(runID)
	if err != nil {
		return nil, err
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	return slices.Clone(run.events), nil
}

// Run returns a run's record.
func (m *Memory) Run(runID string) (runner.RunRecord, error) {
	run, err := m.find(runID)
	if err != nil {
		return runner.RunRecord{}, err
	}
	return run.record, nil
}

func (m *Memory) find(runID string) (*memoryRun, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if run := m.runs[runID]; run != nil {
		return run, nil
	}
	return nil, fmt.Errorf("run %q: %w", runID, runner.ErrNoRun)
}
