// Package openai speaks the chat completions protocol of OpenAI, which many servers
// speak: Ollama, vLLM, LM Studio, OpenRouter and others.
package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// Protocol is the wire format. The base URL ends before /chat/completions.
var Protocol = wire.Protocol{
	Path: "/chat/completions", BaseURL: "https://api.openai.com/v1", Provider: "openai", Header: Header,
	Limits: wire.PartLimits{ // the limits of OpenAI; other servers may accept less
		Images: wire.PhotoTypes(), ImageURLs: true, Files: []string{"application/pdf"}, Audio: []string{"audio/mpeg", "audio/wav"},
		MaxImageBytes: 20e6, MaxTotalBytes: 50e6,
	},
	Fields: setFields, Conversation: setConversation,
	Reader: func(c *wire.Call) wire.Reader { return &reader{Call: c} },
}

// Header returns the header that carries a key as bearer token.
func Header(key string) http.Header {
	if key == "" {
		return http.Header{}
	}
	return http.Header{"Authorization": {"Bearer " + key}}
}

// reasoningModels matches OpenAI's models that reason, with or without the prefix of a
// gateway. They refuse max_tokens, and other servers do not know the key that replaces it.
var reasoningModels = lazyregexp.New(`^(.*/)?(o[1-9]|gpt-([5-9]|[1-9]\d))([-.].*)?$`)

func setFields(c *wire.Call, body map[string]any) error {
	req := c.Req
	if req.MaxTokens > 0 {
		key := "max_tokens"
		if address, err := url.Parse(c.BaseURL); err == nil && address.Hostname() == "api.openai.com" || reasoningModels.Get().MatchString(c.Model) {
			key = "max_completion_tokens"
		}
		body[key] = req.MaxTokens
	}
	wire.SetNonEmpty(body, "stop", req.Stop)
	// Options in a map are OpenRouter's.
	if err := c.SetReasoning(body, "reasoning_effort", func(level string) any { return level }); err != nil {
		return err
	}
	tools := make([]any, len(req.Tools))
	for i, t := range c.Tools("parameters") {
		tools[i] = map[string]any{"type": "function", "function": t}
	}
	wire.SetNonEmpty(body, "tools", tools)
	if format := ResponseFormat(req.Schema); format != nil {
		body["response_format"] = map[string]any{"type": "json_schema", "json_schema": format}
	}
	if c.Streams {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	return nil
}

// ResponseFormat returns the format of an answer that fits a schema, or nil for a schema of
// other values than objects, which the protocols of OpenAI don't support.
func ResponseFormat(schema map[string]any) map[string]any {
	if schema["type"] != "object" {
		return nil
	}
	closed, strict := wire.Strict.CloseSchema(schema)
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

// setConversation sets the messages. It joins successive messages of the user, because the
// templates of many open models require alternating roles.
func setConversation(c *wire.Call, body map[string]any) error {
	t := turns{Call: c, list: make([]message, 0, len(c.Messages)+1)}
	if c.Req.System != "" {
		t.list = append(t.list, message{Role: "system", Content: c.Req.System})
	}
	for i := range c.Messages {
		t.addMessage(&c.Messages[i])
	}
	t.addResultParts()
	body["messages"] = t.list
	return nil
}

type turns struct {
	*wire.Call
	list []message
	// results are images, files and audio of tool results. The protocol allows them only in
	// messages of the user.
	results []model.Part
}

func (t *turns) addMessage(m *model.Message) {
	if m.Role != model.ToolResult {
		t.addResultParts()
	}
	if m.Role == model.User {
		t.addUser(newContent(m))
		return
	}
	next := message{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	if len(m.ToolCalls) > 0 && m.Content == "" {
		next.Content = nil
	}
	media := slices.DeleteFunc(slices.Clone(m.Parts), func(p model.Part) bool { return p.Kind == model.TextPart })
	if m.Role == model.ToolResult && len(media) > 0 {
		intro := fmt.Sprintf("What the tool %s gave (call %s):", m.Name, m.ToolCallID)
		t.results = append(append(t.results, model.Part{Kind: model.TextPart, Text: intro}), media...)
	}
	for _, made := range m.ToolCalls {
		one := call{ID: made.ID, Type: "function"}
		one.Function.Name, one.Function.Arguments = t.Names.ToWire(made.Name), wire.EncodeArgs(made)
		next.ToolCalls = append(next.ToolCalls, one)
	}
	t.restoreKept(&next, m)
	t.list = append(t.list, next)
}

func (t *turns) addResultParts() {
	if len(t.results) > 0 {
		t.addUser(newContent(&model.Message{Parts: t.results}))
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
	t.list[last].Content = slices.Concat(toContentParts(t.list[last].Content), toContentParts(content))
}

func toContentParts(content any) []map[string]any {
	if text, isText := content.(string); isText {
		return []map[string]any{{"type": "text", "text": text}}
	}
	list, _ := content.([]map[string]any)
	return list
}

// newContent returns a list of parts, or a string if all are text, because all servers accept that.
func newContent(m *model.Message) any {
	if len(m.Parts) == 0 {
		return m.Content
	}
	list := make([]map[string]any, len(m.Parts))
	var texts []string
	for i, p := range m.Parts {
		text, isText := wire.TitledText(&p)
		switch {
		case isText:
			list[i] = map[string]any{"type": "text", "text": text}
			texts = append(texts, text)
		case p.Kind == model.ImagePart:
			list[i] = map[string]any{"type": "image_url", "image_url": map[string]any{"url": wire.ImageURL(&p)}}
		case p.Kind == model.AudioPart:
			format := map[string]string{"audio/wav": "wav", "audio/mpeg": "mp3"}[p.Type]
			list[i] = map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": p.Data, "format": format}}
		default:
			list[i] = map[string]any{"type": "file", "file": map[string]any{"filename": wire.FileName(&p), "file_data": p.DataURI()}}
		}
	}
	if len(texts) == len(list) {
		return strings.Join(texts, "\n")
	}
	return list
}

// restoreKept adds the data to a message that the server wants back.
func (t *turns) restoreKept(out *message, m *model.Message) {
	var k kept
	if found, _ := wire.DecodeKept(t.Provider, m, &k); !found {
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

// completion is a whole answer or a chunk of a stream. Choices of a chunk have a delta
// instead of a message.
type completion struct {
	Choices []struct {
		Index        wire.Count `json:"index"`
		Message      piece      `json:"message"`
		Delta        piece      `json:"delta"`
		FinishReason string     `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     wire.Count `json:"prompt_tokens"`
		CompletionTokens wire.Count `json:"completion_tokens"`
		PromptDetails    struct {
			CachedTokens wire.Count `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning wire.Count `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
	// Object is "error" in flat errors of an older form.
	Object string `json:"object"`
}

// piece is a message or a part of one.
type piece struct {
	// Content is a string, or a list of parts as Mistral sends it.
	Content          json.RawMessage   `json:"content"`
	Refusal          string            `json:"refusal"`
	ToolCalls        []callPiece       `json:"tool_calls"`
	Reasoning        string            `json:"reasoning_content"`
	Thought          string            `json:"reasoning"` // OpenRouter and vLLM, to read
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	Extra            json.RawMessage   `json:"extra_content"`
}

// callPiece is a tool call or, in a stream, a part of one. Servers leave out the index
// when they send a call at once.
type callPiece struct {
	Index    *wire.Count     `json:"index"`
	ID       string          `json:"id"`
	Extra    json.RawMessage `json:"extra_content"`
	Function struct {
		Name      string    `json:"name"`
		Arguments wire.Text `json:"arguments"`
	} `json:"function"`
}

// kept is data that the server wants back with a message.
type kept struct {
	// Reasoning is DeepSeek's reasoning_content, Details OpenRouter's
	// reasoning_details, Parts Mistral's content besides the text.
	Reasoning string            `json:"reasoning_content,omitempty"`
	Details   []json.RawMessage `json:"reasoning_details,omitempty"`
	Parts     []part            `json:"parts,omitempty"`
	// Extra and Calls are Gemini's signatures of thoughts, of the message and of its
	// tool calls by id.
	Extra json.RawMessage            `json:"extra_content,omitempty"`
	Calls map[string]json.RawMessage `json:"calls,omitempty"`
}

// part is an element of a content that is a list.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Thinking []part `json:"thinking,omitempty"`
}

// toolCall is a call whose pieces are being joined.
type toolCall struct {
	index    int
	id, name string
	args     strings.Builder
	extra    json.RawMessage
}

type reader struct {
	*wire.Call
	refusal strings.Builder
	calls   []*toolCall
	kept    kept
	finish  string
	usage   model.Usage
	chosen  bool // a choice was read
	whole   bool
}

// ReadWhole reads an answer that was not streamed.
func (r *reader) ReadWhole(body []byte) error {
	var c completion
	if err := r.Decode(body, &c); err != nil {
		return err
	}
	if hasValue(c.Error) {
		return r.ReportedError(body)
	}
	r.whole = true
	return r.addMessage(&c)
}

// Event reads a chunk.
func (r *reader) Event(name string, data []byte) (wire.Progress, error) {
	if string(data) == "[DONE]" {
		return wire.Ended, nil
	}
	var c completion
	err := r.DecodeEvent(data, &c)
	switch {
	case err != nil:
	case hasValue(c.Error), c.Object == "error", name == "error":
		err = r.ReportedError(data)
	default:
		err = r.addMessage(&c)
	}
	if err == nil && r.finish != "" {
		return wire.MayEnd, nil
	}
	return 0, err
}

func (r *reader) addMessage(c *completion) error {
	if u := c.Usage; u != nil {
		r.usage = model.Usage{
			InputTokens: int(u.PromptTokens), OutputTokens: int(u.CompletionTokens),
			CachedTokens: int(u.PromptDetails.CachedTokens), ReasoningTokens: int(u.CompletionDetails.Reasoning),
		}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 || r.whole && r.chosen {
			continue
		}
		p := &choice.Delta
		if r.whole {
			p = &choice.Message
		}
		if err := r.addPiece(p); err != nil {
			return err
		}
		r.chosen, r.finish = true, cmp.Or(choice.FinishReason, r.finish)
	}
	return nil
}

func (r *reader) addPiece(p *piece) error {
	text, thought, err := r.readContent(p.Content)
	if err != nil {
		return r.BadAnswerError("holds a content that is neither text nor a list of parts: %v", err)
	}
	r.PassThought(cmp.Or(p.Reasoning, p.Thought, thought))
	r.AddText(text)
	r.refusal.WriteString(p.Refusal)
	r.kept.Reasoning += p.Reasoning
	r.kept.Details = append(r.kept.Details, p.ReasoningDetails...)
	if hasValue(p.Extra) {
		r.kept.Extra = p.Extra
	}
	for i := range p.ToolCalls {
		r.addCall(&p.ToolCalls[i])
	}
	return nil
}

// readContent returns the text and the thought of a content, and keeps the thought.
func (r *reader) readContent(raw json.RawMessage) (text, thought string, err error) {
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, "", nil
	}
	var parts []part
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", "", err
	}
	for _, p := range parts {
		switch p.Type {
		case "text":
			text += p.Text
		case "thinking":
			r.kept.addThought(p.Thinking)
			for _, piece := range p.Thinking {
				thought += piece.Text
			}
		}
	}
	return text, thought, nil
}

// addThought joins the pieces of a thought, which come one by one in a stream.
func (k *kept) addThought(pieces []part) {
	if len(k.Parts) == 0 {
		k.Parts = []part{{Type: "thinking"}}
	}
	thought := &k.Parts[0]
	for _, p := range pieces {
		if n := len(thought.Thinking); n > 0 && p.Type == "text" && thought.Thinking[n-1].Type == "text" {
			thought.Thinking[n-1].Text += p.Text
		} else {
			thought.Thinking = append(thought.Thinking, p)
		}
	}
}

func (r *reader) addCall(p *callPiece) {
	var call *toolCall
	for _, c := range r.calls {
		if p.Index == nil || c.index == int(*p.Index) {
			call = c
		}
	}
	if call == nil || r.whole || p.beginsCall(call) {
		call = &toolCall{index: len(r.calls)}
		if p.Index != nil {
			call.index = int(*p.Index)
		}
		r.calls = append(r.calls, call)
	}
	call.id, call.name = cmp.Or(p.ID, call.id), cmp.Or(call.name, p.Function.Name)
	if hasValue(p.Extra) {
		call.extra = p.Extra
	}
	call.args.WriteString(string(p.Function.Arguments))
}

// beginsCall reports whether a piece begins another call than the one at its index. Ids decide if
// both have one. Some servers repeat the name with each piece, and some give all calls the index 0:
// a repeated name begins a call once the arguments before it are complete.
func (p *callPiece) beginsCall(call *toolCall) bool {
	switch {
	case p.ID != "" && call.id != "":
		return p.ID != call.id
	case p.Function.Name == "":
		return false
	}
	return call.name != "" && p.Function.Name != call.name || json.Valid([]byte(call.args.String()))
}

// Response returns the whole answer.
func (r *reader) Response() (*model.Response, error) {
	if !r.chosen {
		return nil, r.BadAnswerError("holds no choices")
	}
	out := &model.Response{Content: r.Text.String(), Usage: r.usage}
	out.Usage.Unreported = r.usage.InputTokens == 0 && r.usage.OutputTokens == 0
	slices.SortStableFunc(r.calls, func(a, b *toolCall) int { return a.index - b.index })
	for i, c := range r.calls {
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d_%d", len(r.Req.Messages), i+1)
		}
		out.ToolCalls = append(out.ToolCalls, wire.NewToolCall(c.id, r.Names.ToGraph(c.name), c.args.String()))
		if c.extra != nil {
			if r.kept.Calls == nil {
				r.kept.Calls = map[string]json.RawMessage{}
			}
			r.kept.Calls[c.id] = c.extra
		}
	}
	if !reflect.ValueOf(r.kept).IsZero() {
		out.Thinking = wire.EncodeKept(r.Provider, out, &r.kept)
	}
	isCut := slices.Contains([]string{"length", "max_tokens", "model_length"}, r.finish) // the last is Mistral's
	return r.WithStop(out, r.refusal.String(), r.finish == "content_filter", isCut)
}

// hasValue reports whether a key has a value: several servers send empty errors.
func hasValue(raw json.RawMessage) bool {
	return len(raw) > 0 && !slices.Contains([]string{"null", `""`, "{}", "[]", "false", "0"}, string(raw))
}
