// What lives as long as the run.

package handler

import (
	"io"
	"slices"
	"sync"
)

// Scope holds what handlers keep from one task of a run to the next, such as a
// server that they started. Subgraphs share that of the run around them. It is
// safe for concurrent use.
type Scope struct {
	mu    sync.Mutex
	kept  map[any]io.Closer
	order []io.Closer
	// tasks is what TasksDir returns.
	tasks string
	// around is what lasts longer; nil: nothing does.
	around *Scope
}

// NewScope is the scope of a task that is run apart from a driver, in a process that
// keeps in around what it shares between the tasks of all runs; nil: it is of a run. tasks
// is what TasksDir returns. The caller closes it.
func NewScope(around *Scope, tasks string) *Scope { return &Scope{around: around, tasks: tasks} }

// Lasting is the scope for what need not end with the run: that of a process which
// runs tasks of many runs, else this one.
func (s *Scope) Lasting() *Scope {
	if s.around != nil {
		return s.around.Lasting()
	}
	return s
}

// TasksDir is the folder for the marks of programs that run; empty: a temporary
// one will do. It is not made yet.
func (s *Scope) TasksDir() string { return s.tasks }

// Keep returns what was kept under the key, which open makes when it is the
// first to ask. It is closed when the run ends or pauses, after the last task.
func (s *Scope) Keep(key any, open func() io.Closer) io.Closer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.kept[key]; ok {
		return kept
	}
	made := open()
	if s.kept == nil {
		s.kept = map[any]io.Closer{}
	}
	s.kept[key] = made
	s.order = append(s.order, made)
	return made
}

// Close closes everything, last kept first. What a handler could not end
// well is its own to report, while it runs.
func (s *Scope) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range slices.Backward(s.order) {
		_ = kept.Close()
	}
	s.kept, s.order = nil, nil
}
