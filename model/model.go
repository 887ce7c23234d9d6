// The provider-neutral chat API: what every adapter takes and gives.

// Package model talks to language models. A Client is one model of one
// provider; adapters exist for servers that speak the OpenAI chat completions
// wire format, for Anthropic, for answers from a file (scripted) and for
// recordings (cassette).
package model

import (
	"context"
	"encoding/json"
	"time"
)

// Role says who speaks. The zero value is unset.
type Role string

// The roles. A system prompt is no message: it is Request.System.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	// ToolResult is the result of one tool call.
	ToolResult Role = "tool"
)

// Message is one turn of a conversation.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content,omitempty"`
	// Parts is the whole of what is said when it is more than a text, in order;
	// Content is then PartsText of it. An assistant's message has none.
	Parts []Part `json:"parts,omitempty"`
	// ToolCalls are what an assistant wants done.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID and Name say which call a tool's result answers, IsError that
	// it is an error's text.
	ToolCallID string `json:"tool_call_id,omitempty"`
	Name       string `json:"name,omitempty"`
	IsError    bool   `json:"is_error,omitempty"`
	// Thinking is Response.Thinking of the answer that the message is. It stays
	// with the message and goes back as it came, to the provider that gave it.
	Thinking json.RawMessage `json:"thinking,omitempty"`
}

// ToolCall is one call of a tool that a model asks for.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is the argument object; nil with Malformed.
	Args map[string]any `json:"args"`
	// Malformed is the text of arguments that are no JSON object.
	Malformed string `json:"malformed,omitempty"`
}

// Tool is a tool that a model is offered.
type Tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"` // JSON Schema of an object
}

// Caller says who asks: a scripted model answers by it, a recording names it.
type Caller struct {
	// Node is the node's path, outer/inner in a subgraph.
	Node string `json:"node"`
	// Place is Node with the elements of each `each` on its path, and the tool
	// calls that graphs run for: a[2], outer[0]/inner, agent#1/step. Empty: there
	// are none.
	Place string `json:"place,omitempty"`
	// Role is what the call is for: chat, router, judge or compact.
	Role string `json:"role"`
	// Visit counts the node's visits, Turn the visit's calls of that role; both from 1.
	Visit int `json:"visit"`
	Turn  int `json:"turn"`
}

// Request is one call.
type Request struct {
	Caller   Caller    `json:"caller"`
	System   string    `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`
	// Schema asks for a structured answer: the text is JSON that fits this JSON
	// Schema. Providers that have it natively are told; the caller checks.
	Schema map[string]any `json:"schema,omitempty"`
	// Temperature is nil for the provider's default, MaxTokens 0 likewise.
	Temperature *float64 `json:"temperature,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	Stop        []string `json:"stop,omitempty"`
	// Reasoning is how much the model reasons: a word (low, medium, high) or a
	// budget of tokens, as the provider has it.
	Reasoning any `json:"reasoning,omitempty"`
	// OnThinking gets what the model thinks as it streams, where its provider tells it,
	// under the rules of Chat's onText; nil: nobody wants it.
	OnThinking func(chunk string) `json:"-"`
	// Params are more keys of the provider's request body, as they are.
	Params map[string]any `json:"params,omitempty"`
}

// StopReason says why an answer ended. The zero value is unset.
type StopReason string

// The reasons.
const (
	StopEnd       StopReason = "end"
	StopToolCalls StopReason = "tool_calls"
	StopLength    StopReason = "length"
	StopFilter    StopReason = "content_filter"
	// StopRefusal is an answer in which the model says that it won't.
	StopRefusal StopReason = "refusal"
)

// Usage counts tokens of one call, as the provider says.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens are those of InputTokens that the provider had cached.
	CachedTokens int `json:"cached_tokens,omitempty"`
	// CacheWriteTokens are those of InputTokens that the provider cached for
	// later calls, at a price of its own.
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"`
	// ReasoningTokens are those of OutputTokens that the model thought with, where
	// the provider says.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	// Unreported says that the provider gave no numbers: the tokens are unknown,
	// not zero.
	Unreported bool `json:"unreported,omitempty"`
}

// mostTokens is more than any call can come to: a server that says more is wrong.
const mostTokens = 1 << 30

// Possible says whether a call can have come to that: no number is below zero or
// beyond all measure, and no more tokens were cached or thought with than there were.
func (u Usage) Possible() bool {
	for _, n := range [...]int{u.InputTokens, u.OutputTokens, u.CachedTokens, u.CacheWriteTokens, u.ReasoningTokens} {
		if n < 0 || n > mostTokens {
			return false
		}
	}
	return u.ReasoningTokens <= u.OutputTokens && u.CachedTokens <= u.InputTokens && u.CacheWriteTokens <= u.InputTokens-u.CachedTokens
}

// Response is a whole answer.
type Response struct {
	Content   string     `json:"content,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	Stop      StopReason `json:"stop"`
	Usage     Usage      `json:"usage"`
	// Thinking is what the provider wants back with the next request, in its own
	// form: blocks of thinking, signatures, items of reasoning. wire.Keep makes
	// it; nil: none. No other provider sees it.
	Thinking json.RawMessage `json:"thinking,omitempty"`
}

// Message is the answer as a turn of the conversation.
func (r *Response) Message() Message {
	return Message{Role: Assistant, Content: r.Content, ToolCalls: r.ToolCalls, Thinking: r.Thinking}
}

// Client is one model of one provider. It is safe for concurrent use.
type Client interface {
	// Chat makes one call and returns the whole answer. onText gets its text as
	// it streams, in order, from one goroutine; nil: the call need not stream.
	// It never retries: an error is an *Error, or ctx's.
	Chat(ctx context.Context, req *Request, onText func(chunk string)) (*Response, error)
}

// Error is why a call failed. Kind is one of the failure kinds of the language:
// auth, rate_limited, overloaded, network, timeout, invalid_input (the request
// is at fault: its form, too long a context) or llm (anything else: a filter,
// an answer that can't be read).
type Error struct {
	Kind    string
	Message string
	// Class tells apart what Kind joins: context_length, content_filter,
	// invalid_request, bad_answer; empty: nothing more to say.
	Class string
	// Status is the HTTP status; 0: none.
	Status int
	// RetryAfter is the least time to wait before another attempt; 0: not said.
	RetryAfter time.Duration
	// Final says that the provider asks not to be asked again, whatever Kind is.
	Final bool
	// Unsent says that nothing was sent: no call was made, and nothing is to pay.
	Unsent bool
}

// Error is the message.
func (e *Error) Error() string { return e.Message }
