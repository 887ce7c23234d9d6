package model_test

import (
	"testing"

	"github.com/graphrun/graphrun/model"
)

func TestPossibleUsage(t *testing.T) {
	for _, c := range []struct {
		usage model.Usage
		want  bool
	}{
		{model.Usage{}, true},
		{model.Usage{Unreported: true}, true},
		{model.Usage{InputTokens: 2_000_000, OutputTokens: 100_000, CachedTokens: 1_000_000, CacheWriteTokens: 1_000_000}, true},
		{model.Usage{InputTokens: -1, OutputTokens: 5}, false},
		{model.Usage{InputTokens: 5, OutputTokens: -1_000_000}, false},
		{model.Usage{InputTokens: 5, CachedTokens: -5}, false},
		{model.Usage{InputTokens: 5, CacheWriteTokens: -5}, false},
		{model.Usage{InputTokens: 1 << 62, OutputTokens: 1 << 62}, false}, // their sum overflows
		{model.Usage{InputTokens: 5, CachedTokens: 6}, false},
		{model.Usage{InputTokens: 5, CachedTokens: 3, CacheWriteTokens: 3}, false},
	} {
		if got := c.usage.IsPossible(); got != c.want {
			t.Errorf("%+v is possible: %t, want %t", c.usage, got, c.want)
		}
	}
}
