// What comes back: a whole response, or a stream of events that build one.

package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// result is a whole response.
type result struct {
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      *usage            `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// usage counts tokens. Those that were cached, read or written, are part of the
// input's, and those of reasoning part of the output's.
type usage struct {
	Input        wire.Count `json:"input_tokens"`
	InputDetails struct {
		Cached     wire.Count `json:"cached_tokens"`
		CacheWrite wire.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output        wire.Count `json:"output_tokens"`
	OutputDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// item is a part of an answer. Of the shapes that it can have, only what is used.
type item struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Phase   string `json:"phase"` // of a message: commentary or final_answer
	Content []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Encrypted string          `json:"encrypted_content"`
}

// event is any event of a stream.
type event struct {
	Type     string          `json:"type"`
	Delta    json.RawMessage `json:"delta"`
	Index    int             `json:"output_index"`
	Item     json.RawMessage `json:"item"`
	Response result          `json:"response"`
}

// finished is an item that a stream has told to its end, and its place.
type finished struct {
	index int
	item  json.RawMessage
}

// gathering puts an answer together. It belongs to one call.
type gathering struct {
	provider string
	answer   *wire.Answer
	names    *wire.Names

	items   []json.RawMessage // as they go back
	opaque  bool              // some of them say more than text and calls do
	text    strings.Builder   // of all messages
	final   strings.Builder   // of those that are the final answer
	ends    bool              // there is such a one
	refusal strings.Builder
	calls   []item
	told    strings.Builder // what has been streamed
	thinks  func(chunk string)
}

// whole reads an answer that came at once.
func (g *gathering) whole(r *result, onText func(string)) (*model.Response, error) {
	out, err := g.response(r)
	if err == nil && onText != nil && out.Content != "" && out.Stop != model.StopRefusal {
		onText(out.Content)
	}
	return out, err
}

// stream reads events until the answer is complete. An item counts when it is
// done: what was said of it before may be in part.
func (g *gathering) stream(onText func(string)) (*model.Response, error) {
	events := wire.NewEvents(g.answer)
	var done []finished
	thought := false // a part of it has begun
	for {
		_, data, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil, g.answer.Cut()
		}
		if err != nil {
			return nil, err
		}
		if string(data) == "[DONE]" {
			return nil, g.answer.Cut()
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, g.answer.Bad(fmt.Sprintf("streams an event that is not JSON: %v", err))
		}
		switch e.Type {
		case "error":
			return nil, g.answer.Failed(0, data)
		case "response.output_text.delta":
			g.tell(e.Delta, onText)
		case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
			var text string
			if json.Unmarshal(e.Delta, &text) == nil {
				wire.Tell(g.thinks, text)
			}
		case "response.reasoning_summary_part.added":
			if thought {
				wire.Tell(g.thinks, "\n\n")
			}
			thought = true
		case "response.output_item.done":
			done = append(done, finished{e.Index, e.Item})
		case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
			return g.last(&e.Response, done)
		}
	}
}

func (g *gathering) tell(delta json.RawMessage, onText func(string)) {
	var text string
	if json.Unmarshal(delta, &text) != nil || text == "" {
		return
	}
	g.told.WriteString(text)
	if onText != nil {
		onText(text)
	}
}

// last reads the event that ends a stream. Several servers leave the items out of
// it, and some never say that one is done.
func (g *gathering) last(r *result, done []finished) (*model.Response, error) {
	if len(done) > 0 {
		slices.SortStableFunc(done, func(a, b finished) int { return a.index - b.index })
		r.Output = nil
		for _, d := range done {
			r.Output = append(r.Output, d.item)
		}
	}
	if len(r.Output) == 0 && g.told.Len() > 0 {
		g.text.WriteString(g.told.String())
	}
	return g.response(r)
}

// response is the whole answer, once nothing more can come.
func (g *gathering) response(r *result) (*model.Response, error) {
	if r.Status == "failed" || len(r.Error) > 0 && string(r.Error) != "null" {
		return nil, g.answer.Failed(0, fmt.Appendf(nil, `{"error":%s}`, r.Error))
	}
	for _, raw := range r.Output {
		var it item
		err := json.Unmarshal(raw, &it)
		if it.Type == "" || err != nil && (it.Type == "message" || it.Type == "function_call") {
			return nil, g.answer.Bad(fmt.Sprintf("holds an item that can't be read: %.80s", raw))
		}
		g.items = append(g.items, raw)
		g.add(&it)
	}
	out := &model.Response{Content: g.content(), Usage: r.Usage.counted()}
	for i := range g.calls {
		c := &g.calls[i]
		out.ToolCalls = append(out.ToolCalls, wire.Call(c.CallID, g.names.Graph(c.Name), c.arguments()))
	}
	if g.opaque {
		out.Thinking = wire.Keep(g.provider, g.items)
	}
	switch out.Stop = g.stop(r); {
	case out.Stop == model.StopRefusal && out.Content == "":
		out.Content = g.refusal.String()
	case out.Stop == model.StopFilter && out.Content == "":
		return nil, g.answer.Filtered()
	case out.Stop == model.StopEnd && len(r.Output) == 0 && out.Content == "":
		return nil, g.answer.Bad("holds no output")
	}
	return out, nil
}

// add takes in a whole item. A call that was cut is none.
func (g *gathering) add(it *item) {
	switch it.Type {
	case "message":
		g.opaque = g.opaque || it.Phase != ""
		g.ends = g.ends || it.Phase == "final_answer"
		for _, part := range it.Content {
			g.text.WriteString(part.Text)
			g.refusal.WriteString(part.Refusal)
			if it.Phase == "final_answer" {
				g.final.WriteString(part.Text)
			}
		}
	case "function_call":
		if it.Status != "incomplete" {
			g.calls = append(g.calls, *it)
		}
	default:
		g.opaque = true
	}
}

// content is the text of the answer: of the final one, where the model comments
// on its way there.
func (g *gathering) content() string {
	if g.ends {
		return g.final.String()
	}
	return g.text.String()
}

func (g *gathering) stop(r *result) model.StopReason {
	switch {
	case g.refusal.Len() > 0:
		return model.StopRefusal
	case r.Incomplete.Reason == "content_filter":
		return model.StopFilter
	case r.Status == "incomplete", r.Status == "cancelled":
		return model.StopLength
	case len(g.calls) > 0:
		return model.StopToolCalls
	}
	return model.StopEnd
}

// arguments are a text, which some servers send as an object.
func (it *item) arguments() string {
	var text string
	if json.Unmarshal(it.Arguments, &text) != nil {
		return string(it.Arguments)
	}
	return text
}

func (u *usage) counted() model.Usage {
	if u == nil || u.Input == 0 && u.Output == 0 { // an answer without a token is none
		return model.Usage{Unreported: true}
	}
	return model.Usage{
		InputTokens: int(u.Input), CachedTokens: int(u.InputDetails.Cached), CacheWriteTokens: int(u.InputDetails.CacheWrite),
		OutputTokens: int(u.Output), ReasoningTokens: int(u.OutputDetails.Reasoning),
	}
}
