// Logs: what was said in a run, beside its journal.

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

// AppendLog keeps chunks and forgets others in one commit. It does not wait for the
// disk: a step that commits next takes with it what was said before.
func (s *Store) AppendLog(runID string, chunks []store.LogChunk, drop []int64) (first int64, err error) {
	if s.writer == nil {
		return 0, s.wrap(errReadOnly)
	}
	err = s.writer.unsynced(s.opts.Durability, func(tx *sql.Tx) error {
		run, err := runNumber(tx, runID)
		if err != nil {
			return err
		}
		base := firstID(run) - 1
		var last int64
		if err := tx.QueryRow(`SELECT coalesce(max(id), ?1) FROM logs WHERE id BETWEEN ?1 AND ?2`, base, lastID(run)).Scan(&last); err != nil {
			return err
		}
		first = last - base + 1
		for _, seq := range drop {
			if _, err := tx.Exec(`DELETE FROM logs WHERE id = ?`, base+seq); err != nil {
				return err
			}
		}
		return insertLog(tx, last, chunks)
	})
	return first, s.wrap(err)
}

func insertLog(tx *sql.Tx, last int64, chunks []store.LogChunk) error {
	if len(chunks) == 0 {
		return nil
	}
	insert, err := tx.Prepare(`INSERT INTO logs (id, at, node, place, visit, attempt, source, stream, call, start, text, ended)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for i := range chunks {
		c := &chunks[i]
		last++
		if _, err := insert.Exec(last, c.Time.UnixNano(), c.Node, c.Place, c.Visit, c.Attempt, c.Source, c.Stream, c.Call, c.Offset, []byte(c.Text), c.End); err != nil {
			return err
		}
	}
	return nil
}

// unsynced is update for what may be lost when the power fails. In the write-ahead
// log that costs no order: a later commit that waits for the disk brings it along.
func (w *writer) unsynced(usual Durability, do func(tx *sql.Tx) error) error {
	ctx := context.Background()
	conn, err := w.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if usual == Full {
		if _, err := conn.ExecContext(ctx, `PRAGMA synchronous = NORMAL`); err != nil {
			return err
		}
	}
	err = w.updateBy(ctx, conn, do)
	if usual == Full {
		_, back := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA synchronous = %s`, usual))
		err = errors.Join(err, back)
	}
	return err
}

// Log returns what was said after a chunk.
func (s *Store) Log(runID string, after int64, most int) ([]store.LogChunk, error) {
	// A run without a log gives one row without a chunk.
	rows, err := s.reader.Query(`SELECT logs.id - (runs.no << 32), at, node, place, visit, attempt, logs.source, stream, call, start, text, ended FROM runs
		LEFT JOIN logs ON logs.id BETWEEN (runs.no << 32) + 1 + ?2 AND (runs.no << 32) + 0xffffffff
		WHERE runs.id = ?1 ORDER BY logs.id LIMIT ?3`, runID, max(after, 0), most)
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	var out []store.LogChunk
	found := false
	for rows.Next() {
		var seq, at, visit, attempt, call, start sql.NullInt64
		var ended sql.NullBool
		var node, place, source, stream sql.NullString
		var text []byte
		if err := rows.Scan(&seq, &at, &node, &place, &visit, &attempt, &source, &stream, &call, &start, &text, &ended); err != nil {
			return nil, s.wrap(err)
		}
		if found = true; seq.Valid {
			out = append(out, store.LogChunk{
				Seq: seq.Int64, Time: time.Unix(0, at.Int64), Node: node.String, Place: place.String, Visit: int(visit.Int64),
				Attempt: int(attempt.Int64), Source: source.String, Stream: stream.String, Call: call.Int64, Offset: start.Int64, Text: string(text), End: ended.Bool,
			})
		}
	}
	if err := rows.Err(); err != nil {
		return nil, s.wrap(err)
	}
	if !found {
		return nil, noRun(runID)
	}
	return out, nil
}
