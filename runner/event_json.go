// Events as JSON. It is written by hand because it runs several times a step.

package runner

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// JSONSink writes every event as a line of JSON. Not for concurrent use.
type JSONSink struct {
	w    io.Writer
	line []byte
}

// NewJSONSink returns a sink that writes to w, best a buffered writer, which the caller flushes.
func NewJSONSink(w io.Writer) *JSONSink { return &JSONSink{w: w} }

// Event writes one line.
func (s *JSONSink) Event(e *Event) error {
	s.line = append(e.AppendJSON(s.line[:0]), '\n')
	_, err := s.w.Write(s.line)
	return err
}

// AppendJSON appends the event as one JSON object without a line break. Its keys have a fixed
// order, those of maps are sorted.
func (e *Event) AppendJSON(dst []byte) []byte {
	o := &object{append(append(append(dst, `{"event":"`...), e.Type...), '"')}
	o.number("seq", int(e.Seq))
	o.dst = append(appendTime(append(o.dst, `,"time":"`...), e.Time), '"')
	if e.Type == RunFinished && e.Result != nil {
		o.members(e.Result)
		return append(o.dst, '}')
	}
	o.dst = eval.AppendString(append(o.dst, `,"run_id":`...), e.RunID)
	o.count("step", e.Step)
	o.count("rank", e.Rank)
	o.text("branch", e.Branch)
	o.text("node", e.Node)
	o.text("place", e.Place)
	o.count("visit", e.Visit)
	o.count("attempt", e.Attempt)
	o.flag("finally", e.Finally)
	e.appendContent(o)
	return append(o.dst, '}')
}

// appendContent appends what is particular to the type of the event.
func (e *Event) appendContent(o *object) {
	switch e.Type {
	case RunStarted:
		o.text("graph", e.Graph)
		o.text("start", e.Start)
		o.count("max_steps", e.MaxSteps)
		o.value("input", e.Input)
	case BranchesStarted:
		o.names("next", e.Next)
	case BranchesJoined:
		o.names("from", e.From)
	case NodeRetrying:
		if e.Said != nil && e.Said.Retry != nil {
			o.text("call", e.Said.Retry.What)
		}
		o.count("max_attempts", e.MaxAttempts)
		o.number("next_delay_ms", int(e.NextDelay.Milliseconds()))
		if e.AskedDelay > 0 {
			o.number("asked_delay_ms", int(e.AskedDelay.Milliseconds()))
		}
		o.failure(e.Error)
	case NodeStarted:
		o.text("kind", e.Kind)
	case NodeFailed:
		o.text("kind", e.Kind)
		o.number("duration_ms", int(max(0, e.Duration).Milliseconds()))
		o.failure(e.Error)
	case NodeCompleted:
		o.text("kind", e.Kind)
		o.number("duration_ms", int(max(0, e.Duration).Milliseconds()))
		o.bool("cached", e.Cached)
		o.flag("skipped", e.Skipped && !e.Cached)
		o.value("output", e.Output)
	case EdgesResolved:
		o.count("max_steps", e.MaxSteps)
		o.value("output", e.Output)
		o.names("next", e.Next)
		o.candidates(e.Candidates)
	case RunWaiting:
		o.text("group", e.Waiting.Group)
		o.count("limit", e.Waiting.Limit)
		o.marshal("holders", e.Waiting.Members)
		o.text("cancelling", e.Waiting.Cancelling)
	case RunPaused:
		if r := e.Result; r != nil {
			o.text("reason", r.Reason)
			o.marshal("pending", r.Pending)
			o.marshal("due", r.Due)
			if r.PausedAt != nil {
				o.marshal("paused_at", r.PausedAt)
			}
		}
	case StateUpdated:
		o.key("delta")
		o.pairs(e.Delta)
	case LLMUsage:
		if u := e.Usage; u != nil {
			o.usage(u)
		}
	case ToolCalled, NodeThinking, NodeEvent, NodeOutput:
		if e.Said != nil {
			o.said(e.Type, e.Said)
		}
	}
}

func (o *object) said(kind EventType, s *Said) {
	switch {
	case kind == ToolCalled:
		o.string("tool", s.Name)
		data, _ := s.Data.(map[string]any)
		for _, name := range [...]string{"id", "args", "is_error", "output", "duration_ms"} {
			if value, has := data[name]; has {
				o.value(name, value)
			}
		}
		return
	case kind == NodeThinking || s.Type == "text":
		o.string("text", s.Text)
		o.flag("final", s.Final)
		o.flag("broken", s.Broken)
		return
	}
	o.string("type", s.Type)
	if s.Type == "progress" {
		o.value("percent", s.Percent)
	}
	o.text("message", s.Message)
	switch s.Type {
	case "answer":
		o.text("by", s.Name)
		o.marshal("question", s.Question)
	case "question":
		o.marshal("question", s.Question)
	case "custom", "element", "dropped":
		o.text("name", s.Name)
		o.value("data", s.Data)
	}
}

func (o *object) usage(u *machine.Usage) {
	o.text("model", u.Model)
	o.text("role", u.Role)
	o.number("input_tokens", u.InputTokens)
	o.number("output_tokens", u.OutputTokens)
	o.count("cached_tokens", u.CachedTokens)
	o.count("reasoning_tokens", u.ReasoningTokens)
	o.flag("estimated", u.Estimated)
	if u.DurationMS != nil {
		o.number("duration_ms", int(*u.DurationMS))
	}
	o.marshal("cost_usd", u.CostUSD)
}

// candidates appends the ways out of a node, and why they were taken or not.
func (o *object) candidates(list []machine.Candidate) {
	o.key("candidates")
	o.dst = append(o.dst, '[')
	for i := range list {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		c := &list[i]
		o.dst = strconv.AppendInt(append(o.dst, `{"edge":`...), int64(c.Edge), 10)
		o.text("id", c.ID)
		o.text("to", c.To)
		o.text("condition", c.Condition)
		o.text("when", c.When)
		o.bool("fired", c.Fired)
		o.text("why", c.Why)
		o.dst = append(o.dst, '}')
	}
	o.dst = append(o.dst, ']')
}

// object appends the members of a JSON object, after its first one, to dst.
type object struct{ dst []byte }

func (o *object) key(key string) {
	o.dst = append(append(append(o.dst, `,"`...), key...), `":`...)
}

func (o *object) string(key, s string) {
	o.key(key)
	o.dst = eval.AppendString(o.dst, s)
}

// text appends a text unless it is empty.
func (o *object) text(key, s string) {
	if s != "" {
		o.string(key, s)
	}
}

func (o *object) number(key string, n int) {
	o.key(key)
	o.dst = strconv.AppendInt(o.dst, int64(n), 10)
}

// count appends a number unless it is 0.
func (o *object) count(key string, n int) {
	if n != 0 {
		o.number(key, n)
	}
}

func (o *object) bool(key string, b bool) {
	o.key(key)
	o.dst = strconv.AppendBool(o.dst, b)
}

// flag appends true, or nothing.
func (o *object) flag(key string, b bool) {
	if b {
		o.bool(key, b)
	}
}

// value appends plain data.
func (o *object) value(key string, v any) {
	o.key(key)
	o.dst = appendValue(o.dst, v)
}

func (o *object) names(key string, names []string) {
	o.key(key)
	o.dst = append(o.dst, '[')
	for i, name := range names {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = eval.AppendString(o.dst, name)
	}
	o.dst = append(o.dst, ']')
}

// pairs appends an object with its keys in their order.
func (o *object) pairs(pairs []machine.KeyValue) {
	o.dst = append(o.dst, '{')
	for i := range pairs {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = append(eval.AppendString(o.dst, pairs[i].Key), ':')
		o.dst = appendValue(o.dst, pairs[i].Value)
	}
	o.dst = append(o.dst, '}')
}

func (o *object) failure(f *machine.Failure) {
	if f != nil {
		o.marshal("error", f)
	}
}

// marshal appends what encoding/json makes of v.
func (o *object) marshal(key string, v any) {
	o.key(key)
	o.dst = append(o.dst, marshal(v)...)
}

// members appends the members of a struct that encoding/json makes of it.
func (o *object) members(v any) {
	text := marshal(v)
	o.dst = append(append(o.dst, ','), text[1:len(text)-1]...)
}

// marshal returns the JSON of v with HTML as it is, or null.
func marshal(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// appendValue appends plain data, or null for other data.
func appendValue(dst []byte, v any) []byte {
	out, err := eval.AppendJSON(dst, v)
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}

// appendTime appends an RFC 3339 time in UTC with microseconds.
func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(dst, time.RFC3339) // package time is fast with this layout
	point := len(dst) - len("Z")
	dst = strconv.AppendInt(dst[:point], 1_000_000+int64(t.Nanosecond()/1000), 10)
	dst[point] = '.'
	return append(dst, 'Z')
}
