// What is sent: the body of a Messages request.

package anthropic

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// message is one turn on the wire. Its blocks are of several shapes.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type toolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   any    `json:"content,omitempty"` // a text, or blocks
	IsError   bool   `json:"is_error,omitempty"`
}

// body is the request as JSON data. Parameters win over what the request says
// in its fields, and null takes a key out; the messages and how the answer
// comes are not theirs to change.
func (c *Client) body(req *model.Request, names *wire.Names, streams bool) (map[string]any, error) {
	body := map[string]any{"max_tokens": c.longest}
	if comesAgain(req) {
		body["cache_control"] = map[string]any{"type": "ephemeral"}
	}
	maps.Copy(body, c.params)
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
		body["tools"] = offered(req.Tools, names)
	}
	if err := c.output(body, req); err != nil {
		return nil, err
	}
	for key, value := range req.Params {
		body[key] = value
	}
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	messages, err := c.conversation(req, names, body)
	if err != nil {
		return nil, err
	}
	body["model"], body["messages"], body["stream"] = c.model, messages, streams
	return body, nil
}

// leastCached is how many tokens a prompt must have for the provider to cache it.
const leastCached = 1024

// comesAgain reports whether the request is likely to be the beginning of a later
// one, so that caching it pays: the provider asks a quarter more for what it caches,
// and a tenth for what it had cached. A loop of tools goes on, and a conversation
// that has an answer had a second question. The mark stands beside the messages, not
// in them: what was sent stays as it was.
func comesAgain(req *model.Request) bool {
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

// output sets the format of the answer and how much the model thinks about it:
// a word is an effort with adaptive thinking, a number a budget of tokens.
func (c *Client) output(body map[string]any, req *model.Request) error {
	config := map[string]any{}
	if given, ok := body["output_config"].(map[string]any); ok {
		maps.Copy(config, given)
	}
	if req.Schema["type"] == "object" {
		if whole, ok := wire.Inline(req.Schema); ok {
			if closed, ok := closedSchema(whole); ok {
				config["format"] = map[string]any{"type": "json_schema", "schema": closed}
			}
		}
	}
	switch value := req.Reasoning.(type) {
	case nil:
	case string:
		if err := c.level(body, config, value); err != nil {
			return err
		}
	case int:
		if levelsOnly.MatchString(c.model) {
			return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf(
				"reasoning is %v; %s takes a level: none, low, medium, high, xhigh or max", value, c.model)}
		}
		if c.most > 0 && value >= c.most {
			return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf(
				"reasoning is %d; %s answers with at most %d tokens, and thinks with some of them", value, c.model, c.most)}
		}
		body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": value}
		if req.MaxTokens == 0 {
			body["max_tokens"] = c.within(value + c.longest) // the budget counts towards it
		}
	case map[string]any:
		body["thinking"] = value
	default:
		return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf(
			"reasoning is %v; this provider takes low, medium, high, xhigh, max or a number of tokens", value)}
	}
	if len(config) > 0 {
		body["output_config"] = config
	}
	return nil
}

// levelsOnly knows models that refuse a budget of tokens for their thinking,
// budgetsOnly those that know no levels of it, always those that think whatever they
// are told, and between those that can leave it between the calls of tools only, by
// their names. The pages of the models say so (platform.claude.com/docs/en/models).
var (
	levelsOnly  = regexp.MustCompile(`^claude-[a-z]+-(4-[7-9]|[5-9]|[1-9]\d)([-.].*)?$`)
	budgetsOnly = regexp.MustCompile(`^claude-(3-|[a-z]+-4(-[0-5])?(-\d{8})?$)`)
	always      = regexp.MustCompile(`^claude-((fable|mythos)-5(-1)?|opus-5-5)(-\d{8})?$`)
	between     = regexp.MustCompile(`^claude-sonnet-5-5(-\d{8})?$`)
)

// level asks for thinking by a word, as all providers take one.
func (c *Client) level(body, config map[string]any, word string) error {
	budget := map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}[word]
	switch {
	case word == "none" && always.MatchString(c.model):
		return wire.AlwaysReasons(c.model, []string{"low", "medium", "high", "xhigh", "max"})
	case word == "none" && between.MatchString(c.model):
		body["thinking"] = map[string]any{"type": "between_tools"} // what it has in the place of disabled
	case word == "none":
		body["thinking"] = map[string]any{"type": "disabled"}
	case budgetsOnly.MatchString(c.model) && budget > 0:
		if c.most > 0 {
			budget = min(budget, c.most*3/4) // the rest is for what it says
		}
		body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": budget}
		if longest, ok := body["max_tokens"].(int); ok && longest <= budget {
			body["max_tokens"] = c.within(longest + budget) // the budget counts towards it
		}
	default:
		if word == "minimal" {
			word = "low" // the least that there is
		}
		config["effort"] = word
		body["thinking"] = map[string]any{"type": "adaptive"}
	}
	return nil
}

// within is a length of an answer, cut to what the model can.
func (c *Client) within(tokens int) int {
	if c.most > 0 {
		return min(tokens, c.most)
	}
	return tokens
}

func offered(tools []model.Tool, names *wire.Names) []any {
	out := make([]any, len(tools))
	for i, t := range tools {
		schema := map[string]any{"type": "object"}
		maps.Copy(schema, t.Parameters)
		tool := map[string]any{"name": names.Wire(t.Name), "input_schema": schema}
		if t.Description != "" {
			tool["description"] = t.Description
		}
		out[i] = tool
	}
	return out
}

// closedSchema is a schema in the form that structured output wants: closed
// objects, and none of the keywords that it refuses. Keywords that narrow a
// value are left out here and checked by the caller; one that says what a
// value may be besides makes the whole schema unfit.
func closedSchema(schema map[string]any) (map[string]any, bool) {
	out := make(map[string]any, len(schema)+1)
	for key, value := range schema {
		ok := true
		switch key {
		case "type", "description", "enum", "const", "required", "title", "default", "format":
			out[key] = value
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
			"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "examples":
		case "additionalProperties":
			ok = value == false
		case "items":
			out[key], ok = closedItem(value)
		case "properties":
			out[key], ok = closedProperties(value)
		case "anyOf":
			out[key], ok = closedList(value)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	if out["type"] == "object" {
		out["additionalProperties"] = false
	}
	return out, true
}

func closedItem(value any) (any, bool) {
	schema, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	return closedSchema(schema)
}

func closedProperties(value any) (any, bool) {
	given, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, len(given))
	for name, property := range given {
		if out[name], ok = closedItem(property); !ok {
			return nil, false
		}
	}
	return out, true
}

func closedList(value any) (any, bool) {
	given, ok := value.([]any)
	if !ok {
		return nil, false
	}
	out := make([]any, len(given))
	for i, item := range given {
		if out[i], ok = closedItem(item); !ok {
			return nil, false
		}
	}
	return out, true
}
