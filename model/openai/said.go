// A message on the wire as servers send it, whole or in pieces, with accents.

package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// said is a message or a piece of one.
type said struct {
	// Content is a text, or a list of parts as Mistral sends it.
	Content          json.RawMessage   `json:"content"`
	Refusal          string            `json:"refusal"`
	ToolCalls        []piece           `json:"tool_calls"`
	Reasoning        string            `json:"reasoning_content"`
	Thought          string            `json:"reasoning"` // OpenRouter and vLLM, to read
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	Extra            json.RawMessage   `json:"extra_content"`
}

// piece is a tool call or, in a stream, a part of one. Servers leave out the
// index when they send a call at once, and some send arguments as an object.
type piece struct {
	Index    *wire.Count     `json:"index"`
	ID       string          `json:"id"`
	Extra    json.RawMessage `json:"extra_content"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// usage counts tokens.
type usage struct {
	PromptTokens     wire.Count `json:"prompt_tokens"`
	CompletionTokens wire.Count `json:"completion_tokens"`
	PromptDetails    struct {
		CachedTokens wire.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// gathered is a tool call that is being put together.
type gathered struct {
	index    int
	id, name string
	args     strings.Builder
	extra    json.RawMessage
}

// piece adds to the call that it belongs to.
func (g *gathering) piece(p *piece) {
	var call *gathered
	for _, c := range g.calls {
		if p.Index == nil || c.index == int(*p.Index) {
			call = c
		}
	}
	if call == nil || g.atOnce || p.begins(call) {
		call = &gathered{index: len(g.calls)}
		if p.Index != nil {
			call.index = int(*p.Index)
		}
		g.calls = append(g.calls, call)
	}
	if p.ID != "" {
		call.id = p.ID
	}
	if call.name == "" {
		call.name = p.Function.Name
	}
	if isSet(p.Extra) {
		call.extra = p.Extra
	}
	var text string
	if err := json.Unmarshal(p.Function.Arguments, &text); err != nil {
		text = string(p.Function.Arguments)
	}
	call.args.WriteString(text)
}

// begins reports whether a piece is the first of another call than the one at
// its index. The id tells where there is one. Some servers repeat the name with
// each piece, and some give all calls the index 0: a name that comes again
// begins a call when the arguments before it are complete.
func (p *piece) begins(call *gathered) bool {
	switch {
	case p.ID != "" && call.id != "":
		return p.ID != call.id
	case p.Function.Name == "":
		return false
	}
	return call.name != "" && p.Function.Name != call.name || json.Valid([]byte(call.args.String()))
}

// kept is what the server wants back with a message, as wire.Keep holds it.
type kept struct {
	// Reasoning is DeepSeek's reasoning_content, Details OpenRouter's
	// reasoning_details, Parts Mistral's parts of content besides the text.
	Reasoning string            `json:"reasoning_content,omitempty"`
	Details   []json.RawMessage `json:"reasoning_details,omitempty"`
	Parts     []part            `json:"parts,omitempty"`
	// Extra and Calls are Gemini's extra_content, of the message and of its
	// tool calls by id: the signatures of what the model thought.
	Extra json.RawMessage            `json:"extra_content,omitempty"`
	Calls map[string]json.RawMessage `json:"calls,omitempty"`
}

// part is a part of a content that is a list.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Thinking []part `json:"thinking,omitempty"`
}

func (k *kept) empty() bool {
	return k.Reasoning == "" && len(k.Details) == 0 && len(k.Parts) == 0 && len(k.Extra) == 0 && len(k.Calls) == 0
}

func (k *kept) add(s *said) {
	k.Reasoning += s.Reasoning
	k.Details = append(k.Details, s.ReasoningDetails...)
	if isSet(s.Extra) {
		k.Extra = s.Extra
	}
}

func (k *kept) call(c *gathered) {
	if c.extra == nil {
		return
	}
	if k.Calls == nil {
		k.Calls = map[string]json.RawMessage{}
	}
	k.Calls[c.id] = c.extra
}

// content is the text of a message's content, and what the model thought, which is
// kept.
func (k *kept) content(raw json.RawMessage) (text, thought string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", "", nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return text, "", nil
	}
	var parts []part
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", "", fmt.Errorf("holds a content that is neither text nor a list of parts: %w", err)
	}
	for _, p := range parts {
		switch p.Type {
		case "text":
			text += p.Text
		case "thinking":
			k.think(p.Thinking)
			for _, piece := range p.Thinking {
				thought += piece.Text
			}
		}
	}
	return text, thought, nil
}

// think joins pieces of a thought, which a stream brings one by one.
func (k *kept) think(pieces []part) {
	if len(k.Parts) == 0 {
		k.Parts = []part{{Type: "thinking"}}
	}
	thought := &k.Parts[0]
	for _, p := range pieces {
		if n := len(thought.Thinking); n > 0 && p.Type == "text" && thought.Thinking[n-1].Type == "text" {
			thought.Thinking[n-1].Text += p.Text
		} else {
			thought.Thinking = append(thought.Thinking, p)
		}
	}
}

// giveBack puts what the server wants back into the message.
func (c *Client) giveBack(out *message, m *model.Message) {
	if len(m.Thinking) == 0 {
		return // as most: k would be made for nothing
	}
	var k kept
	if !wire.Kept(c.provider, m, &k) {
		return
	}
	out.Reasoning, out.Details, out.Extra = k.Reasoning, k.Details, k.Extra
	for i := range out.ToolCalls {
		out.ToolCalls[i].Extra = k.Calls[out.ToolCalls[i].ID]
	}
	if len(k.Parts) > 0 {
		parts := slices.Clone(k.Parts)
		if m.Content != "" {
			parts = append(parts, part{Type: "text", Text: m.Content})
		}
		out.Content = parts
	}
}
