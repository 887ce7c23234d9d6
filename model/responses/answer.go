// Answers: a whole response, or a stream of events that build one.

package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

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

// finished is an item that a stream has completed.
type finished struct {
	index int
	item  json.RawMessage
}

type reader struct {
	*wire.Call
	result   result
	done     []finished      // of a stream
	streamed strings.Builder // text of a stream
	thought  bool            // a part of a thought has begun

	opaque  bool            // items say more than text and calls do
	text    strings.Builder // of all messages
	final   strings.Builder // of those that are the final answer
	isFinal bool            // one is
	refusal strings.Builder
	calls   []item
}

// Whole reads an answer that came at once.
func (r *reader) Whole(body []byte) error { return r.Decode(body, &r.result) }

// Event reads an event. Items count when they are done; until then they may be partial.
func (r *reader) Event(_ string, data []byte) (wire.Progress, error) {
	if string(data) == "[DONE]" {
		return 0, r.Cut()
	}
	var e event
	if err := r.DecodeEvent(data, &e); err != nil {
		return 0, err
	}
	var delta string
	if strings.HasSuffix(e.Type, ".delta") {
		_ = json.Unmarshal(e.Delta, &delta) // others are objects, which are not used
	}
	switch e.Type {
	case "error":
		return 0, r.Failed(0, data)
	case "response.output_text.delta":
		r.streamed.WriteString(delta)
		r.Text(delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.Thought(delta)
	case "response.reasoning_summary_part.added":
		if r.thought {
			r.Thought("\n\n")
		}
		r.thought = true
	case "response.output_item.done":
		r.done = append(r.done, finished{e.Index, e.Item})
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		r.end(&e.Response)
		return wire.Ended, nil
	}
	return 0, nil
}

// end reads the event that ends a stream. Several servers leave the items out of it,
// and some never say that one is done.
func (r *reader) end(last *result) {
	r.result = *last
	if len(r.done) > 0 {
		slices.SortStableFunc(r.done, func(a, b finished) int { return a.index - b.index })
		r.result.Output = nil
		for _, d := range r.done {
			r.result.Output = append(r.result.Output, d.item)
		}
	}
	if len(r.result.Output) == 0 {
		r.text.WriteString(r.streamed.String())
	}
}

// Response returns the whole answer.
func (r *reader) Response() (*model.Response, error) {
	res := &r.result
	if res.Status == "failed" || len(res.Error) > 0 && string(res.Error) != "null" {
		return nil, r.Failed(0, fmt.Appendf(nil, `{"error":%s}`, res.Error))
	}
	for _, raw := range res.Output {
		var it item
		err := json.Unmarshal(raw, &it)
		if it.Type == "" || err != nil && (it.Type == "message" || it.Type == "function_call") {
			return nil, r.Bad("holds an item that can't be read: %.80s", raw)
		}
		r.add(&it)
	}
	u := &res.Usage
	out := &model.Response{Content: r.content(), Stop: r.stop(), Usage: model.Usage{
		InputTokens: int(u.Input), CachedTokens: int(u.InputDetails.Cached), CacheWriteTokens: int(u.InputDetails.CacheWrite),
		OutputTokens: int(u.Output), ReasoningTokens: int(u.OutputDetails.Reasoning), Unreported: u.Input == 0 && u.Output == 0,
	}}
	for i := range r.calls {
		c := &r.calls[i]
		out.ToolCalls = append(out.ToolCalls, wire.NewCall(c.CallID, r.Names.Graph(c.Name), string(c.Arguments)))
	}
	if r.opaque {
		out.Thinking = wire.Keep(r.Provider, res.Output)
	}
	switch {
	case out.Stop == model.StopRefusal && out.Content == "":
		out.Content = r.refusal.String()
	case out.Stop == model.StopFilter && out.Content == "":
		return nil, r.Filtered()
	case out.Stop == model.StopEnd && len(res.Output) == 0 && out.Content == "":
		return nil, r.Bad("holds no output")
	case r.streamed.Len() == 0 && out.Stop != model.StopRefusal:
		r.Text(out.Content)
	}
	return out, nil
}

// add reads a whole item. A cut call is none.
func (r *reader) add(it *item) {
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

// content returns the final answer, without the model's comments on its way there.
func (r *reader) content() string {
	if r.isFinal {
		return r.final.String()
	}
	return r.text.String()
}

func (r *reader) stop() model.StopReason {
	switch {
	case r.refusal.Len() > 0:
		return model.StopRefusal
	case r.result.Incomplete.Reason == "content_filter":
		return model.StopFilter
	case r.result.Status == "incomplete", r.result.Status == "cancelled":
		return model.StopLength
	case len(r.calls) > 0:
		return model.StopToolCalls
	}
	return model.StopEnd
}
