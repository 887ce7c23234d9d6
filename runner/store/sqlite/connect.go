// Connections: one that writes, some that only read.

package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// maxReaders is how many connections of a process read at once.
const maxReaders = 4

// openDB returns connections to a file. None is opened yet.
func openDB(path string, query url.Values) *sql.DB {
	// A path of the form C:\x becomes file:///C:/x.
	slashed := "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	source := url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		panic(err) // there is no such driver
	}
	return db
}

func busyPragma(o Options) string { return fmt.Sprintf("busy_timeout(%d)", o.Busy.Milliseconds()) }

// openReader returns connections that can't change the file.
func openReader(path string, o Options) *sql.DB {
	db := openDB(path, url.Values{"mode": {"ro"}, "_pragma": {busyPragma(o), "query_only(1)"}})
	db.SetMaxOpenConns(maxReaders)
	db.SetMaxIdleConns(maxReaders)
	return db
}

// openWriter opens the connection that writes. It never waits for locks: see Store.retryWrite.
func openWriter(path string, o Options) (*sql.DB, error) {
	db := openDB(path, url.Values{
		"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {"busy_timeout(0)", "journal_mode(WAL)", fmt.Sprintf("synchronous(%s)", o.Durability)},
	})
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(0)
	for end := time.Now().Add(o.Busy); ; time.Sleep(time.Millisecond) {
		err := db.Ping()
		if err == nil {
			return db, nil
		}
		if !isBusy(err) || time.Now().After(end) {
			_ = db.Close()
			return nil, err
		}
	}
}
