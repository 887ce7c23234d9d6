// The tables and their version, and descriptions of SQLite's errors.

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/graphrun/graphrun/runner/store"
)

// applicationID marks the file as a store: "grn1".
const applicationID = 0x67726e31

// schemaVersion is the version of the schema; the file has it in user_version.
const schemaVersion = 5

const schema = `
-- Events, by the number of their run times 2^32 plus their place in it, from 1.
CREATE TABLE events (key INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT;
-- All else: see store.KVStore.
CREATE TABLE kv (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
`

// readVersion returns the version of a file, and an error if it can't be used.
func (s *Store) readVersion() (version int, err error) {
	var id, tables int
	err = s.reader.QueryRow(`SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case id == 0 && version == 0 && tables == 0: // empty, or another process is creating the tables
		return 0, nil
	case id == applicationID && 0 < version && version < schemaVersion:
		return 0, fmt.Errorf("%w: this one can't read it; delete it, or name another file", ErrOlder)
	case id != applicationID || version < schemaVersion:
		return 0, fmt.Errorf("%w but another SQLite database", ErrNotAStore)
	case version > schemaVersion:
		return 0, fmt.Errorf("%w: it has version %d, this one knows %d", ErrNewer, version, schemaVersion)
	}
	return version, nil
}

// makeTables creates the tables of an empty file in one transaction.
func (s *Store) makeTables() error {
	return s.retryWrite(func(tx *sql.Tx) error {
		var version int // another process may have created the tables
		if err := tx.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil || version > 0 {
			return err
		}
		_, err := tx.Exec(schema + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion))
		return err
	})
}

// CheckIntegrity checks every page of the file.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	rows, err := s.reader.QueryContext(ctx, "PRAGMA integrity_check(5)")
	if err != nil {
		return s.wrapError(err)
	}
	defer rows.Close()
	var findings []string
	for rows.Next() {
		var finding string
		if err := rows.Scan(&finding); err != nil {
			return s.wrapError(err)
		}
		if finding != "ok" {
			findings = append(findings, finding)
		}
	}
	if err := rows.Err(); err != nil || len(findings) == 0 {
		return s.wrapError(err)
	}
	return s.wrapError(fmt.Errorf("%w: %s", ErrCorrupt, strings.Join(findings, "; ")))
}

// Errors of stores, for errors.Is.
var (
	ErrCorrupt    = store.ErrDamaged
	ErrNotAStore  = errors.New("the file is not a store of graphrun")
	ErrNewer      = errors.New("the file was written by a newer graphrun")
	ErrOlder      = errors.New("the file was written by an older graphrun")
	ErrFull       = errors.New("the disk is full")
	ErrBusy       = errors.New("other processes kept the file locked for too long")
	ErrUnfinished = errors.New("a change of the file was broken off; a command that writes takes it back")
	ErrReadOnly   = errors.New("the file can't be written; check the modes of the file, of its folder and of the files beside it")
	ErrUnreadable = errors.New("the file can't be opened; check the modes of the file, of its folder and of the files beside it")
	ErrGone       = errors.New("the file was deleted, moved or replaced while it was in use; put it back and resume the run, or start it anew")
	ErrEmptied    = errors.New("the file was emptied while it was in use; put a copy in its place, or start the run anew")
	ErrIO         = errors.New("reading or writing failed")
)

// kinds maps SQLite's result codes to errors. An extended code goes before its primary code.
var kinds = map[int]error{
	lib.SQLITE_CORRUPT:           ErrCorrupt,
	lib.SQLITE_NOTADB:            ErrNotAStore,
	lib.SQLITE_FULL:              ErrFull,
	lib.SQLITE_BUSY:              ErrBusy,
	lib.SQLITE_LOCKED:            ErrBusy,
	lib.SQLITE_READONLY:          ErrReadOnly,
	lib.SQLITE_READONLY_RECOVERY: ErrUnfinished,
	lib.SQLITE_READONLY_ROLLBACK: ErrUnfinished,
	lib.SQLITE_READONLY_CANTINIT: ErrUnfinished,
	lib.SQLITE_READONLY_CANTLOCK: ErrUnfinished,
	lib.SQLITE_READONLY_DBMOVED:  ErrGone,
	lib.SQLITE_CANTOPEN:          ErrUnreadable,
	lib.SQLITE_IOERR:             ErrIO,
}

// describeError describes an error of SQLite. It returns other errors unchanged.
func describeError(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	kind := cmp.Or(kinds[e.Code()], kinds[e.Code()&0xff])
	if kind == nil || errors.Is(err, kind) { // unknown, or already described
		return err
	}
	return fmt.Errorf("%w (%w)", kind, err)
}

func isBusy(err error) bool { return errors.Is(describeError(err), ErrBusy) }
