// Answers: a whole message, or a stream of events that build one.

package anthropic

import (
	"cmp"
	"encoding/json"
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
	text   strings.Builder
	calls  []model.ToolCall
	blocks []any // as they go back
	opaque bool  // some of them are thinking
	stop   string
	usage  usage

	open *block // of a stream
	raw  json.RawMessage
	args strings.Builder
}

// Whole reads an answer that came at once.
func (r *reader) Whole(body []byte) error {
	var m reply
	if err := r.Decode(body, &m); err != nil {
		return err
	}
	if m.Type != "message" {
		return r.Bad("is of type %q; a message is needed", m.Type)
	}
	r.stop, r.usage = m.StopReason, m.Usage
	for _, raw := range m.Content {
		if err := r.begin(raw); err != nil {
			return err
		}
		r.add(string(r.open.Input))
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
		return 0, r.Failed(0, data)
	case "message_stop":
		return wire.Ended, nil
	case "message_start":
		r.usage = e.Message.Usage
	case "content_block_start":
		return 0, r.begin(e.Block)
	case "content_block_delta":
		if r.open == nil {
			return 0, r.Bad("streams a piece of a block that has not begun")
		}
		r.say(e.Delta.Text)
		r.args.WriteString(e.Delta.JSON)
		r.open.Text += e.Delta.Text
		r.open.Thinking += e.Delta.Thinking
		r.open.Signature += e.Delta.Signature
		r.Thought(e.Delta.Thinking)
	case "content_block_stop":
		if r.open != nil {
			r.add(r.args.String())
			r.open = nil
		}
	case "message_delta":
		r.stop = e.Delta.StopReason
		if u := e.Usage; u != nil { // totals; what they leave out stays
			r.usage = usage{cmp.Or(u.Input, r.usage.Input), u.Output, cmp.Or(u.CacheRead, r.usage.CacheRead), cmp.Or(u.CacheWrite, r.usage.CacheWrite)}
		}
	}
	return 0, nil
}

// begin reads a block, which a stream completes later.
func (r *reader) begin(raw json.RawMessage) error {
	r.open, r.raw = &block{}, raw
	r.args.Reset()
	if err := json.Unmarshal(raw, r.open); err != nil {
		return r.Bad("holds a block that can't be read: %v", err)
	}
	if r.open.Type == "text" {
		r.say(r.open.Text)
	}
	return nil
}

func (r *reader) say(text string) {
	r.text.WriteString(text)
	r.Text(text)
}

// add takes in the whole block that is open.
func (r *reader) add(input string) {
	switch b := r.open; b.Type {
	case "text":
		r.blocks = append(r.blocks, textBlock(b.Text))
	case "tool_use":
		call := wire.NewCall(b.ID, r.Names.Graph(b.Name), input)
		r.calls = append(r.calls, call)
		args, _ := wire.Args(call) // its arguments were JSON
		r.blocks = append(r.blocks, toolBlock(b.ID, b.Name, args))
	case "thinking":
		r.keep(map[string]any{"thinking": b.Thinking, "signature": b.Signature})
	case "redacted_thinking":
		r.keep(nil)
	}
}

// keep keeps a block of thinking with all its fields, some of which a stream sends in
// pieces.
func (r *reader) keep(streamed map[string]any) {
	fields := map[string]any{}
	_ = json.Unmarshal(r.raw, &fields) // begin did
	maps.Copy(fields, streamed)
	r.blocks, r.opaque = append(r.blocks, fields), true
}

// Response returns the whole answer.
func (r *reader) Response() (*model.Response, error) {
	u := r.usage
	out := &model.Response{Content: r.text.String(), ToolCalls: r.calls, Stop: model.StopEnd, Usage: model.Usage{
		InputTokens: u.Input + u.CacheRead + u.CacheWrite, OutputTokens: u.Output,
		CachedTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite, Unreported: u == usage{}, // compatible servers may count nothing
	}}
	if r.opaque {
		out.Thinking = wire.Keep(r.Provider, r.blocks)
	}
	switch r.stop {
	case "":
		return nil, r.Bad("says no stop_reason")
	case "refusal":
		out.Stop = model.StopRefusal
		if out.Content == "" {
			return nil, r.Filtered()
		}
	case "max_tokens", "model_context_window_exceeded", "pause_turn": // the last wants to go on
		out.Stop = model.StopLength
	case "tool_use":
		out.Stop = model.StopToolCalls
	}
	return out, nil
}
