// Sessions: what runs take over from the run before.

package store

import (
	"cmp"
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
