// Runs: made, opened, listed, deleted.

package sqlite

import (
	"cmp"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

var errReadOnly = errors.New("it was opened for reading only")

func noRun(id string) error { return fmt.Errorf("run %q: %w", id, store.ErrNoRun) }

// Create starts the journal of a new run with its first events, in one commit.
func (s *Store) Create(record store.RunRecord, first ...machine.Event) (store.Journal, error) {
	return s.create(record, first, func(transaction, int64) error { return nil })
}

// Fork starts the journal of a new run with the first n events of another one. They
// are copied, inside of SQLite.
func (s *Store) Fork(record store.RunRecord, from string, n int, first ...machine.Event) (store.Journal, error) {
	return s.create(record, first, func(tx transaction, run int64) error {
		source, err := runNumber(tx, from)
		if err != nil {
			return err
		}
		shift, begin, end := (run-source)<<runShift, firstID(source), firstID(source)+int64(n)-1
		for _, text := range []string{
			`INSERT INTO events (id, data) SELECT id + ?1, data FROM events WHERE id BETWEEN ?2 AND ?3`,
			`INSERT INTO snapshots (id, state) SELECT id + ?1, state FROM snapshots WHERE id BETWEEN ?2 AND ?3`,
		} {
			if _, err := tx.Exec(text, shift, begin, end); err != nil {
				return err
			}
		}
		return nil
	})
}

// create starts the journal of a new run that begins with what inherit gives it.
func (s *Store) create(record store.RunRecord, first []machine.Event, inherit func(tx transaction, run int64) error) (store.Journal, error) {
	texts, err := store.EncodeEvents(first)
	if err != nil {
		return nil, s.wrap(err)
	}
	return s.begin(record.ID, s.opts.Owner, fmt.Errorf("run %q: %w", record.ID, store.ErrRunExists), func(tx transaction) (run int64, err error) {
		if run, err = insertRun(tx, &record); err != nil {
			return 0, err
		}
		if err := inherit(tx, run); err != nil {
			return 0, err
		}
		events, _, err := extent(tx, run)
		if err != nil {
			return 0, err
		}
		return run, runTx{tx, run}.Append(events, texts)
	})
}

// begin opens the journal of a run that find finds or makes, in one commit, with the lock
// of the run; taken is why it does not when another driver has that.
func (s *Store) begin(runID, owner string, taken error, find func(tx transaction) (run int64, err error)) (store.Journal, error) {
	if s.writer == nil {
		return nil, s.wrap(errReadOnly)
	}
	d := ownership{}
	var err error
	if d.lock, err = s.lock(runID); err != nil {
		return nil, s.wrap(err)
	}
	if d.lock == nil {
		return nil, taken
	}
	var events, journaled int
	err = s.update(func(tx transaction) error {
		if d.run, err = find(tx); err != nil {
			return err
		}
		if err := setDriver(tx, d.run, runID, owner); err != nil {
			return err
		}
		events, journaled, err = extent(tx, d.run)
		return err
	})
	if err != nil {
		return nil, errors.Join(s.wrap(err), unlock(d.lock))
	}
	return s.start(runID, d, events, journaled), nil
}

func insertRun(tx transaction, r *store.RunRecord) (run int64, err error) {
	labels, err := json.Marshal(r.Labels)
	if err != nil {
		return 0, err
	}
	started := nanoseconds(r.Started)
	result, err := tx.Exec(`INSERT INTO runs (id, graph, file, labels, session, parent, parent_step, started, status, updated)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Graph, r.File, string(labels), r.Session, r.Parent, r.ParentStep, started, string(machine.Running), started)
	if isDuplicate(err) {
		return 0, fmt.Errorf("run %q: %w", r.ID, store.ErrRunExists)
	}
	if err != nil {
		return 0, err
	}
	if run, err = result.LastInsertId(); err != nil {
		return 0, err
	}
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		if _, err := tx.Exec(`INSERT INTO labels (key, value, run) VALUES (?, ?, ?)`, key, r.Labels[key], run); err != nil {
			return 0, err
		}
	}
	return run, keepTexts(tx, run, r)
}

// keepTexts stores the texts of a run, each once for all runs.
func keepTexts(tx transaction, run int64, r *store.RunRecord) error {
	files := maps.Clone(r.Files)
	if files == nil {
		files = map[string][]byte{}
	}
	files[""] = r.Source
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[name])
		if _, err := tx.Exec(`INSERT INTO texts (sum, text) VALUES (?, ?) ON CONFLICT DO NOTHING`, sum[:], blob(files[name])); err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO files (run, name, sum) VALUES (?, ?, ?)`, run, name, sum[:]); err != nil {
			return err
		}
	}
	return nil
}

// dropTexts deletes the texts of a run that no other run has.
const dropTexts = `
DELETE FROM texts WHERE sum IN (SELECT sum FROM files WHERE run = ?1)
	AND NOT EXISTS (SELECT 1 FROM files WHERE files.sum = texts.sum AND run <> ?1);
DELETE FROM files WHERE run = ?1;`

// Adopt replaces the graph of the run and deletes its snapshots.
func (tx runTx) Adopt(r store.RunRecord) error {
	if _, err := tx.Exec(`UPDATE runs SET graph = ?, file = ? WHERE no = ?`, r.Graph, r.File, tx.run); err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM snapshots WHERE id BETWEEN ? AND ?`, firstID(tx.run)-1, lastID(tx.run)); err != nil {
		return err
	}
	if _, err := tx.Exec(dropTexts, tx.run); err != nil {
		return err
	}
	return keepTexts(tx.transaction, tx.run, &r)
}

// Open goes on with a run's journal.
func (s *Store) Open(runID, owner string) (store.Journal, error) {
	if _, err := s.ownerOf(runID); err != nil { // found out before the lock is taken, which Create may need
		return nil, err
	}
	journal, err := s.begin(runID, cmp.Or(owner, s.opts.Owner), errTaken, func(tx transaction) (int64, error) { return runNumber(tx, runID) })
	if errors.Is(err, errTaken) {
		err = s.drivenError(runID)
	}
	return journal, err
}

// errTaken says that another driver has the lock of a run.
var errTaken = errors.New("the lock is taken")

// runNumber finds a run.
func runNumber(tx transaction, runID string) (run int64, err error) {
	err = tx.QueryRow(`SELECT no FROM runs WHERE id = ?`, runID).Scan(&run)
	if errors.Is(err, sql.ErrNoRows) {
		err = noRun(runID)
	}
	return run, err
}

// extent returns the number of a run's events, and how many bytes of events came after its
// last snapshot.
func extent(tx transaction, run int64) (events, journaled int, err error) {
	before := firstID(run) - 1
	err = tx.QueryRow(`SELECT coalesce(max(id), ?1) - ?1 FROM events WHERE id BETWEEN ?1 AND ?2`, before, lastID(run)).Scan(&events)
	if err != nil {
		return 0, 0, err
	}
	err = tx.QueryRow(`SELECT coalesce(sum(octet_length(data)), 0) FROM events WHERE id <= ?3
		AND id > (SELECT coalesce(max(id), ?1) FROM snapshots WHERE id BETWEEN ?1 AND ?2)`, before, lastID(run), before+int64(events)).Scan(&journaled)
	return events, journaled, err
}

// Run returns a run's record.
func (s *Store) Run(runID string) (store.RunRecord, error) {
	list, err := s.List(store.RunFilter{ID: runID})
	if err != nil {
		return store.RunRecord{}, err
	}
	if len(list) != 1 || list[0].ID != runID {
		return store.RunRecord{}, noRun(runID)
	}
	record := list[0].RunRecord
	if err := s.readTexts(&record); err != nil {
		return store.RunRecord{}, s.wrap(fmt.Errorf("run %q: %w", runID, err))
	}
	return record, nil
}

func (s *Store) readTexts(r *store.RunRecord) error {
	rows, err := s.reader.Query(`SELECT name, text FROM runs JOIN files ON files.run = runs.no
		JOIN texts ON texts.sum = files.sum WHERE runs.id = ?`, r.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var text []byte
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		if name == "" {
			r.Source = text
			continue
		}
		if r.Files == nil {
			r.Files = map[string][]byte{}
		}
		r.Files[name] = text
	}
	return rows.Err()
}

// Delete forgets a run.
func (s *Store) Delete(runID string) error {
	if s.writer == nil {
		return s.wrap(errReadOnly)
	}
	lock, err := s.lock(runID)
	if err != nil {
		return s.wrap(err)
	}
	if lock == nil {
		return s.drivenError(runID)
	}
	err = s.update(func(tx transaction) error {
		run, err := runNumber(tx, runID)
		if err != nil {
			return err
		}
		return drop(tx, run, runID)
	})
	if err == nil {
		dir := s.RunDir(runID)
		err = errors.Join(process.EndLeft(dir+".tasks"), os.RemoveAll(dir))
	}
	return errors.Join(s.wrap(err), unlock(lock))
}

// RunDir is the path of a run's folder, beside the file: in runs.db.d for runs.db.
func (s *Store) RunDir(runID string) string {
	name := runID
	if !filepath.IsLocal(name) || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) || len(name) > 100 {
		sum := sha256.Sum256([]byte(runID))
		name = "run." + hex.EncodeToString(sum[:16]) // no id kept as it is has a dot
	}
	return filepath.Join(s.path+".d", name)
}

// drop deletes all that belongs to a run.
func drop(tx transaction, run int64, runID string) error {
	for _, text := range []string{
		dropTexts,
		`DELETE FROM runs WHERE no = ?1`,
		`DELETE FROM labels WHERE run = ?1`,
		`DELETE FROM events WHERE id BETWEEN ?2 AND ?3`,
		`DELETE FROM snapshots WHERE id BETWEEN ?2 - 1 AND ?3`,
	} {
		if _, err := tx.Exec(text, run, firstID(run), lastID(run)); err != nil {
			return err
		}
	}
	return store.DeleteRecords(tx, runID)
}

// nanoseconds and moment keep times as Unix nanoseconds, the zero time as NULL.
func nanoseconds(t time.Time) sql.NullInt64 {
	if t.IsZero() {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: t.UnixNano(), Valid: true}
}

func moment(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(0, n.Int64)
}

// listed keeps the status of rows that were written by hand readable.
func listed(status string) machine.Status { return cmp.Or(machine.Status(status), machine.Running) }
