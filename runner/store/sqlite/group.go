// Groups of runs: places that are gone with the locks of those who have them.

package sqlite

import (
	"database/sql"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/store"
)

// Enter asks for a place in a group.
func (j *journal) Enter(group string, limit int) (out store.GroupState, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err = j.write(func() error {
		return j.store.writer.update(func(tx *sql.Tx) error {
			if _, err := tx.Exec(`INSERT INTO groups (run, name) VALUES (?1, ?2) ON CONFLICT (run) DO NOTHING`, j.run, group); err != nil {
				return err
			}
			members, err := j.store.members(tx, group)
			if err != nil {
				return err
			}
			out, err = j.turn(tx, members, limit)
			return err
		})
	})
	return out, err
}

// turn lets the run in if it is its turn.
func (j *journal) turn(tx *sql.Tx, members []member, limit int) (out store.GroupState, err error) {
	inside, before, at := 0, 0, -1
	for i := range members {
		switch m := &members[i]; {
		case m.entered.Valid:
			inside++
			out.Inside = out.Inside || m.run == j.run
		case m.run == j.run:
			at = i
		case at < 0:
			before++
		}
	}
	if at >= 0 && inside+before < limit {
		now := j.store.opts.Now().UnixNano()
		if _, err := tx.Exec(`UPDATE groups SET entered = ? WHERE run = ?`, now, j.run); err != nil {
			return out, err
		}
		members[at].entered = sql.NullInt64{Int64: now, Valid: true}
		out.Inside = true
	}
	for i := range members {
		if m := &members[i]; m.entered.Valid {
			m.Since = time.Unix(0, m.entered.Int64)
			out.Members = append(out.Members, m.GroupMember)
		}
	}
	slices.SortStableFunc(out.Members, func(a, b store.GroupMember) int { return a.Since.Compare(b.Since) })
	return out, nil
}

// member is a run in a group or in its queue.
type member struct {
	store.GroupMember
	run     int64
	entered sql.NullInt64
}

// members are those of a group that are driven, in the order in which they came;
// the places of the others are forgotten.
func (s *Store) members(tx *sql.Tx, group string) (out []member, err error) {
	rows, err := tx.Query(`SELECT groups.run, groups.entered, runs.id, runs.graph, coalesce(owner, '')
		FROM groups JOIN runs ON runs.no = groups.run LEFT JOIN drivers ON drivers.run = groups.run
		WHERE groups.name = ? ORDER BY groups.place`, group)
	if err != nil {
		return nil, err
	}
	var gone []int64
	for rows.Next() {
		var m member
		if err := rows.Scan(&m.run, &m.entered, &m.RunID, &m.Graph, &m.Owner); err != nil {
			return nil, joinClose(rows, err)
		}
		if !s.isDriven(m.RunID) {
			gone = append(gone, m.run)
			continue
		}
		out = append(out, m)
	}
	if err := joinClose(rows, rows.Err()); err != nil {
		return nil, err
	}
	for _, run := range gone {
		if _, err := tx.Exec(`DELETE FROM groups WHERE run = ?`, run); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// joinClose closes rows and returns the first error.
func joinClose(rows *sql.Rows, err error) error {
	if closed := rows.Close(); err == nil {
		err = closed
	}
	return err
}
