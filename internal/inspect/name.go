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
	id, err := CompleteID(s, name)
	if err != nil {
		return store.RunRecord{}, err
	}
	record, err := s.Run(id)
	if !errors.Is(err, store.ErrNoRun) {
		return record, err
	}
	ids, err := listIDs(s, store.RunFilter{Limit: maxListed})
	switch {
	case err != nil:
		return record, err
	case len(ids) == 0:
		return record, nameErrorf("no run %q: %s keeps none yet", id, where)
	}
	if near := suggest.New(ids).Closest(id); near != "" {
		return record, nameErrorf("no run %q in %s; did you mean %q?", id, where, near)
	}
	return record, nameErrorf("no run %q in %s; the latest is %q", id, where, ids[0])
}

// CompleteID returns the id that a name stands for, or the name itself if it matches no run.
func CompleteID(s store.Store, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	exact, err := listIDs(s, store.RunFilter{ID: name, Limit: 1})
	if err != nil || len(exact) == 1 {
		return name, err
	}
	filter := store.RunFilter{Prefix: name, Limit: maxCandidates + 1}
	if name == lastRun {
		filter = store.RunFilter{Limit: 1}
	}
	ids, err := listIDs(s, filter)
	switch {
	case err != nil || len(ids) == 0:
		return name, err
	case len(ids) == 1:
		return ids[0], nil
	}
	more := ""
	if len(ids) > maxCandidates {
		ids, more = ids[:maxCandidates], ", …"
	}
	slices.Sort(ids)
	return "", nameErrorf("%q begins the ids of several runs: %s; a longer prefix, or the whole id, is needed", name, strings.Join(ids, ", ")+more)
}

func listIDs(s store.Store, filter store.RunFilter) ([]string, error) {
	runs, err := s.List(filter)
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	return ids, err
}
