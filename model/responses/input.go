// The conversation as items of an input.

package responses

import (
	"encoding/json"
	"slices"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

func input(c *wire.Call, body map[string]any) error {
	items := make([]any, 0, len(c.Messages))
	for i := range c.Messages {
		var err error
		if items, err = appendItems(items, c, &c.Messages[i]); err != nil {
			return err
		}
	}
	body["input"] = items
	return nil
}

func appendItems(out []any, c *wire.Call, m *model.Message) ([]any, error) {
	if m.Role == model.ToolResult {
		return append(out, map[string]any{"type": "function_call_output", "call_id": m.ToolCallID, "output": contentOf(m)}), nil
	}
	if items := keptItems(c.Provider, m); items != nil {
		return append(out, items...), nil
	}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		out = append(out, map[string]any{"type": "message", "role": string(m.Role), "content": contentOf(m)})
	}
	for _, call := range m.ToolCalls {
		args, err := wire.Args(call)
		if err != nil {
			return nil, err
		}
		out = append(out, map[string]any{"type": "function_call", "call_id": call.ID, "name": c.Names.Wire(call.Name), "arguments": string(args)})
	}
	return out, nil
}

// keptItems returns the items that this provider gave for a message; nil if it needs
// none back or the message was changed since. Reasoning without its encrypted text is
// left out: the server, which stores nothing, can't know it by its id.
func keptItems(provider string, m *model.Message) []any {
	var raw []json.RawMessage
	if !wire.Kept(provider, m, &raw) {
		return nil
	}
	var was reader
	var out []any
	for _, text := range raw {
		var it item
		if json.Unmarshal(text, &it) != nil {
			return nil
		}
		was.add(&it)
		if it.Type != "reasoning" || it.Encrypted != "" {
			out = append(out, text)
		}
	}
	sameCall := func(was item, call model.ToolCall) bool { return was.CallID == call.ID }
	if was.content() != m.Content || !slices.EqualFunc(was.calls, m.ToolCalls, sameCall) {
		return nil
	}
	return out
}

// contentOf returns a string for a message of text only, else a list of parts.
func contentOf(m *model.Message) any {
	if len(m.Parts) == 0 {
		return m.Content
	}
	list := make([]map[string]any, len(m.Parts))
	for i := range m.Parts {
		p := &m.Parts[i]
		switch text, isText := wire.TitledText(p); {
		case isText:
			list[i] = map[string]any{"type": "input_text", "text": text}
		case p.Kind == model.ImagePart:
			list[i] = map[string]any{"type": "input_image", "image_url": wire.ImageURL(p)}
		case p.URL != "":
			list[i] = map[string]any{"type": "input_file", "file_url": p.URL}
		default:
			list[i] = map[string]any{"type": "input_file", "filename": wire.FileName(p), "file_data": p.DataURI()}
		}
	}
	return list
}
