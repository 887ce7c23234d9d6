// The graphs that a run's graph runs: each text is kept once.

package sqlite

import (
	"database/sql"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner/store"
)

func keepFiles(tx *sql.Tx, run int64, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		source, err := keepSource(tx, files[name])
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO files (run, name, source) VALUES (?, ?, ?)`, run, name, source); err != nil {
			return err
		}
	}
	return nil
}

// filesOf returns nil when there are none.
func (s *Store) filesOf(runID string) (map[string][]byte, error) {
	rows, err := s.reader.Query(`SELECT name, text FROM runs JOIN files ON files.run = runs.no
		JOIN sources ON sources.no = files.source WHERE runs.id = ?`, runID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out map[string][]byte
	for rows.Next() {
		var name string
		var text []byte
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string][]byte{}
		}
		out[name] = text
	}
	return out, rows.Err()
}

// sourcesOf are the numbers of the texts that a run has.
func sourcesOf(tx *sql.Tx, run int64) ([]int64, error) {
	rows, err := tx.Query(`SELECT source FROM runs WHERE no = ?1 UNION SELECT source FROM files WHERE run = ?1`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var sources []int64
	for rows.Next() {
		var no int64
		if err := rows.Scan(&no); err != nil {
			return nil, err
		}
		sources = append(sources, no)
	}
	return sources, rows.Err()
}

// dropSources forgets those texts that no run has any more.
func dropSources(tx *sql.Tx, sources []int64) error {
	for _, no := range sources {
		if _, err := tx.Exec(`DELETE FROM sources WHERE no = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE source = ?1)
			AND NOT EXISTS (SELECT 1 FROM files WHERE source = ?1)`, no); err != nil {
			return err
		}
	}
	return nil
}

// dropFiles forgets a run and the texts that only it has.
func dropFiles(tx *sql.Tx, run int64) error {
	sources, err := sourcesOf(tx, run)
	if err != nil {
		return err
	}
	for _, text := range []string{`DELETE FROM files WHERE run = ?`, `DELETE FROM runs WHERE no = ?`} {
		if _, err := tx.Exec(text, run); err != nil {
			return err
		}
	}
	return dropSources(tx, sources)
}

// Adopt replaces the graph of the run and forgets the snapshots.
func (j *journal) Adopt(r store.RunRecord) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(func() error {
		return j.store.writer.update(func(tx *sql.Tx) error {
			old, err := sourcesOf(tx, j.run)
			if err != nil {
				return err
			}
			source, err := keepSource(tx, r.Source)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(`UPDATE runs SET graph = ?, file = ?, source = ? WHERE no = ?`, r.Graph, r.File, source, j.run); err != nil {
				return err
			}
			for _, text := range []string{
				`DELETE FROM files WHERE run = ?1`,
				`DELETE FROM snapshots WHERE id BETWEEN ?2 - 1 AND ?3`,
			} {
				if _, err := tx.Exec(text, j.run, firstID(j.run), lastID(j.run)); err != nil {
					return err
				}
			}
			if err := keepFiles(tx, j.run, r.Files); err != nil {
				return err
			}
			return dropSources(tx, old)
		})
	})
}
