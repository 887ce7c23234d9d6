// Stores in memory.

package store

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Store in memory, ready as its zero value. It keeps events as text, like a file.
type Memory struct{ KVStore }

// memoryKV is a KV.
type memoryKV struct {
	mu    sync.Mutex // of pairs
	pairs []Pair     // sorted by key
	locks sync.Map   // by run id
}

// searchKey returns where a key is, or where to insert it.
func (m *memoryKV) searchKey(key string) (index int, found bool) {
	return slices.BinarySearchFunc(m.pairs, key, func(p Pair, key string) int { return strings.Compare(p.Key, key) })
}

// setValue stores a value, or removes the key if it is nil. It returns the value before.
func (m *memoryKV) setValue(key string, value []byte) (before []byte) {
	i, found := m.searchKey(key)
	if found {
		before = m.pairs[i].Value
	}
	switch {
	case found && value != nil:
		m.pairs[i].Value = value
	case found:
		m.pairs = slices.Delete(m.pairs, i, i+1)
	case value != nil:
		m.pairs = slices.Insert(m.pairs, i, Pair{key, value})
	}
	return before
}

// View runs a transaction.
func (m *memoryKV) View(do func(tx Tx) error) error { return m.Update(do) }

// Update runs do and undoes its writes if it fails.
func (m *memoryKV) Update(do func(tx Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	tx := &memoryTx{memoryKV: m}
	err := do(tx)
	if err != nil {
		for _, p := range slices.Backward(tx.undo) {
			m.setValue(p.Key, p.Value)
		}
	}
	return err
}

// Lock locks a run.
func (m *memoryKV) Lock(runID string) (release func() error, err error) {
	if _, locked := m.locks.LoadOrStore(runID, true); locked {
		return nil, nil
	}
	return func() error {
		m.locks.Delete(runID)
		return nil
	}, nil
}

// IsLocked reports whether a run is locked.
func (m *memoryKV) IsLocked(runID string) bool {
	_, locked := m.locks.Load(runID)
	return locked
}

// Lost returns nil.
func (m *memoryKV) Lost() error { return nil }

// Now returns the time.
func (m *memoryKV) Now() time.Time { return time.Now() }

// memoryTx is a transaction. Its undo has the values before, nil for none.
type memoryTx struct {
	*memoryKV
	undo []Pair
}

// Get returns a value.
func (tx *memoryTx) Get(key string) ([]byte, error) {
	if i, found := tx.searchKey(key); found {
		return tx.pairs[i].Value, nil
	}
	return nil, nil
}

// Put stores a value.
func (tx *memoryTx) Put(key string, value []byte) error {
	tx.undo = append(tx.undo, Pair{key, tx.setValue(key, append([]byte{}, value...))})
	return nil
}

// Delete removes a key.
func (tx *memoryTx) Delete(key string) error {
	tx.undo = append(tx.undo, Pair{key, tx.setValue(key, nil)})
	return nil
}

// DeleteAll removes keys.
func (tx *memoryTx) DeleteAll(prefix string) error {
	from, _ := tx.searchKey(prefix)
	to, _ := tx.searchKey(endOf(prefix))
	tx.undo = append(tx.undo, tx.pairs[from:to]...)
	tx.pairs = slices.Delete(tx.pairs, from, to)
	return nil
}

// Scan visits pairs.
func (tx *memoryTx) Scan(prefix, after string, visit func(p Pair) bool) error {
	first, _ := tx.searchKey(max(prefix, after))
	for _, p := range tx.pairs[first:] {
		if p.Key != after && (!strings.HasPrefix(p.Key, prefix) || !visit(p)) {
			break
		}
	}
	return nil
}

// Last returns the last pair up to a limit.
func (tx *memoryTx) Last(prefix, limit string) (last Pair, err error) {
	i, found := tx.searchKey(limit)
	if found {
		i++
	}
	if i > 0 && strings.HasPrefix(tx.pairs[i-1].Key, prefix) {
		last = tx.pairs[i-1]
	}
	return last, nil
}
