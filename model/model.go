// Requests, conversations, parts and answers of language models.

// Package model defines calls of language models. A Client is one model of one
// provider. Adapters exist for the protocols of OpenAI and Anthropic, for answers from a
// file (scripted) and for recordings (cassette).
package model

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// Role says who speaks. The zero value is unset.
type Role string

// The roles. A system prompt is Request.System, not a message.
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
	// Parts hold the whole message if it is more than text. Content is then what
	// FormatParts returns for them. An assistant's message has no parts.
	Parts []Part `json:"parts,omitempty"`
	// ToolCalls are the calls that an assistant wants.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID and Name identify the call of a tool's result. IsError marks the text
	// of an error.
	ToolCallID string `json:"tool_call_id,omitempty"`
	Name       string `json:"name,omitempty"`
	IsError    bool   `json:"is_error,omitempty"`
	// Thinking is Response.Thinking of an assistant's answer.
	Thinking json.RawMessage `json:"thinking,omitempty"`
	// Node is the node that said it in the conversation of a run. It is "" in requests.
	Node string `json:"node,omitempty"`
}

// ToolCall is a call of a tool by a model.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is nil if Malformed is set.
	Args map[string]any `json:"args"`
	// Malformed is the text of arguments that are not a JSON object.
	Malformed string `json:"malformed,omitempty"`
}

// UnmarshalJSON reads a call with canonical arguments.
func (c *ToolCall) UnmarshalJSON(text []byte) error {
	type plain ToolCall // without this method
	return eval.DecodeJSON(text, (*plain)(c))
}

// ToolAnswer is the answer of a tool: plain data, or the text of an error.
type ToolAnswer struct {
	Output  any  `json:"output"`
	IsError bool `json:"is_error,omitempty"`
	// Details hold more of an error, such as exit_code.
	Details map[string]any `json:"details,omitempty"`
}

// Tool is a tool that a model may call.
type Tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"` // JSON Schema of an object
}

// Caller identifies a call for scripts and recordings.
type Caller struct {
	// Node is the node's path, outer/inner in a subgraph.
	Node string `json:"node"`
	// Place is Node with the elements of each `each` on its path and the tool calls
	// that graphs run for: a[2], outer[0]/inner, agent#1/step. "" if there are none.
	Place string `json:"place,omitempty"`
	// Role is chat, router, judge or compact.
	Role string `json:"role"`
	// Visit counts the node's visits, Turn the visit's calls of a role, both from 1.
	Visit int `json:"visit"`
	Turn  int `json:"turn"`
}

// Request is one call.
type Request struct {
	Caller   Caller    `json:"caller"`
	System   string    `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`
	// Schema is the JSON Schema of a structured answer. Adapters pass it on where they
	// can, and the caller checks the answer.
	Schema map[string]any `json:"schema,omitempty"`
	// Temperature nil and MaxTokens 0 mean the provider's defaults.
	Temperature *float64 `json:"temperature,omitempty" key:"temperature"`
	MaxTokens   int      `json:"max_tokens,omitempty" key:"max_tokens" min:"1"`
	Stop        []string `json:"stop,omitempty" key:"stop"`
	// Reasoning is a word (low, medium, high) or a budget of tokens.
	Reasoning any `json:"reasoning,omitempty" key:"reasoning"`
	// OnThinking receives what the model thinks as it streams, like Chat's onText.
	OnThinking func(chunk string) `json:"-"`
	// Params are more keys of the provider's request body.
	Params map[string]any `json:"params,omitempty" key:"params"`
}

// StopReason says why an answer ended. The zero value is unset.
type StopReason string

// The reasons.
const (
	StopEnd       StopReason = "end"
	StopToolCalls StopReason = "tool_calls"
	StopLength    StopReason = "length"
	StopFilter    StopReason = "content_filter"
	// StopRefusal means that the model declined to answer.
	StopRefusal StopReason = "refusal"
)

// Usage counts the tokens of a call, as the provider reports them.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens and CacheWriteTokens are the InputTokens that the provider read from
	// its cache or wrote to it.
	CachedTokens     int `json:"cached_tokens,omitempty"`
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"`
	// ReasoningTokens are the OutputTokens of the model's thinking.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	// Unreported means that the tokens are unknown, not zero.
	Unreported bool `json:"unreported,omitempty"`
}

// maxTokens is more than any call has: a server that reports more is wrong.
const maxTokens = 1 << 30

// IsPossible reports whether a call can have this usage.
func (u Usage) IsPossible() bool {
	for _, n := range [...]int{u.InputTokens, u.OutputTokens, u.CachedTokens, u.CacheWriteTokens, u.ReasoningTokens} {
		if n < 0 || n > maxTokens {
			return false
		}
	}
	return u.ReasoningTokens <= u.OutputTokens && u.CachedTokens+u.CacheWriteTokens <= u.InputTokens
}

// Response is the complete answer to a request.
type Response struct {
	Content   string     `json:"content,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	Stop      StopReason `json:"stop"`
	Usage     Usage      `json:"usage"`
	// Thinking is what the provider wants back unchanged with the next request, as
	// wire.EncodeKept wrote it, or nil. No other provider sees it.
	Thinking json.RawMessage `json:"thinking,omitempty"`
}

// Message returns the answer as a turn of the conversation.
func (r *Response) Message() Message {
	return Message{Role: Assistant, Content: r.Content, ToolCalls: r.ToolCalls, Thinking: r.Thinking}
}

// StreamWords passes a text on by words, as if it streamed. onText may be nil.
func StreamWords(text string, onText func(chunk string)) {
	for word := range strings.SplitAfterSeq(text, " ") {
		if onText != nil && word != "" {
			onText(word)
		}
	}
}

// Client is one model of one provider. It is safe for concurrent use.
type Client interface {
	// Chat makes one call without retries and returns the whole answer. onText receives
	// its text as it streams, in order, from one goroutine. With nil the call need not
	// stream. An error is an *Error or ctx's.
	Chat(ctx context.Context, req *Request, onText func(chunk string)) (*Response, error)
}

// Error is the failure of a call. Kind is one of the failure kinds of the language:
// auth, rate_limited, overloaded, network, timeout, invalid_input (the request is at
// fault) or llm (a filter, an unreadable answer, anything else).
type Error struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Class divides kinds: context_length, content_filter, invalid_request, bad_answer
	// or quota, or "".
	Class string `json:"class,omitempty"`
	// Status is the HTTP status, or 0.
	Status int `json:"status,omitempty"`
	// RetryAfter is the least time to wait before another attempt, in nanoseconds in
	// JSON. It is 0 if unknown.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// Final says that the provider wants no other attempt, whatever Kind is.
	Final bool `json:"final,omitempty"`
	// Unsent says that nothing was sent, so there is nothing to pay.
	Unsent bool `json:"unsent,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// PairResults returns messages in which the results of tool calls follow their calls, in
// the order of the calls. If a graph did not make a call, its result is an error. A result
// without a call becomes a message of the user. PairResults does not change its argument.
func PairResults(messages []Message) []Message {
	out := make([]Message, 0, len(messages))
	placed := make([]bool, len(messages))
	for i, m := range messages {
		switch {
		case placed[i]:
			continue
		case m.Role == ToolResult:
			out = append(out, toUserMessage(m))
			continue
		}
		out = append(out, m)
		for _, call := range m.ToolCalls {
			at := i + 1
			for at < len(messages) && (placed[at] || messages[at].Role != ToolResult || messages[at].ToolCallID != call.ID) {
				at++
			}
			if at == len(messages) {
				out = append(out, Message{Role: ToolResult, ToolCallID: call.ID, Name: call.Name, IsError: true, Content: "this call was not carried out"})
				continue
			}
			placed[at] = true
			out = append(out, messages[at])
		}
	}
	return out
}

// toUserMessage returns a tool result that has no call as a message of the user.
func toUserMessage(m Message) Message {
	intro := fmt.Sprintf("Result of the tool %s:", m.Name)
	out := Message{Role: User, Content: intro + " " + m.Content}
	if len(m.Parts) > 0 {
		out.Parts = append([]Part{{Kind: TextPart, Text: intro}}, m.Parts...)
	}
	return out
}

// PartKind is the kind of a part. The zero value is unset.
type PartKind string

// The kinds of parts.
const (
	TextPart  PartKind = "text"
	ImagePart PartKind = "image"
	FilePart  PartKind = "file"
	AudioPart PartKind = "audio"
)

// Part is a piece of a message: a text, or the bytes or the address of an image, file or audio.
type Part struct {
	Kind PartKind `json:"kind"`
	Text string   `json:"text,omitempty"`
	// URL is an http or https address from which the provider fetches the part.
	URL string `json:"url,omitempty"`
	// Data is the bytes in base64, Type their media type, such as image/png.
	Data string `json:"data,omitempty"`
	Type string `json:"type,omitempty"`
	// Name is the name of a file, or "".
	Name string `json:"name,omitempty"`
}

// Size returns the bytes of a part, or 0 for an address.
func (p *Part) Size() int {
	if p.Kind == TextPart {
		return len(p.Text)
	}
	return len(p.Data)/4*3 - (len(p.Data) - len(strings.TrimRight(p.Data, "=")))
}

// String returns a text, or the name of another part: [image map.png].
func (p *Part) String() string {
	if p.Kind == TextPart {
		return p.Text
	}
	return fmt.Sprintf("[%s %s]", p.Kind, cmp.Or(p.Name, p.URL, p.Type))
}

// DataURI returns the bytes of a part as a data URI.
func (p *Part) DataURI() string { return "data:" + p.Type + ";base64," + p.Data }

// FormatParts returns parts as text. Images, files and audio are shown by name.
func FormatParts(parts []Part) string {
	out := make([]string, len(parts))
	for i := range parts {
		out[i] = parts[i].String()
	}
	return strings.Join(out, "\n")
}

// ReadDataURI reads a data URI into the Data and Type of a part. isURI reports whether the
// text begins like a data URI.
func ReadDataURI(uri string) (part Part, isURI bool, err error) {
	if len(uri) < 5 || !strings.EqualFold(uri[:5], "data:") {
		return Part{}, false, nil
	}
	head, body, found := strings.Cut(uri[5:], ",")
	if !found {
		return Part{}, true, errors.New("the data URI has no comma before its data")
	}
	head, coded := strings.CutSuffix(head, ";base64")
	kind, _, problem := mime.ParseMediaType(head)
	if problem != nil || head == "" {
		kind = "text/plain" // the default of RFC 2397
	}
	var data []byte
	if coded { // with or without padding and blanks, in either alphabet
		body = strings.NewReplacer(" ", "", "\n", "", "\r", "", "\t", "", "-", "+", "_", "/").Replace(body)
		data, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(body, "="))
	} else {
		var text string
		text, err = url.PathUnescape(body)
		data = []byte(text)
	}
	switch {
	case err != nil && coded:
		return Part{}, true, fmt.Errorf("the data URI is not base64: %w", err)
	case err != nil:
		return Part{}, true, fmt.Errorf("the data URI can't be read: %w", err)
	case len(data) == 0:
		return Part{}, true, errors.New("the data URI is empty")
	}
	return Part{Type: kind, Data: base64.StdEncoding.EncodeToString(data)}, true, nil
}
