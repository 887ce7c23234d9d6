package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// Rows that an older version left, whose process ended before the first event, are
// no runs: nobody lists them, their ids are free, and they can be swept.
func TestRunsThatNeverStarted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path, sqlite.Options{})
	for _, id := range []string{"dead", "dead too", "alive", "whole"} {
		journal := create(t, s, id, events(0, 1)...)
		if id == "alive" {
			continue
		}
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, path, `DELETE FROM events WHERE id >> 32 IN (SELECT no FROM runs WHERE id != 'whole')`)
	if list, err := s.List(store.RunFilter{}); err != nil || len(list) != 1 || list[0].ID != "whole" {
		t.Errorf("listed: %+v (%v), want only the whole run", list, err)
	}
	for _, id := range []string{"dead", "alive"} {
		if _, err := s.Run(id); !errors.Is(err, store.ErrNoRun) {
			t.Errorf("the record of %q: %v, want ErrNoRun", id, err)
		}
		if _, err := s.Events(id); !errors.Is(err, store.ErrNoRun) {
			t.Errorf("the events of %q: %v, want ErrNoRun", id, err)
		}
	}
	if _, err := s.Create(store.RunRecord{ID: "alive"}, events(0, 1)...); !errors.Is(err, store.ErrRunExists) {
		t.Errorf("an id whose run has a driver: %v, want ErrRunExists", err)
	}
	if err := create(t, s, "dead", events(0, 2)...).Close(); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Events("dead"); err != nil || len(list) != 2 {
		t.Errorf("the run that took the place has %d events (%v), want 2", len(list), err)
	}
	for _, look := range []bool{true, false} {
		if swept, err := s.Sweep(time.Now(), look); err != nil || !slices.Equal(swept, []string{"dead too"}) {
			t.Errorf("swept %q (%v), want the dead one", swept, err)
		}
	}
	if swept, err := s.Sweep(time.Now(), false); err != nil || len(swept) > 0 {
		t.Errorf("swept %q (%v) once more", swept, err)
	}
}

// A run that has taken steps and lost its events is damaged: it is not taken for one
// that never started.
func TestLostEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path, sqlite.Options{})
	journal := create(t, s, "one", events(0, 2)...)
	if err := errors.Join(journal.Note(store.RunSummary{Status: "completed", Steps: 2}), journal.Close()); err != nil {
		t.Fatal(err)
	}
	execute(t, path, `DELETE FROM events`)
	if _, err := s.Create(store.RunRecord{ID: "one"}, events(0, 1)...); !errors.Is(err, store.ErrRunExists) {
		t.Errorf("its id is free: %v", err)
	}
	if list, err := s.List(store.RunFilter{}); err != nil || len(list) != 1 {
		t.Errorf("%d runs are listed (%v), want 1", len(list), err)
	}
}

// execute changes the file behind the store's back.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
