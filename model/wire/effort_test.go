package wire

import (
	"errors"
	"testing"

	"github.com/graphrun/graphrun/model"
)

// A level is taken by every model in the form that it knows, and none only where it is.
func TestEffort(t *testing.T) {
	for _, test := range []struct {
		model, level, want string // want is "" for a refusal
	}{
		{"gpt-6-luna", "none", "none"},
		{"gpt-6-luna", "minimal", "low"},
		{"gpt-6-luna", "max", "max"},
		{"gpt-6.1-terra", "none", "none"},
		{"gpt-6-astra", "none", ""},
		{"gpt-6.1-sol", "none", ""},
		{"gpt-6.1-sol-2026-09-29", "none", ""},
		{"gpt-6.2-sol", "none", ""},
		{"gpt-6.2-sol", "minimal", "low"},
		{"gpt-6.2-sol", "xhigh", "xhigh"},
		{"gpt-5.1", "none", "none"},
		{"gpt-5.1", "minimal", "low"},
		{"gpt-5.1", "xhigh", "high"},
		{"gpt-5.4-mini", "max", "xhigh"},
		{"gpt-5", "minimal", "minimal"},
		{"gpt-5-mini", "none", ""},
		{"o3", "none", ""},
		{"o4-mini", "minimal", "low"},
		{"o3", "max", "high"},
		{"o3", "dynamic", "dynamic"},
		{"gpt-5-pro", "none", "none"}, // nothing is known of it
		{"openai/o1", "none", "none"}, // a gateway's
		{"qwen3-32b", "none", "none"},
	} {
		got, err := nearestLevel(test.model, test.level)
		var failure *model.Error
		if got != test.want || (test.want == "") != errors.As(err, &failure) || failure != nil && failure.Kind != "invalid_input" {
			t.Errorf("%s %s: %q, %v; want %q", test.model, test.level, got, err, test.want)
		}
	}
}
