// Stores in memory.

package store

import (
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// Memory is a Store in memory. The zero value is empty and ready. It keeps events as text, as
// a file does, so that a run reads the same from both.
type Memory struct{ KVStore }

// maxChunk is the most pairs of a chunk.
const maxChunk = 512

// memoryKV is a KV: sorted pairs, in chunks so that an insertion moves few of them.
type memoryKV struct {
	mu     sync.Mutex // of chunks
	chunks [][]Pair   // none is empty
	locks  sync.Map   // by run id
}

// find returns where a key is, or where to insert it.
func (m *memoryKV) find(key string) (chunk, index int, found bool) {
	chunk = max(0, sort.Search(len(m.chunks), func(i int) bool { return m.chunks[i][0].Key > key })-1)
	if chunk < len(m.chunks) {
		index, found = slices.BinarySearchFunc(m.chunks[chunk], key, func(p Pair, key string) int { return strings.Compare(p.Key, key) })
	}
	return chunk, index, found
}

// set stores a value, or removes the key if it is nil. It returns the value before.
func (m *memoryKV) set(key string, value []byte) (before []byte) {
	c, i, found := m.find(key)
	switch {
	case found && value != nil:
		before, m.chunks[c][i].Value = m.chunks[c][i].Value, value
	case found:
		before = m.chunks[c][i].Value
		if m.chunks[c] = slices.Delete(m.chunks[c], i, i+1); len(m.chunks[c]) == 0 {
			m.chunks = slices.Delete(m.chunks, c, c+1)
		}
	case value == nil:
	case len(m.chunks) == 0:
		m.chunks = [][]Pair{{{key, value}}}
	default:
		m.chunks[c] = slices.Insert(m.chunks[c], i, Pair{key, value})
		if all := m.chunks[c]; len(all) > maxChunk {
			m.chunks[c] = all[: maxChunk/2 : maxChunk/2]
			m.chunks = slices.Insert(m.chunks, c+1, slices.Clone(all[maxChunk/2:]))
		}
	}
	return before
}

// View runs a transaction.
func (m *memoryKV) View(do func(tx Tx) error) error { return m.Update(true, do) }

// Update runs do and undoes its writes if it fails.
func (m *memoryKV) Update(_ bool, do func(tx Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	tx := &memoryTx{memoryKV: m}
	err := do(tx)
	if err != nil {
		for _, p := range slices.Backward(tx.undo) {
			m.set(p.Key, p.Value)
		}
	}
	return err
}

// Append stores an event.
func (m *memoryKV) Append(key string, text []byte) error {
	return m.Update(true, func(tx Tx) error { return tx.Put(key, text) })
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
	if c, i, found := tx.find(key); found {
		return tx.chunks[c][i].Value, nil
	}
	return nil, nil
}

// Put stores a value.
func (tx *memoryTx) Put(key string, value []byte) error {
	tx.undo = append(tx.undo, Pair{key, tx.set(key, append([]byte{}, value...))})
	return nil
}

// Delete removes a key.
func (tx *memoryTx) Delete(key string) error {
	tx.undo = append(tx.undo, Pair{key, tx.set(key, nil)})
	return nil
}

// DeleteAll removes keys.
func (tx *memoryTx) DeleteAll(prefix string) error {
	pairs, err := collect(tx, prefix, "", -1)
	for _, p := range pairs {
		_ = tx.Delete(p.Key)
	}
	return err
}

// Scan visits pairs.
func (tx *memoryTx) Scan(prefix, after string, visit func(p Pair) bool) error {
	first, index, _ := tx.find(max(prefix, after))
	for c := first; c < len(tx.chunks); c, index = c+1, 0 {
		for _, p := range tx.chunks[c][index:] {
			if p.Key <= after || p.Key < prefix {
				continue
			}
			if !strings.HasPrefix(p.Key, prefix) || !visit(p) {
				return nil
			}
		}
	}
	return nil
}

// Last returns the last pair up to a limit.
func (tx *memoryTx) Last(prefix, limit string) (last Pair, err error) {
	c, i, found := tx.find(limit)
	if !found {
		i--
	}
	if c < len(tx.chunks) && i >= 0 && strings.HasPrefix(tx.chunks[c][i].Key, prefix) {
		last = tx.chunks[c][i]
	}
	return last, nil
}
