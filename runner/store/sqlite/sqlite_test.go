package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store/sqlite"
	"github.com/graphrun/graphrun/runner/store/storetest"
)

func TestSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) runner.Store {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}
