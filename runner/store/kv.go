// The key-value storage of a KVStore, in memory by default.

package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// KV is key-value storage with transactions and one lock per run.
type KV interface {
	// View runs a transaction that only reads.
	View(do func(tx Tx) error) error
	// Update runs a transaction, and rolls it back if do fails. do may run more than once.
	Update(do func(tx Tx) error) error
	// Lock makes the caller the driver of a run until it calls release or its process ends. release is
	// nil if the run already has a driver.
	Lock(runID string) (release func() error, err error)
	// IsLocked reports whether the run has a driver. Transactions may call it.
	IsLocked(runID string) bool
	// CheckStorage returns an error if others deleted or replaced the data.
	CheckStorage() error
	// Now returns the time.
	Now() time.Time
}

// Tx is a transaction. Keys are printable ASCII. Callers must not modify values.
type Tx interface {
	// Get returns the value of a key, or nil if there is none.
	Get(key string) ([]byte, error)
	// Put stores a value.
	Put(key string, value []byte) error
	// Delete removes a key if it exists.
	Delete(key string) error
	// DeleteAll removes the keys that begin with prefix.
	DeleteAll(prefix string) error
	// Scan visits the pairs whose keys have the prefix and are greater than after, in order, until
	// visit returns false. Values are valid only during the visit, which must not use the transaction.
	Scan(prefix, after string, visit func(p Pair) bool) error
	// Last returns the last pair whose key has the prefix and is at most limit, or a zero Pair.
	Last(prefix, limit string) (Pair, error)
}

// Pair is a key and its value.
type Pair struct {
	Key   string
	Value []byte
}

// KVStore is a Store on key-value storage. It is safe for concurrent use.
type KVStore struct {
	// KV is the storage. If it is nil, the store is in memory.
	KV KV
	// Owner is the name of drivers that pass no name.
	Owner string
	// Poll is the interval at which requests of other processes are read; 0 for never.
	Poll time.Duration

	memory memoryKV
	purged atomic.Bool // expired cache entries were deleted
	open   sync.Map    // the *journal of each open run
}

func (s *KVStore) storage() KV {
	if s.KV == nil {
		return &s.memory
	}
	return s.KV
}

// Close closes the journals that are still open.
func (s *KVStore) Close() error {
	var failed error
	s.open.Range(func(_, j any) bool {
		failed = errors.Join(failed, j.(*journal).Close())
		return true
	})
	return failed
}

// joinKey joins the parts of a key, and escapes slashes in them.
func joinKey(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// localTime returns a time in the local zone.
func localTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Local()
}

// prefixEnd returns a key that is greater than all keys with a prefix.
func prefixEnd(prefix string) string { return prefix + "\x7f" }

func putJSON(tx Tx, key string, value any) error {
	text, err := encodeJSON(value)
	if err != nil {
		return err
	}
	return tx.Put(key, text)
}

// getJSON decodes the value of a key into a pointer. It returns false if there is none.
func getJSON(tx Tx, key string, value any) (found bool, err error) {
	text, err := tx.Get(key)
	if err != nil || text == nil {
		return false, err
	}
	return true, decodeJSON(Pair{key, text}, value)
}

func decodeJSON(p Pair, value any) error {
	if err := eval.DecodeJSON(p.Value, value); err != nil {
		return fmt.Errorf("%s: %w", p.Key, err)
	}
	return nil
}

// collectPairs returns the pairs that Scan visits, at most limit unless limit is negative.
func collectPairs(tx Tx, prefix, after string, limit int) (out []Pair, err error) {
	err = tx.Scan(prefix, after, func(p Pair) bool {
		if limit < 0 || len(out) < limit {
			out = append(out, Pair{p.Key, bytes.Clone(p.Value)})
		}
		return limit < 0 || len(out) < limit
	})
	return out, err
}

// visitJSON visits the decoded values of keys with a prefix until visit returns false.
func visitJSON[T any](tx Tx, prefix string, visit func(value *T) bool) error {
	var bad error
	err := tx.Scan(prefix, "", func(p Pair) bool {
		value := new(T)
		bad = decodeJSON(p, value)
		return bad == nil && visit(value)
	})
	return cmp.Or(err, bad)
}

// Memory is a Store in memory. Its zero value works. Like a file, it keeps events as text.
type Memory struct{ KVStore }

// memoryKV implements KV.
type memoryKV struct {
	mu    sync.Mutex // guards pairs
	pairs []Pair     // sorted by key
	locks sync.Map   // by run id
}

// searchKey returns the index of a key, or the index at which to insert it.
func (m *memoryKV) searchKey(key string) (index int, found bool) {
	return slices.BinarySearchFunc(m.pairs, key, func(p Pair, key string) int { return strings.Compare(p.Key, key) })
}

// setValue stores a value, or removes the key if value is nil. It returns the previous value.
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

// CheckStorage returns nil.
func (m *memoryKV) CheckStorage() error { return nil }

// Now returns the time.
func (m *memoryKV) Now() time.Time { return time.Now() }

// memoryTx is a transaction. undo holds the previous values, nil for new keys.
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
	to, _ := tx.searchKey(prefixEnd(prefix))
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
