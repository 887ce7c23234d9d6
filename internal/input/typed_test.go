package input

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTyped(t *testing.T) {
	of := func(types ...any) map[string]any {
		if len(types) == 1 {
			return map[string]any{"type": types[0]}
		}
		return map[string]any{"type": types}
	}
	enum := map[string]any{"type": "string", "enum": []any{"billing", "other"}}
	for _, c := range []struct {
		text   string
		schema map[string]any
		want   any
	}{
		{"abc", of("string"), "abc"},
		{"", of("string"), ""},
		{"3", of("string"), "3"},
		{"3", of("integer"), 3},
		{"-3", of("integer"), -3},
		{"abc", of("integer"), "abc"},
		{"3.5", of("integer"), "3.5"},
		{"99999999999999999999", of("integer"), "99999999999999999999"},
		{"3", of("number"), 3},
		{"3.5", of("number"), 3.5},
		{".5", of("number"), .5},
		{"1e3", of("number"), 1000},
		{"NaN", of("number"), "NaN"},
		{"Inf", of("number"), "Inf"},
		{"0x1p4", of("number"), "0x1p4"},
		{"true", of("boolean"), true},
		{"false", of("boolean"), false},
		{"yes", of("boolean"), "yes"},
		{"null", of("null"), nil},
		{`[1, "a"]`, of("array"), []any{1, "a"}},
		{"a,b", of("array"), "a,b"},
		{`{"a": {"b": 1.0}}`, of("object"), map[string]any{"a": map[string]any{"b": 1}}},
		{`[1]`, of("object"), `[1]`},
		{`{"a": 1} x`, of("object"), `{"a": 1} x`},
		{"7", of("string", "integer"), 7},
		{"x", of("string", "integer"), "x"},
		{"null", of("string", "null"), nil},
		{"x", of("integer", "null"), "x"},
		{"billing", enum, "billing"},
		{"biling", enum, "biling"},
		{"2", map[string]any{"type": "integer", "enum": []any{1., 2.}}, 2},
		{"7", nil, 7},
		{"seven", nil, "seven"},
		{"{not json", nil, "{not json"},
		{"true", map[string]any{"enum": []any{"true", "maybe"}}, "true"},
	} {
		if diff := cmp.Diff(c.want, ParseTyped(c.text, c.schema)); diff != "" {
			t.Errorf("%q as %v (-want +got)\n%s", c.text, c.schema, diff)
		}
	}
}
