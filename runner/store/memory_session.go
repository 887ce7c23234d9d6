// Sessions in memory.

package store

import (
	"fmt"
	"maps"
	"slices"
)

// Session returns a session.
func (m *Memory) Session(id string) (Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	session, ok := m.sessions[id]
	if !ok {
		return Session{}, noSession(id)
	}
	return ownSession(session), nil
}

func noSession(id string) error { return fmt.Errorf("session %q: %w", id, ErrNoSession) }

// ownSession is a session whose keys the caller may change; values never are.
func ownSession(s Session) Session {
	s.Keys, s.Secret, s.Talk = maps.Clone(s.Keys), slices.Clone(s.Secret), slices.Clone(s.Talk)
	return s
}

// Sessions lists all sessions.
func (m *Memory) Sessions() ([]Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Session
	for _, session := range m.sessions {
		out = append(out, ownSession(session))
	}
	slices.SortFunc(out, Session.Compare)
	return out, nil
}

// SaveSession puts what a run left into its session.
func (m *Memory) SaveSession(left Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions == nil {
		m.sessions = map[string]Session{}
	}
	m.sessions[left.ID] = ownSession(left).After(m.sessions[left.ID])
	return nil
}

// DeleteSession forgets a session.
func (m *Memory) DeleteSession(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.sessions[id]; !ok {
		return noSession(id)
	}
	delete(m.sessions, id)
	return nil
}
