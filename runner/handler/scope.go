// Values that live as long as a run.

package handler

import (
	"io"
	"slices"
	"sync"
)

// Scope holds values that the tasks of a run share, such as servers. It is safe for concurrent use.
type Scope struct {
	mu     sync.Mutex
	kept   map[any]any
	order  []any
	tasks  string // the result of TasksDir
	around *Scope // a scope that lives longer; may be nil
}

// NewScope returns a scope that its caller closes. around lives longer or is nil. tasks is TasksDir.
func NewScope(around *Scope, tasks string) *Scope { return &Scope{around: around, tasks: tasks} }

// Outermost returns the scope for values that may outlive the run.
func (s *Scope) Outermost() *Scope {
	if s.around != nil {
		return s.around.Outermost()
	}
	return s
}

// TasksDir returns the folder that marks running programs, or "" for a temporary one.
func (s *Scope) TasksDir() string { return s.tasks }

// GetOrOpen returns the value of a key. The first call creates it with open. If it is an io.Closer, it
// is closed when the run ends or pauses.
func (s *Scope) GetOrOpen(key any, open func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.kept[key]; ok {
		return kept
	}
	made := open()
	if s.kept == nil {
		s.kept = map[any]any{}
	}
	s.kept[key] = made
	s.order = append(s.order, made)
	return made
}

// Close closes all values, latest first.
func (s *Scope) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range slices.Backward(s.order) {
		if closer, ok := kept.(io.Closer); ok {
			_ = closer.Close()
		}
	}
	s.kept, s.order = nil, nil
}
