// Answers: a whole completion, or a stream of pieces of one.

package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// completion is a whole answer or a chunk of a stream, whose choices have a delta in
// place of a message.
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

// kept is what the server wants back with a message.
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
	text, refusal strings.Builder
	calls         []*toolCall
	kept          kept
	finish        string
	usage         model.Usage
	chosen        bool // there was a choice
	whole         bool
}

// Whole reads an answer that came at once.
func (r *reader) Whole(body []byte) error {
	var c completion
	if err := r.Decode(body, &c); err != nil {
		return err
	}
	if isSet(c.Error) {
		return r.reportedFailure(c.Error)
	}
	r.whole = true
	return r.add(&c)
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
	case isSet(c.Error):
		err = r.reportedFailure(c.Error)
	case c.Object == "error", name == "error":
		err = r.reportedFailure(data)
	default:
		err = r.add(&c)
	}
	if err == nil && r.finish != "" {
		return wire.MayEnd, nil
	}
	return 0, err
}

func (r *reader) add(c *completion) error {
	if u := c.Usage; u != nil {
		r.usage = model.Usage{
			InputTokens: int(u.PromptTokens), OutputTokens: int(u.CompletionTokens),
			CachedTokens: int(u.PromptDetails.CachedTokens), ReasoningTokens: int(u.CompletionDetails.Reasoning),
		}
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
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
	text, thought, err := r.content(p.Content)
	if err != nil {
		return r.Bad("holds a content that is neither text nor a list of parts: %v", err)
	}
	r.Thought(cmp.Or(p.Reasoning, p.Thought, thought))
	r.text.WriteString(text)
	r.Text(text)
	r.refusal.WriteString(p.Refusal)
	r.kept.Reasoning += p.Reasoning
	r.kept.Details = append(r.kept.Details, p.ReasoningDetails...)
	if isSet(p.Extra) {
		r.kept.Extra = p.Extra
	}
	for i := range p.ToolCalls {
		r.addCall(&p.ToolCalls[i])
	}
	return nil
}

// content returns the text of a content and what the model thought, which it keeps.
func (r *reader) content(raw json.RawMessage) (text, thought string, err error) {
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
			r.kept.think(p.Thinking)
			for _, piece := range p.Thinking {
				thought += piece.Text
			}
		}
	}
	return text, thought, nil
}

// think joins the pieces of a thought, which come one by one in a stream.
func (k *kept) think(pieces []part) {
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

// addCall adds a piece to its call.
func (r *reader) addCall(p *callPiece) {
	var call *toolCall
	for _, c := range r.calls {
		if p.Index == nil || c.index == int(*p.Index) {
			call = c
		}
	}
	if call == nil || r.whole || p.begins(call) {
		call = &toolCall{index: len(r.calls)}
		if p.Index != nil {
			call.index = int(*p.Index)
		}
		r.calls = append(r.calls, call)
	}
	call.id, call.name = cmp.Or(p.ID, call.id), cmp.Or(call.name, p.Function.Name)
	if isSet(p.Extra) {
		call.extra = p.Extra
	}
	call.args.WriteString(string(p.Function.Arguments))
}

// begins reports whether a piece is the first of another call than the one at its
// index. Ids tell, where there are some. Some servers repeat the name with each piece,
// and some give all calls the index 0: a repeated name begins a call once the
// arguments before it are complete.
func (p *callPiece) begins(call *toolCall) bool {
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
		return nil, r.Bad("holds no choices")
	}
	out := &model.Response{Content: r.text.String(), Usage: r.usage, Stop: r.stop()}
	out.Usage.Unreported = r.usage.InputTokens == 0 && r.usage.OutputTokens == 0
	slices.SortStableFunc(r.calls, func(a, b *toolCall) int { return a.index - b.index })
	for i, c := range r.calls {
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d_%d", len(r.Req.Messages), i+1)
		}
		out.ToolCalls = append(out.ToolCalls, wire.NewCall(c.id, r.Names.Graph(c.name), c.args.String()))
		if c.extra != nil {
			if r.kept.Calls == nil {
				r.kept.Calls = map[string]json.RawMessage{}
			}
			r.kept.Calls[c.id] = c.extra
		}
	}
	if !reflect.ValueOf(r.kept).IsZero() {
		out.Thinking = wire.Keep(r.Provider, &r.kept)
	}
	if out.Stop == model.StopRefusal && out.Content == "" {
		out.Content = r.refusal.String()
	}
	if out.Stop == model.StopFilter && out.Content == "" {
		return nil, r.Filtered()
	}
	return out, nil
}

// stop returns why the answer ended. Several servers say "stop" after tool calls.
func (r *reader) stop() model.StopReason {
	switch {
	case r.refusal.Len() > 0:
		return model.StopRefusal
	case r.finish == "content_filter":
		return model.StopFilter
	case slices.Contains([]string{"length", "max_tokens", "model_length"}, r.finish): // the last is Mistral's
		return model.StopLength
	case len(r.calls) > 0:
		return model.StopToolCalls
	}
	return model.StopEnd
}

// reportedFailure returns the failure that stands in place of the answer.
func (r *reader) reportedFailure(report json.RawMessage) error {
	var inner struct {
		Code  any             `json:"code"`
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(report, &inner)
	if isSet(inner.Error) {
		return r.reportedFailure(inner.Error)
	}
	status := 0
	if n, ok := inner.Code.(float64); ok && n >= 300 && n < 600 {
		status = int(n) // of OpenRouter
	}
	return r.Failed(status, fmt.Appendf(nil, `{"error":%s}`, report))
}

// isSet reports whether a key has a value: several servers send empty errors.
func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && !slices.Contains([]string{"null", `""`, "{}", "[]", "false", "0"}, string(raw))
}
