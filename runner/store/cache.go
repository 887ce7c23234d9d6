// Results of nodes that outlast their runs.

package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CacheEntry is a result to keep. Graph and Node say whose it is, for clearing.
type CacheEntry struct {
	Key         string
	Graph, Node string
	Value       any
	// Expires is when it is no longer good; the zero time means never.
	Expires time.Time
}

// cacheNote says what ClearCache has to know. It has a key of its own, so that nobody
// reads values only to delete them.
type cacheNote struct {
	Graph   string    `json:"graph"`
	Node    string    `json:"node"`
	Expires time.Time `json:"expires,omitzero"`
}

func (n *cacheNote) isExpired(now time.Time) bool {
	return !n.Expires.IsZero() && !now.Before(n.Expires)
}

const cacheNotes, cacheValues = "cached/", "cache/"

// Cached returns a value that has not expired.
func (s *KVStore) Cached(key string, now time.Time) (value any, ok bool, err error) {
	var text []byte
	err = s.kv().View(func(tx Tx) error {
		var note cacheNote
		found, err := getJSON(tx, cacheNotes+keyOf(key), &note)
		if err != nil || !found || note.isExpired(now) {
			return err
		}
		text, err = tx.Get(cacheValues + keyOf(key))
		return err
	})
	if err != nil || text == nil {
		return nil, false, err
	}
	value, err = DecodeValue(text)
	return value, err == nil, err
}

// Cache stores a value. The first call also deletes what has expired.
func (s *KVStore) Cache(e CacheEntry) error {
	text, err := EncodeValue(e.Value)
	if err != nil {
		return fmt.Errorf("cache of node %q: %w", e.Node, err)
	}
	purge, now := !s.purged.Swap(true), s.kv().Now()
	return s.kv().Update(false, func(tx Tx) error {
		if purge {
			if _, err := clearCache(tx, func(n *cacheNote) bool { return n.isExpired(now) }); err != nil {
				return err
			}
		}
		if err := putJSON(tx, cacheNotes+keyOf(e.Key), cacheNote{e.Graph, e.Node, e.Expires}); err != nil {
			return err
		}
		return tx.Put(cacheValues+keyOf(e.Key), text)
	})
}

// ClearCache deletes cached values.
func (s *KVStore) ClearCache(graph string, nodes []string) (cleared int, err error) {
	err = s.kv().Update(false, func(tx Tx) (err error) {
		cleared, err = clearCache(tx, func(n *cacheNote) bool {
			return cmp.Or(graph, n.Graph) == n.Graph && (nodes == nil || slices.Contains(nodes, n.Node))
		})
		return err
	})
	return cleared, err
}

func clearCache(tx Tx, selects func(*cacheNote) bool) (cleared int, err error) {
	pairs, err := collect(tx, cacheNotes, "", -1)
	if err != nil {
		return 0, err
	}
	for _, p := range pairs {
		var note cacheNote
		if err := decodeJSON(p, &note); err != nil {
			return 0, err
		}
		if !selects(&note) {
			continue
		}
		for _, key := range []string{p.Key, cacheValues + strings.TrimPrefix(p.Key, cacheNotes)} {
			if err := tx.Delete(key); err != nil {
				return 0, err
			}
		}
		cleared++
	}
	return cleared, nil
}
