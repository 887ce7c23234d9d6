// Package mask hides secrets in what a run shows and keeps (GraphSpec §2).
package mask

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// masked stands for a secret.
const masked = redact.Mask

// Masker hides the values of secrets, and the state keys that are secret. The zero Masker
// hides nothing. One goroutine adds secrets while others mask texts.
type Masker struct {
	secrets atomic.Pointer[secretTexts]
	// Learned are the texts that secret keys have had, as they were.
	Learned []string
}

// secretTexts are the texts to hide. They never change.
type secretTexts struct {
	texts  []string  // longest first
	begins [256]bool // their first bytes
}

// Values returns the texts that are hidden, longest first.
func (m *Masker) Values() []string {
	if s := m.secrets.Load(); s != nil {
		return s.texts
	}
	return nil
}

// LearnDefaults hides the defaults of the secret keys of a graph.
func (m *Masker) LearnDefaults(g *spec.Graph) {
	for _, key := range g.State {
		if key.Secret && key.Default != nil {
			m.Hide(key.Default.Data())
		}
	}
}

// HasSecretKeys reports whether a graph has secret state keys.
func HasSecretKeys(g *spec.Graph) bool {
	return slices.ContainsFunc(g.State, func(key *spec.StateKey) bool { return key.Secret })
}

func isSecret(g *spec.Graph, name string) bool {
	return slices.ContainsFunc(g.State, func(key *spec.StateKey) bool { return key.Secret && key.Name.Value == name })
}

// OfSession hides the values of the keys of a session that are secret.
func OfSession(secret []string, keys map[string]any) *Masker {
	m := &Masker{}
	for _, name := range secret {
		m.LearnValue(keys[name])
	}
	return m
}

// Hide adds the texts in a value to what is hidden; very short ones would hide
// too much.
func (m *Masker) Hide(v any) {
	eachText(v, func(text string) {
		if len(text) < redact.Least {
			return
		}
		for _, form := range redact.Forms(text) {
			m.HideText(form)
		}
	})
}

// HideText hides a text as it is. An empty one hides nothing.
func (m *Masker) HideText(text string) {
	old := m.secrets.Load()
	if old == nil {
		old = &secretTexts{}
	}
	if text == "" || slices.Contains(old.texts, text) {
		return
	}
	next := &secretTexts{append(slices.Clone(old.texts), text), old.begins}
	next.begins[text[0]] = true
	slices.SortFunc(next.texts, func(a, b string) int { return len(b) - len(a) })
	m.secrets.Store(next)
}

// Learn hides the values that the secret keys of a graph have in a state.
func (m *Masker) Learn(g *spec.Graph, state map[string]any) {
	for _, key := range g.State {
		if v, ok := state[key.Name.Value]; ok && key.Secret {
			m.LearnValue(v)
		}
	}
}

// LearnValue hides a value of a secret key, and remembers it for snapshots.
func (m *Masker) LearnValue(v any) {
	m.Hide(v)
	eachText(v, func(text string) {
		if !slices.Contains(m.Learned, text) {
			m.Learned = append(m.Learned, text)
		}
	})
}

// eachText calls f for the texts in a value, in the order of keys.
func eachText(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, item := range v {
			eachText(item, f)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			eachText(v[name], f)
		}
	}
}

func (m *Masker) Text(s string) string {
	for _, value := range m.Values() {
		s = strings.ReplaceAll(s, value, masked)
	}
	if len(m.Values()) > 0 && strings.Contains(s, cutMark) {
		return m.cutText(s)
	}
	return s
}

// cutMark ends a text that was cut short.
const cutMark = "…"

// cutText hides the beginnings of secrets that a cut has left.
func (m *Masker) cutText(s string) string {
	parts := strings.Split(s, cutMark)
	for i := range parts[:len(parts)-1] {
		for _, value := range m.Values() {
			for n := min(len(value), len(parts[i])); n >= 4; n-- {
				if rest, cut := strings.CutSuffix(parts[i], value[:n]); cut {
					parts[i] = rest + masked
					break
				}
			}
		}
	}
	return strings.Join(parts, cutMark)
}

// Value returns v with every secret text in it hidden; v itself is not changed.
func (m *Masker) Value(v any) any {
	if len(m.Values()) == 0 {
		return v
	}
	switch v := v.(type) {
	case string:
		return m.Text(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = m.Value(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[m.key(name)] = m.Value(item)
		}
		return out
	case int, float64:
		// a secret of digits that was read as a number
		if slices.Contains(m.Values(), eval.Text(v)) {
			return masked
		}
	}
	return v
}

// key hides the secrets in the key of an object that a program or a model gave. A
// secret that reads as a name does stays: it may be one.
func (m *Masker) key(name string) string {
	for _, value := range m.Values() {
		if !redact.Word(value) {
			name = strings.ReplaceAll(name, value, masked)
		}
	}
	return name
}

// Keys masks values by key: those of secret keys whole, secret texts elsewhere.
func (m *Masker) Keys(secret []string, values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for name, v := range values {
		if slices.Contains(secret, name) {
			out[name] = masked
			continue
		}
		out[name] = m.Value(v)
	}
	return out
}

// State masks a state of a graph: secret keys whole, secret texts elsewhere.
func (m *Masker) State(g *spec.Graph, state map[string]any) map[string]any {
	if len(m.Values()) == 0 && !HasSecretKeys(g) {
		return state
	}
	var secret []string
	for _, key := range g.State {
		if key.Secret {
			secret = append(secret, key.Name.Value)
		}
	}
	return m.Keys(secret, state)
}

// Delta masks the changes of a state of a graph.
func (m *Masker) Delta(g *spec.Graph, delta []machine.KeyValue) []machine.KeyValue {
	if len(m.Values()) == 0 && !HasSecretKeys(g) {
		return delta
	}
	out := make([]machine.KeyValue, len(delta))
	for i, kv := range delta {
		if isSecret(g, kv.Key) {
			m.LearnValue(kv.Value)
			kv.Value = masked
		}
		out[i] = machine.KeyValue{Key: kv.Key, Value: m.Value(kv.Value)}
	}
	return out
}

func (m *Masker) Failure(f *machine.Failure) *machine.Failure {
	if f == nil || len(m.Values()) == 0 {
		return f
	}
	out := *f
	out.Message, out.OutputPreview = m.Text(f.Message), m.Text(f.OutputPreview)
	if details, ok := m.Value(f.Details).(map[string]any); ok && f.Details != nil {
		out.Details = details
	}
	out.Candidates = slices.Clone(f.Candidates)
	m.Candidates(out.Candidates)
	return &out
}

// Candidates masks the reasons of candidates.
func (m *Masker) Candidates(list []machine.Candidate) {
	if len(m.Values()) == 0 {
		return
	}
	for i := range list {
		c := &list[i]
		c.Why = m.Text(c.Why)
		if c.Test != nil {
			test := m.reason(*c.Test)
			c.Test = &test
		}
	}
}

func (m *Masker) reason(r eval.Reason) eval.Reason {
	r.Source, r.Values, r.Result = m.Text(r.Source), m.Text(r.Values), m.Value(r.Result)
	r.Parts = slices.Clone(r.Parts)
	for i := range r.Parts {
		r.Parts[i] = m.reason(r.Parts[i])
	}
	return r
}
