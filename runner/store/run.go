// The record, the summary and the id of a run.

package store

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphrun/graphrun/runner/machine"
)

// RunRecord identifies a run and its graph.
type RunRecord struct {
	ID string
	// Graph is the name of the graph.
	Graph string
	// File and Source are the name and the text of the graph file.
	File   string
	Source []byte
	// Files are the texts of subgraphs, and of other files that graphs use, by absolute path.
	Files  map[string][]byte
	Labels map[string]string
	// Session names the session of the run, or is "".
	Session string
	// Started is when the run was created, to the nanosecond.
	Started time.Time
	// Parent is the run from which this one was forked, after ParentStep steps, or "".
	Parent     string
	ParentStep int
}

// Load returns the stored text of a file that the graph uses; see spec.Options.
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

// RunSummary describes a run in a list. It has no Source and Files.
type RunSummary struct {
	RunRecord
	// Status is running until a driver saves another one. A running run without Owner has crashed.
	Status machine.Status
	Reason string
	// Quality is "" until the run ends.
	Quality machine.Quality
	Steps   int
	// Unreadable says why reading the run's journal failed, if it did. It is not stored.
	Unreadable string
	// Due is when a paused run may be resumed without an answer. It is zero if never.
	Due time.Time
	// Updated is when the summary was last saved.
	Updated time.Time
	// Owner is the driver of the run, or "".
	Owner string
}

// EffectiveStatus returns Status, or Crashed for a running run without a driver.
func (s *RunSummary) EffectiveStatus() machine.Status {
	if s.Status == machine.Running && s.Owner == "" {
		return Crashed
	}
	return s.Status
}

// Crashed is the status of a run that was running when its driver vanished.
const Crashed machine.Status = "crashed"

// RunFilter selects runs. A zero field selects all.
type RunFilter struct {
	ID, Graph, Session, Parent string
	Prefix                     string // of the id
	Status                     []machine.Status
	Labels                     map[string]string // all must match
	UpdatedBefore              time.Time
	StartedBy                  time.Time // at that time or before
	DueBy                      time.Time // at that time or before
	Limit                      int       // maximum number of runs
}

// Match reports whether the filter selects a run. It ignores Limit.
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

// NewRunID returns a new id. Ids sort by time: 20261231-235959-1a2b3c4d.
func NewRunID(now time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Sprintf("%s%x", now.UTC().Format("20060102-150405-"), random)
}

// MaxName bounds the length of run ids, session ids and labels, in characters.
const MaxName = 200

// CheckLength returns an error if name is too long. The error begins with what.
func CheckLength(what, name string) error {
	if n := utf8.RuneCountInString(name); n > MaxName {
		return fmt.Errorf("%s has %d characters; at most %d are allowed", what, n, MaxName)
	}
	return nil
}

const idCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"

// CheckID validates the id of a run or a session. The id may be empty. Errors begin with what.
func CheckID(what, id string) error {
	if err := CheckLength(what, id); err != nil {
		return err
	}
	if strings.ContainsFunc(id, func(r rune) bool { return !strings.ContainsRune(idCharacters, r) }) {
		return fmt.Errorf("%s %q: only letters, digits and -_.: are allowed", what, id)
	}
	return nil
}

// CheckLabels returns an error that lists every invalid label.
func CheckLabels(labels map[string]string) error {
	var problems []string
	for key, value := range labels {
		switch {
		case key == "":
			problems = append(problems, "a label has no key")
		case utf8.RuneCountInString(key) > MaxName:
			problems = append(problems, fmt.Sprintf("the key of label %.20q… has more than %d characters", key, MaxName))
		case utf8.RuneCountInString(value) > MaxName:
			problems = append(problems, fmt.Sprintf("label %q has more than %d characters", key, MaxName))
		case !utf8.ValidString(key) || !utf8.ValidString(value):
			problems = append(problems, fmt.Sprintf("label %q is not UTF-8 text", key))
		}
	}
	slices.Sort(problems)
	if problems == nil {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}
