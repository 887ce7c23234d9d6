// What comes back: a whole completion, or a stream of pieces of one.

package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// completion is a whole answer, or a chunk of a streamed one: then the choices
// have a delta in place of a message.
type completion struct {
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Message      said   `json:"message"`
	Delta        said   `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

type said struct {
	Content   string  `json:"content"`
	Refusal   string  `json:"refusal"`
	ToolCalls []piece `json:"tool_calls"`
}

// piece is a tool call or, in a stream, a part of one. Servers leave out the
// index when they send a call at once, and some send arguments as an object.
type piece struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// gathering puts an answer together. It belongs to one call.
type gathering struct {
	answer *wire.Answer
	names  *wire.Names
	turn   int // messages before the answer, for ids that the server leaves out

	text    strings.Builder
	refusal strings.Builder
	calls   []*gathered
	finish  string
	usage   *usage
	chosen  bool
}

type gathered struct {
	index    int
	id, name string
	args     strings.Builder
}

// whole reads an answer that came at once.
func (g *gathering) whole(c *completion, onText func(string)) (*model.Response, error) {
	if isSet(c.Error) {
		return nil, g.failed(c.Error)
	}
	g.usage = c.Usage
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			g.add(&c.Choices[i].Message, onText)
			g.chosen, g.finish = true, c.Choices[i].FinishReason
			break
		}
	}
	return g.response()
}

// stream reads events until the answer is complete.
func (g *gathering) stream(onText func(string)) (*model.Response, error) {
	events := wire.NewEvents(g.answer)
	for {
		_, data, err := events.Next()
		if errors.Is(err, io.EOF) {
			if g.finish == "" {
				return nil, g.answer.Cut()
			}
			return g.response()
		}
		if err != nil {
			return nil, err
		}
		if string(data) == "[DONE]" {
			return g.response()
		}
		var c completion
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, g.answer.Bad(fmt.Sprintf("streams an event that is not JSON: %v", err))
		}
		if isSet(c.Error) {
			return nil, g.failed(c.Error)
		}
		g.chunk(&c, onText)
	}
}

func (g *gathering) chunk(c *completion, onText func(string)) {
	if c.Usage != nil {
		g.usage = c.Usage
	}
	for i := range c.Choices {
		if choice := &c.Choices[i]; choice.Index == 0 {
			g.chosen = true
			g.add(&choice.Delta, onText)
			if choice.FinishReason != "" {
				g.finish = choice.FinishReason
			}
		}
	}
}

func (g *gathering) add(s *said, onText func(string)) {
	if s.Content != "" {
		g.text.WriteString(s.Content)
		if onText != nil {
			onText(s.Content)
		}
	}
	g.refusal.WriteString(s.Refusal)
	for i := range s.ToolCalls {
		g.piece(&s.ToolCalls[i])
	}
}

// piece adds to the call that it belongs to: that of its index, unless an id
// says that another one begins; without an index, the last one.
func (g *gathering) piece(p *piece) {
	var call *gathered
	for _, c := range g.calls {
		if p.Index == nil || c.index == *p.Index {
			call = c
		}
	}
	if call == nil || p.ID != "" && call.id != "" && p.ID != call.id || p.Index == nil && p.Function.Name != "" {
		call = &gathered{index: len(g.calls)}
		if p.Index != nil {
			call.index = *p.Index
		}
		g.calls = append(g.calls, call)
	}
	if p.ID != "" {
		call.id = p.ID
	}
	if call.name == "" {
		call.name = p.Function.Name
	}
	var text string
	if err := json.Unmarshal(p.Function.Arguments, &text); err != nil {
		text = string(p.Function.Arguments)
	}
	call.args.WriteString(text)
}

// response is the whole answer, once nothing more can come.
func (g *gathering) response() (*model.Response, error) {
	if !g.chosen {
		return nil, g.answer.Bad("holds no choices")
	}
	out := &model.Response{Content: g.text.String(), Usage: model.Usage{Unreported: g.usage == nil}}
	for i, c := range g.calls {
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d_%d", g.turn, i+1)
		}
		out.ToolCalls = append(out.ToolCalls, wire.Call(c.id, g.names.Graph(c.name), c.args.String()))
	}
	if u := g.usage; u != nil {
		out.Usage = model.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, CachedTokens: u.PromptDetails.CachedTokens}
	}
	out.Stop = g.stop()
	if out.Stop == model.StopFilter && out.Content == "" {
		out.Content = g.refusal.String()
		if out.Content == "" {
			return nil, g.answer.Filtered()
		}
	}
	return out, nil
}

// stop translates why the answer ended. Several servers say "stop" after tool
// calls too.
func (g *gathering) stop() model.StopReason {
	switch {
	case g.finish == "content_filter", g.refusal.Len() > 0:
		return model.StopFilter
	case g.finish == "length":
		return model.StopLength
	case len(g.calls) > 0:
		return model.StopToolCalls
	}
	return model.StopEnd
}

// failed is an error that stands where the answer should.
func (g *gathering) failed(report json.RawMessage) error {
	var inner struct {
		Code any `json:"code"`
	}
	_ = json.Unmarshal(report, &inner)
	status := 0
	if n, ok := inner.Code.(float64); ok && n >= 300 && n < 600 {
		status = int(n) // as OpenRouter reports
	}
	return g.answer.Failed(status, fmt.Appendf(nil, `{"error":%s}`, report))
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// explain reads {"error": {"message", "type", "code"}} and what other servers
// make of it: a text in place of the object, or message at the top.
func explain(body []byte) (code, text string) {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	_ = json.Unmarshal(body, &outer)
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	if json.Unmarshal(outer.Error, &inner) != nil {
		_ = json.Unmarshal(outer.Error, &inner.Message)
	}
	code, _ = inner.Code.(string)
	if code == "" {
		code = inner.Type
	}
	if inner.Message == "" {
		inner.Message = outer.Message
	}
	return code, inner.Message
}
