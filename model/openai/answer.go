// What comes back: a whole completion, or a stream of pieces of one.

package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
	// Object is "error" in errors of an older form, which are flat.
	Object string `json:"object"`
}

type choice struct {
	Index        wire.Count `json:"index"`
	Message      said       `json:"message"`
	Delta        said       `json:"delta"`
	FinishReason string     `json:"finish_reason"`
}

// gathering puts an answer together. It belongs to one call.
type gathering struct {
	thinks func(chunk string)
	answer *wire.Answer
	names  *wire.Names
	turn   int // messages before the answer, for ids that the server leaves out

	text    strings.Builder
	refusal strings.Builder
	chat    *Client
	calls   []*gathered
	kept    kept
	finish  string
	usage   *usage
	chosen  bool
	atOnce  bool // not in pieces
}

// whole reads an answer that came at once.
func (g *gathering) whole(c *completion, onText func(string)) (*model.Response, error) {
	if isSet(c.Error) {
		return nil, g.failed(c.Error)
	}
	g.usage = c.Usage
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			g.atOnce = true
			if err := g.add(&c.Choices[i].Message, onText); err != nil {
				return nil, err
			}
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
		name, data, err := events.Next()
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
		switch {
		case isSet(c.Error):
			return nil, g.failed(c.Error)
		case c.Object == "error", string(name) == "error":
			return nil, g.failed(data)
		}
		if err := g.chunk(&c, onText); err != nil {
			return nil, err
		}
	}
}

func (g *gathering) chunk(c *completion, onText func(string)) error {
	if c.Usage != nil {
		g.usage = c.Usage
	}
	for i := range c.Choices {
		if choice := &c.Choices[i]; choice.Index == 0 {
			g.chosen = true
			if err := g.add(&choice.Delta, onText); err != nil {
				return err
			}
			if choice.FinishReason != "" {
				g.finish = choice.FinishReason
			}
		}
	}
	return nil
}

func (g *gathering) add(s *said, onText func(string)) error {
	text, thought, err := g.kept.content(s.Content)
	if err != nil {
		return g.answer.Bad(err.Error())
	}
	wire.Tell(g.thinks, cmp.Or(s.Reasoning, s.Thought, thought))
	if text != "" {
		g.text.WriteString(text)
		if onText != nil {
			onText(text)
		}
	}
	g.refusal.WriteString(s.Refusal)
	g.kept.add(s)
	for i := range s.ToolCalls {
		g.piece(&s.ToolCalls[i])
	}
	return nil
}

// response is the whole answer, once nothing more can come.
func (g *gathering) response() (*model.Response, error) {
	if !g.chosen {
		return nil, g.answer.Bad("holds no choices")
	}
	out := &model.Response{Content: g.text.String(), Usage: model.Usage{Unreported: g.usage == nil}}
	slices.SortStableFunc(g.calls, func(a, b *gathered) int { return a.index - b.index })
	for i, c := range g.calls {
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d_%d", g.turn, i+1)
		}
		out.ToolCalls = append(out.ToolCalls, wire.Call(c.id, g.names.Graph(c.name), c.args.String()))
		g.kept.call(c)
	}
	if u := g.usage; u != nil {
		out.Usage = model.Usage{InputTokens: int(u.PromptTokens), OutputTokens: int(u.CompletionTokens), CachedTokens: int(u.PromptDetails.CachedTokens), ReasoningTokens: int(u.CompletionDetails.Reasoning)}
		out.Usage.Unreported = u.PromptTokens == 0 && u.CompletionTokens == 0 // an answer without a token is none
	}
	if !g.kept.empty() {
		out.Thinking = wire.Keep(g.chat.provider, &g.kept)
	}
	out.Stop = g.stop()
	if out.Stop == model.StopRefusal && out.Content == "" {
		out.Content = g.refusal.String()
	}
	if out.Stop == model.StopFilter && out.Content == "" {
		return nil, g.answer.Filtered()
	}
	return out, nil
}

// stop translates why the answer ended. Several servers say "stop" after tool
// calls too.
func (g *gathering) stop() model.StopReason {
	switch {
	case g.refusal.Len() > 0:
		return model.StopRefusal
	case g.finish == "content_filter":
		return model.StopFilter
	case slices.Contains([]string{"length", "max_tokens", "model_length"}, g.finish): // the last is Mistral's
		return model.StopLength
	case len(g.calls) > 0:
		return model.StopToolCalls
	}
	return model.StopEnd
}

// failed is an error that stands where the answer should.
func (g *gathering) failed(report json.RawMessage) error {
	var inner struct {
		Code  any             `json:"code"`
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(report, &inner)
	if isSet(inner.Error) {
		return g.failed(inner.Error)
	}
	status := 0
	if n, ok := inner.Code.(float64); ok && n >= 300 && n < 600 {
		status = int(n) // as OpenRouter reports
	}
	return g.answer.Failed(status, fmt.Appendf(nil, `{"error":%s}`, report))
}

// isSet reports whether an answer holds an error: several servers send the key
// with nothing in it.
func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && !slices.Contains([]string{"null", `""`, "{}", "[]", "false", "0"}, string(raw))
}
