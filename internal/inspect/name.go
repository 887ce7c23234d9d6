// The names of runs: ids, prefixes of ids, and "last".

package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner/store"
)

// NameError says that a name matches no run or several. It wraps store.ErrNoRun.
type NameError struct{ text string }

// Error returns the message, with a suggestion.
func (e *NameError) Error() string { return e.text }

// Unwrap returns store.ErrNoRun.
func (e *NameError) Unwrap() error { return store.ErrNoRun }

func nameErrorf(format string, args ...any) error { return &NameError{fmt.Sprintf(format, args...)} }

// maxListed bounds the runs that suggestions consider.
const maxListed = 200

// FindRun reads the record of a run by its id, a unique prefix of it, or "last". It returns a
// *NameError with a suggestion for an unknown run; where names the store in messages.
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
		return record, nameErrorf("no run %q: %s keeps none yet", id, where)
	}
	ids := idsOf(runs)
	hint := fmt.Sprintf("; the latest is %q", ids[0])
	if near := suggest.New(ids).Closest(id); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return record, nameErrorf("no run %q in %s%s", id, where, hint)
}

// lastRun stands for the latest run, unless a run has that id.
const lastRun = "last"

// maxCandidates bounds the runs that an error about an ambiguous name lists.
const maxCandidates = 8

// runID returns the id that a name stands for, or the name itself if it matches no run.
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
		return "", nameErrorf("%q begins the ids of several runs: %s; a longer prefix, or the whole id, is needed", name, someIDs(meant))
	}
	return meant[0].ID, nil
}

// someIDs lists the ids of the first runs and says whether there are more.
func someIDs(runs []store.RunSummary) string {
	more := ""
	if len(runs) > maxCandidates {
		runs, more = runs[:maxCandidates], ", …"
	}
	return strings.Join(slices.Sorted(slices.Values(idsOf(runs))), ", ") + more
}

func idsOf(runs []store.RunSummary) []string {
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	return ids
}

// ParentID returns the id for --parent. The run may have been deleted.
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
