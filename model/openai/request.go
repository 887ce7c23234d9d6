// What is sent: the body of a chat completions request.

package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// message is one message on the wire.
type message struct {
	Role string `json:"role"`
	// Content is a text, nil, or parts.
	Content    any               `json:"content"`
	ToolCalls  []call            `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
	Reasoning  string            `json:"reasoning_content,omitempty"`
	Details    []json.RawMessage `json:"reasoning_details,omitempty"`
	Extra      json.RawMessage   `json:"extra_content,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
	// Extra is what Gemini wants back with the call.
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// body is the request as JSON data. Parameters win over what the request says
// in its fields, and null takes a key out; the messages and how the answer
// comes are not theirs to change.
func (c *Client) body(req *model.Request, names *wire.Names, streams bool) (map[string]any, error) {
	body := map[string]any{}
	maps.Copy(body, c.params)
	c.generation(body, req)
	if err := c.reasoning(body, req.Reasoning); err != nil {
		return nil, err
	}
	if len(req.Tools) > 0 {
		body["tools"] = offered(req.Tools, names)
	}
	if format := responseFormat(req.Schema); format != nil {
		body["response_format"] = format
	}
	if streams {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	for key, value := range req.Params {
		body[key] = value
	}
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	messages, err := c.conversation(req, names)
	if err != nil {
		return nil, err
	}
	body["model"], body["messages"], body["stream"] = c.model, messages, streams
	return body, nil
}

// reasons knows OpenAI's models that reason by their names, which gateways keep:
// they refuse max_tokens wherever they are asked.
var reasons = regexp.MustCompile(`^(.*/)?(o[1-9]|gpt-([5-9]|[1-9]\d))([-.].*)?$`)

func (c *Client) generation(body map[string]any, req *model.Request) {
	if req.Temperature != nil {
		body["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		key := "max_tokens"
		if c.ownServer || reasons.MatchString(c.model) {
			key = "max_completion_tokens"
		}
		body[key] = req.MaxTokens
	}
	if len(req.Stop) > 0 {
		body["stop"] = req.Stop
	}
}

// reasoning is a word for OpenAI and most others; a map is what OpenRouter
// takes. A number of tokens has no place in this protocol.
func (c *Client) reasoning(body map[string]any, value any) error {
	switch value := value.(type) {
	case nil:
	case string:
		level, err := wire.Effort(c.model, value)
		if err != nil {
			return err
		}
		body["reasoning_effort"] = level
	case map[string]any:
		body["reasoning"] = value
	default:
		return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf(
			"reasoning is %v; this provider takes a word such as low, medium or high", value)}
	}
	return nil
}

func offered(tools []model.Tool, names *wire.Names) []any {
	out := make([]any, len(tools))
	for i, t := range tools {
		parameters := t.Parameters
		if parameters == nil {
			parameters = map[string]any{"type": "object", "properties": map[string]any{}}
		}
		f := map[string]any{"name": names.Wire(t.Name), "parameters": parameters}
		if t.Description != "" {
			f["description"] = t.Description
		}
		out[i] = map[string]any{"type": "function", "function": f}
	}
	return out
}

// conversation is the messages. What the user says in messages that follow each
// other becomes one: the templates of many open models take strictly alternating
// roles only.
func (c *Client) conversation(req *model.Request, names *wire.Names) ([]message, error) {
	messages := model.Paired(req.Messages)
	if err := takes().Check(messages); err != nil {
		return nil, err
	}
	names.AddCalled(messages)
	t := turns{said: make([]message, 0, len(messages)+1)}
	if req.System != "" {
		t.said = append(t.said, message{Role: "system", Content: req.System})
	}
	for i := range messages {
		if err := c.add(&t, &messages[i], names); err != nil {
			return nil, err
		}
	}
	t.show()
	return t.said, nil
}

// turns are messages on the wire as they are put together.
type turns struct {
	said  []message
	shown []model.Part // of tool results, which hold texts only
}

// show has the user show what tool results can't hold.
func (t *turns) show() {
	if len(t.shown) > 0 {
		t.said, t.shown = userSays(t.said, contentOf(t.shown)), nil
	}
}

func (c *Client) add(t *turns, m *model.Message, names *wire.Names) error {
	if m.Role != model.ToolResult {
		t.show()
	}
	if m.Role == model.User {
		var content any = m.Content
		if len(m.Parts) > 0 {
			content = contentOf(m.Parts)
		}
		t.said = userSays(t.said, content)
		return nil
	}
	next := message{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	if len(m.ToolCalls) > 0 && m.Content == "" {
		next.Content = nil
	}
	t.shown = append(t.shown, shownOf(m)...)
	for _, made := range m.ToolCalls {
		args, err := wire.Args(made)
		if err != nil {
			return err
		}
		next.ToolCalls = append(next.ToolCalls, call{ID: made.ID, Type: "function", Function: function{names.Wire(made.Name), string(args)}})
	}
	c.giveBack(&next, m)
	t.said = append(t.said, next)
	return nil
}
