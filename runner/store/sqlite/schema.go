// The tables, their versions, and how a file is brought up to date.

package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// applicationID marks the file as a store: "grn1".
const applicationID = 0x67726e31

// unreleasedID marked those of before the first release: "grun".
const unreleasedID = 0x6772756e

// migrations bring a file from version i to i+1; the version is kept in
// user_version. What was released is never changed, only added to.
func migrations() []string {
	return []string{`
CREATE TABLE sources (
	no   INTEGER PRIMARY KEY,
	sum  BLOB NOT NULL UNIQUE, -- SHA-256 of text: runs of one file share it
	text BLOB NOT NULL
) STRICT;
CREATE TABLE runs (
	no          INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	graph       TEXT NOT NULL,
	file        TEXT NOT NULL,
	source      INTEGER NOT NULL REFERENCES sources,
	labels      TEXT NOT NULL, -- as JSON
	session     TEXT NOT NULL,
	parent      TEXT NOT NULL,
	parent_step INTEGER NOT NULL,
	started     INTEGER, -- times are Unix nanoseconds, NULL for none
	status      TEXT NOT NULL,
	reason      TEXT NOT NULL,
	quality     TEXT NOT NULL DEFAULT '', -- of a run that has ended
	steps       INTEGER NOT NULL,
	updated     INTEGER,
	due         INTEGER -- when a run that pauses goes on by itself, if somebody takes it up
) STRICT;
CREATE INDEX runs_by_start ON runs (started, no);
CREATE INDEX runs_by_graph ON runs (graph, started, no);
CREATE INDEX runs_by_source ON runs (source);
CREATE INDEX runs_by_due ON runs (due) WHERE due IS NOT NULL;
CREATE TABLE labels (
	key   TEXT NOT NULL,
	value TEXT NOT NULL,
	run   INTEGER NOT NULL,
	PRIMARY KEY (key, value, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_run ON labels (run);
-- The graphs that a run's graph runs.
CREATE TABLE files (
	run    INTEGER NOT NULL,
	name   TEXT NOT NULL,
	source INTEGER NOT NULL REFERENCES sources,
	PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_source ON files (source);
-- An event's id is its run's number times 2^32 plus its place in the run, from
-- 1: unique, and an append touches a single page.
CREATE TABLE events (id INTEGER PRIMARY KEY, data TEXT NOT NULL) STRICT;
-- The id is that of the last event a snapshot stands for.
CREATE TABLE snapshots (id INTEGER PRIMARY KEY, state BLOB NOT NULL) STRICT;
-- Who drives a run, as long as the lock of the run is held.
CREATE TABLE drivers (run INTEGER PRIMARY KEY, owner TEXT NOT NULL) STRICT;
-- What others want of the driver of a run.
CREATE TABLE requests (run INTEGER PRIMARY KEY, want TEXT NOT NULL) STRICT;
-- Runs that are in a group, or wait for a place in one, while they are driven.
CREATE TABLE groups (
	place   INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they came
	run     INTEGER NOT NULL UNIQUE,
	name    TEXT NOT NULL,
	entered INTEGER -- NULL: it waits
) STRICT;
CREATE INDEX groups_by_name ON groups (name, place);
-- Answers for a run, as JSON, until its driver has taken or refused them.
CREATE TABLE offers (
	no      INTEGER PRIMARY KEY,
	id      TEXT NOT NULL UNIQUE,
	run     INTEGER NOT NULL,
	data    TEXT NOT NULL,
	refused TEXT -- why
) STRICT;
CREATE INDEX offers_by_run ON offers (run, no);
-- What programs and models said. An id is made as an event's is. The text need
-- not be UTF-8; start is its place in the stream, in bytes.
CREATE TABLE logs (
	id      INTEGER PRIMARY KEY,
	at      INTEGER NOT NULL,
	node    TEXT NOT NULL,
	place   TEXT NOT NULL,
	visit   INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	source  TEXT NOT NULL,
	stream  TEXT NOT NULL,
	call    INTEGER NOT NULL,
	start   INTEGER NOT NULL,
	text    BLOB NOT NULL,
	ended   INTEGER NOT NULL -- the stream has, with this
) STRICT;
-- What the runs of a session left, as JSON; talk is the conversation.
CREATE TABLE sessions (
	id      TEXT PRIMARY KEY,
	keys    TEXT NOT NULL,
	secret  TEXT NOT NULL, -- the keys that are never shown
	talk    TEXT,
	run     TEXT NOT NULL,
	graph   TEXT NOT NULL,
	updated INTEGER
) STRICT;
CREATE TABLE cache (
	key     TEXT PRIMARY KEY,
	graph   TEXT NOT NULL,
	node    TEXT NOT NULL,
	value   TEXT NOT NULL,
	expires INTEGER -- NULL: never
) STRICT;
CREATE INDEX cache_by_node ON cache (graph, node);
CREATE INDEX cache_by_expiry ON cache (expires) WHERE expires IS NOT NULL;
-- For people with another SQLite tool.
CREATE VIEW journal AS
	SELECT runs.id AS run, events.id & 0xffffffff AS seq, data ->> 'kind' AS kind, data
	FROM runs JOIN events ON events.id BETWEEN (runs.no << 32) + 1 AND (runs.no << 32) + 0xffffffff;
`}
}

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
	case id == unreleasedID:
		return 0, fmt.Errorf("%w, before the first release: this one can't read it; delete it, or name another file", ErrOlder)
	case id != applicationID || version < 0:
		return 0, fmt.Errorf("%w but another SQLite database", ErrNotAStore)
	case version > len(migrations()):
		return 0, fmt.Errorf("%w: it has version %d, this one knows %d", ErrNewer, version, len(migrations()))
	}
	return version, nil
}

// migrate brings the file up to date in one transaction.
func (s *Store) migrate(version int) error {
	if version == len(migrations()) {
		return nil
	}
	return s.writer.update(func(tx *sql.Tx) error {
		// Another process may have done it meanwhile.
		if err := tx.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil {
			return err
		}
		for ; version < len(migrations()); version++ {
			if _, err := tx.Exec(migrations()[version]); err != nil {
				return fmt.Errorf("to version %d: %w", version+1, err)
			}
		}
		_, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version))
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
