// The key-value part of a store in memory.

package store

import (
	"slices"
	"strings"
	"time"
)

// memoryTx is a transaction that can be undone. Who runs it has the lock.
type memoryTx struct {
	*memory
	undo []Pair // the values before; nil: there was none
}

// Get returns a value.
func (tx *memoryTx) Get(key string) ([]byte, error) { return tx.values[key], nil }

// Put stores a value.
func (tx *memoryTx) Put(key string, value []byte) error {
	tx.undo = append(tx.undo, Pair{key, tx.values[key]})
	tx.set(key, append([]byte{}, value...))
	return nil
}

// Delete removes a key.
func (tx *memoryTx) Delete(key string) error {
	tx.undo = append(tx.undo, Pair{key, tx.values[key]})
	tx.set(key, nil)
	return nil
}

// Scan returns pairs.
func (tx *memoryTx) Scan(prefix, after string, limit int) (out []Pair, err error) {
	for key, value := range tx.values {
		if strings.HasPrefix(key, prefix) && key > after {
			out = append(out, Pair{key, value})
		}
	}
	slices.SortFunc(out, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	if limit >= 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}

// Run returns the graph of a run and its driver.
func (tx *memoryTx) Run(runID string) (graph, owner string, err error) {
	run, err := tx.find(runID)
	if err != nil {
		return "", "", err
	}
	return run.summary.Graph, run.summary.Owner, nil
}

// IsDriven reports whether a driver has the run.
func (tx *memoryTx) IsDriven(runID string) bool {
	run := tx.runs[runID]
	return run != nil && run.journal != nil
}

// set stores a value, or removes the key if it is nil.
func (m *memory) set(key string, value []byte) {
	if value == nil {
		delete(m.values, key)
		return
	}
	if m.values == nil {
		m.values = map[string][]byte{}
	}
	m.values[key] = value
}

// View runs a transaction.
func (m *memory) View(do func(tx Tx) error) error { return m.Update(true, do) }

// Update runs a transaction.
func (m *memory) Update(_ bool, do func(tx Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.update(do)
}

// update runs a transaction. The caller has the lock.
func (m *memory) update(do func(tx Tx) error) error {
	tx := &memoryTx{memory: m}
	err := do(tx)
	if err != nil {
		for _, p := range slices.Backward(tx.undo) {
			m.set(p.Key, p.Value)
		}
	}
	return err
}

// Notify lets the driver of a run look into its inbox.
func (m *memory) Notify(runID string) {
	m.mu.Lock()
	var journal *DriverJournal
	if run := m.runs[runID]; run != nil {
		journal = run.journal
	}
	m.mu.Unlock()
	if journal != nil {
		journal.Look()
	}
}

// Now returns the time.
func (m *memory) Now() time.Time { return time.Now() }
