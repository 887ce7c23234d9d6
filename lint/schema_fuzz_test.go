package lint

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/graphrun/graphrun/spec"
)

// schemaOf makes a JSON Schema from bytes: each byte chooses the next part.
func schemaOf(data []byte, depth int) (doc map[string]any, rest []byte) {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	doc = map[string]any{}
	kinds := []any{"object", "null", "array", "string", "integer", "number", "boolean"}
	switch n := next() % 12; {
	case n < 7:
		doc["type"] = kinds[n]
	case n < 10:
		var list []any
		for range 1 + next()%3 {
			kind := kinds[next()%len(kinds)]
			repeated := false
			for _, other := range list {
				repeated = repeated || other == kind
			}
			if !repeated {
				list = append(list, kind)
			}
		}
		doc["type"] = list
	}
	for range next() % 4 {
		inner := func() map[string]any {
			if depth == 0 {
				return map[string]any{}
			}
			var out map[string]any
			out, data = schemaOf(data, depth-1)
			return out
		}
		switch next() % 12 {
		case 0:
			doc["properties"] = map[string]any{"a": inner(), "b": inner()}
		case 1:
			doc["items"] = inner()
		case 2:
			doc["enum"] = []any{nil, next(), "x", map[string]any{"a": 1}, []any{}}
		case 3:
			doc["required"] = []any{"a", "c"}
		case 4:
			doc["minItems"] = next() * 1000
		case 5:
			doc["minLength"] = next() * 1000
		case 6:
			doc["pattern"] = []string{"^a+$", "[0-9]{3}", "(x|y)*", "("}[next()%4]
		case 7:
			doc["anyOf"] = []any{inner(), inner()}
		case 8:
			doc["minimum"], doc["maximum"] = next()-128, next()
		case 9:
			doc["const"] = map[string]any{"a": []any{next()}}
		case 10:
			doc["additionalProperties"] = inner()
		case 11:
			doc["$ref"] = []string{"#", "#/properties/a", "#/items"}[next()%3]
		}
	}
	return doc, data
}

// FuzzSchema runs all rules on flows with random schemas, which must end.
func FuzzSchema(f *testing.F) {
	f.Add([]byte{7, 1, 0, 1, 0})
	f.Add([]byte{8, 2, 2, 0, 1, 3, 0, 7, 1, 0, 1, 1, 7, 0, 2})
	f.Add([]byte{2, 2, 4, 255, 1, 7, 2, 0, 1, 2})
	f.Add([]byte{0, 2, 11, 1, 0, 0, 11, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		first, rest := schemaOf(data, 5)
		second, _ := schemaOf(rest, 5)
		text := func(v any) string {
			out, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		input := map[string]any{"required": true}
		for key, value := range first {
			if key != "required" {
				input[key] = value
			}
		}
		flow := fmt.Sprintf(`{"graphrun": "v1", "name": "s", "start": "a", "state": {"x": %s, "y": %s, "z": %s},
			"nodes": {"a": {"kind": "exec", "command": ["x"], "parse": "json", "writes": ["x"]},
				"b": {"kind": "human", "prompt": "?", "schema": %s, "writes": ["y"]}},
			"policies": [{"never": "x == nil", "at": "b"}, {"max_visits": 2, "node": "a"}],
			"edges": [{"from": "a", "to": "b", "when": "x != nil and z != nil"}, {"from": "a", "to": "END"},
				{"from": "b", "to": "a", "when": "y != nil and visits.b < 3"}, {"from": "b", "to": "END"}]}`,
			text(first), text(second), text(input), text(second))
		g, found := spec.Parse("g.json", []byte(flow), spec.Options{})
		if found = append(found, spec.Check(g)...); g == nil || len(g.Nodes) == 0 {
			return
		}
		checkGraph(g, Options{Broken: FirstError(found)})
	})
}
