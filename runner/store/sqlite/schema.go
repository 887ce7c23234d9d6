// The tables and their version.

package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// applicationID marks the file as a store: "grn1".
const applicationID = 0x67726e31

// schemaVersion is the version of the schema; the file has it in user_version.
const schemaVersion = 2

const schema = `
-- The texts of graphs, each of which many runs may have.
CREATE TABLE texts (sum BLOB PRIMARY KEY, text BLOB NOT NULL) STRICT; -- sum is SHA-256
CREATE TABLE runs (
	no          INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	graph       TEXT NOT NULL,
	file        TEXT NOT NULL,
	labels      TEXT NOT NULL, -- as JSON
	session     TEXT NOT NULL,
	parent      TEXT NOT NULL,
	parent_step INTEGER NOT NULL,
	started     INTEGER, -- times are Unix nanoseconds, NULL for none
	status      TEXT NOT NULL,
	reason      TEXT NOT NULL DEFAULT '',
	quality     TEXT NOT NULL DEFAULT '', -- of a run that has ended
	steps       INTEGER NOT NULL DEFAULT 0,
	updated     INTEGER,
	due         INTEGER, -- when a paused run can continue by itself
	owner       TEXT NOT NULL DEFAULT '' -- drives the run, as long as the lock of the run is held
) STRICT;
CREATE INDEX runs_by_start ON runs (started, no);
CREATE INDEX runs_by_graph ON runs (graph, started, no);
CREATE INDEX runs_by_due ON runs (due) WHERE due IS NOT NULL;
CREATE TABLE labels (
	key   TEXT NOT NULL,
	value TEXT NOT NULL,
	run   INTEGER NOT NULL,
	PRIMARY KEY (key, value, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_run ON labels (run);
-- A run's graph, without a name, and the graphs and texts that it uses.
CREATE TABLE files (
	run  INTEGER NOT NULL,
	name TEXT NOT NULL,
	sum  BLOB NOT NULL,
	PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_sum ON files (sum);
-- An event's id is its run's number times 2^32 plus its place in the run, from
-- 1: unique, and an append touches a single page.
CREATE TABLE events (id INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT;
-- The id is that of the last event a snapshot stands for.
CREATE TABLE snapshots (id INTEGER PRIMARY KEY, state BLOB NOT NULL) STRICT;
-- Sessions, cached results, requests, offers, groups, logs: see store.Records.
CREATE TABLE kv (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
-- For people with another SQLite tool.
CREATE VIEW journal AS
	SELECT runs.id AS run, events.id & 0xffffffff AS seq, data ->> 'kind' AS kind, data
	FROM runs JOIN events ON events.id BETWEEN (runs.no << 32) + 1 AND (runs.no << 32) + 0xffffffff;
`

// unreleasedID marked the stores of before the first release: "grun".
const unreleasedID = 0x6772756e

// inspect returns the version of a file, and an error if it can't be used.
func (s *Store) inspect() (version int, err error) {
	var id, tables int
	err = s.reader.QueryRow(`SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case id == 0 && version == 0 && tables == 0: // being made, or empty
		return 0, nil
	case id == unreleasedID || id == applicationID && 0 < version && version < schemaVersion:
		return 0, fmt.Errorf("%w, before the first release: this one can't read it; delete it, or name another file", ErrOlder)
	case id != applicationID || version < schemaVersion:
		return 0, fmt.Errorf("%w but another SQLite database", ErrNotAStore)
	case version > schemaVersion:
		return 0, fmt.Errorf("%w: it has version %d, this one knows %d", ErrNewer, version, schemaVersion)
	}
	return version, nil
}

// makeTables makes the tables of an empty file in one transaction.
func (s *Store) makeTables() error {
	return s.update(func(tx transaction) error {
		var version int // another process may have made them meanwhile
		if err := tx.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil || version > 0 {
			return err
		}
		_, err := tx.Exec(schema + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion))
		return err
	})
}

// Check looks at every page of the file.
func (s *Store) Check(ctx context.Context) error {
	return s.wrap(check(ctx, s.reader, "integrity_check"))
}

// check runs one of SQLite's checks.
func check(ctx context.Context, db *sql.DB, pragma string) error {
	rows, err := db.QueryContext(ctx, "PRAGMA "+pragma+"(5)")
	if err != nil {
		return err
	}
	defer rows.Close()
	var findings []string
	for rows.Next() {
		var finding string
		if err := rows.Scan(&finding); err != nil {
			return err
		}
		if finding != "ok" {
			findings = append(findings, finding)
		}
	}
	if err := rows.Err(); err != nil || len(findings) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", ErrCorrupt, strings.Join(findings, "; "))
}
