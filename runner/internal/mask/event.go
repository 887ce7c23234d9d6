// Masks of events, failures and messages.

package mask

import (
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// NewVault returns a masker of secrets, or nil if there are none.
func NewVault(secrets []any) *Masker {
	if len(secrets) == 0 {
		return nil
	}
	m := &Masker{}
	for _, value := range secrets {
		m.Hide(value)
	}
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
