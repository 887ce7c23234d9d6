// The names of runs: ids, beginnings of ids, and the last run.

package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner/store"
)

// NameError says that a name is that of no run, or could be that of several. It is a
// store.ErrNoRun.
type NameError struct{ text string }

// Error says which run was perhaps meant.
func (e *NameError) Error() string { return e.text }

// Unwrap is store.ErrNoRun.
func (e *NameError) Unwrap() error { return store.ErrNoRun }

func misnamed(format string, args ...any) error { return &NameError{fmt.Sprintf(format, args...)} }

// maxListed bounds the runs that suggestions consider.
const maxListed = 200

// FindRun reads the record of a run that is named by its id, by a prefix that no
// other id has, or as the last one. The error for one that is not there, a *NameError,
// says which was perhaps meant; where names the store in it.
func FindRun(s store.Store, name, where string) (store.RunRecord, error) {
	id, err := runID(s, name)
	if err != nil {
		return store.RunRecord{}, err
	}
	record, err := s.Run(id)
	if !errors.Is(err, store.ErrNoRun) {
		return record, err
	}
	runs, listErr := s.List(store.RunFilter{Limit: maxListed})
	switch {
	case listErr != nil:
		return record, listErr
	case len(runs) == 0:
		return record, misnamed("no run %q: %s keeps none yet", id, where)
	}
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	hint := fmt.Sprintf("; the latest is %q", ids[0])
	if near := suggest.New(ids).Closest(id); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return record, misnamed("no run %q in %s%s", id, where, hint)
}

// lastRun names the run that was started last, unless a run has that id.
const lastRun = "last"

// maxCandidates bounds the runs that are listed where several are meant.
const maxCandidates = 8

// runID is the id of the run that a name means: its id, a prefix that no other
// run has, or last. A name that means none is returned as it is.
func runID(s store.Store, name string) (string, error) {
	same, err := s.List(store.RunFilter{ID: name, Limit: 1})
	if err != nil || name == "" || len(same) == 1 {
		return name, err
	}
	filter := store.RunFilter{Prefix: name, Limit: maxCandidates + 1}
	if name == lastRun {
		filter = store.RunFilter{Limit: 1}
	}
	meant, err := s.List(filter)
	switch {
	case err != nil || len(meant) == 0:
		return name, err
	case len(meant) > 1:
		return "", misnamed("%q begins the ids of several runs: %s; a longer prefix, or the whole id, is needed", name, someIDs(meant))
	}
	return meant[0].ID, nil
}

// someIDs are the ids of some runs, and whether there are more.
func someIDs(runs []store.RunSummary) string {
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

// ParentID is the id that --parent names; a run that is gone has children still.
func ParentID(s store.Store, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	forks, err := s.List(store.RunFilter{Parent: name, Limit: 1})
	if err != nil || len(forks) == 1 {
		return name, err
	}
	return runID(s, name)
}
