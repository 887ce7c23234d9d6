// Events as JSON lines. Written by hand because it runs several times a step:
// reflection would cost more than the step.

package runner

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/graphrun/graphrun/runner/machine"
)

// AppendJSON appends the event as one JSON object, without a line break. Keys
// stand in a fixed order, those of maps sorted: equal events give equal bytes.
func (e *Event) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"event":"`...)
	dst = append(dst, e.Type...)
	dst = append(dst, `","seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = append(dst, `,"time":"`...)
	dst = appendTime(dst, e.Time)
	dst = append(dst, '"')
	if e.Type == RunFinished && e.Result != nil {
		return appendResult(dst, e.Result)
	}
	dst = append(dst, `,"run_id":`...)
	dst = appendString(dst, e.RunID)
	dst = e.appendTask(dst)
	dst = e.appendContent(dst)
	return append(dst, '}')
}

// appendTask appends what places the event in the run.
func (e *Event) appendTask(dst []byte) []byte {
	dst = appendIntKey(dst, `,"step":`, e.Step)
	dst = appendIntKey(dst, `,"superstep":`, e.Superstep)
	dst = appendTextKey(dst, `,"node":`, e.Node)
	dst = appendTextKey(dst, `,"kind":`, e.Kind)
	dst = appendIntKey(dst, `,"visit":`, e.Visit)
	dst = appendIntKey(dst, `,"attempt":`, e.Attempt)
	dst = appendTextKey(dst, `,"branch":`, e.Branch)
	switch e.Type {
	case NodeCompleted, NodeFailed:
		dst = append(dst, `,"duration_ms":`...)
		dst = strconv.AppendInt(dst, e.Duration.Milliseconds(), 10)
	}
	return dst
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
		dst = appendIntKey(dst, `,"max_attempts":`, e.MaxAttempts)
		dst = append(dst, `,"next_delay_ms":`...)
		dst = strconv.AppendInt(dst, e.NextDelay.Milliseconds(), 10)
		dst = appendError(dst, e.Error)
	case NodeFailed:
		dst = appendError(dst, e.Error)
	case NodeCompleted:
		dst = append(dst, `,"cached":`...)
		dst = strconv.AppendBool(dst, e.Cached)
		if e.Skipped {
			dst = append(dst, `,"skipped":true`...)
		}
		dst = appendValueKey(dst, `,"output":`, e.Output)
	case EdgesResolved:
		dst = appendIntKey(dst, `,"max_steps":`, e.MaxSteps)
		dst = appendValueKey(dst, `,"output":`, e.Output)
		dst = appendNames(append(dst, `,"next":`...), e.Next)
		dst = appendCandidates(dst, e.Candidates)
	case StateUpdated:
		dst = appendDelta(dst, e.Delta)
	case NodeEvent, NodeOutput:
		dst = appendSaid(dst, e.Said)
	}
	return dst
}

func appendCandidates(dst []byte, list []machine.Candidate) []byte {
	dst = append(dst, `,"candidates":[`...)
	for i := range list {
		c := &list[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"edge":`...)
		dst = strconv.AppendInt(dst, int64(c.Edge), 10)
		dst = appendTextKey(dst, `,"id":`, c.ID)
		dst = appendTextKey(dst, `,"to":`, c.To)
		dst = appendTextKey(dst, `,"condition":`, c.Condition)
		dst = appendTextKey(dst, `,"when":`, c.When)
		dst = append(dst, `,"fired":`...)
		dst = strconv.AppendBool(dst, c.Fired)
		dst = appendTextKey(dst, `,"why":`, c.Why)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendDelta(dst []byte, delta []machine.KeyValue) []byte {
	dst = append(dst, `,"delta":{`...)
	for i := range delta {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, delta[i].Key)
		dst = append(dst, ':')
		dst = appendValue(dst, delta[i].Value)
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

func appendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, name)
	}
	return append(dst, ']')
}

func appendIntKey(dst []byte, key string, n int) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), int64(n), 10)
}

func appendTextKey(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	return appendString(append(dst, key...), text)
}

func appendValueKey(dst []byte, key string, v any) []byte {
	return appendValue(append(dst, key...), v)
}

// appendValue appends plain data, the keys of maps sorted.
func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.AppendInt(dst, int64(v), 10)
		}
		return appendMarshalled(dst, v)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		return appendMap(dst, v)
	}
	return appendMarshalled(dst, v)
}

func appendMap(dst []byte, m map[string]any) []byte {
	if len(m) == 1 {
		for name, v := range m {
			dst = appendString(append(dst, '{'), name)
			return append(appendValue(append(dst, ':'), v), '}')
		}
	}
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, name)
		dst = append(dst, ':')
		dst = appendValue(dst, m[name])
	}
	return append(dst, '}')
}

// appendString appends a JSON string; bytes that are no UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscaped(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if c >= utf8.RuneSelf {
		return append(dst, `\ufffd`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// appendTime appends an RFC 3339 time in UTC with microseconds.
func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = appendDigits(dst, year, 4)
	dst = appendDigits(append(dst, '-'), int(month), 2)
	dst = appendDigits(append(dst, '-'), day, 2)
	dst = appendDigits(append(dst, 'T'), hour, 2)
	dst = appendDigits(append(dst, ':'), minute, 2)
	dst = appendDigits(append(dst, ':'), second, 2)
	dst = appendDigits(append(dst, '.'), t.Nanosecond()/1000, 6)
	return append(dst, 'Z')
}

// appendDigits appends n with leading zeros.
func appendDigits(dst []byte, n, width int) []byte {
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; width > 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
		width--
	}
	return dst
}
