// Loading and saving the session of a run.

package runner

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// sessionPart is the part of a session that a run continues.
type sessionPart struct {
	keys map[string]any
	talk []handler.Message
}

// loadSession returns the part of a session that the graph continues.
func (f *Flow) loadSession(id string) (part sessionPart, err error) {
	kept := f.runner.cfg.Store
	if id == "" || kept == nil {
		return part, nil
	}
	s, err := kept.Session(id)
	if errors.Is(err, store.ErrNoSession) {
		return part, nil // the session's first run
	}
	if err != nil {
		return part, err
	}
	part.keys, part.talk = map[string]any{}, s.Talk
	var problems []string
	for _, key := range f.tree.Graph.State {
		name := key.Name.Value
		value, has := s.Keys[name]
		if !has || !isShared(key) {
			continue
		}
		if problem := explainMisfit(key, value); problem != "" {
			problems = append(problems, fmt.Sprintf("session %q: key %q: %s; graphrun sessions delete %s begins it anew",
				id, name, mask.NewSessionMasker(s.Secret, s.Keys).MaskText(problem), id))
			continue
		}
		part.keys[name] = value
	}
	return part, inputError(problems)
}

// isShared reports whether the runs of a session share a key.
func isShared(key *spec.StateKey) bool { return key.Scope.Value == "session" }

// explainMisfit returns why a value does not fit a key, or "".
func explainMisfit(key *spec.StateKey, value any) string {
	compiled, err := schema.Compile(key.Schema)
	if err != nil {
		return "its schema is broken: " + err.Error()
	}
	value, err = eval.Canonical(value)
	if err == nil {
		_, err = compiled.Accept(value)
	}
	if err != nil {
		return err.Error() + "; its schema is " + compiled.String()
	}
	return ""
}

// saveSession saves the session of a run that has ended, at a Unix time in nanoseconds.
func (d *driver) saveSession(at int64) error {
	kept := d.flow.runner.cfg.Store
	if d.opts.Session == "" || kept == nil || !d.state.HasEnded() {
		return nil
	}
	out := store.Session{
		ID: d.opts.Session, Run: d.opts.RunID, Graph: d.flow.tree.Graph.Name.Value, Updated: time.Unix(0, at),
		Keys: map[string]any{},
	}
	out.Talk, _ = d.state.Conversation()
	values := d.state.Scope("").Values()
	for _, key := range d.flow.tree.Graph.State {
		value, has := values[key.Name.Value]
		if !has || !isShared(key) {
			continue
		}
		out.Keys[key.Name.Value] = value
		if key.Secret {
			out.Secret = append(out.Secret, key.Name.Value)
		}
	}
	slices.Sort(out.Secret)
	if err := kept.SaveSession(out); err != nil {
		return fmt.Errorf("session %s: %w", out.ID, err)
	}
	return nil
}

// saveSessionAgain saves the session of a run that has ended, unless its driver did.
func (d *driver) saveSessionAgain() error {
	if d.opts.Session == "" {
		return nil
	}
	s, err := d.flow.runner.cfg.Store.Session(d.opts.Session)
	if err != nil && !errors.Is(err, store.ErrNoSession) {
		return err
	}
	if s.Updated.UnixNano() >= d.last && err == nil {
		return nil
	}
	return d.saveSession(d.last)
}
