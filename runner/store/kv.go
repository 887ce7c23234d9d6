// The key-value part of a store, in which Records keeps what belongs to no journal.

package store

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// Base is the part of a store that Records builds on.
type Base interface {
	// View runs a transaction that only reads.
	View(do func(tx Tx) error) error
	// Update runs a transaction, of which nothing stays if do fails. do may run more
	// than once. A power failure may undo a lazy transaction.
	Update(lazy bool, do func(tx Tx) error) error
	// Stretch returns a part of a run's journal. See Store.
	Stretch(runID string, n, size int) ([]machine.Event, error)
	// Notify says that the inbox of a run has changed. A store that polls ignores it.
	Notify(runID string)
	// Now returns the time.
	Now() time.Time
}

// Tx is a transaction of the key-value part. Keys are printable ASCII. A caller does not
// modify values.
type Tx interface {
	// Get returns the value of a key, or nil if there is none.
	Get(key string) ([]byte, error)
	// Put stores a value.
	Put(key string, value []byte) error
	// Delete removes a key if it is there.
	Delete(key string) error
	// Scan returns the pairs whose keys begin with prefix and are greater than after, in
	// the order of the keys. It returns at most limit of them, or all if limit is negative.
	Scan(prefix, after string, limit int) ([]Pair, error)
	// Run returns the graph of a run and the name of its driver, which need not be alive.
	// It fails with ErrNoRun.
	Run(runID string) (graph, owner string, err error)
	// IsDriven reports whether a driver has the run.
	IsDriven(runID string) bool
}

// Pair is a key and its value.
type Pair struct {
	Key   string
	Value []byte
}

// keyOf joins the parts of a key. No part contains a slash then.
func keyOf(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// putJSON stores a value as JSON.
func putJSON(tx Tx, key string, value any) error {
	text, err := encode(value)
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
	if err := json.Unmarshal(p.Value, value); err != nil {
		return fmt.Errorf("%s: %w", p.Key, err)
	}
	return nil
}

// deleteAll deletes the keys that begin with a prefix.
func deleteAll(tx Tx, prefix string) error {
	pairs, err := tx.Scan(prefix, "", -1)
	for _, p := range pairs {
		if err == nil {
			err = tx.Delete(p.Key)
		}
	}
	return err
}

// ClearDriver deletes what belongs to the driver of a run: requests to it, and the slot
// of the run in its group.
func ClearDriver(tx Tx, runID string) error {
	if err := tx.Delete(requestKey(runID)); err != nil {
		return err
	}
	return leaveGroup(tx, runID)
}

// DeleteRecords deletes what belongs to a run.
func DeleteRecords(tx Tx, runID string) error {
	if err := ClearDriver(tx, runID); err != nil {
		return err
	}
	if err := deleteOffers(tx, runID); err != nil {
		return err
	}
	return deleteLog(tx, runID)
}
