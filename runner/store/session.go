// Sessions: state that runs share with the next one.

package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
)

// Session holds the state keys of scope session, and the conversation. A run saves it at its end.
// Of two runs at once, the later end counts.
type Session struct {
	ID string
	// Keys holds plain data by state key, of all graphs.
	Keys map[string]any
	// Secret lists the keys with secret values, sorted.
	Secret []string
	// Talk is the conversation, or nil.
	Talk []machine.Message
	// Run is the run that ended last, and Graph the name of its graph.
	Run   string
	Graph string
	// Updated is when that run ended, to the nanosecond.
	Updated time.Time
}

// Masked returns the session without secret values.
func (s Session) Masked() Session {
	m := mask.OfSession(s.Secret, s.Keys)
	s.Keys = m.Keys(s.Secret, s.Keys)
	s.Talk = slices.Clone(s.Talk)
	for i := range s.Talk {
		s.Talk[i] = m.Message(s.Talk[i])
	}
	return s
}

// After returns the session that results if a run saves s over the session before.
func (s Session) After(before Session) Session {
	left := s
	keys := maps.Clone(before.Keys)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, left.Keys)
	secret := slices.DeleteFunc(slices.Clone(before.Secret), func(name string) bool {
		_, again := left.Keys[name]
		return again
	})
	left.Keys, left.Secret = keys, append(secret, left.Secret...)
	slices.Sort(left.Secret)
	if left.Talk == nil {
		left.Talk = before.Talk
	}
	return left
}

// Compare orders sessions as Store.Sessions does.
func (s Session) Compare(other Session) int {
	return cmp.Or(other.Updated.Compare(s.Updated), cmp.Compare(s.ID, other.ID))
}

// savedSession is a session as JSON. Keys are read as canonical data.
type savedSession struct {
	Session
	Keys json.RawMessage
}

const sessionKeys = "session/"

// Session returns a session.
func (s *KVStore) Session(id string) (out Session, err error) {
	err = s.storage().View(func(tx Tx) (err error) {
		out, err = getSession(tx, id)
		return err
	})
	return out, err
}

func getSession(tx Tx, id string) (Session, error) {
	var saved savedSession
	found, err := getJSON(tx, sessionKeys+keyOf(id), &saved)
	if err == nil && !found {
		err = fmt.Errorf("session %q: %w", id, ErrNoSession)
	}
	if err != nil {
		return Session{}, err
	}
	return saved.decodeKeys()
}

// decodeKeys returns the session with its keys.
func (s *savedSession) decodeKeys() (Session, error) {
	keys, err := DecodeValue(s.Keys)
	if err != nil {
		return Session{}, fmt.Errorf("session %q: %w", s.ID, err)
	}
	s.Session.Keys, _ = keys.(map[string]any)
	if !s.Updated.IsZero() {
		s.Updated = s.Updated.Local()
	}
	return s.Session, nil
}

// Sessions lists all sessions.
func (s *KVStore) Sessions() ([]Session, error) {
	var out []Session
	var bad error
	err := s.storage().View(func(tx Tx) error {
		return visitJSON(tx, sessionKeys, func(saved *savedSession) bool {
			var session Session
			session, bad = saved.decodeKeys()
			out = append(out, session)
			return bad == nil
		})
	})
	if err = cmp.Or(err, bad); err != nil {
		return nil, err
	}
	slices.SortFunc(out, Session.Compare)
	return out, nil
}

// SaveSession merges a session into the one before.
func (s *KVStore) SaveSession(left Session) error {
	return s.storage().Update(func(tx Tx) error {
		before, err := getSession(tx, left.ID)
		if err != nil && !errors.Is(err, ErrNoSession) {
			return err
		}
		saved := savedSession{Session: left.After(before)}
		if saved.Keys, err = EncodeValue(saved.Session.Keys); err != nil {
			return err
		}
		return putJSON(tx, sessionKeys+keyOf(left.ID), saved)
	})
}

// DeleteSession deletes a session.
func (s *KVStore) DeleteSession(id string) error {
	return s.storage().Update(func(tx Tx) error {
		if _, err := getSession(tx, id); err != nil {
			return err
		}
		return tx.Delete(sessionKeys + keyOf(id))
	})
}
