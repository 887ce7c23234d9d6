package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"testing"
)

// OpenBare opens a database with the settings of a store and none of its tables.
func OpenBare(path string, durability Durability) *sql.DB {
	db := openDB(path, url.Values{"_pragma": {"journal_mode(WAL)", fmt.Sprintf("synchronous(%s)", durability)}})
	db.SetMaxOpenConns(1)
	return db
}

// LimitPages makes the disk as large as so many pages.
func (s *Store) LimitPages(t testing.TB, pages int) {
	t.Helper()
	if _, err := s.writer.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}
