package domain_test

import (
	"testing"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/domain"
)

func TestOfSchema(t *testing.T) {
	doc := map[string]any{"type": "object", "properties": map[string]any{
		"n":    map[string]any{"type": "integer", "minimum": 0, "maximum": 3},
		"m":    map[string]any{"type": "number", "minimum": 1.5},
		"tag":  map[string]any{"enum": []any{"a", "b"}},
		"one":  map[string]any{"const": 1},
		"tags": map[string]any{"type": "array", "items": map[string]any{"enum": []any{"x", "y"}}},
		"free": map[string]any{"type": "string"},
	}}
	for path, want := range map[string]string{"n": "x.n is from 0 to 3", "m": "x.m is at least 1.5", "tag": `x.tag is one of "a", "b"`, "one": "x.one is always 1", "free": "", "none": ""} {
		if got := domain.OfSchema(doc, "x", []string{path}, eval.Any()).Why; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if item := domain.OfSchema(doc, "x", []string{"tags", "[0]"}, eval.Any()); len(item.Values) != 2 {
		t.Errorf("an item of tags: %+v", item)
	}
}

func TestAllowsNull(t *testing.T) {
	for want, docs := range map[bool][]map[string]any{
		true:  {{}, {"type": "null"}, {"type": []any{"string", "null"}}, {"enum": []any{1, nil}}},
		false: {{"type": "string"}, {"type": []any{"string", "integer"}}, {"enum": []any{1}}},
	} {
		for _, doc := range docs {
			if got := domain.AllowsNull(doc); got != want {
				t.Errorf("%v: %v", doc, got)
			}
		}
	}
}
