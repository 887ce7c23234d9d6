// The protocol: the fields of a request and its conversation.

// Package responses speaks the Responses protocol of OpenAI, in which its models use
// tools while they reason, and get their reasoning back encrypted.
package responses

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/openai"
	"github.com/graphrun/graphrun/model/wire"
)

// Config names a model; the base URL goes up to /responses.
type Config = wire.Config

// Client is one model.
type Client = wire.Client

// New checks a configuration. It makes no connection.
func New(c Config) (*Client, error) { return wire.New(&protocol, c) }

var protocol = wire.Protocol{
	Path: "/responses", BaseURL: "https://api.openai.com/v1", Provider: "openai", Header: openai.Header,
	Takes:  wire.Takes{Images: wire.Photos(), ImageURLs: true, Files: []string{"*"}, FileURLs: true, MostImage: 20e6, MostAll: 50e6},
	Fields: fields, Conversation: input,
	Reader: func(c *wire.Call) wire.Reader { return &reader{Call: c} },
}

// thoughtless matches OpenAI's models that do not reason: they refuse requests for
// encrypted reasoning.
var thoughtless = regexp.MustCompile(`^(.*/)?(ft:)?(gpt-(3|4)|chatgpt-|gpt-[5-9][.\d]*-chat)`)

// fields sets the fields of a request. The server stores nothing: the whole
// conversation is sent each time.
func fields(c *wire.Call, body map[string]any) error {
	req := c.Req
	if len(req.Stop) > 0 {
		return wire.Invalid("the Responses protocol has no stop sequences; take stop away, or let the provider have api: chat")
	}
	wire.SetDefault(body, "store", false)
	if !thoughtless.MatchString(c.Model) {
		wire.SetDefault(body, "include", []string{"reasoning.encrypted_content"})
	}
	if req.System != "" {
		body["instructions"] = req.System
	}
	if req.MaxTokens > 0 {
		body["max_output_tokens"] = req.MaxTokens
	}
	level, given, err := c.Effort()
	switch {
	case err != nil:
		return err
	case level != "":
		body["reasoning"] = map[string]any{"effort": level}
	case given != nil:
		body["reasoning"] = given
	}
	if len(req.Tools) > 0 {
		tools := c.Tools("parameters")
		for _, t := range tools {
			t["type"], t["strict"] = "function", false // strict tools have no optional arguments
		}
		body["tools"] = tools
	}
	if format := openai.Format(req.Schema); format != nil {
		format["type"] = "json_schema"
		text := map[string]any{}
		if given, ok := body["text"].(map[string]any); ok {
			maps.Copy(text, given)
		}
		text["format"] = format
		body["text"] = text
	}
	return nil
}

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
