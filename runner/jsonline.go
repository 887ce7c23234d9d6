// JSON that is appended to a buffer: plain data, and what events have in common. It is written
// by hand because it runs several times a step.

package runner

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// appendNames appends a list of texts.
func appendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = eval.AppendString(dst, name)
	}
	return append(dst, ']')
}

// appendIntKey appends a key, written as `,"key":`, and its number; nothing for 0.
func appendIntKey(dst []byte, key string, n int) []byte {
	if n == 0 {
		return dst
	}
	return appendInt(append(dst, key...), n)
}

// appendTextKey appends a key, written as `,"key":`, and its text; nothing when that is empty.
func appendTextKey(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	return eval.AppendString(append(dst, key...), text)
}

// appendValueKey appends a key, written as `,"key":`, and plain data.
func appendValueKey(dst []byte, key string, v any) []byte {
	return appendValue(append(dst, key...), v)
}

// appendValue appends plain data, the keys of maps sorted; null for what is none.
func appendValue(dst []byte, v any) []byte {
	out, err := eval.AppendJSON(dst, v)
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}

// appendTime appends an RFC 3339 time in UTC with microseconds.
func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(dst, time.RFC3339) // the layout that package time knows by heart
	point := len(dst) - len("Z")
	dst = appendInt(dst[:point], 1_000_000+t.Nanosecond()/1000)
	dst[point] = '.'
	return append(dst, 'Z')
}

// appendInt appends a number.
func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

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

// appendRetry appends how a node goes on after a failure: keys with the attempts that there may
// be, the delays, and the error.
func appendRetry(dst []byte, next *machine.RetryNote, f *machine.Failure) []byte {
	dst = appendIntKey(dst, `,"max_attempts":`, next.MaxAttempts)
	dst = appendInt(append(dst, `,"next_delay_ms":`...), int(next.Delay.Milliseconds()))
	if next.Asked > 0 {
		dst = appendInt(append(dst, `,"asked_delay_ms":`...), int(next.Asked.Milliseconds()))
	}
	return appendFailure(dst, f)
}

// appendDuration appends the key duration_ms.
func appendDuration(dst []byte, d time.Duration) []byte {
	return appendInt(append(dst, `,"duration_ms":`...), int(max(0, d)/time.Millisecond))
}

// appendCandidates appends the key candidates: the ways out of a node, why they were taken or
// not.
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

// appendPairs appends an object with its keys in their order.
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

// appendUsage appends the usage of a call of a model, or nothing for nil.
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

// appendFailure appends the key error; nothing for nil.
func appendFailure(dst []byte, f *machine.Failure) []byte {
	if f == nil {
		return dst
	}
	return appendMarshalled(append(dst, `,"error":`...), f)
}
