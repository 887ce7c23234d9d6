// The protocol and the fields of its requests.

// Package responses speaks the Responses protocol of OpenAI, in which its models use
// tools while they reason, and get their reasoning back encrypted.
package responses

import (
	"maps"
	"regexp"

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
	if req.Temperature != nil {
		body["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		body["max_output_tokens"] = req.MaxTokens
	}
	switch value := req.Reasoning.(type) {
	case nil:
	case string:
		level, err := wire.Effort(c.Model, value)
		if err != nil {
			return err
		}
		body["reasoning"] = map[string]any{"effort": level}
	case map[string]any:
		body["reasoning"] = value
	default:
		return wire.Invalid("reasoning is %v; this provider takes a word such as low, medium or high", value)
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
