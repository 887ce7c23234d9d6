// Masking: secrets never leave a run in what is shown.

package runner

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// masked stands for a secret.
const masked = redact.Mask

// masker hides the values of secrets, and the state keys that are secret. The
// zero masker hides nothing.
type masker struct {
	keys   map[string]bool
	values []string  // longest first
	begins [256]bool // the first bytes of values
	// learned are the texts that secret keys have had, as they were.
	learned []string
	// also is told what is hidden; nil: nobody.
	also func(v any)
}

func newMasker(g *spec.Graph, secrets map[string]any) *masker {
	m := &masker{}
	for _, key := range g.State {
		if key.Secret {
			if m.keys == nil {
				m.keys = map[string]bool{}
			}
			m.keys[key.Name.Value] = true
			if key.Default != nil {
				m.hide(key.Default.Data())
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		m.hide(secrets[name])
	}
	return m
}

// hide adds the texts in a value to what is hidden; very short ones would hide
// too much.
func (m *masker) hide(v any) {
	if m.also != nil {
		m.also(v)
	}
	eachText(v, func(text string) {
		if len(text) < redact.Least {
			return
		}
		for _, form := range redact.Forms(text) {
			m.hideText(form)
		}
	})
}

// hideForms adds what another masker of the run hides: forms already, which have no
// forms of their own. Who shares its log has told it of them.
func (m *masker) hideForms(texts []string) {
	for _, text := range texts {
		m.hideText(text)
	}
}

func (m *masker) hideText(text string) {
	if !slices.Contains(m.values, text) {
		m.values, m.begins[text[0]] = append(m.values, text), true
		slices.SortFunc(m.values, func(a, b string) int { return len(b) - len(a) })
	}
}

// learn hides the values that secret keys have in a state.
func (m *masker) learn(state map[string]any) {
	for name := range m.keys {
		if v, ok := state[name]; ok {
			m.learnValue(v)
		}
	}
}

// learnValue hides a value of a secret key, and remembers it for snapshots.
func (m *masker) learnValue(v any) {
	m.hide(v)
	eachText(v, func(text string) {
		if !slices.Contains(m.learned, text) {
			m.learned = append(m.learned, text)
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

func (m *masker) idle() bool { return len(m.keys) == 0 && len(m.values) == 0 }

func (m *masker) text(s string) string {
	for _, value := range m.values {
		s = strings.ReplaceAll(s, value, masked)
	}
	if len(m.values) > 0 && strings.Contains(s, cutMark) {
		return m.cutText(s)
	}
	return s
}

// cutMark ends a text that was cut short.
const cutMark = "…"

// cutText hides the beginnings of secrets that a cut has left.
func (m *masker) cutText(s string) string {
	parts := strings.Split(s, cutMark)
	for i := range parts[:len(parts)-1] {
		for _, value := range m.values {
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

// value returns v with every secret text in it hidden; v itself is not changed.
func (m *masker) value(v any) any {
	if len(m.values) == 0 {
		return v
	}
	switch v := machine.Plain(v).(type) {
	case string:
		return m.text(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = m.value(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[m.key(name)] = m.value(item)
		}
		return out
	case int, float64:
		// a secret of digits that was read as a number
		if slices.Contains(m.values, eval.Text(v)) {
			return masked
		}
	}
	return v
}

// key hides the secrets in the key of an object that a program or a model gave. A
// secret that reads as a name does stays: it may be one.
func (m *masker) key(name string) string {
	for _, value := range m.values {
		if !redact.Word(value) {
			name = strings.ReplaceAll(name, value, masked)
		}
	}
	return name
}

// state masks a state: secret keys whole, secret texts elsewhere.
func (m *masker) state(state map[string]any) map[string]any {
	if m.idle() {
		return state
	}
	out := make(map[string]any, len(state))
	for name, v := range state {
		if m.keys[name] {
			out[name] = masked
			continue
		}
		out[name] = m.value(v)
	}
	return out
}

func (m *masker) delta(delta []machine.KeyValue) []machine.KeyValue {
	if m.idle() {
		return delta
	}
	out := make([]machine.KeyValue, len(delta))
	for i, kv := range delta {
		if m.keys[kv.Key] {
			m.learnValue(kv.Value)
			kv.Value = masked
		}
		out[i] = machine.KeyValue{Key: kv.Key, Value: m.value(kv.Value)}
	}
	return out
}

func (m *masker) failure(f *machine.Failure) *machine.Failure {
	if f == nil || len(m.values) == 0 {
		return f
	}
	out := *f
	out.Message, out.OutputPreview = m.text(f.Message), m.text(f.OutputPreview)
	if details, ok := m.value(f.Details).(map[string]any); ok && f.Details != nil {
		out.Details = details
	}
	out.Candidates = slices.Clone(f.Candidates)
	m.candidates(out.Candidates)
	return &out
}

// candidates masks the reasons of candidates.
func (m *masker) candidates(list []machine.Candidate) {
	if len(m.values) == 0 {
		return
	}
	for i := range list {
		c := &list[i]
		c.Why = m.text(c.Why)
		if c.Test != nil {
			test := m.reason(*c.Test)
			c.Test = &test
		}
	}
}

func (m *masker) reason(r eval.Reason) eval.Reason {
	r.Source, r.Values, r.Result = m.text(r.Source), m.text(r.Values), m.value(r.Result)
	r.Parts = slices.Clone(r.Parts)
	for i := range r.Parts {
		r.Parts[i] = m.reason(r.Parts[i])
	}
	return r
}
