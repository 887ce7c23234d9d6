// The protocol: the fields of a request, its conversation and its answer.

// Package responses speaks the Responses protocol of OpenAI. Its models use tools while
// they reason, and their reasoning is sent back to them encrypted.
package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/openai"
	"github.com/graphrun/graphrun/model/wire"
)

// Protocol is the wire format. The base URL ends before /responses.
var Protocol = wire.Protocol{
	Path: "/responses", BaseURL: "https://api.openai.com/v1", Provider: "openai", Header: openai.Header,
	Limits: wire.PartLimits{Images: wire.PhotoTypes(), ImageURLs: true, Files: []string{"*"}, FileURLs: true, MaxImageBytes: 20e6, MaxTotalBytes: 50e6},
	Fields: setFields, Conversation: setInput,
	Reader: func(c *wire.Call) wire.Reader { return &reader{Call: c} },
}

// withoutReasoning matches OpenAI's models that do not reason: they refuse requests for
// encrypted reasoning.
var withoutReasoning = lazyregexp.New(`^(.*/)?(ft:)?(gpt-(3|4)|chatgpt-|gpt-[5-9][.\d]*-chat)`)

// setFields sets the fields of a request. It asks the server to store nothing, since each
// request holds the whole conversation.
func setFields(c *wire.Call, body map[string]any) error {
	req := c.Req
	if len(req.Stop) > 0 {
		return wire.InvalidRequest("the Responses protocol has no stop sequences; take stop away, or let the provider have api: chat")
	}
	wire.SetDefault(body, "store", false)
	if !withoutReasoning.Get().MatchString(c.Model) {
		wire.SetDefault(body, "include", []string{"reasoning.encrypted_content"})
	}
	wire.SetNonEmpty(body, "instructions", req.System)
	wire.SetNonEmpty(body, "max_output_tokens", req.MaxTokens)
	if err := c.SetReasoning(body, "reasoning", func(level string) any { return map[string]any{"effort": level} }); err != nil {
		return err
	}
	tools := c.Tools("parameters")
	for _, t := range tools {
		t["type"], t["strict"] = "function", false // strict tools have no optional arguments
	}
	wire.SetNonEmpty(body, "tools", tools)
	if format := openai.ResponseFormat(req.Schema); format != nil {
		format["type"] = "json_schema"
		wire.SetNested(body, "text", "format", format)
	}
	return nil
}

func setInput(c *wire.Call, body map[string]any) error {
	items := make([]any, 0, len(c.Messages))
	for i := range c.Messages {
		items = appendItems(items, c, &c.Messages[i])
	}
	body["input"] = items
	return nil
}

func appendItems(out []any, c *wire.Call, m *model.Message) []any {
	if m.Role == model.ToolResult {
		return append(out, map[string]any{"type": "function_call_output", "call_id": m.ToolCallID, "output": newContent(m)})
	}
	// The server stores nothing, so it does not know reasoning without its encrypted text.
	isKnown := func(it *item) bool { return it.Type != "reasoning" || it.Encrypted != "" }
	if items := wire.KeptItems(c.Provider, m, isKnown); items != nil {
		return append(out, items...)
	}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		out = append(out, map[string]any{"type": "message", "role": string(m.Role), "content": newContent(m)})
	}
	for _, call := range m.ToolCalls {
		out = append(out, map[string]any{"type": "function_call", "call_id": call.ID, "name": c.Names.ToWire(call.Name), "arguments": wire.EncodeArgs(call)})
	}
	return out
}

// newContent returns a string for a message of text only, else a list of parts.
func newContent(m *model.Message) any {
	if len(m.Parts) == 0 {
		return m.Content
	}
	list := make([]map[string]any, len(m.Parts))
	for i, p := range m.Parts {
		switch text, isText := wire.TitledText(&p); {
		case isText:
			list[i] = map[string]any{"type": "input_text", "text": text}
		case p.Kind == model.ImagePart:
			list[i] = map[string]any{"type": "input_image", "image_url": wire.ImageURL(&p)}
		case p.URL != "":
			list[i] = map[string]any{"type": "input_file", "file_url": p.URL}
		default:
			list[i] = map[string]any{"type": "input_file", "filename": wire.FileName(&p), "file_data": p.DataURI()}
		}
	}
	return list
}

// result is a whole response.
type result struct {
	Status string            `json:"status"`
	Output []json.RawMessage `json:"output"`
	Usage  struct {
		Input        wire.Count `json:"input_tokens"`
		InputDetails struct {
			Cached     wire.Count `json:"cached_tokens"`
			CacheWrite wire.Count `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Output        wire.Count `json:"output_tokens"`
		OutputDetails struct {
			Reasoning wire.Count `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// item is a part of an answer, with the fields that are used.
type item struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Phase   string `json:"phase"` // of a message: commentary or final_answer
	Content []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	CallID    string    `json:"call_id"`
	Name      string    `json:"name"`
	Arguments wire.Text `json:"arguments"`
	Encrypted string    `json:"encrypted_content"`
}

// event is any event of a stream.
type event struct {
	Type     string          `json:"type"`
	Delta    json.RawMessage `json:"delta"`
	Index    int             `json:"output_index"`
	Item     json.RawMessage `json:"item"`
	Response result          `json:"response"`
}

type reader struct {
	*wire.Call
	result  result
	done    []event // of a stream, each with an item
	thought bool    // a part of a thought has begun

	opaque  bool            // items hold more than text and calls
	text    strings.Builder // of all messages
	final   strings.Builder // of messages marked as the final answer
	isFinal bool            // a message is marked so
	refusal strings.Builder
	calls   []item
}

// ReadWhole reads an answer that was not streamed.
func (r *reader) ReadWhole(body []byte) error { return r.Decode(body, &r.result) }

// Event reads an event. It keeps items only when they are done, since they may be partial until then.
func (r *reader) Event(_ string, data []byte) (wire.Progress, error) {
	if string(data) == "[DONE]" {
		return 0, r.CutError()
	}
	var e event
	if err := r.DecodeEvent(data, &e); err != nil {
		return 0, err
	}
	var delta string
	if strings.HasSuffix(e.Type, ".delta") {
		_ = json.Unmarshal(e.Delta, &delta) // other deltas are objects
	}
	switch e.Type {
	case "error":
		return 0, r.ReportedError(data)
	case "response.output_text.delta":
		r.AddText(delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.PassThought(delta)
	case "response.reasoning_summary_part.added":
		if r.thought {
			r.PassThought("\n\n")
		}
		r.thought = true
	case "response.output_item.done":
		r.done = append(r.done, e)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		r.endStream(&e.Response)
		return wire.Ended, nil
	}
	return 0, nil
}

// endStream reads the event that ends a stream. Several servers leave the items out of this
// event, and some never report that an item is done.
func (r *reader) endStream(last *result) {
	r.result = *last
	if len(r.done) > 0 {
		slices.SortStableFunc(r.done, func(a, b event) int { return a.Index - b.Index })
		r.result.Output = nil
		for _, d := range r.done {
			r.result.Output = append(r.result.Output, d.Item)
		}
	}
	if len(r.result.Output) == 0 {
		r.text.WriteString(r.Text.String())
	}
}

// Response returns the whole answer.
func (r *reader) Response() (*model.Response, error) {
	res := &r.result
	if res.Status == "failed" || len(res.Error) > 0 && string(res.Error) != "null" {
		return nil, r.ReportedError(fmt.Appendf(nil, `{"error":%s}`, res.Error))
	}
	for _, raw := range res.Output {
		var it item
		err := json.Unmarshal(raw, &it)
		if it.Type == "" || err != nil && (it.Type == "message" || it.Type == "function_call") {
			return nil, r.BadAnswerError("holds an item that can't be read: %.80s", raw)
		}
		r.addItem(&it)
	}
	u := &res.Usage
	out := &model.Response{Content: r.text.String(), Usage: model.Usage{
		InputTokens: int(u.Input), CachedTokens: int(u.InputDetails.Cached), CacheWriteTokens: int(u.InputDetails.CacheWrite),
		OutputTokens: int(u.Output), ReasoningTokens: int(u.OutputDetails.Reasoning), Unreported: u.Input == 0 && u.Output == 0,
	}}
	if r.isFinal { // without the model's commentary
		out.Content = r.final.String()
	}
	for _, c := range r.calls {
		out.ToolCalls = append(out.ToolCalls, wire.NewToolCall(c.CallID, r.Names.ToGraph(c.Name), string(c.Arguments)))
	}
	if r.opaque {
		out.Thinking = wire.EncodeKept(r.Provider, out, res.Output)
	}
	isCut := res.Status == "incomplete" || res.Status == "cancelled"
	out, err := r.WithStop(out, r.refusal.String(), res.Incomplete.Reason == "content_filter", isCut)
	if err != nil {
		return nil, err
	}
	if out.Stop == model.StopEnd && len(res.Output) == 0 && out.Content == "" {
		return nil, r.BadAnswerError("holds no output")
	}
	if r.Text.Len() == 0 && out.Stop != model.StopRefusal {
		r.AddText(out.Content)
	}
	return out, nil
}

// addItem reads a whole item. It skips calls that were cut.
func (r *reader) addItem(it *item) {
	switch it.Type {
	case "message":
		final := it.Phase == "final_answer"
		r.opaque = r.opaque || it.Phase != ""
		r.isFinal = r.isFinal || final
		for _, part := range it.Content {
			r.text.WriteString(part.Text)
			r.refusal.WriteString(part.Refusal)
			if final {
				r.final.WriteString(part.Text)
			}
		}
	case "function_call":
		if it.Status != "incomplete" {
			r.calls = append(r.calls, *it)
		}
	default:
		r.opaque = true
	}
}
