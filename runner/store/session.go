// Sessions: what runs take over from the run before.

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

// Session is what the runs of a session leave to the next one: the state keys of
// scope session, and the conversation. A run leaves it when it ends, however it
// ends; a pause is no end. Of two runs at once the one that ends last stands.
type Session struct {
	ID string
	// Keys holds plain data by state key. Keys of several graphs may be in it.
	Keys map[string]any
	// Secret lists those whose values are secret, sorted.
	Secret []string
	// Talk is the conversation; nil when no run had one.
	Talk []machine.Message
	// Run is the run that ended last, and Graph the name of its graph.
	Run   string
	Graph string
	// Updated is when that run ended; a store keeps it to the nanosecond.
	Updated time.Time
}

// Masked is the session as it may be shown.
func (s Session) Masked() Session {
	m := mask.OfSession(s.Secret, s.Keys)
	s.Keys = m.Keys(s.Secret, s.Keys)
	s.Talk = slices.Clone(s.Talk)
	for i := range s.Talk {
		s.Talk[i] = m.Message(s.Talk[i])
	}
	return s
}

// After is the session that results when a run leaves something to the one before it.
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
	err = s.kv().View(func(tx Tx) (err error) {
		out, err = getSession(tx, id)
		return err
	})
	return out, err
}

func getSession(tx Tx, id string) (Session, error) {
	text, err := tx.Get(sessionKeys + keyOf(id))
	if err == nil && text == nil {
		err = fmt.Errorf("session %q: %w", id, ErrNoSession)
	}
	if err != nil {
		return Session{}, err
	}
	return decodeSession(Pair{id, text})
}

func decodeSession(p Pair) (Session, error) {
	var saved savedSession
	if err := decodeJSON(p, &saved); err != nil {
		return Session{}, err
	}
	keys, err := DecodeValue(saved.Keys)
	if err != nil {
		return Session{}, fmt.Errorf("session %q: %w", saved.ID, err)
	}
	saved.Session.Keys, _ = keys.(map[string]any)
	if !saved.Updated.IsZero() {
		saved.Updated = saved.Updated.Local()
	}
	return saved.Session, nil
}

// Sessions lists all sessions.
func (s *KVStore) Sessions() ([]Session, error) {
	var pairs []Pair
	err := s.kv().View(func(tx Tx) (err error) {
		pairs, err = collect(tx, sessionKeys, "", -1)
		return err
	})
	var out []Session
	for _, p := range pairs {
		session, err := decodeSession(p)
		if err != nil {
			return nil, err
		}
		out = append(out, session)
	}
	slices.SortFunc(out, Session.Compare)
	return out, err
}

// SaveSession merges what a run left into its session.
func (s *KVStore) SaveSession(left Session) error {
	return s.kv().Update(false, func(tx Tx) error {
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
	return s.kv().Update(false, func(tx Tx) error {
		if _, err := getSession(tx, id); err != nil {
			return err
		}
		return tx.Delete(sessionKeys + keyOf(id))
	})
}
