// What is sent: the body of a Responses request.

package responses

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// message, functionCall and functionOutput are the items of an input that are
// made here; what the server gave goes back as it came.
type message struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or parts
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type functionOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // a text, or parts
}

// body is the request as JSON data. Nothing is stored at the server: the whole
// conversation is sent, and reasoning comes encrypted, to be sent back. Parameters
// win over what the request says in its fields, and null takes a key out; the
// input and how the answer comes are not theirs to change.
func (c *Client) body(req *model.Request, names *wire.Names, streams bool) (map[string]any, error) {
	body := map[string]any{"store": false}
	if !thoughtless.MatchString(c.model) {
		body["include"] = []string{"reasoning.encrypted_content"}
	}
	maps.Copy(body, c.params)
	if req.System != "" {
		body["instructions"] = req.System
	}
	if req.Temperature != nil {
		body["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		body["max_output_tokens"] = req.MaxTokens
	}
	if err := c.reasoning(body, req.Reasoning); err != nil {
		return nil, err
	}
	if len(req.Tools) > 0 {
		body["tools"] = offered(req.Tools, names)
	}
	format(body, req.Schema)
	maps.Copy(body, req.Params)
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	if len(req.Stop) > 0 {
		return nil, invalid("the Responses protocol has no stop sequences; take stop away, or let the provider have api: chat")
	}
	input, err := c.input(req, names)
	if err != nil {
		return nil, err
	}
	body["model"], body["input"], body["stream"] = c.model, input, streams
	return body, nil
}

// thoughtless knows OpenAI's models that do not reason by their names: they refuse
// to be asked for encrypted reasoning.
var thoughtless = regexp.MustCompile(`^(.*/)?(ft:)?(gpt-(3|4)|chatgpt-|gpt-[5-9][.\d]*-chat)`)

// reasoning is an effort, or a map that is sent as it is. A number of tokens has
// no place in this protocol.
func (c *Client) reasoning(body map[string]any, value any) error {
	switch value := value.(type) {
	case nil:
	case string:
		level, err := wire.Effort(c.model, value)
		if err != nil {
			return err
		}
		body["reasoning"] = map[string]any{"effort": level}
	case map[string]any:
		body["reasoning"] = value
	default:
		return invalid("reasoning is %v; this provider takes a word such as low, medium or high", value)
	}
	return nil
}

// format asks for JSON of a schema, beside what else is said of the text. The
// protocol takes objects only; for other values nothing is asked, and the
// instructions and the caller's check have to do.
func format(body, schema map[string]any) {
	if schema["type"] != "object" {
		return
	}
	closed, strict := wire.Strict(schema)
	if !strict {
		closed = schema
	}
	text := map[string]any{}
	if given, ok := body["text"].(map[string]any); ok {
		maps.Copy(text, given)
	}
	text["format"] = map[string]any{"type": "json_schema", "name": "output", "schema": closed, "strict": strict}
	body["text"] = text
}

// offered are the tools. They are strict unless it is said that they are not,
// which takes away what a schema leaves optional.
func offered(tools []model.Tool, names *wire.Names) []any {
	out := make([]any, len(tools))
	for i, t := range tools {
		parameters := t.Parameters
		if parameters == nil {
			parameters = map[string]any{"type": "object", "properties": map[string]any{}}
		}
		tool := map[string]any{"type": "function", "name": names.Wire(t.Name), "parameters": parameters, "strict": false}
		if t.Description != "" {
			tool["description"] = t.Description
		}
		out[i] = tool
	}
	return out
}

// input is the conversation as items.
func (c *Client) input(req *model.Request, names *wire.Names) ([]any, error) {
	messages := model.Paired(req.Messages)
	if err := takes().Check(messages); err != nil {
		return nil, err
	}
	names.AddCalled(messages)
	out := make([]any, 0, len(messages))
	for i := range messages {
		items, err := c.itemsOf(&messages[i], names)
		if err != nil {
			return nil, err
		}
		out = append(out, items...)
	}
	return out, nil
}

func (c *Client) itemsOf(m *model.Message, names *wire.Names) ([]any, error) {
	if m.Role == model.ToolResult {
		return []any{functionOutput{"function_call_output", m.ToolCallID, contentOf(m)}}, nil
	}
	if items := c.kept(m); items != nil {
		return items, nil
	}
	var out []any
	if m.Content != "" || len(m.ToolCalls) == 0 {
		out = append(out, message{"message", string(m.Role), contentOf(m)})
	}
	for _, call := range m.ToolCalls {
		args, err := wire.Args(call)
		if err != nil {
			return nil, err
		}
		out = append(out, functionCall{"function_call", call.ID, names.Wire(call.Name), string(args)})
	}
	return out, nil
}

// kept are the items of a message that this provider gave, all of them in their
// order; nil: it gave none that must go back, or the message was changed since.
// Reasoning that is not encrypted stays behind: only the server could know it by
// its id, and nothing is stored there.
func (c *Client) kept(m *model.Message) []any {
	var raw []json.RawMessage
	if !wire.Kept(c.provider, m, &raw) {
		return nil
	}
	var said gathering
	var out []any
	for _, text := range raw {
		var it item
		if json.Unmarshal(text, &it) != nil {
			return nil
		}
		said.add(&it)
		if it.Type != "reasoning" || it.Encrypted != "" {
			out = append(out, text)
		}
	}
	if said.content() != m.Content || len(said.calls) != len(m.ToolCalls) {
		return nil
	}
	for i := range said.calls {
		if said.calls[i].CallID != m.ToolCalls[i].ID {
			return nil
		}
	}
	return out
}

func invalid(format string, args ...any) *model.Error {
	return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf(format, args...)}
}
