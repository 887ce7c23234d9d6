// The names of runs: ids, beginnings of ids, and the last run.

package cli

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner"
)

// lastRun names the run that was started last, unless a run has that id.
const lastRun = "last"

// maxCandidates bounds the runs that are listed where several are meant.
const maxCandidates = 8

// runID is the id of the run that a name means: its id, a prefix that no other
// run has, or last. A name that means none is returned as it is.
func runID(s runner.Store, name string) (string, error) {
	same, err := s.List(runner.RunFilter{ID: name, Limit: 1})
	if err != nil || name == "" || len(same) == 1 {
		return name, err
	}
	filter := runner.RunFilter{Prefix: name, Limit: maxCandidates + 1}
	if name == lastRun {
		filter = runner.RunFilter{Limit: 1}
	}
	meant, err := s.List(filter)
	switch {
	case err != nil || len(meant) == 0:
		return name, err
	case len(meant) > 1:
		return "", usagef("%q begins the ids of several runs: %s; a longer prefix, or the whole id, is needed", name, someIDs(meant))
	}
	return meant[0].ID, nil
}

// someIDs are the ids of some runs, and whether there are more.
func someIDs(runs []runner.RunSummary) string {
	more := ""
	if len(runs) > maxCandidates {
		runs, more = runs[:maxCandidates], ", …"
	}
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	slices.Sort(ids)
	return strings.Join(ids, ", ") + more
}

// findRuns are the ids of the runs that are named, each once.
func (a *app) findRuns(s runner.Store, names []string) ([]string, error) {
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

// parentID is the id that --parent names; a run that is gone has children still.
func parentID(s runner.Store, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	forks, err := s.List(runner.RunFilter{Parent: name, Limit: 1})
	if err != nil || len(forks) == 1 {
		return name, err
	}
	return runID(s, name)
}
