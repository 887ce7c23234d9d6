// Results of nodes that are kept between runs.

package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

// Cached returns a value that has not expired.
func (s *Store) Cached(key string, now time.Time) (any, bool, error) {
	var text []byte
	err := s.reader.QueryRow(`SELECT value FROM cache WHERE key = ? AND (expires IS NULL OR expires > ?)`,
		key, now.UnixNano()).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, s.wrap(err)
	}
	value, err := store.DecodeValue(text)
	return value, err == nil, s.wrap(err)
}

// Cache keeps a value. The first time it also removes what has expired.
func (s *Store) Cache(e store.CacheEntry) error {
	text, err := store.EncodeValue(e.Value)
	if err != nil {
		return fmt.Errorf("cache of node %q: %w", e.Node, err)
	}
	s.mu.Lock()
	purge := !s.purged
	s.purged = true
	s.mu.Unlock()
	return s.update(func(tx *sql.Tx) error {
		if purge {
			if _, err := tx.Exec(`DELETE FROM cache WHERE expires <= ?`, s.opts.Now().UnixNano()); err != nil {
				return err
			}
		}
		_, err := tx.Exec(`INSERT OR REPLACE INTO cache (key, graph, node, value, expires) VALUES (?, ?, ?, ?, ?)`,
			e.Key, e.Graph, e.Node, string(text), nanoseconds(e.Expires))
		return err
	})
}

// ClearCache forgets cached values.
func (s *Store) ClearCache(graph string, nodes []string) (int, error) {
	query, args := `DELETE FROM cache WHERE (?1 = '' OR graph = ?1)`, []any{graph}
	if nodes != nil {
		query += ` AND node IN (` + strings.TrimPrefix(strings.Repeat(", ?", len(nodes)), ", ") + `)`
		for _, node := range nodes {
			args = append(args, node)
		}
	}
	var cleared int64
	err := s.update(func(tx *sql.Tx) error {
		result, err := tx.Exec(query, args...)
		if err == nil {
			cleared, err = result.RowsAffected()
		}
		return err
	})
	return int(cleared), err
}
