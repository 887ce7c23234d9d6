// The key-value part of a store in memory.

package store

import (
	"slices"
	"strings"
	"time"
)

// memoryKV is the key-value part of a store in memory. The caller has the lock.
type memoryKV struct {
	keys   []string // sorted
	values map[string][]byte
}

// memoryTx is a transaction that can be undone.
type memoryTx struct {
	*memory
	undo []Pair // the values before; nil: there was none
}

// Get returns a value.
func (tx *memoryTx) Get(key string) ([]byte, error) { return tx.kv.values[key], nil }

// Put stores a value.
func (tx *memoryTx) Put(key string, value []byte) error {
	tx.undo = append(tx.undo, Pair{key, tx.kv.values[key]})
	tx.kv.set(key, append([]byte{}, value...))
	return nil
}

// Delete removes a key.
func (tx *memoryTx) Delete(key string) error {
	tx.undo = append(tx.undo, Pair{key, tx.kv.values[key]})
	tx.kv.set(key, nil)
	return nil
}

// Scan returns pairs.
func (tx *memoryTx) Scan(prefix, after string, limit int) (out []Pair, err error) {
	at, found := slices.BinarySearch(tx.kv.keys, max(prefix, after))
	if found {
		at++
	}
	for _, key := range tx.kv.keys[at:] {
		if !strings.HasPrefix(key, prefix) || len(out) == limit {
			break
		}
		out = append(out, Pair{key, tx.kv.values[key]})
	}
	return out, nil
}

// rollback restores what was there before.
func (tx *memoryTx) rollback() {
	for _, p := range slices.Backward(tx.undo) {
		tx.kv.set(p.Key, p.Value)
	}
}

// set stores a value, or removes the key if it is nil.
func (kv *memoryKV) set(key string, value []byte) {
	at, found := slices.BinarySearch(kv.keys, key)
	switch {
	case value == nil && found:
		kv.keys = slices.Delete(kv.keys, at, at+1)
		delete(kv.values, key)
	case value != nil && !found:
		kv.keys = slices.Insert(kv.keys, at, key)
		fallthrough
	case value != nil:
		if kv.values == nil {
			kv.values = map[string][]byte{}
		}
		kv.values[key] = value
	}
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
		tx.rollback()
	}
	return err
}

// Driver returns the graph of a run and its driver.
func (tx *memoryTx) Driver(runID string) (graph, owner string, err error) {
	run, err := tx.find(runID)
	if err != nil {
		return "", "", err
	}
	return run.summary.Graph, run.summary.Owner, nil
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
