// What of a run may be kept: secrets are hidden before anything is stored or
// becomes state (GraphSpec §2).

package runner

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// newVault is a masker of the graph's secrets and those of the runs around it.
// It never changes and may be used by several goroutines. Nil: there are none.
func newVault(secrets map[string]any, around *masker) *masker {
	if len(secrets) == 0 {
		return around
	}
	m := &masker{}
	if around != nil {
		m.values, m.begins = slices.Clone(around.values), around.begins
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		m.hide(secrets[name])
	}
	return m
}

// maskEvent hides secrets in a fact before it is recorded, so that neither the
// journal nor the state ever holds one.
func (m *masker) maskEvent(e *machine.Event) {
	if m == nil || e.Kind == machine.Advanced || e.Kind == machine.TaskBegan {
		return
	}
	if e.Input != nil {
		e.Input, _ = m.value(e.Input).(map[string]any)
	}
	e.Output, e.Partial, e.Failure = m.value(e.Output), m.value(e.Partial), m.failure(e.Failure)
	e.Reasoning = m.text(e.Reasoning)
	if e.Talk != nil {
		talk := *e.Talk
		talk.Add = slices.Clone(talk.Add)
		for i := range talk.Add {
			talk.Add[i] = m.message(talk.Add[i])
		}
		if talk.Summary != nil {
			summary := m.message(*talk.Summary)
			talk.Summary = &summary
		}
		e.Talk = &talk
	}
	if e.Park != nil {
		park := *e.Park
		park.Asks = slices.Clone(park.Asks)
		for i := range park.Asks {
			ask := &park.Asks[i]
			ask.Prompt = m.text(ask.Prompt)
			if ask.Schema != nil {
				ask.Schema, _ = m.value(ask.Schema).(map[string]any)
			}
			if ask.Tool != nil {
				args, _ := m.value(ask.Tool.Args).(map[string]any)
				ask.Tool = &machine.ToolAsk{Name: ask.Tool.Name, Args: args}
			}
		}
		e.Park = &park
	}
}

// masked is a value as it may be kept.
func (m *masker) masked(v any) any {
	if m == nil {
		return v
	}
	return m.value(v)
}

// placeholders stand for the secrets of a run that is only read: nothing of it
// needs them, and what was kept does not hold them.
func placeholders(g *spec.Graph) map[string]any {
	out := make(map[string]any, len(g.Secrets))
	for _, secret := range g.Secrets {
		out[secret.Name.Value] = masked
	}
	return out
}

// chunk masks a piece of a text that comes in pieces. rest is the end of it that
// may be the beginning of a secret: it belongs before the next piece.
func (m *masker) chunk(text string) (shown, rest string) {
	if len(m.values) == 0 {
		return text, ""
	}
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		if !m.begins[text[i]] { // as mostly
			i++
			continue
		}
		length, open := m.match(text[i:])
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
func (m *masker) match(text string) (length int, open bool) {
	for _, value := range m.values { // longest first
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

// lastChunk is what to show of what chunk left of a text that has ended: the beginning of a
// secret, unless it is too short to tell anything.
func lastChunk(rest string) string {
	const tells = 4
	if len(rest) < tells {
		return rest
	}
	return masked
}
