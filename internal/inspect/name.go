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

// nameError says that a name matches no run or several. It wraps store.ErrNoRun.
type nameError string

func (e nameError) Error() string { return string(e) }

func (e nameError) Unwrap() error { return store.ErrNoRun }

func nameErrorf(format string, args ...any) error { return nameError(fmt.Sprintf(format, args...)) }

const (
	// lastRun stands for the latest run, unless a run has that id.
	lastRun       = "last"
	maxListed     = 200 // runs that suggestions consider
	maxCandidates = 8   // runs that an error about an ambiguous name lists
)

// FindRun reads the record of a run by its id, a unique prefix of it, or "last". An error for an
// unknown run has a suggestion and wraps store.ErrNoRun. where names the store in messages.
func FindRun(s store.Store, name, where string) (store.RunRecord, error) {
	id, err := completeID(s, name)
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
	ids := listIDs(runs)
	hint := fmt.Sprintf("; the latest is %q", ids[0])
	if near := suggest.New(ids).Closest(id); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return record, nameErrorf("no run %q in %s%s", id, where, hint)
}

// completeID returns the id that a name stands for, or the name itself if it matches no run.
func completeID(s store.Store, name string) (string, error) {
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
		return "", nameErrorf("%q begins the ids of several runs: %s; a longer prefix, or the whole id, is needed", name, listSomeIDs(meant))
	}
	return meant[0].ID, nil
}

// listSomeIDs lists the ids of the first runs and says whether there are more.
func listSomeIDs(runs []store.RunSummary) string {
	shown := listIDs(runs[:min(len(runs), maxCandidates)])
	slices.Sort(shown)
	if len(runs) > maxCandidates {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

func listIDs(runs []store.RunSummary) (ids []string) {
	for i := range runs {
		ids = append(ids, runs[i].ID)
	}
	return ids
}

// FindParent returns the id for --parent. The run may have been deleted.
func FindParent(s store.Store, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	forks, err := s.List(store.RunFilter{Parent: name, Limit: 1})
	if err != nil || len(forks) == 1 {
		return name, err
	}
	return completeID(s, name)
}
