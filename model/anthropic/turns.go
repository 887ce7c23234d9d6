// The conversation as turns of a Messages request, and the thinking in it.

package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// conversation makes turns of messages: user and assistant in alternation, a
// user first, no empty text. Thinking goes back with its message, unchanged and
// whether this request asks for thinking or not: models think by default, and
// later blocks are bound to those before them. Where a call lacks it, such as
// one of another provider's model, the request must do without thinking.
func (c *Client) conversation(req *model.Request, names *wire.Names, body map[string]any) ([]message, error) {
	messages := model.Paired(req.Messages)
	if err := takes().Check(messages); err != nil {
		return nil, err
	}
	names.AddCalled(messages)
	var out []message
	for i := range messages {
		m := &messages[i]
		role := "user"
		if m.Role == model.Assistant {
			role = "assistant"
		}
		blocks, err := c.blocksOf(m, names)
		if err != nil {
			return nil, err
		}
		n := len(out)
		switch {
		case len(blocks) == 0:
			continue
		case n > 0 && out[n-1].Role == role:
			out[n-1].Content = append(out[n-1].Content, blocks...)
		case n == 0 && role == "assistant":
			out = append(out, message{"user", []any{textBlock{"text", "Continue."}}}, message{role, blocks})
		default:
			out = append(out, message{role, blocks})
		}
	}
	if _, thinks := body["thinking"]; thinks && !c.hasThinking(messages) {
		delete(body, "thinking")
	}
	if len(out) == 0 {
		return nil, &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: "the request holds no message with a text"}
	}
	return out, nil
}

// hasThinking reports whether the calls behind the last user's text, whose
// turn goes on, came with the thinking that led to them.
func (c *Client) hasThinking(messages []model.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := &messages[i]; {
		case m.Role == model.User:
			return true
		case len(m.ToolCalls) > 0 && !wire.HasKept(c.provider, m):
			return false
		}
	}
	return true
}

// kept are the blocks of a message that this provider gave, all of them in
// their order; nil: it gave none that must go back.
func (c *Client) kept(m *model.Message) []json.RawMessage {
	var blocks []json.RawMessage
	if !wire.Kept(c.provider, m, &blocks) {
		return nil
	}
	return blocks
}

func (c *Client) blocksOf(m *model.Message, names *wire.Names) ([]any, error) {
	if m.Role == model.ToolResult {
		return []any{resultOf(m)}, nil
	}
	if blocks := c.kept(m); blocks != nil && same(blocks, m) {
		return anyBlocks(blocks), nil
	}
	out := partBlocks(m.Parts)
	if text := m.Content; out == nil && strings.TrimSpace(text) != "" {
		if m.Role == model.Assistant {
			text = strings.TrimRight(text, " \t\r\n") // a last turn must not end in blanks
		}
		out = append(out, textBlock{"text", text})
	}
	for _, call := range m.ToolCalls {
		args, err := wire.Args(call)
		if err != nil {
			return nil, err
		}
		out = append(out, toolUse{"tool_use", wireID(call.ID), names.Wire(call.Name), args})
	}
	return out, nil
}

// same reports whether kept blocks say what their message says: one that was
// changed since goes without them.
func same(blocks []json.RawMessage, m *model.Message) bool {
	var text strings.Builder
	var calls []string
	for _, raw := range blocks {
		var b block
		if json.Unmarshal(raw, &b) != nil {
			return false
		}
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "tool_use":
			calls = append(calls, b.ID)
		}
	}
	return text.String() == m.Content && slices.EqualFunc(calls, m.ToolCalls, func(id string, call model.ToolCall) bool { return id == wireID(call.ID) })
}

// anyBlocks are kept blocks as they are sent. A text without a letter is no
// block that the protocol takes back.
func anyBlocks(blocks []json.RawMessage) []any {
	var out []any
	for _, raw := range blocks {
		var b block
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" && strings.TrimSpace(b.Text) == "" {
			continue
		}
		out = append(out, raw)
	}
	return out
}

// wireID is a call's id in the letters that the protocol allows.
func wireID(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}
