// Events as JSON. Written by hand because it runs several times a step:
// reflection would cost more than the step.

package runner

import (
	"bytes"
	"io"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/internal/jsonline"
	"github.com/graphrun/graphrun/runner/machine"
)

// AppendJSON appends the event as one JSON object, without a line break. Keys
// stand in a fixed order, those of maps sorted: equal events give equal bytes.
func (e *Event) AppendJSON(dst []byte) []byte {
	if e.Type == RunFinished && e.Result != nil {
		dst = append(jsonline.Time(append(e.appendNumber(dst), `,"time":"`...), e.Time), '"')
		return appendRunResult(dst, e.Result)
	}
	return e.appendJSON(dst, e.appendStamp(nil))
}

func (e *Event) appendNumber(dst []byte) []byte {
	dst = append(append(append(dst, `{"event":"`...), e.Type...), `","seq":`...)
	return jsonline.Int(dst, int(e.Seq))
}

// appendStamp appends the time and the run.
func (e *Event) appendStamp(dst []byte) []byte {
	dst = jsonline.Time(append(dst, `,"time":"`...), e.Time)
	return eval.AppendString(append(dst, `","run_id":`...), e.RunID)
}

// appendJSON is AppendJSON of an event that is stamped so, and no result.
func (e *Event) appendJSON(dst, stamp []byte) []byte {
	dst = append(e.appendNumber(dst), stamp...)
	dst = jsonline.IntKey(dst, `,"step":`, e.Step)
	dst = jsonline.IntKey(dst, `,"rank":`, e.Rank)
	dst = jsonline.TextKey(dst, `,"branch":`, e.Branch)
	dst = jsonline.TextKey(dst, `,"node":`, e.Node)
	dst = jsonline.TextKey(dst, `,"place":`, e.Place)
	dst = jsonline.IntKey(dst, `,"visit":`, e.Visit)
	dst = jsonline.IntKey(dst, `,"attempt":`, e.Attempt)
	if e.Finally {
		dst = append(dst, `,"finally":true`...)
	}
	return append(e.appendContent(dst), '}')
}

// appendContent appends what is particular to the event's type.
func (e *Event) appendContent(dst []byte) []byte {
	switch e.Type {
	case RunStarted:
		dst = jsonline.TextKey(dst, `,"graph":`, e.Graph)
		dst = jsonline.TextKey(dst, `,"start":`, e.Start)
		dst = jsonline.IntKey(dst, `,"max_steps":`, e.MaxSteps)
		dst = jsonline.ValueKey(dst, `,"input":`, e.Input)
	case BranchesStarted:
		dst = jsonline.Names(append(dst, `,"next":`...), e.Next)
	case BranchesJoined:
		dst = jsonline.Names(append(dst, `,"from":`...), e.From)
	case NodeRetrying:
		if e.Said != nil && e.Said.Retry != nil {
			dst = jsonline.TextKey(dst, `,"call":`, e.Said.Retry.What)
		}
		dst = jsonline.Retry(dst, &machine.RetryNote{MaxAttempts: e.MaxAttempts, Delay: e.NextDelay, Asked: e.AskedDelay}, e.Error)
	case NodeStarted:
		dst = jsonline.TextKey(dst, `,"kind":`, e.Kind)
	case NodeFailed:
		dst = jsonline.Duration(jsonline.TextKey(dst, `,"kind":`, e.Kind), e.Duration)
		dst = jsonline.Failure(dst, e.Error)
	case NodeCompleted:
		dst = jsonline.Duration(jsonline.TextKey(dst, `,"kind":`, e.Kind), e.Duration)
		dst = jsonline.Value(appendCompleted(dst, e.Cached, e.Skipped), e.Output)
	case EdgesResolved:
		dst = jsonline.IntKey(dst, `,"max_steps":`, e.MaxSteps)
		dst = jsonline.ValueKey(dst, `,"output":`, e.Output)
		dst = jsonline.Names(append(dst, `,"next":`...), e.Next)
		dst = jsonline.Candidates(dst, e.Candidates)
	case RunWaiting:
		dst = jsonline.TextKey(dst, `,"group":`, e.Waiting.Group)
		dst = jsonline.IntKey(dst, `,"limit":`, e.Waiting.Limit)
		dst = jsonline.Marshalled(append(dst, `,"holders":`...), e.Waiting.Members)
		dst = jsonline.TextKey(dst, `,"cancelling":`, e.Waiting.Cancelling)
	case RunPaused:
		if r := e.Result; r != nil {
			dst = jsonline.TextKey(dst, `,"reason":`, r.Reason)
			dst = jsonline.Marshalled(append(dst, `,"pending":`...), r.Pending)
			dst = jsonline.Marshalled(append(dst, `,"due":`...), r.Due)
			if r.PausedAt != nil {
				dst = jsonline.Marshalled(append(dst, `,"paused_at":`...), r.PausedAt)
			}
		}
	case StateUpdated:
		dst = jsonline.Pairs(append(dst, `,"delta":`...), e.Delta)
	case ToolCalled:
		dst = appendToolCall(dst, e.Said)
	case LLMUsage:
		dst = jsonline.Usage(dst, e.Usage)
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
		dst = jsonline.Value(dst, s.Percent)
	}
	dst = jsonline.TextKey(dst, `,"message":`, s.Message)
	switch s.Type {
	case "answer":
		dst = jsonline.TextKey(dst, `,"by":`, s.Name)
		fallthrough
	case "question":
		dst = jsonline.Marshalled(append(dst, `,"question":`...), s.Question)
	case "custom", "element", "dropped":
		dst = jsonline.TextKey(dst, `,"name":`, s.Name)
		dst = jsonline.ValueKey(dst, `,"data":`, s.Data)
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
			dst = jsonline.Value(dst, value)
		}
	}
	return dst
}

// appendRunResult appends the fields of a result to an object that is open.
func appendRunResult(dst []byte, r *Result) []byte {
	// The path may be long, and is the one part that need not be marshalled.
	short := *r
	short.Path = []string{}
	text := jsonline.Marshalled(nil, &short)
	const empty = `"path":[]` // not in a string, where the quotes are escaped
	before, after, _ := bytes.Cut(text[1:], []byte(empty))
	dst = append(append(dst, ','), before...)
	dst = jsonline.Names(append(dst, empty[:len(empty)-len("[]")]...), r.Path)
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
