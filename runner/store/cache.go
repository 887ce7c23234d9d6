// Cached results of nodes, which outlast their runs.

package store

import (
	"cmp"
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

func (e *CacheEntry) isExpired(now time.Time) bool {
	return !e.Expires.IsZero() && !now.Before(e.Expires)
}

const cacheKeys = "cache/"

// LoadCached returns a value that has not expired.
func (s *KVStore) LoadCached(key string, now time.Time) (value any, ok bool, err error) {
	var entry CacheEntry
	err = s.storage().View(func(tx Tx) (err error) {
		ok, err = getJSON(tx, cacheKeys+joinKey(key), &entry)
		return err
	})
	if err != nil || !ok || entry.isExpired(now) {
		return nil, false, err
	}
	return entry.Value, true, nil
}

// SaveCached stores a value. The first call also deletes expired values.
func (s *KVStore) SaveCached(e CacheEntry) error {
	purge, now := !s.purged.Swap(true), s.storage().Now()
	return s.storage().Update(func(tx Tx) (err error) {
		if purge {
			_, err = clearCache(tx, func(e *CacheEntry) bool { return e.isExpired(now) })
		}
		return cmp.Or(err, putJSON(tx, cacheKeys+joinKey(e.Key), e))
	})
}

// ClearCache deletes cached values.
func (s *KVStore) ClearCache(graph string, nodes []string) (cleared int, err error) {
	err = s.storage().Update(func(tx Tx) (err error) {
		cleared, err = clearCache(tx, func(e *CacheEntry) bool {
			return cmp.Or(graph, e.Graph) == e.Graph && (nodes == nil || slices.Contains(nodes, e.Node))
		})
		return err
	})
	return cleared, err
}

func clearCache(tx Tx, selects func(*CacheEntry) bool) (cleared int, err error) {
	var keys []string
	err = visitJSON(tx, cacheKeys, func(e *CacheEntry) bool {
		if selects(e) {
			keys = append(keys, cacheKeys+joinKey(e.Key))
		}
		return true
	})
	for _, key := range keys {
		err = cmp.Or(err, tx.Delete(key))
	}
	return len(keys), err
}
