// The protocol and the fields of its requests.

// Package openai speaks the chat completions protocol of OpenAI, which many servers
// speak: Ollama, vLLM, LM Studio, OpenRouter and others.
package openai

import (
	"net/http"
	"net/url"
	"regexp"

	"github.com/graphrun/graphrun/model/wire"
)

// Config names a model; the base URL goes up to /chat/completions.
type Config = wire.Config

// Client is one model.
type Client = wire.Client

// New checks a configuration. It makes no connection.
func New(c Config) (*Client, error) { return wire.New(&protocol, c) }

var protocol = wire.Protocol{
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
	if req.Temperature != nil {
		body["temperature"] = *req.Temperature
	}
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
	switch value := req.Reasoning.(type) {
	case nil:
	case string:
		level, err := wire.Effort(c.Model, value)
		if err != nil {
			return err
		}
		body["reasoning_effort"] = level
	case map[string]any:
		body["reasoning"] = value // of OpenRouter
	default:
		return wire.Invalid("reasoning is %v; this provider takes a word such as low, medium or high", value)
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
