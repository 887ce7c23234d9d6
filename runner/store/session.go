// Sessions: state that a run passes to the next one.

package store

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/machine"
)

// Session holds the state keys of scope session, and the conversation. A run saves it at its end. If
// two runs overlap, the one that ends later wins.
type Session struct {
	ID string
	// Keys holds values by state key, for all graphs of the session.
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

// MaskSecrets returns the session with secret values masked.
func (s Session) MaskSecrets() Session {
	m := mask.NewSessionMasker(s.Secret, s.Keys)
	s.Keys = m.MaskKeys(s.Secret, s.Keys)
	s.Talk = slices.Clone(s.Talk)
	for i := range s.Talk {
		s.Talk[i] = m.MaskMessage(s.Talk[i])
	}
	return s
}

// MergeOver returns the session that results when a run saves s over before.
func (s Session) MergeOver(before Session) Session {
	keys := map[string]any{}
	maps.Copy(keys, before.Keys)
	maps.Copy(keys, s.Keys)
	secret := slices.DeleteFunc(slices.Clone(before.Secret), func(name string) bool {
		_, again := s.Keys[name]
		return again
	})
	s.Keys, s.Secret = keys, append(secret, s.Secret...)
	slices.Sort(s.Secret)
	if s.Talk == nil {
		s.Talk = before.Talk
	}
	return s
}

// Compare orders sessions as Store.Sessions does.
func (s Session) Compare(other Session) int {
	return cmp.Or(other.Updated.Compare(s.Updated), cmp.Compare(s.ID, other.ID))
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

func getSession(tx Tx, id string) (out Session, err error) {
	found, err := getJSON(tx, sessionKeys+joinKey(id), &out)
	if err == nil && !found {
		err = fmt.Errorf("session %q: %w", id, ErrNoSession)
	}
	out.Updated = localTime(out.Updated)
	return out, err
}

// Sessions lists all sessions.
func (s *KVStore) Sessions() (out []Session, err error) {
	err = s.storage().View(func(tx Tx) error {
		return visitJSON(tx, sessionKeys, func(one *Session) bool {
			one.Updated = localTime(one.Updated)
			out = append(out, *one)
			return true
		})
	})
	slices.SortFunc(out, Session.Compare)
	return out, err
}

// SaveSession merges a session into the stored one.
func (s *KVStore) SaveSession(next Session) error {
	return s.storage().Update(func(tx Tx) error {
		before, err := getSession(tx, next.ID)
		if err != nil && !errors.Is(err, ErrNoSession) {
			return err
		}
		return putJSON(tx, sessionKeys+joinKey(next.ID), next.MergeOver(before))
	})
}

// DeleteSession deletes a session.
func (s *KVStore) DeleteSession(id string) error {
	return s.storage().Update(func(tx Tx) error {
		if _, err := getSession(tx, id); err != nil {
			return err
		}
		return tx.Delete(sessionKeys + joinKey(id))
	})
}
