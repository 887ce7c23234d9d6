// Connections: one that writes, some that only read.

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
)

// most readers of a process at once.
const maxReaders = 4

// keepLog is the size up to which the write-ahead log is kept when the last
// process closes the file. Writing over a file that is there costs half of what
// writing a growing one does, because the file system has nothing to record.
const keepLog = 16 << 20

// dataSource makes the URI by which SQLite opens a file.
func dataSource(path string, query url.Values) string {
	// A path of the form C:\x becomes file:///C:/x.
	slashed := filepath.ToSlash(path)
	if slashed == "" || slashed[0] != '/' {
		slashed = "/" + slashed
	}
	u := url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}
	return u.String()
}

func busy(o Options) string { return fmt.Sprintf("busy_timeout(%d)", o.Busy.Milliseconds()) }

// openReader makes connections that can't change the file. None is opened yet.
func openReader(path string, o Options) *sql.DB {
	db := sql.OpenDB(&connector{source: dataSource(path, url.Values{
		"mode": {"ro"}, "_pragma": {busy(o), "query_only(1)"},
	})})
	db.SetMaxOpenConns(maxReaders)
	db.SetMaxIdleConns(maxReaders)
	return db
}

// openWriter opens the connection that writes. Writes that find the file locked fail at once:
// see Store.write.
func openWriter(path string, o Options) (*sql.DB, error) {
	db := sql.OpenDB(&connector{persistLog: true, source: dataSource(path, url.Values{
		"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {"busy_timeout(0)", "journal_mode(WAL)", fmt.Sprintf("synchronous(%s)", o.Durability)},
	})})
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

// closeWriter closes the connection that writes.
func (s *Store) closeWriter() error {
	if s.putEvent != nil {
		_ = s.putEvent.Close()
	}
	if info, err := os.Stat(s.path + "-wal"); err == nil && s.wrote {
		tidy(s.writer, info.Size())
	}
	return s.writer.Close()
}

// tidy prepares the log for the next process, as far as others don't need it:
// what it holds is moved into the file, and one commit more is written over its
// beginning. Its blocks stay, but nobody has to read through the rest of it
// when the file is opened again. A log that has grown large is emptied.
func tidy(w *sql.DB, size int64) {
	const small = 64 << 10
	if size <= small {
		return
	}
	var busy, logged, moved int
	if size > keepLog {
		if _, err := w.Exec(`PRAGMA journal_size_limit = 0`); err != nil {
			return
		}
	}
	err := w.QueryRow(`PRAGMA wal_checkpoint(RESTART)`).Scan(&busy, &logged, &moved)
	if err == nil && busy == 0 && size <= keepLog {
		_, _ = w.Exec(fmt.Sprintf(`PRAGMA application_id = %d`, applicationID))
	}
}

// connector opens connections without the registry of drivers.
type connector struct {
	source     string
	persistLog bool
}

// Connect opens a connection.
func (c *connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := (&sqlite.Driver{}).Open(c.source)
	if err != nil || !c.persistLog {
		return conn, err
	}
	if control, ok := conn.(sqlite.FileControl); ok {
		if _, err := control.FileControlPersistWAL("main", 1); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// Driver is SQLite's.
func (c *connector) Driver() driver.Driver { return &sqlite.Driver{} }
