// The protocol: the fields of a request and its conversation.

// Package openai speaks the chat completions protocol of OpenAI, which many servers
// speak: Ollama, vLLM, LM Studio, OpenRouter and others.
package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// Protocol is the wire format; the base URL goes up to /chat/completions.
var Protocol = wire.Protocol{
	Path: "/chat/completions", BaseURL: "https://api.openai.com/v1", Provider: "openai", Header: Header,
	Takes: wire.Takes{ // the limits of OpenAI; other servers may refuse more
		Images: wire.Photos(), ImageURLs: true, Files: []string{"application/pdf"}, Audio: []string{"audio/mpeg", "audio/wav"},
		MostImage: 20e6, MostAll: 50e6,
	},
	Fields: fields, Conversation: conversation,
	Reader: func(c *wire.Call) wire.Reader { return &reader{Call: c} },
}

// Header returns the header that carries a key as bearer token.
func Header(key string) http.Header {
	if key == "" {
		return http.Header{}
	}
	return http.Header{"Authorization": {"Bearer " + key}}
}

// reasons matches OpenAI's models that reason, also behind the prefix of a gateway:
// they refuse max_tokens, and other servers do not know the key that replaces it.
var reasons = regexp.MustCompile(`^(.*/)?(o[1-9]|gpt-([5-9]|[1-9]\d))([-.].*)?$`)

func fields(c *wire.Call, body map[string]any) error {
	req := c.Req
	if req.MaxTokens > 0 {
		key := "max_tokens"
		if address, err := url.Parse(c.BaseURL); err == nil && address.Hostname() == "api.openai.com" || reasons.MatchString(c.Model) {
			key = "max_completion_tokens"
		}
		body[key] = req.MaxTokens
	}
	if len(req.Stop) > 0 {
		body["stop"] = req.Stop
	}
	level, given, err := c.Effort()
	switch {
	case err != nil:
		return err
	case level != "":
		body["reasoning_effort"] = level
	case given != nil:
		body["reasoning"] = given // of OpenRouter
	}
	if len(req.Tools) > 0 {
		tools := make([]any, len(req.Tools))
		for i, t := range c.Tools("parameters") {
			tools[i] = map[string]any{"type": "function", "function": t}
		}
		body["tools"] = tools
	}
	if format := Format(req.Schema); format != nil {
		body["response_format"] = map[string]any{"type": "json_schema", "json_schema": format}
	}
	if c.Streams {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	return nil
}

// Format returns the format of an answer that fits a schema; nil for values other than
// objects, which the protocols of OpenAI don't take.
func Format(schema map[string]any) map[string]any {
	if schema["type"] != "object" {
		return nil
	}
	closed, strict := wire.Strict.Close(schema)
	if !strict {
		closed = schema
	}
	return map[string]any{"name": "output", "schema": closed, "strict": strict}
}

type message struct {
	Role string `json:"role"`
	// Content is a string, nil or a list of parts.
	Content    any               `json:"content"`
	ToolCalls  []call            `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
	Reasoning  string            `json:"reasoning_content,omitempty"`
	Details    []json.RawMessage `json:"reasoning_details,omitempty"`
	Extra      json.RawMessage   `json:"extra_content,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content,omitempty"` // Gemini wants it back
}

// conversation sets the messages. It joins successive messages of the user, because
// the templates of many open models take strictly alternating roles only.
func conversation(c *wire.Call, body map[string]any) error {
	t := turns{Call: c, list: make([]message, 0, len(c.Messages)+1)}
	if c.Req.System != "" {
		t.list = append(t.list, message{Role: "system", Content: c.Req.System})
	}
	for i := range c.Messages {
		if err := t.add(&c.Messages[i]); err != nil {
			return err
		}
	}
	t.showResults()
	body["messages"] = t.list
	return nil
}

type turns struct {
	*wire.Call
	list []message
	// results are parts of tool results that are not text: the protocol has them in
	// the user's messages only.
	results []model.Part
}

func (t *turns) add(m *model.Message) error {
	if m.Role != model.ToolResult {
		t.showResults()
	}
	if m.Role == model.User {
		var content any = m.Content
		if len(m.Parts) > 0 {
			content = contentOf(m.Parts)
		}
		t.addUser(content)
		return nil
	}
	next := message{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	if len(m.ToolCalls) > 0 && m.Content == "" {
		next.Content = nil
	}
	t.collectResults(m)
	for _, made := range m.ToolCalls {
		args, err := wire.Args(made)
		if err != nil {
			return err
		}
		one := call{ID: made.ID, Type: "function"}
		one.Function.Name, one.Function.Arguments = t.Names.Wire(made.Name), string(args)
		next.ToolCalls = append(next.ToolCalls, one)
	}
	t.giveBack(&next, m)
	t.list = append(t.list, next)
	return nil
}

func (t *turns) collectResults(m *model.Message) {
	said := false
	for _, p := range m.Parts {
		if m.Role != model.ToolResult || p.Kind == model.TextPart {
			continue
		}
		if !said {
			t.results = append(t.results, model.Part{Kind: model.TextPart, Text: fmt.Sprintf("What the tool %s gave (call %s):", m.Name, m.ToolCallID)})
		}
		said = true
		t.results = append(t.results, p)
	}
}

func (t *turns) showResults() {
	if len(t.results) > 0 {
		t.addUser(contentOf(t.results))
		t.results = nil
	}
}

// addUser adds a message of the user, or adds to the last one if it is the user's.
func (t *turns) addUser(content any) {
	last := len(t.list) - 1
	if last < 0 || t.list[last].Role != "user" {
		t.list = append(t.list, message{Role: "user", Content: content})
		return
	}
	before, isText := t.list[last].Content.(string)
	after, alsoText := content.(string)
	if isText && alsoText {
		t.list[last].Content = before + "\n\n" + after
		return
	}
	t.list[last].Content = slices.Concat(listOf(t.list[last].Content), listOf(content))
}

func listOf(content any) []map[string]any {
	if text, isText := content.(string); isText {
		return []map[string]any{{"type": "text", "text": text}}
	}
	list, _ := content.([]map[string]any)
	return list
}

// contentOf returns a string if all parts are text, which all servers take, and else a
// list.
func contentOf(parts []model.Part) any {
	list := make([]map[string]any, len(parts))
	var texts []string
	for i := range parts {
		p := &parts[i]
		text, isText := wire.TitledText(p)
		switch {
		case isText:
			list[i] = map[string]any{"type": "text", "text": text}
			texts = append(texts, text)
		case p.Kind == model.ImagePart:
			list[i] = map[string]any{"type": "image_url", "image_url": map[string]any{"url": wire.ImageURL(p)}}
		case p.Kind == model.AudioPart:
			format := map[string]string{"audio/wav": "wav", "audio/mpeg": "mp3"}[p.Type]
			list[i] = map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": p.Data, "format": format}}
		default:
			list[i] = map[string]any{"type": "file", "file": map[string]any{"filename": wire.FileName(p), "file_data": p.DataURI()}}
		}
	}
	if len(texts) == len(list) {
		return strings.Join(texts, "\n")
	}
	return list
}

// giveBack puts what the server wants back into the message.
func (t *turns) giveBack(out *message, m *model.Message) {
	var k kept
	if !wire.Kept(t.Provider, m, &k) {
		return
	}
	out.Reasoning, out.Details, out.Extra = k.Reasoning, k.Details, k.Extra
	for i := range out.ToolCalls {
		out.ToolCalls[i].Extra = k.Calls[out.ToolCalls[i].ID]
	}
	if len(k.Parts) > 0 {
		parts := k.Parts
		if m.Content != "" {
			parts = append(parts, part{Type: "text", Text: m.Content})
		}
		out.Content = parts
	}
}
