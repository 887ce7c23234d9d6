// Sessions: what runs take over from the run before.

package runner

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// ErrNoSession says that the store has no session of that id.
var ErrNoSession = errors.New("no such session")

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
	Talk []Message
	// Run is the run that ended last, and Graph the name of its graph.
	Run   string
	Graph string
	// Updated is when that run ended; a store keeps it to the nanosecond.
	Updated time.Time
}

// SessionStore keeps sessions.
type SessionStore interface {
	// Session returns a session. It fails with ErrNoSession.
	Session(id string) (Session, error)
	// SaveSession puts what a run left into its session: the keys one by one,
	// the conversation as a whole unless it is nil.
	SaveSession(s Session) error
	// Sessions lists all sessions, the last updated first, then by id.
	Sessions() ([]Session, error)
	// DeleteSession forgets a session; its runs stay. It fails with ErrNoSession.
	DeleteSession(id string) error
}

// Masked is the session as it may be shown.
func (s Session) Masked() Session {
	m := s.masker()
	s.Keys = m.state(s.Keys)
	s.Talk = slices.Clone(s.Talk)
	for i := range s.Talk {
		s.Talk[i] = m.message(s.Talk[i])
	}
	return s
}

func (s *Session) masker() *masker {
	m := &masker{keys: map[string]bool{}}
	for _, name := range s.Secret {
		m.keys[name] = true
	}
	m.learn(s.Keys)
	return m
}

// message masks a message.
func (m *masker) message(said Message) Message {
	said.Content = m.text(said.Content)
	said.Parts = slices.Clone(said.Parts)
	for i := range said.Parts {
		part := &said.Parts[i]
		part.Text, part.URL, part.Name = m.text(part.Text), m.text(part.URL), m.text(part.Name)
	}
	said.ToolCalls = slices.Clone(said.ToolCalls)
	for i := range said.ToolCalls {
		call := &said.ToolCalls[i]
		call.Args, _ = m.value(call.Args).(map[string]any)
		call.Malformed = m.text(call.Malformed)
	}
	return said
}

// taken is what a run takes over from its session.
type taken struct {
	keys map[string]any
	talk []Message
}

// takeOver is what a session holds for the graph.
func (f *Flow) takeOver(id string) (taken taken, err error) {
	store := f.runner.cfg.Store
	if id == "" || store == nil {
		return taken, nil
	}
	s, err := store.Session(id)
	if errors.Is(err, ErrNoSession) {
		return taken, nil // its first run
	}
	if err != nil {
		return taken, err
	}
	taken.keys, taken.talk = map[string]any{}, s.Talk
	failed := &InputError{}
	for _, key := range f.graph.State {
		name := key.Name.Value
		value, has := s.Keys[name]
		if !has || !isShared(key) {
			continue
		}
		if problem := misfit(key, value); problem != "" {
			failed.Problems = append(failed.Problems, fmt.Sprintf("session %q: key %q: %s; graphrun sessions delete %s begins it anew",
				id, name, s.masker().text(problem), id))
			continue
		}
		taken.keys[name] = value
	}
	if len(failed.Problems) > 0 {
		return taken, failed
	}
	return taken, nil
}

// isShared says whether the runs of a session share a key.
func isShared(key *spec.StateKey) bool { return key.Scope.Value == "session" }

// misfit says why a value does not fit a key; "" when it does.
func misfit(key *spec.StateKey, value any) string {
	compiled, err := schema.Compile(key.Schema)
	if err != nil {
		return "its schema is broken: " + err.Error()
	}
	value, err = eval.Canonical(value)
	if err == nil {
		err = compiled.Check(compiled.Normalise(value))
	}
	if err != nil {
		return err.Error() + "; its schema is " + compiled.String()
	}
	return ""
}

// leave keeps what the run leaves to its session, if it has ended. at is when it
// did, in Unix nanoseconds.
func (d *driver) leave(at int64) error {
	store := d.flow.runner.cfg.Store
	if d.opts.Session == "" || store == nil || d.nested != nil || !d.state.Ended() {
		return nil
	}
	out := Session{
		ID: d.opts.Session, Run: d.opts.RunID, Graph: d.flow.graph.Name.Value, Updated: time.Unix(0, at),
		Keys: map[string]any{}, Talk: d.state.Conversation(),
	}
	for _, key := range d.flow.graph.State {
		value, has := d.state.Value(key.Name.Value)
		if !has || !isShared(key) {
			continue
		}
		out.Keys[key.Name.Value] = machine.Plain(value)
		if key.Secret {
			out.Secret = append(out.Secret, key.Name.Value)
		}
	}
	slices.Sort(out.Secret)
	if err := store.SaveSession(out); err != nil {
		return fmt.Errorf("session %s: %w", out.ID, err)
	}
	return nil
}

// leaveAgain keeps what a run that is over leaves to its session, if its driver
// vanished before it could.
func (d *driver) leaveAgain() error {
	if d.opts.Session == "" {
		return nil
	}
	s, err := d.flow.runner.cfg.Store.Session(d.opts.Session)
	if err != nil && !errors.Is(err, ErrNoSession) {
		return err
	}
	if s.Updated.UnixNano() >= d.last && err == nil {
		return nil
	}
	return d.leave(d.last)
}

// MergeSession is the session that results when a run leaves something to it;
// for stores.
func MergeSession(before, left Session) Session {
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

// CompareSessions orders sessions as SessionStore.Sessions does.
func CompareSessions(a, b Session) int {
	return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
}
