// Parts of events.

package jsonline

import (
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// Retry appends how a node goes on after a failure: keys with the attempts that there may
// be, the delays, and the error.
func Retry(dst []byte, next *machine.RetryNote, f *machine.Failure) []byte {
	dst = IntKey(dst, `,"max_attempts":`, next.MaxAttempts)
	dst = Int(append(dst, `,"next_delay_ms":`...), int(next.Delay.Milliseconds()))
	if next.Asked > 0 {
		dst = Int(append(dst, `,"asked_delay_ms":`...), int(next.Asked.Milliseconds()))
	}
	return Failure(dst, f)
}

// Duration appends the key duration_ms.
func Duration(dst []byte, d time.Duration) []byte {
	return Int(append(dst, `,"duration_ms":`...), int(max(0, d)/time.Millisecond))
}

// Candidates appends the key candidates: the ways out of a node, why they were taken or
// not.
func Candidates(dst []byte, candidates []machine.Candidate) []byte {
	dst = append(dst, `,"candidates":[`...)
	for i := range candidates {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = candidate(dst, &candidates[i])
	}
	return append(dst, ']')
}

func candidate(dst []byte, c *machine.Candidate) []byte {
	dst = append(dst, `{"edge":`...)
	dst = Int(dst, c.Edge)
	dst = TextKey(dst, `,"id":`, c.ID)
	dst = TextKey(dst, `,"to":`, c.To)
	dst = TextKey(dst, `,"condition":`, c.Condition)
	dst = TextKey(dst, `,"when":`, c.When)
	dst = append(dst, `,"fired":`...)
	dst = strconv.AppendBool(dst, c.Fired)
	dst = TextKey(dst, `,"why":`, c.Why)
	return append(dst, '}')
}

// Pairs appends an object with its keys in their order.
func Pairs(dst []byte, pairs []machine.KeyValue) []byte {
	dst = append(dst, '{')
	for i := range pairs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = eval.AppendString(dst, pairs[i].Key)
		dst = append(dst, ':')
		dst = Value(dst, pairs[i].Value)
	}
	return append(dst, '}')
}

// Usage appends what a call of a model came to, key by key; nothing for nil.
func Usage(dst []byte, u *machine.Usage) []byte {
	if u == nil {
		return dst
	}
	dst = TextKey(dst, `,"model":`, u.Model)
	dst = TextKey(dst, `,"role":`, u.Role)
	dst = Int(append(dst, `,"input_tokens":`...), u.InputTokens)
	dst = Int(append(dst, `,"output_tokens":`...), u.OutputTokens)
	if u.CachedTokens > 0 {
		dst = Int(append(dst, `,"cached_tokens":`...), u.CachedTokens)
	}
	if u.ReasoningTokens > 0 {
		dst = Int(append(dst, `,"reasoning_tokens":`...), u.ReasoningTokens)
	}
	if u.Estimated {
		dst = append(dst, `,"estimated":true`...)
	}
	if u.DurationMS != nil {
		dst = Int(append(dst, `,"duration_ms":`...), int(*u.DurationMS))
	}
	return Marshalled(append(dst, `,"cost_usd":`...), u.CostUSD)
}

// Failure appends the key error; nothing for nil.
func Failure(dst []byte, f *machine.Failure) []byte {
	if f == nil {
		return dst
	}
	return Marshalled(append(dst, `,"error":`...), f)
}
