// What is read of runs in memory.

package store

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// Events returns a run's events so far.
func (m *Memory) Events(runID string) ([]machine.Event, error) { return m.EventsAfter(runID, 0) }

// EventsAfter returns a run's events without the first n.
func (m *Memory) EventsAfter(runID string, n int) ([]machine.Event, error) {
	texts, err := m.textsAfter(runID, n)
	if err != nil {
		return nil, err
	}
	return decodeAll(runID, texts)
}

// Stretch returns events without the first n, of about so many bytes.
func (m *Memory) Stretch(runID string, n, size int) ([]machine.Event, error) {
	texts, err := m.textsAfter(runID, n)
	if err != nil {
		return nil, err
	}
	for i := range texts {
		if size -= len(texts[i]); size <= 0 {
			texts = texts[:i+1]
			break
		}
	}
	return decodeAll(runID, texts)
}

// textsAfter are a run's events without the first n. What is there never changes.
func (m *Memory) textsAfter(runID string, n int) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.find(runID)
	if err != nil {
		return nil, err
	}
	return run.events[min(max(n, 0), len(run.events)):], nil
}

func decodeAll(runID string, texts [][]byte) (events []machine.Event, err error) {
	events = make([]machine.Event, len(texts))
	for i, text := range texts {
		if events[i], err = DecodeEvent(text); err != nil {
			return nil, fmt.Errorf("run %q: %w", runID, err)
		}
	}
	return events, nil
}

// Snapshot returns the latest snapshot of at most so many events.
func (m *Memory) Snapshot(runID string, most int) (Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.find(runID)
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
