// What comes back: a whole message, or a stream of events that build one.

package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// reply is a whole message, and the beginning of a streamed one.
type reply struct {
	Type       string            `json:"type"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      *usage            `json:"usage"`
}

// usage counts tokens; what was read from or written to the cache is not part
// of the input tokens here.
type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

// block is a part of a message. Of the shapes it can have, only what is used.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
}

// event is any event of a stream.
type event struct {
	Type    string          `json:"type"`
	Message reply           `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		JSON       string `json:"partial_json"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

// gathering puts an answer together. It belongs to one call.
type gathering struct {
	provider string
	answer   *wire.Answer
	names    *wire.Names

	text   strings.Builder
	calls  []model.ToolCall
	blocks []any // as they go back
	opaque bool  // some of them are thinking
	thinks func(chunk string)
	stop   string
	usage  *usage

	open *block // of a stream: the block that is being sent
	raw  json.RawMessage
	said strings.Builder
	args strings.Builder
}

func (g *gathering) whole(r *reply, onText func(string)) (*model.Response, error) {
	if r.Type != "message" {
		return nil, g.answer.Bad(fmt.Sprintf("is of type %q; a message is needed", r.Type))
	}
	g.stop, g.usage = r.StopReason, r.Usage
	for _, raw := range r.Content {
		var b block
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, g.answer.Bad(fmt.Sprintf("holds a block that can't be read: %v", err))
		}
		g.raw = raw
		g.add(&b, string(b.Input), onText)
	}
	return g.response()
}

// stream reads events until the message is complete.
func (g *gathering) stream(onText func(string)) (*model.Response, error) {
	events := wire.NewEvents(g.answer)
	for {
		_, data, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil, g.answer.Cut()
		}
		if err != nil {
			return nil, err
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, g.answer.Bad(fmt.Sprintf("streams an event that is not JSON: %v", err))
		}
		switch e.Type {
		case "error":
			return nil, g.answer.Failed(0, data)
		case "message_stop":
			return g.response()
		}
		if err := g.event(&e, onText); err != nil {
			return nil, err
		}
	}
}

// event takes one event in. Unknown ones are passed over, as the protocol asks.
func (g *gathering) event(e *event, onText func(string)) error {
	switch e.Type {
	case "message_start":
		g.usage = e.Message.Usage
	case "content_block_start":
		g.open, g.raw = &block{}, e.Block
		g.args.Reset()
		g.said.Reset()
		if err := json.Unmarshal(e.Block, g.open); err != nil {
			return g.answer.Bad(fmt.Sprintf("streams a block that can't be read: %v", err))
		}
		g.said.WriteString(g.open.Text)
		g.say(g.open.Text, onText)
	case "content_block_delta":
		if g.open == nil {
			return g.answer.Bad("streams a piece of a block that has not begun")
		}
		g.said.WriteString(e.Delta.Text)
		g.say(e.Delta.Text, onText)
		g.args.WriteString(e.Delta.JSON)
		g.open.Thinking += e.Delta.Thinking
		wire.Tell(g.thinks, e.Delta.Thinking)
		g.open.Signature += e.Delta.Signature
	case "content_block_stop":
		if g.open != nil {
			g.open.Text = "" // it is said already
			g.add(g.open, g.args.String(), onText)
			g.open = nil
		}
	case "message_delta":
		g.stop = e.Delta.StopReason
		g.count(e.Usage)
	}
	return nil
}

// count takes the totals at the end of a stream; what they leave out was said
// at its beginning.
func (g *gathering) count(u *usage) {
	if u == nil {
		return
	}
	if g.usage == nil {
		g.usage = &usage{}
	}
	g.usage.Output = u.Output
	if u.Input > 0 {
		g.usage.Input = u.Input
	}
	if u.CacheRead > 0 {
		g.usage.CacheRead = u.CacheRead
	}
	if u.CacheWrite > 0 {
		g.usage.CacheWrite = u.CacheWrite
	}
}

func (g *gathering) say(text string, onText func(string)) {
	if text == "" {
		return
	}
	g.text.WriteString(text)
	if onText != nil {
		onText(text)
	}
}

// add takes in a whole block.
func (g *gathering) add(b *block, input string, onText func(string)) {
	switch b.Type {
	case "text":
		if b.Text != "" {
			g.said.Reset()
			g.said.WriteString(b.Text)
		}
		g.say(b.Text, onText)
		g.blocks = append(g.blocks, textBlock{"text", g.said.String()})
	case "tool_use":
		call := wire.Call(b.ID, g.names.Graph(b.Name), input)
		g.calls = append(g.calls, call)
		args, _ := wire.Args(call) // it was read just now
		g.blocks = append(g.blocks, toolUse{"tool_use", wireID(b.ID), b.Name, args})
	case "thinking":
		g.keep(map[string]any{"thinking": b.Thinking, "signature": b.Signature})
	case "redacted_thinking":
		g.keep(nil)
	}
}

// keep keeps a block of thinking with all of its fields; a stream has told some
// of them in pieces.
func (g *gathering) keep(told map[string]any) {
	fields := map[string]any{}
	_ = json.Unmarshal(g.raw, &fields) // it was read before
	maps.Copy(fields, told)
	g.blocks, g.opaque = append(g.blocks, fields), true
}

// response is the whole answer, once nothing more can come.
func (g *gathering) response() (*model.Response, error) {
	out := &model.Response{Content: g.text.String(), ToolCalls: g.calls, Usage: model.Usage{Unreported: true}}
	if u := g.usage; u != nil && u.Input+u.CacheRead+u.CacheWrite+u.Output != 0 { // a compatible server may count nothing
		out.Usage = model.Usage{
			InputTokens: u.Input + u.CacheRead + u.CacheWrite, OutputTokens: u.Output, CachedTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
		}
	}
	if g.opaque {
		out.Thinking = wire.Keep(g.provider, g.blocks)
	}
	switch g.stop {
	case "":
		return nil, g.answer.Bad("says no stop_reason")
	case "refusal":
		out.Stop = model.StopRefusal
		if out.Content == "" {
			return nil, g.answer.Filtered()
		}
	case "max_tokens", "model_context_window_exceeded", "pause_turn": // it wants to go on
		out.Stop = model.StopLength
	case "tool_use":
		out.Stop = model.StopToolCalls
	default:
		out.Stop = model.StopEnd
	}
	return out, nil
}
