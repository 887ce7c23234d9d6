package wire_test

import (
	"reflect"
	"testing"

	"github.com/graphrun/graphrun/model/wire"
)

func TestInline(t *testing.T) {
	object := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	text := object("type", "string")
	got, ok := wire.Inline(object(
		"type", "object", "$defs", object("t", text, "u", object("$ref", "#/$defs/t")),
		"properties", object("a", object("$ref", "#/$defs/u", "description", "d"), "b", object("type", "array", "items", object("$ref", "#/$defs/t"))),
	))
	want := object("type", "object", "properties", object("a", object("type", "string", "description", "d"), "b", object("type", "array", "items", text)))
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, ok)
	}
	for name, schema := range map[string]map[string]any{
		"itself":    object("type", "object", "properties", object("a", object("$ref", "#"))),
		"a cycle":   object("$ref", "#/$defs/a", "$defs", object("a", object("properties", object("b", object("$ref", "#/$defs/a"))))),
		"elsewhere": object("$ref", "https://example.org/x"),
		"nothing":   object("$ref", "#/$defs/x"),
		"doubling": object("$ref", "#/$defs/a", "$defs", object(
			"a", object("anyOf", []any{object("$ref", "#/$defs/b"), object("$ref", "#/$defs/b"), object("$ref", "#/$defs/b"), object("$ref", "#/$defs/b")}),
			"b", object("anyOf", []any{object("$ref", "#/$defs/c"), object("$ref", "#/$defs/c"), object("$ref", "#/$defs/c"), object("$ref", "#/$defs/c")}),
			"c", object("anyOf", []any{object("$ref", "#/$defs/a")}),
		)),
	} {
		if got, ok := wire.Inline(schema); ok {
			t.Errorf("%s: %v", name, got)
		}
	}
}
