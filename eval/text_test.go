package eval_test

import (
	"testing"
	"time"

	"github.com/graphrun/graphrun/eval"
)

func TestDurationText(t *testing.T) {
	for text, d := range map[string]time.Duration{
		"0s": 0, "250ms": 250 * time.Millisecond, "1.5s": 1500 * time.Millisecond, "10s": 10 * time.Second,
		"1m": time.Minute, "10m": 10 * time.Minute, "1m10s": 70 * time.Second, "1h": time.Hour, "10h": 10 * time.Hour,
		"1h30m": 90 * time.Minute, "1h0m1s": time.Hour + time.Second, "24h": 24 * time.Hour,
	} {
		if got := eval.DurationText(d); got != text {
			t.Errorf("%d is written %q, want %q", d, got, text)
		}
	}
}
