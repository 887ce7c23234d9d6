package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// States are the same only where they hold the very same values.
func TestSame(t *testing.T) {
	list, other, m := []any{1, "a"}, []any{1, "a"}, map[string]any{"k": 1}
	for _, c := range []struct {
		a, b map[string]any
		want bool
	}{
		{nil, nil, true},
		{nil, map[string]any{}, false},
		{map[string]any{"a": 1, "b": "x", "c": list, "d": m, "e": nil}, map[string]any{"a": 1, "b": "x", "c": list, "d": m, "e": nil}, true},
		{map[string]any{"a": 1}, map[string]any{"a": 2}, false},
		{map[string]any{"a": 1}, map[string]any{"a": 1.0}, false},
		{map[string]any{"a": nil}, map[string]any{"a": 0}, false},
		{map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		{map[string]any{"c": list}, map[string]any{"c": other}, false},
		{map[string]any{"c": list}, map[string]any{"c": list[:1]}, false},
		{map[string]any{"d": m}, map[string]any{"d": map[string]any{"k": 1}}, false},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("same(%v, %v) = %v", c.a, c.b, got)
		}
		if diff := cmp.Diff(c.a, c.b); c.want && diff != "" {
			t.Error(diff)
		}
	}
}
