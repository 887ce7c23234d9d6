// The protocol and the fields of its requests.

// Package anthropic speaks the Messages protocol of Anthropic.
package anthropic

import (
	"cmp"
	"maps"
	"net/http"
	"regexp"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// MaxTokens bounds answers of requests that set no bound: the protocol has no default.
const MaxTokens = 8192

// Config names a model; the base URL goes up to /v1/messages, with or without /v1.
type Config = wire.Config

// Client is one model.
type Client = wire.Client

// New checks a configuration. It makes no connection.
func New(c Config) (*Client, error) {
	c.MaxTokens = cmp.Or(c.MaxTokens, MaxTokens)
	c.BaseURL = strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1")
	return wire.New(&protocol, c)
}

var protocol = wire.Protocol{
	Path: "/v1/messages", BaseURL: "https://api.anthropic.com", Provider: "anthropic",
	Header: func(key string) http.Header {
		out := http.Header{"Anthropic-Version": {"2023-06-01"}}
		if key != "" {
			out.Set("X-Api-Key", key)
		}
		return out
	},
	Takes: wire.Takes{ // the limits are for base64: 5 MB for an image, 32 MB for a request
		Images: wire.Photos(), ImageURLs: true, Files: []string{"application/pdf"}, FileURLs: true,
		MostImage: 5e6 / 4 * 3, MostAll: 32e6 / 4 * 3,
	},
	Fields: fields, Conversation: conversation,
	Reader: func(c *wire.Call) wire.Reader { return &reader{Call: c} },
}

func fields(c *wire.Call, body map[string]any) error {
	req := c.Req
	wire.SetDefault(body, "max_tokens", c.MaxTokens)
	if isLikelyPrefix(req) {
		wire.SetDefault(body, "cache_control", map[string]any{"type": "ephemeral"})
	}
	if req.MaxTokens > 0 {
		body["max_tokens"] = req.MaxTokens
	}
	if req.System != "" {
		body["system"] = req.System
	}
	if req.Temperature != nil {
		body["temperature"] = *req.Temperature
	}
	if len(req.Stop) > 0 {
		body["stop_sequences"] = req.Stop
	}
	if len(req.Tools) > 0 {
		tools := c.Tools("input_schema")
		for _, t := range tools {
			schema := map[string]any{"type": "object"}
			given, _ := t["input_schema"].(map[string]any)
			maps.Copy(schema, given)
			t["input_schema"] = schema
		}
		body["tools"] = tools
	}
	return setOutput(c, body)
}

// leastCached is the number of tokens from which on the provider caches a prompt.
const leastCached = 1024

// isLikelyPrefix reports whether a later request probably begins with this one. Only
// then caching pays: it costs a quarter more now and saves nine tenths later. A loop of
// tools goes on, and a conversation with an answer had a second question.
func isLikelyPrefix(req *model.Request) bool {
	goesOn, size := len(req.Tools) > 0, len(req.System)
	for i := range req.Messages {
		goesOn = goesOn || req.Messages[i].Role == model.Assistant
		size += len(req.Messages[i].Content) + len(req.Messages[i].Thinking)
	}
	for i := range req.Tools {
		size += len(req.Tools[i].Description) + 20*len(req.Tools[i].Parameters)
	}
	return goesOn && size >= 4*leastCached
}

// dialect leaves to the caller what narrows a value.
var dialect = wire.Dialect{
	Keeps: []string{"default", "format"}, Unions: true,
	Drops: []string{
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
		"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "examples",
	},
}

// setOutput sets the format of the answer and how much the model thinks: a word is an
// effort with adaptive thinking, a number a budget of tokens.
func setOutput(c *wire.Call, body map[string]any) error {
	config := map[string]any{}
	if given, ok := body["output_config"].(map[string]any); ok {
		maps.Copy(config, given)
	}
	if c.Req.Schema["type"] == "object" {
		if whole, ok := wire.Inline(c.Req.Schema); ok {
			if closed, ok := dialect.Close(whole); ok {
				config["format"] = map[string]any{"type": "json_schema", "schema": closed}
			}
		}
	}
	switch value := c.Req.Reasoning.(type) {
	case nil:
	case string:
		if err := setLevel(c, body, config, value); err != nil {
			return err
		}
	case int:
		if levelsOnly.MatchString(c.Model) {
			return wire.Invalid("reasoning is %v; %s takes a level: none, low, medium, high, xhigh or max", value, c.Model)
		}
		if c.MostTokens > 0 && value >= c.MostTokens {
			return wire.Invalid("reasoning is %d; %s answers with at most %d tokens, and thinks with some of them", value, c.Model, c.MostTokens)
		}
		body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": value}
		if c.Req.MaxTokens == 0 {
			body["max_tokens"] = capTokens(c, value+c.MaxTokens) // the budget counts towards it
		}
	case map[string]any:
		body["thinking"] = value
	default:
		return wire.Invalid("reasoning is %v; this provider takes low, medium, high, xhigh, max or a number of tokens", value)
	}
	if len(config) > 0 {
		body["output_config"] = config
	}
	return nil
}

// Models by how they think (platform.claude.com/docs/en/models).
var (
	levelsOnly  = regexp.MustCompile(`^claude-[a-z]+-(4-[7-9]|[5-9]|[1-9]\d)([-.].*)?$`) // no budgets
	budgetsOnly = regexp.MustCompile(`^claude-(3-|[a-z]+-4(-[0-5])?(-\d{8})?$)`)         // no levels
	always      = regexp.MustCompile(`^claude-((fable|mythos)-5(-1)?|opus-5-5)(-\d{8})?$`)
	// betweenTools can't be turned off except between the calls of tools.
	betweenTools = regexp.MustCompile(`^claude-sonnet-5-5(-\d{8})?$`)
)

// budgets are what levels mean to models that know budgets only.
var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}

func setLevel(c *wire.Call, body, config map[string]any, level string) error {
	budget := budgets[level]
	switch {
	case level == "none" && always.MatchString(c.Model):
		return wire.AlwaysReasons(c.Model, []string{"low", "medium", "high", "xhigh", "max"})
	case level == "none" && betweenTools.MatchString(c.Model):
		body["thinking"] = map[string]any{"type": "between_tools"}
	case level == "none":
		body["thinking"] = map[string]any{"type": "disabled"}
	case budgetsOnly.MatchString(c.Model) && budget > 0:
		if c.MostTokens > 0 {
			budget = min(budget, c.MostTokens*3/4) // the rest is for the text
		}
		body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": budget}
		if longest, ok := body["max_tokens"].(int); ok && longest <= budget {
			body["max_tokens"] = capTokens(c, longest+budget)
		}
	default:
		if level == "minimal" {
			level = "low" // the least that there is
		}
		config["effort"] = level
		body["thinking"] = map[string]any{"type": "adaptive"}
	}
	return nil
}

// capTokens bounds a length of an answer by what the model can do.
func capTokens(c *wire.Call, tokens int) int {
	if c.MostTokens > 0 {
		return min(tokens, c.MostTokens)
	}
	return tokens
}
