// Sessions: what runs leave to the next one.

package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/runner/store"
)

const sessionColumns = `SELECT id, keys, secret, talk, run, graph, updated FROM sessions`

// scanner is a row or rows.
type scanner interface{ Scan(into ...any) error }

func scanSession(row scanner) (store.Session, error) {
	var out store.Session
	var keys, secret string
	var talk sql.NullString
	var updated sql.NullInt64
	if err := row.Scan(&out.ID, &keys, &secret, &talk, &out.Run, &out.Graph, &updated); err != nil {
		return out, err
	}
	out.Updated = moment(updated)
	value, err := store.DecodeValue([]byte(keys))
	out.Keys, _ = value.(map[string]any)
	err = errors.Join(err, json.Unmarshal([]byte(secret), &out.Secret))
	if talk.Valid {
		err = errors.Join(err, json.Unmarshal([]byte(talk.String), &out.Talk))
	}
	if err != nil {
		return out, fmt.Errorf("session %q: %w", out.ID, err)
	}
	return out, nil
}

// Session returns a session.
func (s *Store) Session(id string) (store.Session, error) {
	out, err := scanSession(s.reader.QueryRow(sessionColumns+` WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return store.Session{}, noSession(id)
	}
	return out, s.wrap(err)
}

func noSession(id string) error { return fmt.Errorf("session %q: %w", id, store.ErrNoSession) }

// Sessions lists all sessions.
func (s *Store) Sessions() ([]store.Session, error) {
	rows, err := s.reader.Query(sessionColumns + ` ORDER BY updated DESC, id`)
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	var out []store.Session
	for rows.Next() {
		session, err := scanSession(rows)
		if err != nil {
			return nil, s.wrap(err)
		}
		out = append(out, session)
	}
	return out, s.wrap(rows.Err())
}

// SaveSession puts what a run left into its session.
func (s *Store) SaveSession(left store.Session) error {
	return s.update(func(tx *sql.Tx) error {
		before, err := scanSession(tx.QueryRow(sessionColumns+` WHERE id = ?`, left.ID))
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		merged := left.After(before)
		keys, err := store.EncodeValue(merged.Keys)
		if err != nil {
			return err
		}
		secret, err := json.Marshal(merged.Secret)
		if err != nil {
			return err
		}
		var talk sql.NullString
		if merged.Talk != nil {
			text, err := json.Marshal(merged.Talk)
			if err != nil {
				return err
			}
			talk = sql.NullString{String: string(text), Valid: true}
		}
		_, err = tx.Exec(`INSERT OR REPLACE INTO sessions (id, keys, secret, talk, run, graph, updated) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			merged.ID, string(keys), string(secret), talk, merged.Run, merged.Graph, nanoseconds(merged.Updated))
		return err
	})
}

// DeleteSession forgets a session.
func (s *Store) DeleteSession(id string) error {
	return s.update(func(tx *sql.Tx) error {
		deleted, err := changedOne(tx.Exec(`DELETE FROM sessions WHERE id = ?`, id))
		if err == nil && !deleted {
			return noSession(id)
		}
		return err
	})
}
