// Events as JSON. Written by hand because it runs several times a step:
// reflection would cost more than the step.

package runner

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// AppendJSON appends the event as one JSON object, without a line break. Keys
// stand in a fixed order, those of maps sorted: equal events give equal bytes.
func (e *Event) AppendJSON(dst []byte) []byte {
	if e.Type == RunFinished && e.Result != nil {
		dst = append(appendTime(append(e.appendNumber(dst), `,"time":"`...), e.Time), '"')
		return appendRunResult(dst, e.Result)
	}
	return e.appendJSON(dst, e.appendStamp(nil))
}

func (e *Event) appendNumber(dst []byte) []byte {
	dst = append(append(append(dst, `{"event":"`...), e.Type...), `","seq":`...)
	return appendInt(dst, int(e.Seq))
}

// appendStamp appends the time and the run.
func (e *Event) appendStamp(dst []byte) []byte {
	dst = appendTime(append(dst, `,"time":"`...), e.Time)
	return eval.AppendString(append(dst, `","run_id":`...), e.RunID)
}

// appendJSON is AppendJSON of an event that is stamped so, and no result.
func (e *Event) appendJSON(dst, stamp []byte) []byte {
	dst = append(e.appendNumber(dst), stamp...)
	dst = appendIntKey(dst, `,"step":`, e.Step)
	dst = appendIntKey(dst, `,"superstep":`, e.Superstep)
	dst = appendTextKey(dst, `,"branch":`, e.Branch)
	dst = appendTextKey(dst, `,"node":`, e.Node)
	dst = appendTextKey(dst, `,"place":`, e.Place)
	dst = appendIntKey(dst, `,"visit":`, e.Visit)
	dst = appendIntKey(dst, `,"attempt":`, e.Attempt)
	if e.Finally {
		dst = append(dst, `,"finally":true`...)
	}
	return append(e.appendContent(dst), '}')
}

// appendContent appends what is particular to the event's type.
func (e *Event) appendContent(dst []byte) []byte {
	switch e.Type {
	case RunStarted:
		dst = appendTextKey(dst, `,"graph":`, e.Graph)
		dst = appendTextKey(dst, `,"start":`, e.Start)
		dst = appendIntKey(dst, `,"max_steps":`, e.MaxSteps)
		dst = appendValueKey(dst, `,"input":`, e.Input)
	case SuperstepStarted, SuperstepCompleted:
		dst = appendNames(append(dst, `,"nodes":`...), e.Nodes)
	case NodeRetrying:
		if e.Said != nil && e.Said.Retry != nil {
			dst = appendTextKey(dst, `,"call":`, e.Said.Retry.What)
		}
		dst = appendRetry(dst, &machine.RetryNote{MaxAttempts: e.MaxAttempts, Delay: e.NextDelay, Asked: e.AskedDelay}, e.Error)
	case NodeStarted:
		dst = appendTextKey(dst, `,"kind":`, e.Kind)
	case NodeFailed:
		dst = appendDuration(appendTextKey(dst, `,"kind":`, e.Kind), e.Duration)
		dst = appendError(dst, e.Error)
	case NodeCompleted:
		dst = appendDuration(appendTextKey(dst, `,"kind":`, e.Kind), e.Duration)
		dst = appendValue(appendCompleted(dst, e.Cached, e.Skipped), e.Output)
	case EdgesResolved:
		dst = appendIntKey(dst, `,"max_steps":`, e.MaxSteps)
		dst = appendValueKey(dst, `,"output":`, e.Output)
		dst = appendNames(append(dst, `,"next":`...), e.Next)
		dst = appendCandidates(dst, e.Candidates)
	case RunWaiting:
		dst = appendTextKey(dst, `,"group":`, e.Waiting.Group)
		dst = appendIntKey(dst, `,"limit":`, e.Waiting.Limit)
		dst = appendMarshalled(append(dst, `,"holders":`...), e.Waiting.Members)
		dst = appendTextKey(dst, `,"cancelling":`, e.Waiting.Cancelling)
	case RunPaused:
		if r := e.Result; r != nil {
			dst = appendTextKey(dst, `,"reason":`, r.Reason)
			dst = appendMarshalled(append(dst, `,"pending":`...), r.Pending)
			dst = appendMarshalled(append(dst, `,"due":`...), r.Due)
			if r.PausedAt != nil {
				dst = appendMarshalled(append(dst, `,"paused_at":`...), r.PausedAt)
			}
		}
	case StateUpdated:
		dst = appendPairs(append(dst, `,"delta":`...), e.Delta)
	case ToolCalled:
		dst = appendToolCall(dst, e.Said)
	case LLMUsage:
		dst = appendUsage(dst, e.Usage)
	case NodeThinking:
		dst = eval.AppendString(append(dst, `,"text":`...), e.Said.Text)
	case NodeEvent, NodeOutput:
		dst = appendSaid(dst, e.Said)
	}
	return dst
}

func appendRetry(dst []byte, next *machine.RetryNote, f *machine.Failure) []byte {
	dst = appendIntKey(dst, `,"max_attempts":`, next.MaxAttempts)
	dst = appendInt(append(dst, `,"next_delay_ms":`...), int(next.Delay.Milliseconds()))
	if next.Asked > 0 {
		dst = appendInt(append(dst, `,"asked_delay_ms":`...), int(next.Asked.Milliseconds()))
	}
	return appendError(dst, f)
}

func appendDuration(dst []byte, d time.Duration) []byte {
	return appendInt(append(dst, `,"duration_ms":`...), int(max(0, d)/time.Millisecond))
}

// appendCompleted leaves the output to be appended.
func appendCompleted(dst []byte, cached, skipped bool) []byte {
	switch {
	case cached:
		return append(dst, `,"cached":true,"output":`...)
	case skipped:
		return append(dst, `,"cached":false,"skipped":true,"output":`...)
	}
	return append(dst, `,"cached":false,"output":`...)
}

func appendCandidates(dst []byte, candidates []machine.Candidate) []byte {
	dst = append(dst, `,"candidates":[`...)
	for i := range candidates {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCandidate(dst, &candidates[i])
	}
	return append(dst, ']')
}

func appendCandidate(dst []byte, c *machine.Candidate) []byte {
	dst = append(dst, `{"edge":`...)
	dst = appendInt(dst, c.Edge)
	dst = appendTextKey(dst, `,"id":`, c.ID)
	dst = appendTextKey(dst, `,"to":`, c.To)
	dst = appendTextKey(dst, `,"condition":`, c.Condition)
	dst = appendTextKey(dst, `,"when":`, c.When)
	dst = append(dst, `,"fired":`...)
	dst = strconv.AppendBool(dst, c.Fired)
	dst = appendTextKey(dst, `,"why":`, c.Why)
	return append(dst, '}')
}

func appendPairs(dst []byte, pairs []machine.KeyValue) []byte {
	dst = append(dst, '{')
	for i := range pairs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = eval.AppendString(dst, pairs[i].Key)
		dst = append(dst, ':')
		dst = appendValue(dst, pairs[i].Value)
	}
	return append(dst, '}')
}

func appendSaid(dst []byte, s *Said) []byte {
	if s == nil {
		return dst
	}
	if s.Type == "text" {
		dst = eval.AppendString(append(dst, `,"text":`...), s.Text)
		if s.Final {
			dst = append(dst, `,"final":true`...)
		}
		if s.Broken {
			dst = append(dst, `,"broken":true`...)
		}
		return dst
	}
	dst = eval.AppendString(append(dst, `,"type":`...), s.Type)
	if s.Type == "progress" {
		dst = append(dst, `,"percent":`...)
		dst = appendValue(dst, s.Percent)
	}
	dst = appendTextKey(dst, `,"message":`, s.Message)
	switch s.Type {
	case "answer":
		dst = appendTextKey(dst, `,"by":`, s.Name)
		fallthrough
	case "question":
		dst = appendMarshalled(append(dst, `,"question":`...), s.Question)
	case "custom", "element", "dropped":
		dst = appendTextKey(dst, `,"name":`, s.Name)
		dst = appendValueKey(dst, `,"data":`, s.Data)
	}
	return dst
}

func appendToolCall(dst []byte, s *Said) []byte {
	if s == nil {
		return dst
	}
	dst = eval.AppendString(append(dst, `,"tool":`...), s.Name)
	data, _ := s.Data.(map[string]any)
	for _, name := range [...]string{"id", "args", "is_error", "output", "duration_ms"} {
		if value, has := data[name]; has {
			dst = append(append(append(dst, `,"`...), name...), `":`...)
			dst = appendValue(dst, value)
		}
	}
	return dst
}

func appendUsage(dst []byte, u *machine.Usage) []byte {
	if u == nil {
		return dst
	}
	dst = appendTextKey(dst, `,"model":`, u.Model)
	dst = appendTextKey(dst, `,"role":`, u.Role)
	dst = appendInt(append(dst, `,"input_tokens":`...), u.InputTokens)
	dst = appendInt(append(dst, `,"output_tokens":`...), u.OutputTokens)
	if u.CachedTokens > 0 {
		dst = appendInt(append(dst, `,"cached_tokens":`...), u.CachedTokens)
	}
	if u.ReasoningTokens > 0 {
		dst = appendInt(append(dst, `,"reasoning_tokens":`...), u.ReasoningTokens)
	}
	if u.Estimated {
		dst = append(dst, `,"estimated":true`...)
	}
	if u.DurationMS != nil {
		dst = appendInt(append(dst, `,"duration_ms":`...), int(*u.DurationMS))
	}
	return appendMarshalled(append(dst, `,"cost_usd":`...), u.CostUSD)
}

func appendError(dst []byte, f *machine.Failure) []byte {
	if f == nil {
		return dst
	}
	return appendMarshalled(append(dst, `,"error":`...), f)
}

// appendRunResult appends the fields of a result to an object that is open.
func appendRunResult(dst []byte, r *Result) []byte {
	// The path may be long, and is the one part that need not be marshalled.
	short := *r
	short.Path = []string{}
	text := appendMarshalled(nil, &short)
	const empty = `"path":[]` // not in a string, where the quotes are escaped
	before, after, _ := bytes.Cut(text[1:], []byte(empty))
	dst = append(append(dst, ','), before...)
	dst = appendNames(append(dst, empty[:len(empty)-len("[]")]...), r.Path)
	return append(dst, after...)
}

// appendMarshalled appends what encoding/json makes of v, HTML left alone.
func appendMarshalled(dst []byte, v any) []byte {
	buffer := bytes.NewBuffer(dst)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return append(dst, "null"...)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
