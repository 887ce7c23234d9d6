// Package mask hides secrets in what a run shows and stores (GraphSpec §2).
package mask

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Masker hides secrets and the values of secret state keys. The zero Masker hides nothing. One
// goroutine adds secrets while others mask.
type Masker struct {
	secrets atomic.Pointer[secretTexts]
	// Learned are the values of secret keys, for snapshots.
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

// SecretKeys returns the names of the secret state keys of a graph.
func SecretKeys(g *spec.Graph) (names []string) {
	for _, key := range g.State {
		if key.Secret {
			names = append(names, key.Name.Value)
		}
	}
	return names
}

// OfSession returns a masker of the secret keys of a session.
func OfSession(secret []string, keys map[string]any) *Masker {
	m := &Masker{}
	for _, name := range secret {
		m.LearnValue(keys[name])
	}
	return m
}

// Hide hides the texts in a value, except for very short ones.
func (m *Masker) Hide(v any) {
	visitTexts(v, func(text string) {
		if len(text) < redact.Least {
			return
		}
		for _, form := range redact.Forms(text) {
			m.HideText(form)
		}
	})
}

// HideText hides a text in exactly this form.
func (m *Masker) HideText(text string) {
	old := cmp.Or(m.secrets.Load(), &secretTexts{})
	if text == "" || slices.Contains(old.texts, text) {
		return
	}
	next := &secretTexts{append(slices.Clone(old.texts), text), old.begins}
	next.begins[text[0]] = true
	slices.SortFunc(next.texts, func(a, b string) int { return len(b) - len(a) })
	m.secrets.Store(next)
}

// Learn hides the values of the secret keys of a graph in a state.
func (m *Masker) Learn(g *spec.Graph, state map[string]any) {
	for _, name := range SecretKeys(g) {
		m.LearnValue(state[name])
	}
}

// LearnValue hides a value of a secret key, and keeps it for snapshots.
func (m *Masker) LearnValue(v any) {
	m.Hide(v)
	visitTexts(v, func(text string) {
		if !slices.Contains(m.Learned, text) {
			m.Learned = append(m.Learned, text)
		}
	})
}

// visitTexts calls f for the texts in a value, in the order of keys.
func visitTexts(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, item := range v {
			visitTexts(item, f)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			visitTexts(v[name], f)
		}
	}
}

// Text masks a text.
func (m *Masker) Text(s string) string {
	for _, value := range m.Values() {
		s = strings.ReplaceAll(s, value, redact.Mask)
	}
	if len(m.Values()) > 0 && strings.Contains(s, cutMark) {
		return m.maskCutEnds(s)
	}
	return s
}

// cutMark ends a text that was shortened.
const cutMark = "…"

// maskCutEnds hides the beginnings of secrets at the ends of shortened texts.
func (m *Masker) maskCutEnds(s string) string {
	parts := strings.Split(s, cutMark)
	for i := range parts[:len(parts)-1] {
		for _, value := range m.Values() {
			for n := min(len(value), len(parts[i])); n >= redact.Least; n-- {
				if rest, cut := strings.CutSuffix(parts[i], value[:n]); cut {
					parts[i] = rest + redact.Mask
					break
				}
			}
		}
	}
	return strings.Join(parts, cutMark)
}

// Value returns a copy with all secret texts hidden. A nil Masker hides nothing.
func (m *Masker) Value(v any) any {
	if m == nil || len(m.Values()) == 0 {
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
			out[m.maskKey(name)] = m.Value(item)
		}
		return out
	case int, float64:
		if slices.Contains(m.Values(), eval.Text(v)) { // a secret of digits
			return redact.Mask
		}
	}
	return v
}

// maskObject masks an object. nil stays nil.
func (m *Masker) maskObject(v map[string]any) map[string]any {
	if v == nil {
		return nil
	}
	return m.Value(v).(map[string]any)
}

// maskKey hides the secrets in a key of an object, except for secrets that look like a name.
func (m *Masker) maskKey(name string) string {
	for _, value := range m.Values() {
		if !redact.IsWord(value) {
			name = strings.ReplaceAll(name, value, redact.Mask)
		}
	}
	return name
}

// Keys masks the values of secret keys completely, and secret texts in others.
func (m *Masker) Keys(secret []string, values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for name, v := range values {
		if slices.Contains(secret, name) {
			out[name] = redact.Mask
		} else {
			out[name] = m.Value(v)
		}
	}
	return out
}

// State masks a state of a graph, as Keys does.
func (m *Masker) State(g *spec.Graph, state map[string]any) map[string]any {
	secret := SecretKeys(g)
	if len(m.Values())+len(secret) == 0 {
		return state
	}
	return m.Keys(secret, state)
}

// Delta masks the changes of a state of a graph, and learns the values of secret keys.
func (m *Masker) Delta(g *spec.Graph, delta []machine.KeyValue) []machine.KeyValue {
	secret := SecretKeys(g)
	return mapCopy(delta, func(kv *machine.KeyValue) {
		if slices.Contains(secret, kv.Key) {
			m.LearnValue(kv.Value)
			kv.Value = redact.Mask
		}
		kv.Value = m.Value(kv.Value)
	})
}

// mapCopy returns a copy of a list after f has changed its items.
func mapCopy[T any](list []T, f func(*T)) []T {
	out := slices.Clone(list)
	for i := range out {
		f(&out[i])
	}
	return out
}

// NewVault returns a masker of secrets, or nil if there are none.
func NewVault(secrets []any) *Masker {
	if len(secrets) == 0 {
		return nil
	}
	m := &Masker{}
	m.Hide(secrets)
	return m
}

// Event hides secrets in an event before the journal or the state gets it.
func (m *Masker) Event(e *machine.Event) {
	if m == nil || e.Kind == machine.Advanced || e.Kind == machine.TaskBegan {
		return
	}
	e.Input, e.Output, e.Partial, e.Failure = m.maskObject(e.Input), m.Value(e.Output), m.Value(e.Partial), m.Failure(e.Failure)
	e.Reasoning = m.Text(e.Reasoning)
	if e.Talk != nil {
		talk := *e.Talk
		talk.Add = mapCopy(talk.Add, func(said *machine.Message) { *said = m.Message(*said) })
		if talk.Summary != nil {
			summary := m.Message(*talk.Summary)
			talk.Summary = &summary
		}
		e.Talk = &talk
	}
	e.Asks = mapCopy(e.Asks, func(ask *machine.Ask) {
		ask.Prompt, ask.Schema = m.Text(ask.Prompt), m.maskObject(ask.Schema)
		if ask.Tool != nil {
			ask.Tool = &machine.ToolAsk{Name: ask.Tool.Name, Args: m.maskObject(ask.Tool.Args)}
		}
	})
}

// Message masks a message.
func (m *Masker) Message(said machine.Message) machine.Message {
	said.Content = m.Text(said.Content)
	said.Parts = mapCopy(said.Parts, func(part *machine.Part) {
		part.Text, part.URL, part.Name = m.Text(part.Text), m.Text(part.URL), m.Text(part.Name)
	})
	said.ToolCalls = mapCopy(said.ToolCalls, func(call *machine.ToolCall) {
		call.Args, call.Malformed = m.maskObject(call.Args), m.Text(call.Malformed)
	})
	return said
}

// Failure masks a failure.
func (m *Masker) Failure(f *machine.Failure) *machine.Failure {
	if f == nil || len(m.Values()) == 0 {
		return f
	}
	out := *f
	out.Message, out.OutputPreview, out.Details = m.Text(f.Message), m.Text(f.OutputPreview), m.maskObject(f.Details)
	out.Candidates = m.Candidates(f.Candidates)
	return &out
}

// Candidates masks the reasons of candidates.
func (m *Masker) Candidates(list []machine.Candidate) []machine.Candidate {
	if len(m.Values()) == 0 {
		return list
	}
	return mapCopy(list, func(c *machine.Candidate) {
		c.Why = m.Text(c.Why)
		if c.Test != nil {
			test := *c.Test
			m.maskReason(&test)
			c.Test = &test
		}
	})
}

func (m *Masker) maskReason(r *eval.Reason) {
	r.Source, r.Values, r.Result = m.Text(r.Source), m.Text(r.Values), m.Value(r.Result)
	r.Parts = mapCopy(r.Parts, m.maskReason)
}

// Placeholders returns a value for each secret of a graph whose run is only read.
func Placeholders(g *spec.Graph) map[string]any {
	out := make(map[string]any, len(g.Secrets))
	for _, secret := range g.Secrets {
		out[secret.Name.Value] = redact.Mask
	}
	return out
}

// Chunk masks a piece of a text. rest may begin a secret and belongs before the next piece.
func (m *Masker) Chunk(text string) (shown, rest string) {
	secrets := m.secrets.Load()
	if secrets == nil {
		return text, ""
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		length, open := 0, false
		if secrets.begins[text[i]] {
			length, open = secrets.matchSecret(text[i:])
		}
		switch {
		case open:
			return b.String(), text[i:]
		case length > 0:
			b.WriteString(redact.Mask)
			i += length
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String(), ""
}

// matchSecret returns the length of the longest secret at the start of a text, or 0. open says
// that a longer one may begin there.
func (s *secretTexts) matchSecret(text string) (length int, open bool) {
	for _, value := range s.texts { // longest first
		switch {
		case len(value) > len(text) && strings.HasPrefix(value, text):
			return 0, true
		case length == 0 && strings.HasPrefix(text, value):
			length = len(value)
		}
	}
	return length, false
}

// LastChunk masks the rest of a text that has ended, unless it is very short.
func LastChunk(rest string) string {
	if len(rest) < redact.Least {
		return rest
	}
	return redact.Mask
}
