// Builds the blocks of retry.

package spec

import (
	"slices"
	"time"
)

// retry reads a retry block, or a list of them.
func (b *builder) retry(v *Value) []Retry {
	if v.Kind != List {
		return []Retry{retryOf(v)}
	}
	var out []Retry
	for i := range v.Items {
		if v.Items[i].Kind != Map {
			continue
		}
		r := retryOf(&v.Items[i])
		b.neverRetries(out, &r)
		out = append(out, r)
	}
	return out
}

// neverRetries reports a block of a list that the blocks before it leave nothing.
func (b *builder) neverRetries(before []Retry, r *Retry) {
	for i := range before {
		if len(before[i].On) == 0 && !before[i].When.IsSet() {
			b.report("invalid-value", r.Span, "this block is never tried: the one before it has no \"on\" and takes every kind")
			return
		}
	}
	for _, kind := range r.On {
		if slices.ContainsFunc(before, func(earlier Retry) bool { return earlier.Takes(kind.Value) && !earlier.When.IsSet() }) {
			b.report("invalid-value", kind.At(0, len(kind.Value)), "%q stands in an earlier block, which takes it", kind.Value)
		}
	}
}

func retryOf(v *Value) Retry {
	r := Retry{MaxAttempts: 3, InitialInterval: time.Second, Backoff: 2, MaxInterval: 30 * time.Second, Jitter: 0.1, Span: v.Span}
	for i := range v.Fields {
		key, v := v.Fields[i].Key.Value, &v.Fields[i].Value
		switch key {
		case "max_attempts":
			r.MaxAttempts = intOf(v)
		case "initial_interval":
			r.InitialInterval = durationOf(v)
		case "backoff":
			r.Backoff = number(v)
		case "max_interval":
			r.MaxInterval, r.HasMaxInterval = durationOf(v), true
		case "jitter":
			r.Jitter = number(v)
		case "on":
			r.On = textsOf(v)
		case "when":
			r.When = v.Text
		}
	}
	return r
}
