package given

import (
	"strings"
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
		err    string
	}{
		{"abc", of("string"), "abc", ""},
		{"", of("string"), "", ""},
		{"3", of("string"), "3", ""},
		{"3", of("integer"), 3, ""},
		{"-3", of("integer"), -3, ""},
		{"abc", of("integer"), nil, `"abc" is not an integer (schema {type: integer})`},
		{"3.5", of("integer"), nil, "is not an integer"},
		{"99999999999999999999", of("integer"), nil, "is not an integer"},
		{"3", of("number"), 3, ""},
		{"3.5", of("number"), 3.5, ""},
		{".5", of("number"), .5, ""},
		{"1e3", of("number"), 1000, ""},
		{"NaN", of("number"), nil, "is not a number"},
		{"Inf", of("number"), nil, "is not a number"},
		{"0x1p4", of("number"), nil, "is not a number"},
		{"true", of("boolean"), true, ""},
		{"false", of("boolean"), false, ""},
		{"yes", of("boolean"), nil, "is not a boolean"},
		{"null", of("null"), nil, ""},
		{`[1, "a"]`, of("array"), []any{1, "a"}, ""},
		{"a,b", of("array"), nil, "is not an array in JSON"},
		{`{"a": {"b": 1.0}}`, of("object"), map[string]any{"a": map[string]any{"b": 1}}, ""},
		{`[1]`, of("object"), nil, "is not an object in JSON"},
		{`{"a": 1} x`, of("object"), nil, "is not an object in JSON"},
		{"7", of("string", "integer"), 7, ""},
		{"x", of("string", "integer"), "x", ""},
		{"null", of("string", "null"), nil, ""},
		{"x", of("integer", "null"), nil, "is not an integer or null"},
		{"billing", enum, "billing", ""},
		{"biling", enum, nil, `"biling" is not allowed (allowed: billing, other)`},
		{"2", map[string]any{"type": "integer", "enum": []any{1., 2.}}, 2, ""},
		{"7", nil, 7, ""},
		{"seven", nil, "seven", ""},
		{"{not json", nil, "{not json", ""},
		{"true", map[string]any{"enum": []any{"true", "maybe"}}, "true", ""},
	} {
		got, err := Typed(c.text, c.schema)
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%q as %v: %v", c.text, c.schema, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q as %v: error %v, want %q", c.text, c.schema, err, c.err)
		case c.err == "":
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q as %v (-want +got)\n%s", c.text, c.schema, diff)
			}
		}
	}
}
