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

// lean says that the sink reads only the fields that an event of its type has.
func (*JSONSink) lean() {}

// Event writes one line.
func (s *JSONSink) Event(e *Event) error {
	s.line = append(s.enc.append(s.line[:0], e), '\n')
	_, err := s.w.Write(s.line)
	return err
}

// encoder remembers the pieces that consecutive events share: the number, the
// time and the run, the execution that is told of, the edges. It reads only the
// fields that an event of its type has. The zero encoder is ready.
type encoder struct {
	seq       int64
	seqText   []byte
	at        int64 // Unix nanoseconds of stamp
	runID     string
	stamp     []byte // `,"time":…,"run_id":…`
	micro     int    // where in stamp the microseconds stand
	superstep int
	stepText  []byte // `,"superstep":…`
	task      taskFields
	place     []byte // the task's fields
	edges     []edgePiece
}

// taskFields place an event in the run.
type taskFields struct {
	step, superstep, visit, attempt int
	node, branch                    string
}

// edgePiece is an encoded candidate.
type edgePiece struct {
	of   machine.Candidate
	text []byte
}

func (enc *encoder) append(dst []byte, e *Event) []byte {
	dst = append(dst, `{"event":"`...)
	dst = append(dst, e.Type...)
	dst = append(dst, `","seq":`...)
	dst = enc.appendSeq(dst, e.Seq)
	if e.Type == RunFinished && e.Result != nil {
		dst = appendTime(append(dst, `,"time":"`...), e.Time)
		return appendResult(append(dst, '"'), e.Result)
	}
	dst = enc.appendStamp(dst, e)
	if e.Node != "" {
		dst = enc.appendTask(dst, e)
	} else if e.Superstep != 0 {
		dst = enc.appendSuperstep(dst, e.Superstep)
	}
	dst = enc.appendContent(dst, e)
	return append(dst, '}')
}

// appendSeq appends the number; the next one is made by counting in decimal.
func (enc *encoder) appendSeq(dst []byte, seq int64) []byte {
	last := len(enc.seqText) - 1
	if seq == enc.seq+1 && last >= 0 && enc.seqText[last] != '9' {
		enc.seqText[last]++
	} else {
		enc.seqText = strconv.AppendInt(enc.seqText[:0], seq, 10)
	}
	enc.seq = seq
	return append(dst, enc.seqText...)
}

// appendStamp appends when and in which run it happened.
func (enc *encoder) appendStamp(dst []byte, e *Event) []byte {
	if at := e.Time.UnixNano(); len(enc.stamp) == 0 || at != enc.at || e.RunID != enc.runID {
		const second = int64(time.Second)
		if len(enc.stamp) > 0 && at/second == enc.at/second && at > 0 && e.RunID == enc.runID {
			putDigits(enc.stamp[enc.micro:enc.micro+6], int(at%second/1000))
		} else {
			enc.stamp = appendTime(append(enc.stamp[:0], `,"time":"`...), e.Time)
			enc.micro = len(enc.stamp) - len("000000Z")
			enc.stamp = append(enc.stamp, `","run_id":`...)
			enc.stamp = appendString(enc.stamp, e.RunID)
		}
		enc.at, enc.runID = at, e.RunID
	}
	return append(dst, enc.stamp...)
}

func (enc *encoder) appendSuperstep(dst []byte, n int) []byte {
	if n != enc.superstep {
		enc.superstep, enc.stepText = n, appendIntKey(enc.stepText[:0], `,"superstep":`, n)
	}
	return append(dst, enc.stepText...)
}

// appendTask appends what places the event in the run.
func (enc *encoder) appendTask(dst []byte, e *Event) []byte {
	fields := taskFields{e.Step, e.Superstep, e.Visit, e.Attempt, e.Node, e.Branch}
	if len(enc.place) == 0 || fields != enc.task {
		enc.task = fields
		place := appendIntKey(enc.place[:0], `,"step":`, e.Step)
		if e.Superstep != 0 {
			place = enc.appendSuperstep(place, e.Superstep)
		}
		place = appendTextKey(place, `,"node":`, e.Node)
		place = appendIntKey(place, `,"visit":`, e.Visit)
		place = appendIntKey(place, `,"attempt":`, e.Attempt)
		enc.place = appendTextKey(place, `,"branch":`, e.Branch)
	}
	return append(dst, enc.place...)
}

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
		dst = appendIntKey(dst, `,"max_attempts":`, e.MaxAttempts)
		dst = append(dst, `,"next_delay_ms":`...)
		dst = strconv.AppendInt(dst, e.NextDelay.Milliseconds(), 10)
		dst = appendError(dst, e.Error)
	case NodeStarted:
		dst = appendTextKey(dst, `,"kind":`, e.Kind)
	case NodeFailed:
		dst = appendDuration(dst, e)
		dst = appendError(dst, e.Error)
	case NodeCompleted:
		dst = appendDuration(dst, e)
		switch {
		case e.Cached:
			dst = append(dst, `,"cached":true,"output":`...)
		case e.Skipped:
			dst = append(dst, `,"cached":false,"skipped":true,"output":`...)
		default:
			dst = append(dst, `,"cached":false,"output":`...)
		}
		dst = appendValue(dst, e.Output)
	case EdgesResolved:
		dst = appendIntKey(dst, `,"max_steps":`, e.MaxSteps)
		dst = appendValueKey(dst, `,"output":`, e.Output)
		dst = appendNames(append(dst, `,"next":`...), e.Next)
		dst = enc.appendCandidates(dst, e.Candidates)
	case StateUpdated:
		dst = appendDelta(dst, e.Delta)
	case NodeEvent, NodeOutput:
		dst = appendSaid(dst, e.Said)
	}
	return dst
}

func appendDuration(dst []byte, e *Event) []byte {
	dst = appendTextKey(dst, `,"kind":`, e.Kind)
	return strconv.AppendInt(append(dst, `,"duration_ms":`...), e.Duration.Milliseconds(), 10)
}

func (enc *encoder) appendCandidates(dst []byte, list []machine.Candidate) []byte {
	dst = append(dst, `,"candidates":[`...)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = enc.appendCandidate(dst, &list[i])
	}
	return append(dst, ']')
}

// appendCandidate appends an edge; each edge's last form is kept.
func (enc *encoder) appendCandidate(dst []byte, c *machine.Candidate) []byte {
	if c.Edge < 0 {
		return appendCandidate(dst, c)
	}
	if c.Edge >= len(enc.edges) {
		enc.edges = append(enc.edges, make([]edgePiece, c.Edge+1-len(enc.edges))...)
	}
	piece := &enc.edges[c.Edge]
	if piece.text == nil || piece.of != *c {
		piece.of, piece.text = *c, appendCandidate(piece.text[:0], c)
	}
	return append(dst, piece.text...)
}

func appendCandidate(dst []byte, c *machine.Candidate) []byte {
	dst = append(dst, `{"edge":`...)
	dst = strconv.AppendInt(dst, int64(c.Edge), 10)
	dst = appendTextKey(dst, `,"id":`, c.ID)
	dst = appendTextKey(dst, `,"to":`, c.To)
	dst = appendTextKey(dst, `,"condition":`, c.Condition)
	dst = appendTextKey(dst, `,"when":`, c.When)
	dst = append(dst, `,"fired":`...)
	dst = strconv.AppendBool(dst, c.Fired)
	dst = appendTextKey(dst, `,"why":`, c.Why)
	return append(dst, '}')
}

func appendDelta(dst []byte, delta []machine.KeyValue) []byte {
	return appendPairs(append(dst, `,"delta":`...), delta)
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

// appendResult appends the fields of a result to an object that is open.
func appendResult(dst []byte, r *Result) []byte {
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
