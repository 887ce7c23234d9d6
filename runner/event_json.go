// Events as JSON lines. Written by hand because it runs several times a step:
// reflection would cost more than the step.

package runner

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// AppendJSON appends the event as one JSON object, without a line break. Keys
// stand in a fixed order, those of maps sorted: equal events give equal bytes.
func (e *Event) AppendJSON(dst []byte) []byte { return new(encoder).append(dst, e) }

// JSONSink writes every event as a line of JSON. Not for concurrent use.
type JSONSink struct {
	w    io.Writer
	enc  encoder
	line []byte
}

// NewJSONSink returns a sink that writes to w, best a buffered writer, which
// the caller flushes.
func NewJSONSink(w io.Writer) *JSONSink { return &JSONSink{w: w} }

// notes writes a line for each of the machine's notes.
func (s *JSONSink) notes(d *driver, notes []machine.Note, at int64) error {
	s.line = s.enc.notes(s.line[:0], d, notes, at)
	_, err := s.w.Write(s.line)
	return err
}

// Event writes one line.
func (s *JSONSink) Event(e *Event) error {
	s.line = append(s.enc.append(s.line[:0], e), '\n')
	_, err := s.w.Write(s.line)
	return err
}

// encoder remembers the pieces that consecutive events share: the number, the
// time and the run, the execution that is told of, the edges. The zero encoder
// is ready.
type encoder struct {
	seq       int64
	at        int64 // Unix nanoseconds
	runID     string
	stamp     []byte // `"seq":…,"time":…,"run_id":…`, changed in place
	seqEnd    int    // where in stamp the number ends
	micro     int    // where in stamp the microseconds stand
	superstep int
	stepText  []byte // `,"superstep":…`
	task      taskFields
	place     []byte // the task's fields
	kind      string
	kindText  []byte // `,"kind":…`
	plan      *machine.Plan
	edges     []edgePieces // of the plan, by index
}

// taskFields place an event in the run.
type taskFields struct {
	step, superstep, visit, attempt int
	node, branch                    string
}

func (enc *encoder) append(dst []byte, e *Event) []byte {
	dst = append(dst, `{"event":"`...)
	dst = append(dst, e.Type...)
	dst = append(dst, `",`...)
	if e.Type == RunFinished && e.Result != nil {
		dst = appendInt(append(dst, `"seq":`...), int(e.Seq))
		dst = appendTime(append(dst, `,"time":"`...), e.Time)
		return appendRunResult(append(dst, '"'), e.Result)
	}
	dst = enc.appendStamp(dst, e.Seq, e.Time.UnixNano(), e.RunID)
	if e.Node != "" {
		dst = enc.appendTask(dst, taskFields{e.Step, e.Superstep, e.Visit, e.Attempt, e.Node, e.Branch})
	} else if e.Superstep != 0 {
		dst = enc.appendSuperstep(dst, e.Superstep)
	}
	dst = enc.appendContent(dst, e)
	return append(dst, '}')
}

// appendStamp appends the event's number, its time and its run. Mostly only a
// few digits differ from the event before.
func (enc *encoder) appendStamp(dst []byte, seq, at int64, runID string) []byte {
	const second = int64(time.Second)
	switch {
	case seq != enc.seq+1 || runID != enc.runID || at/second != enc.at/second || at <= 0 || !enc.countUp():
		enc.stamp = appendInt(append(enc.stamp[:0], `"seq":`...), int(seq))
		enc.seqEnd = len(enc.stamp)
		enc.stamp = appendTime(append(enc.stamp, `,"time":"`...), time.Unix(0, at))
		enc.micro = len(enc.stamp) - len("000000Z")
		enc.stamp = appendString(append(enc.stamp, `","run_id":`...), runID)
	case at != enc.at:
		putDigits(enc.stamp[enc.micro:enc.micro+6], int(at%second/1000))
	}
	enc.seq, enc.at, enc.runID = seq, at, runID
	return append(dst, enc.stamp...)
}

// countUp adds one to the number in the stamp; false when it needs another digit.
func (enc *encoder) countUp() bool {
	for i := enc.seqEnd - 1; i >= len(`"seq":`); i-- {
		if enc.stamp[i] != '9' {
			enc.stamp[i]++
			return true
		}
		enc.stamp[i] = '0'
	}
	return false
}

func (enc *encoder) appendSuperstep(dst []byte, n int) []byte {
	if n != enc.superstep {
		enc.superstep, enc.stepText = n, appendIntKey(enc.stepText[:0], `,"superstep":`, n)
	}
	return append(dst, enc.stepText...)
}

// appendTask appends what places the event in the run.
func (enc *encoder) appendTask(dst []byte, t taskFields) []byte {
	if len(enc.place) == 0 || t != enc.task {
		enc.task = t
		place := appendIntKey(enc.place[:0], `,"step":`, t.step)
		if t.superstep != 0 {
			place = enc.appendSuperstep(place, t.superstep)
		}
		place = appendTextKey(place, `,"node":`, t.node)
		place = appendIntKey(place, `,"visit":`, t.visit)
		place = appendIntKey(place, `,"attempt":`, t.attempt)
		enc.place = appendTextKey(place, `,"branch":`, t.branch)
	}
	return append(dst, enc.place...)
}

// appendContent appends what is particular to the event's type.
func (enc *encoder) appendContent(dst []byte, e *Event) []byte {
	switch e.Type {
	case RunStarted:
		dst = appendTextKey(dst, `,"graph":`, e.Graph)
		dst = appendTextKey(dst, `,"start":`, e.Start)
		dst = appendIntKey(dst, `,"max_steps":`, e.MaxSteps)
		dst = appendValueKey(dst, `,"input":`, e.Input)
	case SuperstepStarted, SuperstepCompleted:
		dst = appendNames(append(dst, `,"nodes":`...), e.Nodes)
	case NodeRetrying:
		dst = appendRetry(dst, e.MaxAttempts, e.NextDelay, e.Error)
	case NodeStarted:
		dst = enc.appendKind(dst, e.Kind)
	case NodeFailed:
		dst = appendError(enc.appendDuration(dst, e.Kind, e.Duration), e.Error)
	case NodeCompleted:
		dst = appendCompleted(enc.appendDuration(dst, e.Kind, e.Duration), e.Cached, e.Skipped, e.Output)
	case EdgesResolved:
		dst = appendResolved(dst, e.MaxSteps, e.Output, e.Next)
		for i := range e.Candidates {
			dst = appendCandidate(appendComma(dst, i), &e.Candidates[i])
		}
		dst = append(dst, ']')
	case StateUpdated:
		dst = appendPairs(append(dst, `,"delta":`...), e.Delta)
	case NodeEvent, NodeOutput:
		dst = appendSaid(dst, e.Said)
	}
	return dst
}

func appendRetry(dst []byte, attempts int, delay time.Duration, f *machine.Failure) []byte {
	dst = appendIntKey(dst, `,"max_attempts":`, attempts)
	dst = appendInt(append(dst, `,"next_delay_ms":`...), int(delay.Milliseconds()))
	return appendError(dst, f)
}

func (enc *encoder) appendKind(dst []byte, kind string) []byte {
	if kind != enc.kind {
		enc.kind, enc.kindText = kind, appendTextKey(enc.kindText[:0], `,"kind":`, kind)
	}
	return append(dst, enc.kindText...)
}

func (enc *encoder) appendDuration(dst []byte, kind string, d time.Duration) []byte {
	dst = enc.appendKind(dst, kind)
	return appendInt(append(dst, `,"duration_ms":`...), int(d/time.Millisecond))
}

func appendCompleted(dst []byte, cached, skipped bool, output any) []byte {
	switch {
	case cached:
		dst = append(dst, `,"cached":true,"output":`...)
	case skipped:
		dst = append(dst, `,"cached":false,"skipped":true,"output":`...)
	default:
		dst = append(dst, `,"cached":false,"output":`...)
	}
	return appendValue(dst, output)
}

// appendResolved leaves the list of candidates open.
func appendResolved(dst []byte, maxSteps int, output any, next []string) []byte {
	dst = appendIntKey(dst, `,"max_steps":`, maxSteps)
	dst = appendValueKey(dst, `,"output":`, output)
	dst = appendNames(append(dst, `,"next":`...), next)
	return append(dst, `,"candidates":[`...)
}

func appendComma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
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
		dst = appendString(dst, pairs[i].Key)
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
		return appendString(append(dst, `,"text":`...), s.Text)
	}
	dst = appendString(append(dst, `,"type":`...), s.Type)
	if s.Type == "progress" {
		dst = append(dst, `,"percent":`...)
		dst = appendValue(dst, s.Percent)
	}
	dst = appendTextKey(dst, `,"message":`, s.Message)
	if s.Type == "custom" {
		dst = appendTextKey(dst, `,"name":`, s.Name)
		dst = appendValueKey(dst, `,"data":`, s.Data)
	}
	return dst
}

func appendError(dst []byte, f *machine.Failure) []byte {
	if f == nil {
		return dst
	}
	return appendMarshalled(append(dst, `,"error":`...), f)
}

// appendRunResult appends the fields of a result to an object that is open.
func appendRunResult(dst []byte, r *Result) []byte {
	text := appendMarshalled(nil, r)
	return append(append(dst, ','), text[1:]...)
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
