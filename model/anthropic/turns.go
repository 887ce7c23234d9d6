// The conversation as turns, and the thinking in it.

package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// message is one turn.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// conversation sets the turns: user and assistant in alternation, a user first, no
// empty text. Thinking goes back unchanged whether this request asks for thinking or
// not: models think by default, and later blocks depend on those before them. If a call
// lacks its thinking, because another provider made it, the request does without.
func conversation(c *wire.Call, body map[string]any) error {
	var out []message
	for i := range c.Messages {
		m := &c.Messages[i]
		role := "user"
		if m.Role == model.Assistant {
			role = "assistant"
		}
		blocks, err := blocksOf(c, m)
		if err != nil {
			return err
		}
		n := len(out)
		switch {
		case len(blocks) == 0:
			continue
		case n > 0 && out[n-1].Role == role:
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		case n == 0 && role == "assistant":
			out = append(out, message{"user", []any{textBlock("Continue.")}})
		}
		out = append(out, message{role, blocks})
	}
	if len(out) == 0 {
		return wire.Invalid("the request holds no message with a text")
	}
	if !hasThinking(c.Provider, c.Messages) {
		delete(body, "thinking")
	}
	body["messages"] = out
	return nil
}

// hasThinking reports whether the calls since the user's last text came with the
// thinking that led to them.
func hasThinking(provider string, messages []model.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := &messages[i]; {
		case m.Role == model.User:
			return true
		case len(m.ToolCalls) > 0 && !wire.Kept(provider, m, new(json.RawMessage)):
			return false
		}
	}
	return true
}

func blocksOf(c *wire.Call, m *model.Message) ([]any, error) {
	if m.Role == model.ToolResult {
		return []any{resultBlock(m)}, nil
	}
	if blocks := keptBlocks(c.Provider, m); blocks != nil {
		return blocks, nil
	}
	out := partBlocks(m.Parts)
	if text := m.Content; out == nil && strings.TrimSpace(text) != "" {
		if m.Role == model.Assistant {
			text = strings.TrimRight(text, " \t\r\n") // a last turn must not end in blanks
		}
		out = append(out, textBlock(text))
	}
	for _, call := range m.ToolCalls {
		args, err := wire.Args(call)
		if err != nil {
			return nil, err
		}
		out = append(out, toolBlock(call.ID, c.Names.Wire(call.Name), args))
	}
	return out, nil
}

// keptBlocks returns the blocks that this provider gave for a message; nil if it needs
// none back or the message was changed since. Blank texts, which the protocol does not
// take back, are left out.
func keptBlocks(provider string, m *model.Message) []any {
	var blocks []json.RawMessage
	if !wire.Kept(provider, m, &blocks) {
		return nil
	}
	var text strings.Builder
	var calls []string
	var out []any
	for _, raw := range blocks {
		var b block
		if json.Unmarshal(raw, &b) != nil {
			return nil
		}
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "tool_use":
			calls = append(calls, b.ID)
		}
		if b.Type != "text" || strings.TrimSpace(b.Text) != "" {
			out = append(out, raw)
		}
	}
	sameCall := func(id string, call model.ToolCall) bool { return id == wire.Legal(call.ID) }
	if text.String() != m.Content || !slices.EqualFunc(calls, m.ToolCalls, sameCall) {
		return nil
	}
	return out
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func toolBlock(id, name string, args json.RawMessage) map[string]any {
	return map[string]any{"type": "tool_use", "id": wire.Legal(id), "name": name, "input": args}
}

// resultBlock returns the result of a tool; an error holds text only.
func resultBlock(m *model.Message) map[string]any {
	out := map[string]any{"type": "tool_result", "tool_use_id": wire.Legal(m.ToolCallID)}
	if m.IsError {
		out["is_error"] = true
	}
	if blocks := partBlocks(m.Parts); blocks != nil && !m.IsError {
		out["content"] = blocks
	} else if m.Content != "" {
		out["content"] = m.Content
	}
	return out
}

// partBlocks returns parts as blocks, without blank texts.
func partBlocks(parts []model.Part) []any {
	var out []any
	for i := range parts {
		p := &parts[i]
		if p.Kind == model.TextPart {
			if strings.TrimSpace(p.Text) != "" {
				out = append(out, textBlock(p.Text))
			}
			continue
		}
		source := map[string]any{"type": "base64", "media_type": p.Type, "data": p.Data}
		if text, is := wire.TextOf(p); is {
			source = map[string]any{"type": "text", "media_type": "text/plain", "data": text}
		}
		if p.URL != "" {
			source = map[string]any{"type": "url", "url": p.URL}
		}
		block := map[string]any{"type": "image", "source": source}
		if p.Kind == model.FilePart {
			block["type"] = "document"
			if p.Name != "" {
				block["title"] = p.Name
			}
		}
		out = append(out, block)
	}
	return out
}
