package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
	"github.com/graphrun/graphrun/runner/store/storetest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		return open(t, filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	})
}

func TestSharedSuite(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T) storetest.Handle {
		path := filepath.Join(t.TempDir(), "runs.db")
		return func() store.Store { return open(t, path, sqlite.Options{}) }
	})
}

func open(t testing.TB, path string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
