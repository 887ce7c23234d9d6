package input

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/internal/schema"
)

func TestAnswer(t *testing.T) {
	of := func(kind string) map[string]any { return map[string]any{"type": kind} }
	among := func(values ...any) map[string]any { return map[string]any{"enum": values} }
	person := map[string]any{
		"type": "object", "required": []any{"name"},
		"properties": map[string]any{"name": of("string"), "age": of("integer")},
	}
	for _, c := range []struct {
		text   string
		schema map[string]any
		want   any
		err    string
	}{
		{"a: 1", of("string"), "a: 1", ""},
		{"12", map[string]any{}, "12", ""},
		{"{name: x}", person, map[string]any{"name": "x"}, ""},
		{"name: x\nage: 3", person, map[string]any{"name": "x", "age": 3}, ""},
		{`{"name":` + "\t" + `"x"}`, person, map[string]any{"name": "x"}, ""},
		{"{age: 3}", person, nil, `"name"`},
		{"x", person, nil, "object"},
		{"{name: x", person, nil, "it is not YAML"},
		{"[1, two]", of("array"), []any{1, "two"}, ""},
		{"[not yaml", of("array"), nil, "it is not YAML"},
		{"12", of("integer"), 12, ""},
		{"12.5", of("integer"), nil, "integer"},
		{"3", of("number"), 3.0, ""},
		{"null", of("null"), nil, ""},
		{"n", of("boolean"), false, ""},
		{"YES", of("boolean"), true, ""},
		{"true", of("boolean"), true, ""},
		{"1", of("boolean"), true, ""},
		{"maybe", of("boolean"), nil, `"maybe" is not one of "yes", "no"`},

		{" yes ", among("yes", "no"), "yes", ""},
		{"1", among("yes", "no"), "yes", ""},
		{"2", among("2", "1"), "2", ""},
		{"2", among(2, 1), 2, ""},
		{"Y", among("yes", "no"), "yes", ""},
		{"NO", among("yes", "no", "nobody"), "no", ""},
		{"appr", among("Approve", "apply", "reject"), "Approve", ""},
		{"no", among("No", "no"), "no", ""},
		{"NO", among("No", "no", "nope"), nil, `"NO" may be "No" or "no" or "nope"`},
		{"ap", among("Approve", "apply", "reject"), nil, `"ap" may be "Approve" or "apply"`},
		{"3", among("yes", "no"), nil, `"3" is not one of "yes", "no"`},
		{"0", among("yes", "no"), nil, `"0" is not one of "yes", "no"`},
		{"", among("yes", "no"), nil, `"" is not one of "yes", "no"`},
		{"{a: 1}", among(map[string]any{"a": 1}, "no"), map[string]any{"a": 1}, ""},
	} {
		s, err := schema.Compile(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseAnswer(c.text, s, c.schema)
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%q for %v: %v", c.text, c.schema, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q for %v: got %v, error %v, want %q", c.text, c.schema, got, err, c.err)
		case c.err == "":
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q for %v (-want +got)\n%s", c.text, c.schema, diff)
			}
		}
	}
}
