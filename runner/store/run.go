// What a store knows of a run besides its events.

package store

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// RunRecord identifies a run and what it runs.
type RunRecord struct {
	ID string
	// Graph is the name of the graph.
	Graph string
	// File and Source are the name and the text of the graph file.
	File   string
	Source []byte
	// Files are the texts of the graphs that it runs, and those that graphs take from
	// files, by absolute path.
	Files map[string][]byte
	// Labels are those the run was started with.
	Labels map[string]string
	// Session is what the run shares state with; empty: none.
	Session string
	// Started is when the run was created; a store keeps it to the nanosecond.
	Started time.Time
	// Parent is the run that this one was forked from, after ParentStep of its
	// steps; empty: it began by itself.
	Parent     string
	ParentStep int
}

// Load returns a text that the graph of the run takes from a file, as it was kept;
// see spec.Options.
func (r *RunRecord) Load(path string) ([]byte, error) {
	if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.File), path)
	}
	src, ok := r.Files[filepath.Clean(path)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return src, nil
}

// RunSummary is one line of a list of runs. Source and Files are left out of lists.
type RunSummary struct {
	RunRecord
	// Status is running from Create on, until a driver notes another one. A
	// run that is running and has no Owner lost its driver.
	Status machine.Status
	Reason string
	// Quality of a run that has ended; "" before.
	Quality machine.Quality
	Steps   int
	// Unreadable is why the journal of the run can't be read; "" if it can, or if nobody has
	// tried. Stores do not save it.
	Unreadable string
	// Due is when a run that pauses goes on by itself, if somebody takes it up then;
	// zero: never.
	Due time.Time
	// Updated is when the summary was last noted.
	Updated time.Time
	// Owner drives the run; empty: nobody does.
	Owner string
}

// StandsAs is Status, or Crashed when nobody drives a run that is running.
func (s *RunSummary) StandsAs() machine.Status {
	if s.Status == machine.Running && s.Owner == "" {
		return Crashed
	}
	return s.Status
}

// Crashed is the status of a run that was running when its driver vanished. It
// is no status of the machine: a run can't tell.
const Crashed machine.Status = "crashed"

// RunFilter says which runs to list. The zero value lets all through.
type RunFilter struct {
	// ID, Graph, Session and Parent must be equal when not empty.
	ID string
	// Prefix is what the ids begin with.
	Prefix  string
	Graph   string
	Session string
	Parent  string
	// Status holds the statuses wanted; empty: all.
	Status []machine.Status
	// Labels must all be there with these values.
	Labels map[string]string
	// UpdatedBefore leaves out what was updated at that time or later; zero: nothing.
	UpdatedBefore time.Time
	// StartedBy leaves out what was started later; zero: nothing.
	StartedBy time.Time
	// DueBy lets only runs through that are due at that time; zero: all.
	DueBy time.Time
	// Limit is the greatest number of runs; 0: no limit.
	Limit int
}

// Match reports whether the filter lets a run through. Limit does not matter.
func (f *RunFilter) Match(s *RunSummary) bool {
	for key, value := range f.Labels {
		if have, ok := s.Labels[key]; !ok || have != value {
			return false
		}
	}
	return cmp.Or(f.ID, s.ID) == s.ID && strings.HasPrefix(s.ID, f.Prefix) && cmp.Or(f.Graph, s.Graph) == s.Graph &&
		cmp.Or(f.Session, s.Session) == s.Session &&
		cmp.Or(f.Parent, s.Parent) == s.Parent &&
		(len(f.Status) == 0 || slices.Contains(f.Status, s.Status)) &&
		(f.StartedBy.IsZero() || !s.Started.After(f.StartedBy)) &&
		(f.DueBy.IsZero() || !s.Due.IsZero() && !s.Due.After(f.DueBy)) &&
		(f.UpdatedBefore.IsZero() || s.Updated.Before(f.UpdatedBefore))
}

// Snapshot is the state after the first Events events of a run.
type Snapshot struct {
	Events int
	State  []byte
}

// NewRunID makes an id of a run that sorts by time: 20261231-235959-1a2b3c4d.
func NewRunID(now time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return now.UTC().Format("20060102-150405-") + hex.EncodeToString(random[:])
}
