package cli

import (
	"strings"
	"testing"
)

// An array that is written item by item reads as one that is written whole.
func TestJSONArray(t *testing.T) {
	items := []any{map[string]any{"a": []any{1, "<é>"}, "b": map[string]any{}}, []any{}, nil}
	for n := range len(items) + 1 {
		for _, indent := range []bool{false, true} {
			var whole, parts strings.Builder
			if err := writeJSON(&whole, items[:n], indent); err != nil {
				t.Fatal(err)
			}
			array := &jsonArray{w: &parts, indent: indent}
			for _, item := range items[:n] {
				if err := array.add(item); err != nil {
					t.Fatal(err)
				}
			}
			if err := array.close(); err != nil || parts.String() != whole.String() {
				t.Errorf("%d items: %q, want %q (%v)", n, parts.String(), whole.String(), err)
			}
		}
	}
}
