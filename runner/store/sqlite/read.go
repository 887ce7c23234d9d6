// What is read: events, snapshots, lists. Readers have connections of their own
// and never wait for a driver, nor it for them.

package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Stretch returns events without the first n, of about so many bytes.
func (s *Store) Stretch(runID string, n, size int) ([]machine.Event, error) {
	events, err := s.stretch(runID, n, size)
	if err != nil {
		return nil, s.wrap(fmt.Errorf("run %q: %w", runID, err))
	}
	return events, nil
}

// stretch reads events until they come to so many bytes.
func (s *Store) stretch(runID string, n, size int) ([]machine.Event, error) {
	// A run without events gives one row without an event.
	rows, err := s.reader.Query(`SELECT events.id - (runs.no << 32), data FROM runs
		LEFT JOIN events ON events.id BETWEEN (runs.no << 32) + 1 + ?2 AND (runs.no << 32) + 0xffffffff
		WHERE runs.id = ?1 ORDER BY events.id`, runID, max(n, 0))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	events, found := []machine.Event{}, false
	for next := int64(max(n, 0)) + 1; rows.Next(); next++ {
		var place sql.NullInt64
		var text sql.RawBytes
		if err := rows.Scan(&place, &text); err != nil {
			return nil, err
		}
		found = true
		if !place.Valid {
			continue
		}
		if place.Int64 != next {
			return nil, fmt.Errorf("%w: event %d is missing", ErrCorrupt, next)
		}
		e, err := store.DecodeEvent(text)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", next, err)
		}
		events = append(events, e)
		if size -= len(text); size <= 0 {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !found {
		return nil, store.ErrNoRun
	}
	return events, nil
}

// Snapshot returns the latest snapshot of at most so many events.
func (s *Store) Snapshot(runID string, most int) (store.Snapshot, error) {
	if most < 0 {
		most = 1<<runShift - 1
	}
	var events sql.NullInt64
	var state []byte
	err := s.reader.QueryRow(`SELECT snapshots.id - (runs.no << 32), state FROM runs
		LEFT JOIN snapshots ON snapshots.id BETWEEN runs.no << 32 AND (runs.no << 32) + ?2
		WHERE runs.id = ?1 ORDER BY snapshots.id DESC LIMIT 1`, runID, most).Scan(&events, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Snapshot{}, noRun(runID)
	}
	if err != nil || !events.Valid {
		return store.Snapshot{}, s.wrap(err)
	}
	return store.Snapshot{Events: int(events.Int64), State: state}, nil
}

// List returns the runs that a filter lets through, the last started first.
func (s *Store) List(filter store.RunFilter) ([]store.RunSummary, error) {
	query, args := listQuery(&filter)
	rows, err := s.reader.Query(query, args...)
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	var out []store.RunSummary
	for rows.Next() {
		line, err := s.scanLine(rows)
		if err != nil {
			return nil, s.wrap(err)
		}
		out = append(out, line)
	}
	return out, s.wrap(rows.Err())
}

func (s *Store) scanLine(rows *sql.Rows) (store.RunSummary, error) {
	var line store.RunSummary
	var labels, status, quality string
	var started, updated, due sql.NullInt64
	err := rows.Scan(&line.ID, &line.Graph, &line.File, &labels, &line.Session, &line.Parent, &line.ParentStep,
		&started, &status, &line.Reason, &quality, &line.Steps, &due, &updated, &line.Owner)
	if err != nil {
		return line, err
	}
	line.Started, line.Updated, line.Status, line.Due = moment(started), moment(updated), listed(status), moment(due)
	line.Quality = machine.Quality(quality)
	if line.Owner != "" && !s.isDriven(line.ID) {
		line.Owner = ""
	}
	if labels != "null" {
		err = json.Unmarshal([]byte(labels), &line.Labels)
	}
	return line, err
}

// listQuery writes a filter as SQL.
func listQuery(f *store.RunFilter) (query string, args []any) {
	where := []string{"true"}
	add := func(condition string, values ...any) {
		where = append(where, condition)
		args = append(args, values...)
	}
	for _, equal := range []struct{ column, value string }{
		{"id", f.ID}, {"graph", f.Graph}, {"session", f.Session}, {"parent", f.Parent},
	} {
		if equal.value != "" {
			add(equal.column+" = ?", equal.value)
		}
	}
	if f.Prefix != "" {
		add("id >= ? AND substr(id, 1, ?) = ?", f.Prefix, utf8.RuneCountInString(f.Prefix), f.Prefix)
	}
	if len(f.Status) > 0 {
		values := make([]any, len(f.Status))
		for i, status := range f.Status {
			values[i] = string(status)
		}
		add("status IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		add("no IN (SELECT run FROM labels WHERE key = ? AND value = ?)", key, f.Labels[key])
	}
	if !f.UpdatedBefore.IsZero() {
		add("coalesce(updated < ?, true)", f.UpdatedBefore.UnixNano())
	}
	if !f.StartedBy.IsZero() {
		add("coalesce(started <= ?, true)", f.StartedBy.UnixNano())
	}
	if !f.DueBy.IsZero() {
		add("due <= ?", f.DueBy.UnixNano())
	}
	query = `SELECT id, graph, file, labels, session, parent, parent_step, started, status, reason, quality, steps, due, updated, owner
		FROM runs WHERE ` + strings.Join(where, " AND ")
	query += " ORDER BY started DESC, no DESC"
	if f.Limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", f.Limit)
	}
	return query, args
}
