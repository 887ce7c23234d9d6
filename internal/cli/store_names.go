// The names of runs: ids, beginnings of ids, and the last run.

package cli

import (
	"slices"

	"github.com/graphrun/graphrun/runner/store"
)

// findRuns are the ids of the runs that are named, each once.
func (a *app) findRuns(s store.Store, names []string) ([]string, error) {
	var ids []string
	for _, name := range names {
		record, err := a.findRun(s, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, record.ID) {
			ids = append(ids, record.ID)
		}
	}
	return ids, nil
}
