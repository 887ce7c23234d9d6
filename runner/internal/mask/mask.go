// Package mask masks secrets in the output and the stored data of a run (GraphSpec §2).
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

// Masker masks secrets and the values of secret state keys. The zero Masker masks nothing. One
// goroutine may add secrets while others mask.
type Masker struct {
	secrets atomic.Pointer[secretTexts]
	// Learned are the values of secret keys, for snapshots.
	Learned []string
}

// secretTexts are the texts to mask. They are immutable.
type secretTexts struct {
	texts  []string  // longest first
	begins [256]bool // by byte: a text begins with it
}

// HiddenTexts returns the texts that are masked, longest first.
func (m *Masker) HiddenTexts() []string {
	if s := m.secrets.Load(); s != nil {
		return s.texts
	}
	return nil
}

// LearnDefaults masks the defaults of a graph's secret keys from now on.
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

// NewSessionMasker returns a masker of the secret keys of a session.
func NewSessionMasker(secret []string, keys map[string]any) *Masker {
	m := &Masker{}
	for _, name := range secret {
		m.LearnValue(keys[name])
	}
	return m
}

// Hide masks the texts in a value from now on, except for very short ones.
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

// HideText masks a text in exactly this form from now on.
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

// LearnState masks the values of a graph's secret keys in a state from now on.
func (m *Masker) LearnState(g *spec.Graph, state map[string]any) {
	for _, name := range SecretKeys(g) {
		m.LearnValue(state[name])
	}
}

// LearnValue masks a value of a secret key from now on, and keeps it for snapshots.
func (m *Masker) LearnValue(v any) {
	m.Hide(v)
	visitTexts(v, func(text string) {
		if !slices.Contains(m.Learned, text) {
			m.Learned = append(m.Learned, text)
		}
	})
}

// visitTexts calls f for the texts in a value, in the order of sorted keys.
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

// MaskText masks a text.
func (m *Masker) MaskText(s string) string {
	for _, value := range m.HiddenTexts() {
		s = strings.ReplaceAll(s, value, redact.Mask)
	}
	if len(m.HiddenTexts()) > 0 && strings.Contains(s, cutMark) {
		return m.maskCutEnds(s)
	}
	return s
}

// cutMark is the end of a shortened text.
const cutMark = "…"

// maskCutEnds masks beginnings of secrets at the ends of shortened texts.
func (m *Masker) maskCutEnds(s string) string {
	parts := strings.Split(s, cutMark)
	for i := range parts[:len(parts)-1] {
		for _, value := range m.HiddenTexts() {
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

// MaskValue returns a copy with all secret texts masked. A nil Masker masks nothing.
func (m *Masker) MaskValue(v any) any {
	if m == nil || len(m.HiddenTexts()) == 0 {
		return v
	}
	switch v := v.(type) {
	case string:
		return m.MaskText(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = m.MaskValue(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[m.maskKey(name)] = m.MaskValue(item)
		}
		return out
	case int, float64:
		if slices.Contains(m.HiddenTexts(), eval.Text(v)) { // a secret of digits
			return redact.Mask
		}
	}
	return v
}

// maskObject masks an object. It returns nil for nil.
func (m *Masker) maskObject(v map[string]any) map[string]any {
	if v == nil {
		return nil
	}
	return m.MaskValue(v).(map[string]any)
}

// maskKey masks the secrets in a key of an object, except for secrets that look like a name.
func (m *Masker) maskKey(name string) string {
	for _, value := range m.HiddenTexts() {
		if !redact.IsWord(value) {
			name = strings.ReplaceAll(name, value, redact.Mask)
		}
	}
	return name
}

// MaskKeys masks the values of secret keys completely, and secret texts in other values.
func (m *Masker) MaskKeys(secret []string, values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for name, v := range values {
		if slices.Contains(secret, name) {
			out[name] = redact.Mask
		} else {
			out[name] = m.MaskValue(v)
		}
	}
	return out
}

// MaskState masks a state of a graph, as MaskKeys does.
func (m *Masker) MaskState(g *spec.Graph, state map[string]any) map[string]any {
	secret := SecretKeys(g)
	if len(m.HiddenTexts())+len(secret) == 0 {
		return state
	}
	return m.MaskKeys(secret, state)
}

// MaskDelta masks the changes of a graph's state, and learns the values of secret keys.
func (m *Masker) MaskDelta(g *spec.Graph, delta []machine.KeyValue) []machine.KeyValue {
	secret := SecretKeys(g)
	return mapCopy(delta, func(kv *machine.KeyValue) {
		if slices.Contains(secret, kv.Key) {
			m.LearnValue(kv.Value)
			kv.Value = redact.Mask
		}
		kv.Value = m.MaskValue(kv.Value)
	})
}

// mapCopy returns a copy of a list whose items f has changed.
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

// MaskEvent masks secrets in an event, for the journal and the state.
func (m *Masker) MaskEvent(e *machine.Event) {
	if m == nil || e.Kind == machine.Advanced || e.Kind == machine.TaskBegan {
		return
	}
	e.Input, e.Output, e.Partial, e.Failure = m.maskObject(e.Input), m.MaskValue(e.Output), m.MaskValue(e.Partial), m.MaskFailure(e.Failure)
	e.Reasoning = m.MaskText(e.Reasoning)
	if e.Talk != nil {
		talk := *e.Talk
		talk.Add = mapCopy(talk.Add, func(said *machine.Message) { *said = m.MaskMessage(*said) })
		if talk.Summary != nil {
			summary := m.MaskMessage(*talk.Summary)
			talk.Summary = &summary
		}
		e.Talk = &talk
	}
	e.Asks = mapCopy(e.Asks, func(ask *machine.Ask) {
		ask.Prompt, ask.Schema = m.MaskText(ask.Prompt), m.maskObject(ask.Schema)
		if ask.Tool != nil {
			ask.Tool = &machine.ToolAsk{Name: ask.Tool.Name, Args: m.maskObject(ask.Tool.Args)}
		}
	})
}

// MaskMessage masks a message.
func (m *Masker) MaskMessage(said machine.Message) machine.Message {
	said.Content = m.MaskText(said.Content)
	said.Parts = mapCopy(said.Parts, func(part *machine.Part) {
		part.Text, part.URL, part.Name = m.MaskText(part.Text), m.MaskText(part.URL), m.MaskText(part.Name)
	})
	said.ToolCalls = mapCopy(said.ToolCalls, func(call *machine.ToolCall) {
		call.Args, call.Malformed = m.maskObject(call.Args), m.MaskText(call.Malformed)
	})
	return said
}

// MaskFailure masks a failure.
func (m *Masker) MaskFailure(f *machine.Failure) *machine.Failure {
	if f == nil || len(m.HiddenTexts()) == 0 {
		return f
	}
	out := *f
	out.Message, out.OutputPreview, out.Details = m.MaskText(f.Message), m.MaskText(f.OutputPreview), m.maskObject(f.Details)
	out.Candidates = m.MaskCandidates(f.Candidates)
	return &out
}

// MaskCandidates masks the reasons of candidates.
func (m *Masker) MaskCandidates(list []machine.Candidate) []machine.Candidate {
	if len(m.HiddenTexts()) == 0 {
		return list
	}
	return mapCopy(list, func(c *machine.Candidate) {
		c.Why = m.MaskText(c.Why)
		if c.Test != nil {
			test := *c.Test
			m.maskReason(&test)
			c.Test = &test
		}
	})
}

func (m *Masker) maskReason(r *eval.Reason) {
	r.Source, r.Values, r.Result = m.MaskText(r.Source), m.MaskText(r.Values), m.MaskValue(r.Result)
	r.Parts = mapCopy(r.Parts, m.maskReason)
}

// Placeholders returns a mask for each secret of a graph, for runs that are only read.
func Placeholders(g *spec.Graph) map[string]any {
	out := make(map[string]any, len(g.Secrets))
	for _, secret := range g.Secrets {
		out[secret.Name.Value] = redact.Mask
	}
	return out
}

// MaskChunk masks a piece of a text. rest may begin a secret: prepend it to the next piece.
func (m *Masker) MaskChunk(text string) (shown, rest string) {
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

// matchSecret returns the length of the longest secret at the start of a text, or 0. open means that
// the text may be the beginning of a longer secret.
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

// MaskLastChunk masks the rest of a text that has ended, unless the rest is very short.
func MaskLastChunk(rest string) string {
	if len(rest) < redact.Least {
		return rest
	}
	return redact.Mask
}
