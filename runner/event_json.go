// Events as JSON. Written by hand because it runs several times a step:
// reflection would cost more than the step.

package runner

import (
	"bytes"
	"io"
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
	dst = appendIntKey(dst, `,"rank":`, e.Rank)
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
	case BranchesStarted:
		dst = appendNames(append(dst, `,"next":`...), e.Next)
	case BranchesJoined:
		dst = appendNames(append(dst, `,"from":`...), e.From)
	case NodeRetrying:
		if e.Said != nil && e.Said.Retry != nil {
			dst = appendTextKey(dst, `,"call":`, e.Said.Retry.What)
		}
		dst = appendRetry(dst, &machine.RetryNote{MaxAttempts: e.MaxAttempts, Delay: e.NextDelay, Asked: e.AskedDelay}, e.Error)
	case NodeStarted:
		dst = appendTextKey(dst, `,"kind":`, e.Kind)
	case NodeFailed:
		dst = appendDuration(appendTextKey(dst, `,"kind":`, e.Kind), e.Duration)
		dst = appendFailure(dst, e.Error)
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

// JSONSink writes every event as a line of JSON. Not for concurrent use.
type JSONSink struct {
	w    io.Writer
	line []byte
	// stamp is the text of the run and the time, which events of one moment share.
	stamp []byte
	runID string
	time  time.Time
}

// NewJSONSink returns a sink that writes to w, best a buffered writer, which
// the caller flushes.
func NewJSONSink(w io.Writer) *JSONSink { return &JSONSink{w: w} }

// Event writes one line.
func (s *JSONSink) Event(e *Event) error {
	if e.Type == RunFinished {
		s.line = e.AppendJSON(s.line[:0])
	} else {
		if len(s.stamp) == 0 || e.Time != s.time || e.RunID != s.runID {
			s.time, s.runID, s.stamp = e.Time, e.RunID, e.appendStamp(s.stamp[:0])
		}
		s.line = e.appendJSON(s.line[:0], s.stamp)
	}
	s.line = append(s.line, '\n')
	_, err := s.w.Write(s.line)
	return err
}
