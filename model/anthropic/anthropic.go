// The protocol: the fields of a request, its conversation and its answer.

// Package anthropic speaks the Messages protocol of Anthropic.
package anthropic

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// MaxTokens bounds answers of requests that set no bound: the protocol has no default.
const MaxTokens = 8192

// New checks a configuration and returns a client. The base URL ends before /v1/messages,
// with or without /v1. New makes no connection.
func New(c wire.Config) (*wire.Client, error) {
	c.MaxTokens, c.MaxModelTokens = cmp.Or(c.MaxTokens, MaxTokens), cmp.Or(c.MaxModelTokens, math.MaxInt)
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
	Limits: wire.PartLimits{ // the limits are for base64: 5 MB for an image, 32 MB for a request
		Images: wire.PhotoTypes(), ImageURLs: true, Files: []string{"application/pdf"}, FileURLs: true,
		MaxImageBytes: 5e6 / 4 * 3, MaxTotalBytes: 32e6 / 4 * 3,
	},
	Fields: setFields, Conversation: setConversation,
	Reader: func(c *wire.Call) wire.Reader { return &reader{Call: c} },
}

func setFields(c *wire.Call, body map[string]any) error {
	req := c.Req
	wire.SetDefault(body, "max_tokens", c.MaxTokens)
	if isLikelyPrefix(req) {
		wire.SetDefault(body, "cache_control", map[string]any{"type": "ephemeral"})
	}
	wire.SetNonEmpty(body, "max_tokens", req.MaxTokens)
	wire.SetNonEmpty(body, "system", req.System)
	wire.SetNonEmpty(body, "stop_sequences", req.Stop)
	wire.SetNonEmpty(body, "tools", c.Tools("input_schema"))
	return setOutput(c, body)
}

// leastCached is the smallest prompt, in tokens, that the provider caches.
const leastCached = 1024

// isLikelyPrefix reports whether a later request probably begins with this one. Only then
// caching pays: it costs a quarter more now and saves nine tenths later. A request with
// tools or with an earlier answer usually has a successor.
func isLikelyPrefix(req *model.Request) bool {
	hasSuccessor, size := len(req.Tools) > 0, len(req.System)
	for i := range req.Messages {
		hasSuccessor = hasSuccessor || req.Messages[i].Role == model.Assistant
		size += len(req.Messages[i].Content) + len(req.Messages[i].Thinking)
	}
	for i := range req.Tools {
		size += len(req.Tools[i].Description) + 20*len(req.Tools[i].Parameters)
	}
	return hasSuccessor && size >= 4*leastCached
}

// dialect drops the keywords that limit a value, which the caller checks.
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
	if c.Req.Schema["type"] == "object" {
		if closed, ok := dialect.CloseSchema(c.Req.Schema); ok {
			wire.SetNested(body, "output_config", "format", map[string]any{"type": "json_schema", "schema": closed})
		}
	}
	switch value := c.Req.Reasoning.(type) {
	case nil:
	case string:
		return setLevel(c, body, value)
	case int:
		if levelsOnly.Get().MatchString(c.Model) {
			return wire.InvalidRequest("reasoning is %v; %s takes a level: none, low, medium, high, xhigh or max", value, c.Model)
		}
		if value >= c.MaxModelTokens {
			return wire.InvalidRequest("reasoning is %d; %s answers with at most %d tokens, and thinks with some of them", value, c.Model, c.MaxModelTokens)
		}
		body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": value}
		if c.Req.MaxTokens == 0 {
			body["max_tokens"] = min(value+c.MaxTokens, c.MaxModelTokens) // the budget counts towards it
		}
	case map[string]any:
		body["thinking"] = value
	default:
		return wire.InvalidRequest("reasoning is %v; this provider takes low, medium, high, xhigh, max or a number of tokens", value)
	}
	return nil
}

// Patterns of models by how they think (platform.claude.com/docs/en/models).
var (
	levelsOnly   = lazyregexp.New(`^claude-[a-z]+-(4-[7-9]|[5-9]|[1-9]\d)([-.].*)?$`) // no budgets
	budgetsOnly  = lazyregexp.New(`^claude-(3-|[a-z]+-4(-[0-5])?(-\d{8})?$)`)         // no levels
	alwaysThinks = lazyregexp.New(`^claude-((fable|mythos)-5(-1)?|opus-5-5)(-\d{8})?$`)
	// betweenTools matches models that think at least between tool calls.
	betweenTools = lazyregexp.New(`^claude-sonnet-5-5(-\d{8})?$`)
)

// budgets map levels to tokens for models that only know budgets.
var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}

func setLevel(c *wire.Call, body map[string]any, level string) error {
	budget := budgets[level]
	switch {
	case level == "none" && alwaysThinks.Get().MatchString(c.Model):
		return wire.ReasoningRequiredError(c.Model, []string{"low", "medium", "high", "xhigh", "max"})
	case level == "none" && betweenTools.Get().MatchString(c.Model):
		body["thinking"] = map[string]any{"type": "between_tools"}
	case level == "none":
		body["thinking"] = map[string]any{"type": "disabled"}
	case budgetsOnly.Get().MatchString(c.Model) && budget > 0:
		budget = min(budget, c.MaxModelTokens/4*3) // the rest is for the text
		body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": budget}
		if longest, ok := body["max_tokens"].(int); ok && longest <= budget {
			body["max_tokens"] = min(longest+budget, c.MaxModelTokens)
		}
	default:
		if level == "minimal" {
			level = "low" // the lowest level of the protocol
		}
		wire.SetNested(body, "output_config", "effort", level)
		body["thinking"] = map[string]any{"type": "adaptive"}
	}
	return nil
}

// message is one turn.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// setConversation sets the turns. User and assistant alternate, the user comes first, and
// no text is empty. Thinking goes back unchanged whether this request asks for thinking or
// not: models think by default, and later blocks depend on those before them. If a call
// lacks its thinking, because another provider made it, the request asks for none.
func setConversation(c *wire.Call, body map[string]any) error {
	var out []message
	for _, m := range c.Messages {
		role := "user"
		if m.Role == model.Assistant {
			role = "assistant"
		}
		blocks := messageBlocks(c, &m)
		n := len(out)
		switch {
		case len(blocks) == 0:
			continue
		case n > 0 && out[n-1].Role == role:
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		case n == 0 && role == "assistant":
			out = append(out, message{"user", []any{textBlock("Continue.")}})
		}
		out = append(out, message{role, blocks})
	}
	if len(out) == 0 {
		return wire.InvalidRequest("the request holds no message with a text")
	}
	if !hasThinking(c.Provider, c.Messages) {
		delete(body, "thinking")
	}
	body["messages"] = out
	return nil
}

// hasThinking reports whether the calls since the user's last text came with the
// thinking that led to them.
func hasThinking(provider string, messages []model.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := &messages[i]; {
		case m.Role == model.User:
			return true
		case len(m.ToolCalls) > 0:
			if found, _ := wire.DecodeKept(provider, m, new(json.RawMessage)); !found {
				return false
			}
		}
	}
	return true
}

func messageBlocks(c *wire.Call, m *model.Message) []any {
	if m.Role == model.ToolResult {
		return []any{resultBlock(m)}
	}
	notBlank := func(b *block) bool { return b.Type != "text" || strings.TrimSpace(b.Text) != "" } // the provider refuses blank texts
	if blocks := wire.KeptItems(c.Provider, m, notBlank); blocks != nil {
		return blocks
	}
	out := partBlocks(m.Parts)
	if text := m.Content; out == nil && strings.TrimSpace(text) != "" {
		if m.Role == model.Assistant {
			text = strings.TrimRight(text, " \t\r\n") // a last turn must not end in blanks
		}
		out = append(out, textBlock(text))
	}
	for _, call := range m.ToolCalls {
		out = append(out, toolBlock(call, c.Names.ToWire(call.Name)))
	}
	return out
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func toolBlock(call model.ToolCall, name string) map[string]any {
	return map[string]any{"type": "tool_use", "id": wire.ReplaceIllegal(call.ID), "name": name, "input": json.RawMessage(wire.EncodeArgs(call))}
}

// resultBlock returns the result of a tool. An error holds text only.
func resultBlock(m *model.Message) map[string]any {
	out := map[string]any{"type": "tool_result", "tool_use_id": wire.ReplaceIllegal(m.ToolCallID)}
	if m.IsError {
		out["is_error"] = true
	}
	if blocks := partBlocks(m.Parts); blocks != nil && !m.IsError {
		out["content"] = blocks
	} else if m.Content != "" {
		out["content"] = m.Content
	}
	return out
}

// partBlocks returns parts as blocks, without blank texts.
func partBlocks(parts []model.Part) []any {
	var out []any
	for _, p := range parts {
		if p.Kind == model.TextPart {
			if strings.TrimSpace(p.Text) != "" {
				out = append(out, textBlock(p.Text))
			}
			continue
		}
		source := map[string]any{"type": "base64", "media_type": p.Type, "data": p.Data}
		if text, is := wire.PartText(&p); is {
			source = map[string]any{"type": "text", "media_type": "text/plain", "data": text}
		}
		if p.URL != "" {
			source = map[string]any{"type": "url", "url": p.URL}
		}
		block := map[string]any{"type": "image", "source": source}
		if p.Kind == model.FilePart {
			block["type"] = "document"
			if p.Name != "" {
				block["title"] = p.Name
			}
		}
		out = append(out, block)
	}
	return out
}

// reply is a whole message, and the beginning of a streamed one.
type reply struct {
	Type       string            `json:"type"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      usage             `json:"usage"`
}

// usage counts tokens. Input does not include what was read from or written to the
// cache.
type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

// block is a part of a message, with the fields that are used.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
}

// event is any event of a stream.
type event struct {
	Type    string          `json:"type"`
	Message reply           `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Text       string `json:"text"`
		JSON       string `json:"partial_json"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

type reader struct {
	*wire.Call
	calls  []model.ToolCall
	blocks []any // for the next request
	opaque bool  // some blocks are thinking
	stop   string
	usage  usage

	open *block // of a stream
	raw  json.RawMessage
	args strings.Builder
}

// ReadWhole reads an answer that was not streamed.
func (r *reader) ReadWhole(body []byte) error {
	var m reply
	if err := r.Decode(body, &m); err != nil {
		return err
	}
	if m.Type != "message" {
		return r.BadAnswerError("is of type %q; a message is needed", m.Type)
	}
	r.stop, r.usage = m.StopReason, m.Usage
	for _, raw := range m.Content {
		if err := r.beginBlock(raw); err != nil {
			return err
		}
		r.addBlock(string(r.open.Input))
	}
	return nil
}

// Event reads an event. It ignores unknown ones, as the protocol demands.
func (r *reader) Event(_ string, data []byte) (wire.Progress, error) {
	var e event
	if err := r.DecodeEvent(data, &e); err != nil {
		return 0, err
	}
	switch e.Type {
	case "error":
		return 0, r.ReportedError(data)
	case "message_stop":
		return wire.Ended, nil
	case "message_start":
		r.usage = e.Message.Usage
	case "content_block_start":
		return 0, r.beginBlock(e.Block)
	case "content_block_delta":
		if r.open == nil {
			return 0, r.BadAnswerError("streams a piece of a block that has not begun")
		}
		r.AddText(e.Delta.Text)
		r.args.WriteString(e.Delta.JSON)
		r.open.Text += e.Delta.Text
		r.open.Thinking += e.Delta.Thinking
		r.open.Signature += e.Delta.Signature
		r.PassThought(e.Delta.Thinking)
	case "content_block_stop":
		if r.open != nil {
			r.addBlock(r.args.String())
			r.open = nil
		}
	case "message_delta":
		r.stop = e.Delta.StopReason
		if u := e.Usage; u != nil { // totals, some of which may be missing
			r.usage = usage{cmp.Or(u.Input, r.usage.Input), u.Output, cmp.Or(u.CacheRead, r.usage.CacheRead), cmp.Or(u.CacheWrite, r.usage.CacheWrite)}
		}
	}
	return 0, nil
}

// beginBlock reads a block, which a stream completes later.
func (r *reader) beginBlock(raw json.RawMessage) error {
	r.open, r.raw = &block{}, raw
	r.args.Reset()
	if err := json.Unmarshal(raw, r.open); err != nil {
		return r.BadAnswerError("holds a block that can't be read: %v", err)
	}
	if r.open.Type == "text" {
		r.AddText(r.open.Text)
	}
	return nil
}

// addBlock adds the open block once it is complete.
func (r *reader) addBlock(input string) {
	switch b := r.open; b.Type {
	case "text":
		r.blocks = append(r.blocks, textBlock(b.Text))
	case "tool_use":
		call := wire.NewToolCall(b.ID, r.Names.ToGraph(b.Name), input)
		r.calls = append(r.calls, call)
		r.blocks = append(r.blocks, toolBlock(call, b.Name))
	case "thinking":
		r.keepThinking(map[string]any{"thinking": b.Thinking, "signature": b.Signature})
	case "redacted_thinking":
		r.keepThinking(nil)
	}
}

// keepThinking keeps a block of thinking with all its fields. streamed holds the fields
// that a stream sent in pieces.
func (r *reader) keepThinking(streamed map[string]any) {
	fields := map[string]any{}
	_ = json.Unmarshal(r.raw, &fields) // beginBlock has read it
	maps.Copy(fields, streamed)
	r.blocks, r.opaque = append(r.blocks, fields), true
}

// Response returns the whole answer.
func (r *reader) Response() (*model.Response, error) {
	u := r.usage
	out := &model.Response{Content: r.Text.String(), ToolCalls: r.calls, Stop: model.StopEnd, Usage: model.Usage{
		InputTokens: u.Input + u.CacheRead + u.CacheWrite, OutputTokens: u.Output,
		CachedTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite, Unreported: u == usage{}, // compatible servers may count nothing
	}}
	if r.opaque {
		out.Thinking = wire.EncodeKept(r.Provider, out, r.blocks)
	}
	switch r.stop {
	case "":
		return nil, r.BadAnswerError("says no stop_reason")
	case "refusal":
		out.Stop = model.StopRefusal
		if out.Content == "" {
			return nil, r.FilterError()
		}
	case "max_tokens", "model_context_window_exceeded", "pause_turn": // after pause_turn the model would continue
		out.Stop = model.StopLength
	case "tool_use":
		out.Stop = model.StopToolCalls
	}
	return out, nil
}
