package schema

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// oracle compiles a schema with an independent validator of the same draft.
func oracle(doc any) (accepts func(value any) bool, err error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource("urn:test", doc); err != nil {
		return nil, err
	}
	s, err := c.Compile("urn:test")
	if err != nil {
		return nil, err
	}
	return func(value any) bool { return s.Validate(value) == nil }, nil
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// generator makes small schemas and values from a few names, numbers and strings, so
// that many of the values fit their schema.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) value(depth int) any {
	n := 7
	if depth == 0 {
		n = 5
	}
	switch g.IntN(n) {
	case 0:
		return nil
	case 1:
		return pick(g, true, false)
	case 2:
		return pick(g, -1, 0, 1, 2, 3, 4)
	case 3:
		return pick(g, 0.5, 1.0, 2.5, 0.3, -1.0, 1e300)
	case 4:
		return pick(g, "", "a", "b", "ab", "é")
	case 5:
		list := make([]any, g.IntN(4))
		for i := range list {
			list[i] = g.value(depth - 1)
		}
		return list
	}
	object := map[string]any{}
	for range g.IntN(4) {
		object[pick(g, "a", "b", "ab", "c")] = g.value(depth - 1)
	}
	return object
}

func (g generator) schema(depth int) any {
	if g.IntN(12) == 0 {
		return g.IntN(3) > 0
	}
	doc := map[string]any{}
	for range 1 + g.IntN(3) {
		g.keyword(doc, depth)
	}
	return doc
}

func (g generator) schemas(depth int) []any {
	list := make([]any, 1+g.IntN(3))
	for i := range list {
		list[i] = g.schema(depth)
	}
	return list
}

func (g generator) object(depth int) map[string]any {
	object := map[string]any{}
	for range 1 + g.IntN(2) {
		object[pick(g, "a", "b", "ab")] = g.schema(depth)
	}
	return object
}

func (g generator) keyword(doc map[string]any, depth int) {
	n := 35
	if depth == 0 {
		n = 18
	}
	types := []any{"null", "boolean", "integer", "number", "string", "array", "object"}
	switch g.IntN(n) {
	case 0, 1, 2:
		doc["type"] = pick(g, types...)
	case 3:
		g.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
		doc["type"] = types[:1+g.IntN(3)]
	case 4:
		doc["enum"] = []any{g.value(1), g.value(1), g.value(0)}
	case 5:
		doc["const"] = g.value(1)
	case 6:
		doc[pick(g, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")] = pick(g, any(0), 1, 2.5, 0.3)
	case 7:
		doc["multipleOf"] = pick(g, any(1), 2, 0.1, 0.5)
	case 8:
		doc[pick(g, "minLength", "maxLength")] = g.IntN(3)
	case 9:
		doc["pattern"] = pick(g, "^a", "b$", "a")
	case 10:
		doc[pick(g, "minItems", "maxItems", "minProperties", "maxProperties")] = g.IntN(3)
	case 11:
		doc["uniqueItems"] = g.IntN(4) > 0
	case 12, 13, 14:
		doc["required"] = []any{pick(g, "a", "b", "ab")}
	case 15:
		doc["$ref"] = pick(g, "#/$defs/d", "#/$defs/e")
	case 16:
		doc["additionalProperties"] = g.IntN(3) > 0
	case 17:
		doc[pick(g, "minContains", "maxContains")] = g.IntN(3)
	case 18, 19:
		doc["items"] = g.schema(depth - 1)
	case 20:
		doc["prefixItems"] = g.schemas(depth - 1)
	case 21:
		doc["contains"] = g.schema(depth - 1)
	case 22, 23, 24:
		doc["properties"] = g.object(depth - 1)
	case 25:
		doc["patternProperties"] = map[string]any{pick(g, "^a", "b$"): g.schema(depth - 1)}
	case 26:
		doc["additionalProperties"] = g.schema(depth - 1)
	case 27, 28, 29:
		doc["propertyNames"] = g.schema(depth - 1)
	case 30, 31:
		doc[pick(g, "allOf", "anyOf", "oneOf")] = g.schemas(depth - 1)
	case 32:
		doc["not"] = g.schema(depth - 1)
	default:
		doc["if"], doc["then"], doc["else"] = g.schema(depth-1), g.schema(depth-1), g.schema(depth-1)
	}
}

// TestAgreesWithOracle compares verdicts over random schemas and values. Each
// seed gives one schema and several values.
func TestAgreesWithOracle(t *testing.T) {
	accepted, refused := 0, 0
	for seed := range uint64(2000) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		doc, ok := g.schema(3).(map[string]any)
		if !ok {
			continue
		}
		doc["$defs"] = map[string]any{"d": map[string]any{"type": "integer"}, "e": g.schemaWithoutRef()}
		s, err := Compile(doc)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, formatFlow(doc, maxFlow), err)
		}
		accepts, err := oracle(doc)
		if err != nil {
			t.Fatalf("seed %d: oracle: %s: %v", seed, formatFlow(doc, maxFlow), err)
		}
		for range 12 {
			v := g.value(3)
			want := accepts(v)
			mismatch := s.Check(v)
			if (mismatch == nil) != want {
				t.Errorf("seed %d: %s\nagainst %s\nwe say %v, the oracle says %v", seed, formatFlow(v, maxFlow), formatFlow(doc, maxFlow), mismatch, want)
			}
			if want {
				accepted++
			} else {
				refused++
			}
			checkNormalised(t, s, v, want)
		}
	}
	if accepted < 1000 || refused < 1000 {
		t.Errorf("the generator is lopsided: %d accepted, %d refused", accepted, refused)
	}
}

func (g generator) schemaWithoutRef() any {
	for {
		doc := g.schema(1)
		if !strings.Contains(formatFlow(doc, maxFlow), "$ref") {
			return doc
		}
	}
}

// checkNormalised checks that normalising a value keeps the verdict and equality, and
// that normalising it twice changes nothing.
func checkNormalised(t *testing.T, s *Schema, v any, accepts bool) {
	t.Helper()
	once := s.Normalise(v)
	if !isEqual(once, v) {
		t.Errorf("%v: %v became %v", s, v, once)
	}
	if (s.Check(once) == nil) != accepts {
		t.Errorf("%v: the verdict on %v changed by Normalise", s, v)
	}
	if again, changed := new(checker).normaliseValue(s.root, once, 0); changed {
		t.Errorf("%v: Normalise of %#v gives %#v, again gives %#v", s, v, once, again)
	}
}

// FuzzCheck checks that no schema and no value causes a panic or an endless check,
// that a second check gives the same result, and that the oracle agrees.
func FuzzCheck(f *testing.F) {
	f.Add(`{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}`, `{"a": 1.0}`)
	f.Add(`{"$ref": "#/$defs/x", "$defs": {"x": {"items": {"$ref": "#"}}}}`, `[[[]]]`)
	f.Add(`{"anyOf": [{"type": "string"}, {"not": {"minimum": 1e300}}]}`, `1e301`)
	f.Add(`{"if": {"type": "array"}, "then": {"contains": {"const": null}}, "maxItems": 3}`, `[null, 2]`)
	f.Add(`{"pattern": "^(a|b)*$", "enum": ["ab"], "x-note": {}}`, `"ab"`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		var docAny, v any
		if decode(schema, &docAny) != nil || decode(value, &v) != nil {
			return
		}
		doc, ok := canonical(docAny).(map[string]any)
		if !ok {
			return
		}
		v = canonical(v)
		s, err := Compile(doc)
		if err != nil {
			return
		}
		first := s.Check(v)
		if again := s.Check(v); errorText(first) != errorText(again) {
			t.Errorf("first %v, then %v", first, again)
		}
		_ = s.String()
		if once := s.Normalise(v); first == nil && s.Check(once) != nil {
			t.Errorf("%v is accepted, its normal form is not", v)
		}
		for _, own := range []string{"$schema", "$id", "$anchor", "format", "content", "x-", "too many"} {
			if strings.Contains(schema, own) {
				return // the oracle interprets these in its own way
			}
		}
		if accepts, err := oracle(doc); err == nil && accepts(v) != (first == nil) {
			t.Errorf("%s against %s: we say %v, the oracle does not", value, schema, first)
		}
	})
}

func decode(text string, v *any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}
