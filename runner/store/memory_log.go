// Logs in memory.

package store

import (
	"slices"
)

// AppendLog keeps chunks and forgets others.
func (m *Memory) AppendLog(runID string, chunks []LogChunk, drop []int64) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.find(runID)
	if err != nil {
		return 0, err
	}
	first := run.logged + 1
	run.log = slices.DeleteFunc(run.log, func(c LogChunk) bool { return slices.Contains(drop, c.Seq) })
	for i := range chunks {
		run.logged++
		c := chunks[i]
		c.Seq = run.logged
		run.log = append(run.log, c)
	}
	return first, nil
}

// Log returns what was said after a chunk.
func (m *Memory) Log(runID string, after int64, most int) ([]LogChunk, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run, err := m.find(runID)
	if err != nil {
		return nil, err
	}
	from := slices.IndexFunc(run.log, func(c LogChunk) bool { return c.Seq > after })
	if from < 0 {
		return nil, nil
	}
	return slices.Clone(run.log[from:min(len(run.log), from+most)]), nil
}
