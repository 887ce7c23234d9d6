// Results of nodes that outlast their runs.

package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// CacheEntry is a stored result of a node.
type CacheEntry struct {
	Key         string
	Graph, Node string // for ClearCache
	Value       any
	Expires     time.Time // zero for never
}

// savedEntry is an entry as JSON. Its value is read as canonical data.
type savedEntry struct {
	CacheEntry
	Value json.RawMessage
}

func (e *savedEntry) isExpired(now time.Time) bool {
	return !e.Expires.IsZero() && !now.Before(e.Expires)
}

const cacheKeys = "cache/"

// Cached returns a value that has not expired.
func (s *KVStore) Cached(key string, now time.Time) (value any, ok bool, err error) {
	var entry savedEntry
	err = s.storage().View(func(tx Tx) (err error) {
		ok, err = getJSON(tx, cacheKeys+keyOf(key), &entry)
		return err
	})
	if err != nil || !ok || entry.isExpired(now) {
		return nil, false, err
	}
	value, err = DecodeValue(entry.Value)
	return value, err == nil, err
}

// Cache stores a value. The first call also deletes what has expired.
func (s *KVStore) Cache(e CacheEntry) error {
	text, err := EncodeValue(e.Value)
	if err != nil {
		return fmt.Errorf("cache of node %q: %w", e.Node, err)
	}
	purge, now := !s.purged.Swap(true), s.storage().Now()
	return s.storage().Update(func(tx Tx) (err error) {
		if purge {
			_, err = clearCache(tx, func(e *savedEntry) bool { return e.isExpired(now) })
		}
		return cmp.Or(err, putJSON(tx, cacheKeys+keyOf(e.Key), savedEntry{e, text}))
	})
}

// ClearCache deletes cached values.
func (s *KVStore) ClearCache(graph string, nodes []string) (cleared int, err error) {
	err = s.storage().Update(func(tx Tx) (err error) {
		cleared, err = clearCache(tx, func(e *savedEntry) bool {
			return cmp.Or(graph, e.Graph) == e.Graph && (nodes == nil || slices.Contains(nodes, e.Node))
		})
		return err
	})
	return cleared, err
}

func clearCache(tx Tx, selects func(*savedEntry) bool) (cleared int, err error) {
	var keys []string
	err = visitJSON(tx, cacheKeys, func(e *savedEntry) bool {
		if selects(e) {
			keys = append(keys, cacheKeys+keyOf(e.Key))
		}
		return true
	})
	for _, key := range keys {
		err = cmp.Or(err, tx.Delete(key))
	}
	return len(keys), err
}
