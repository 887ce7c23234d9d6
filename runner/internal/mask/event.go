// What of a run may be kept: secrets are hidden before anything is stored or
// becomes state.

package mask

import (
	"slices"
	"strings"

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

// Event hides secrets in a fact before it is recorded, so that neither the
// journal nor the state ever holds one.
func (m *Masker) Event(e *machine.Event) {
	if m == nil || e.Kind == machine.Advanced || e.Kind == machine.TaskBegan {
		return
	}
	if e.Input != nil {
		e.Input, _ = m.Value(e.Input).(map[string]any)
	}
	e.Output, e.Partial, e.Failure = m.Value(e.Output), m.Value(e.Partial), m.Failure(e.Failure)
	e.Reasoning = m.Text(e.Reasoning)
	if e.Talk != nil {
		talk := *e.Talk
		talk.Add = slices.Clone(talk.Add)
		for i := range talk.Add {
			talk.Add[i] = m.Message(talk.Add[i])
		}
		if talk.Summary != nil {
			summary := m.Message(*talk.Summary)
			talk.Summary = &summary
		}
		e.Talk = &talk
	}
	e.Asks = slices.Clone(e.Asks)
	for i := range e.Asks {
		ask := &e.Asks[i]
		ask.Prompt = m.Text(ask.Prompt)
		if ask.Schema != nil {
			ask.Schema, _ = m.Value(ask.Schema).(map[string]any)
		}
		if ask.Tool != nil {
			args, _ := m.Value(ask.Tool.Args).(map[string]any)
			ask.Tool = &machine.ToolAsk{Name: ask.Tool.Name, Args: args}
		}
	}
}

// Message masks a message.
func (m *Masker) Message(said machine.Message) machine.Message {
	said.Content = m.Text(said.Content)
	said.Parts = slices.Clone(said.Parts)
	for i := range said.Parts {
		part := &said.Parts[i]
		part.Text, part.URL, part.Name = m.Text(part.Text), m.Text(part.URL), m.Text(part.Name)
	}
	said.ToolCalls = slices.Clone(said.ToolCalls)
	for i := range said.ToolCalls {
		call := &said.ToolCalls[i]
		call.Args, _ = m.Value(call.Args).(map[string]any)
		call.Malformed = m.Text(call.Malformed)
	}
	return said
}

// Kept is a value as it may be kept.
func (m *Masker) Kept(v any) any {
	if m == nil {
		return v
	}
	return m.Value(v)
}

// Placeholders stand for the secrets of a run that is only read: nothing of it
// needs them, and what was kept does not hold them.
func Placeholders(g *spec.Graph) map[string]any {
	out := make(map[string]any, len(g.Secrets))
	for _, secret := range g.Secrets {
		out[secret.Name.Value] = masked
	}
	return out
}

// Chunk masks a piece of a text that comes in pieces. rest is the end of it that
// may be the beginning of a secret: it belongs before the next piece.
func (m *Masker) Chunk(text string) (shown, rest string) {
	secrets := m.secrets.Load()
	if secrets == nil {
		return text, ""
	}
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		if !secrets.begins[text[i]] { // as mostly
			i++
			continue
		}
		length, open := secrets.match(text[i:])
		switch {
		case open:
			b.WriteString(text[from:i])
			return b.String(), text[i:]
		case length > 0:
			b.WriteString(text[from:i])
			b.WriteString(masked)
			i += length
			from = i
		default:
			i++
		}
	}
	b.WriteString(text[from:])
	return b.String(), ""
}

// match is the length of the longest secret that a text begins with; 0: none.
// open says that more text could make it the beginning of a longer one.
func (s *secretTexts) match(text string) (length int, open bool) {
	for _, value := range s.texts { // longest first
		switch {
		case value[0] != text[0]:
		case len(value) > len(text) && strings.HasPrefix(value, text):
			return 0, true
		case length == 0 && strings.HasPrefix(text, value):
			length = len(value)
		}
	}
	return length, false
}

// LastChunk is what to show of what Chunk left of a text that has ended: the beginning of a
// secret, unless it is too short to tell anything.
func LastChunk(rest string) string {
	const tells = 4
	if len(rest) < tells {
		return rest
	}
	return masked
}
