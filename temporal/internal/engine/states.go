// What tasks see of the state, read once for those that see the same.

package engine

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// mostStates bounds how many states a worker keeps, largestState how large each may be.
const (
	mostStates   = 16
	largestState = 1 << 20
)

// states are those that a worker has read, by the digest of their text. Nobody changes
// them.
type states struct {
	mu       sync.Mutex
	byDigest map[[sha256.Size]byte]map[string]any
}

// read reads a state, or gives one that was read before. What of it the caller sets is
// its own.
func (s *states) read(text []byte) (*taskState, error) {
	if len(text) < largestShared || len(text) > largestState {
		out := &taskState{}
		return out, json.Unmarshal(text, out)
	}
	digest := sha256.Sum256(text)
	s.mu.Lock()
	state, kept := s.byDigest[digest]
	s.mu.Unlock()
	if kept {
		return &taskState{State: state}, nil
	}
	out := &taskState{}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byDigest == nil || len(s.byDigest) >= mostStates {
		s.byDigest = map[[sha256.Size]byte]map[string]any{}
	}
	s.byDigest[digest] = out.State
	return &taskState{State: out.State}, nil
}
