package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

// parseData reads JSON as canonical plain data: whole literals are ints.
func parseData(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return canonical(v)
}

func canonical(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return int(i)
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = canonical(v[k])
		}
	}
	return v
}

func compile(t testing.TB, text string) *Schema {
	t.Helper()
	doc, _ := parseData(t, text).(map[string]any)
	s, err := Compile(doc)
	if err != nil {
		t.Fatalf("Compile(%s): %v", text, err)
	}
	return s
}

func TestCheck(t *testing.T) {
	tests := []struct{ schema, value, want string }{
		{`{}`, `{"a": [1, null]}`, ``},
		{`{"type": "integer"}`, `3`, ``},
		{`{"type": "integer"}`, `3.0`, ``},
		{`{"type": "integer"}`, `3.5`, `3.5 is not an integer`},
		{`{"type": "number"}`, `3`, ``},
		{`{"type": "string"}`, `null`, `null is not a string`},
		{`{"type": ["string", "null"]}`, `null`, ``},
		{`{"type": ["null", "string"]}`, `1`, `1 is not a string or null`},
		{`{"type": "boolean"}`, `"true"`, `"true" is not true or false`},
		{`{"type": "array"}`, `{}`, `an object of 0 properties is not a list`},
		{`{"type": "object"}`, `[1]`, `a list of 1 item is not an object`},
		{`{"enum": ["a", "b"]}`, `"c"`, `"c" is not one of "a", "b"`},
		{`{"enum": [1, null]}`, `1.0`, ``},
		{`{"enum": ["a","b","c","d","e","f","g","h","i","j","k","l","m"]}`, `"m"`, ``},
		{
			`{"enum": ["a","b","c","d","e","f","g","h","i","j","k","l","m"]}`, `"n"`,
			`"n" is not one of "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", … (13 in all)`,
		},
		{`{"const": {"a": 1}}`, `{"a": 1.0}`, ``},
		{`{"const": null}`, `0`, `0 is not null`},
		{`{"const": 1, "enum": [1, 2]}`, `2`, `2 is not 1`},
		{`{"minimum": 2}`, `1.5`, `1.5 is below the minimum of 2`},
		{`{"maximum": 2.5}`, `3`, `3 is above the maximum of 2.5`},
		{`{"exclusiveMinimum": 2}`, `2`, `2 is not above 2`},
		{`{"exclusiveMaximum": 2}`, `2.0`, `2.0 is not below 2`},
		{`{"minimum": 2}`, `"a"`, ``},
		{`{"multipleOf": 0.1}`, `0.3`, ``},
		{`{"multipleOf": 3}`, `7`, `7 is not a multiple of 3`},
		{`{"minLength": 2}`, `"é"`, `"é" is shorter than 2 characters`},
		{`{"maxLength": 1}`, `"ab"`, `"ab" is longer than 1 character`},
		{`{"pattern": "^a+$"}`, `"ab"`, `"ab" does not match the pattern "^a+$"`},
		{`{"items": {"type": "string"}}`, `["a", 1]`, `at "[1]": 1 is not a string`},
		{`{"prefixItems": [{"type": "string"}], "items": false}`, `["a", 1]`, `at "[1]": 1 is not allowed here: nothing is`},
		{`{"minItems": 2}`, `[1]`, `a list of 1 item is shorter than 2 items`},
		{`{"maxItems": 0}`, `[1]`, `a list of 1 item is longer than 0 items`},
		{`{"uniqueItems": true}`, `[1, "a", 1.0]`, `items 0 and 2 are equal: 1`},
		{`{"uniqueItems": true}`, `[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,[1],{"a":1},[1.0]]`, `items 18 and 20 are equal: a list of 1 item`},
		{`{"contains": {"type": "null"}}`, `[1]`, `a list of 1 item holds 0 of at least 1 item that fit {type: "null"}`},
		{`{"contains": {"const": 1}, "maxContains": 1}`, `[1, 1]`, `a list of 2 items holds 2 of at most 1 item that fit {const: 1}`},
		{
			`{"properties": {"items": {"items": {"properties": {"name": {"type": "string"}}}}}}`,
			`{"items": [{}, {}, {"name": 1}]}`, `at "items[2].name": 1 is not a string`,
		},
		{`{"properties": {"a b": {"type": "string"}}}`, `{"a b": 1}`, `at "[\"a b\"]": 1 is not a string`},
		{`{"required": ["a"]}`, `{}`, `"a" is missing`},
		{`{"required": ["b", "a"]}`, `{"c": 1}`, `"b", "a" are missing`},
		{`{"properties": {"a": {}, "b": {}}, "additionalProperties": false}`, `{"a": 1, "d": 1, "c": 1}`, `unknown property "c"; allowed: a, b`},
		{`{"additionalProperties": {"type": "integer"}}`, `{"a": 1, "b": "x"}`, `at "b": "x" is not an integer`},
		{`{"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false}`, `{"x1": 1, "y": 1}`, `unknown property "y"`},
		{`{"patternProperties": {"^x": {"type": "integer"}}}`, `{"x1": "a"}`, `at "x1": "a" is not an integer`},
		{`{"propertyNames": {"maxLength": 1}}`, `{"ab": 1}`, `the name "ab" is longer than 1 character`},
		{`{"minProperties": 1}`, `{}`, `an object of 0 properties has fewer than 1 property`},
		{`{"maxProperties": 0}`, `{"a": 1}`, `an object of 1 property has more than 0 properties`},
		{`{"allOf": [{"minimum": 1}, {"maximum": 2}]}`, `3`, `3 is above the maximum of 2`},
		{`{"anyOf": [{"type": "string"}, {"type": "null"}]}`, `1`, `1 is not a string or null`},
		{
			`{"anyOf": [{"type": "string"}, {"minimum": 3}]}`, `1`,
			`1 fits none of 2 alternatives: (1) 1 is not a string; (2) 1 is below the minimum of 3`,
		},
		{`{"oneOf": [{"minimum": 1}, {"type": "string"}, {"maximum": 5}]}`, `3`, `3 fits alternatives 1 and 3 of oneOf, where exactly one must fit`},
		{`{"not": {"type": "integer"}}`, `3`, `3 fits what is excluded: {type: integer}`},
		{`{"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"maximum": 5}}`, `15`, `15 is not a multiple of 10`},
		{`{"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"maximum": 5}}`, `7`, `7 is above the maximum of 5`},
		{`{"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}`, `["a"]`, `at "[0]": "a" is not an integer`},
		{`{"$defs": {"n": {"$anchor": "num", "type": "integer"}}, "$ref": "#num"}`, `"a"`, `"a" is not an integer`},
		{`{"$id": "https://example.org/s", "items": {"$ref": "https://example.org/s"}, "type": "array"}`, `[1]`, `at "[0]": 1 is not a list`},
		{`{"properties": {"next": {"$ref": "#"}}, "required": ["v"]}`, `{"v": 1, "next": {"v": 2, "next": {}}}`, `at "next.next": "v" is missing`},
		{`{"format": "email", "x-note": 1}`, `"nobody"`, ``},
	}
	for _, test := range tests {
		err := compile(t, test.schema).Check(parseData(t, test.value))
		if got := errorText(err); got != test.want {
			t.Errorf("%s against %s:\n got %s\nwant %s", test.value, test.schema, got, test.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheckNoPlainData(t *testing.T) {
	for _, v := range []any{int64(1), []string{"a"}, struct{}{}, math.NaN(), math.Inf(1)} {
		for _, schema := range []string{`{"type": "number"}`, `{"minimum": 0}`, `{"items": {"type": "string"}}`} {
			if compile(t, schema).Check(v) == nil {
				t.Errorf("%T passes %s", v, schema)
			}
		}
	}
}

func TestCompileErrors(t *testing.T) {
	tests := []struct{ schema, want string }{
		{`{"type": "int"}`, `at "type": "int" is not a type; allowed: array, boolean, integer, null, number, object, string`},
		{`{"type": []}`, `at "type": an empty list allows no value; name at least one type`},
		{`{"type": ["string", 1]}`, `at "type": 1 is not a type; allowed: array, boolean, integer, null, number, object, string`},
		{`{"properties": {"a": {"minLenght": 1}}}`, `at "properties.a.minLenght": unknown keyword "minLenght"`},
		{`{"items": [{}]}`, `at "items": a list is not a schema; schemas by position are prefixItems`},
		{`{"items": 1}`, `at "items": 1 is not a schema; allowed: an object of keywords, true, false`},
		{`{"anyOf": [{"type": "string"}, {"enum": []}]}`, `at "anyOf[1].enum": a list of 0 items is not a list with at least one value`},
		{`{"allOf": []}`, `at "allOf": a list of 0 items is not a list with at least one schema`},
		{`{"minLength": -1}`, `at "minLength": -1 is not a whole number of 0 or above`},
		{`{"minimum": "1"}`, `at "minimum": "1" is not a number`},
		{`{"exclusiveMinimum": true}`, `at "exclusiveMinimum": true is not a number`},
		{`{"multipleOf": 0}`, `at "multipleOf": 0 is not above 0`},
		{`{"pattern": "("}`, "at \"pattern\": \"(\" is not a regular expression: missing closing ): `(`"},
		{`{"required": "a"}`, `at "required": "a" is not a list of names`},
		{`{"required": [1]}`, `at "required[0]": 1 is not a name`},
		{`{"uniqueItems": 1}`, `at "uniqueItems": 1 is neither true nor false`},
		{`{"properties": []}`, `at "properties": a list of 0 items is not an object of schemas`},
		{`{"$ref": "#/$defs/x"}`, `at "$ref": "#/$defs/x" leads to no schema of the document`},
		{`{"$ref": "#x"}`, `at "$ref": "#x" leads to no schema of the document`},
		{`{"$ref": "other.json"}`, `at "$ref": "other.json" leads outside of the document; allowed: #, #/path, #anchor`},
		{`{"$ref": "https://example.org/s.json#/a"}`, `at "$ref": "https://example.org/s.json#/a" leads outside of the document; allowed: #, #/path, #anchor`},
		{`{"$ref": "file:///etc/passwd"}`, `at "$ref": "file:///etc/passwd" leads outside of the document; allowed: #, #/path, #anchor`},
		{`{"properties": {"a": {"$id": "b"}}}`, `at "properties.a.$id": an identity inside a document is not supported; use $anchor`},
		{`{"$dynamicRef": "#x"}`, `at "$dynamicRef": unknown keyword "$dynamicRef"; only "$ref" inside the document is supported`},
		{`{"dependentRequired": {"a": ["b"]}}`, `at "dependentRequired": unknown keyword "dependentRequired"; use "if" and "then"`},
		{`{"unevaluatedProperties": false}`, `at "unevaluatedProperties": unknown keyword "unevaluatedProperties"; use "items" or "additionalProperties"`},
		{`{"nullable": true}`, `at "nullable": unknown keyword "nullable"; name the type null instead: type: [string, null]`},
	}
	for _, test := range tests {
		doc, _ := parseData(t, test.schema).(map[string]any)
		_, err := Compile(doc)
		if got := errorText(err); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.schema, got, test.want)
		}
	}
}

func TestCompileRefusesDeepSchemas(t *testing.T) {
	doc := map[string]any{}
	for range 100_000 {
		doc = map[string]any{"items": doc}
	}
	if _, err := Compile(doc); err == nil || !strings.Contains(err.Error(), "nested deeper than") {
		t.Errorf("got %v", err)
	}
}

// Checking a small value against a small schema could take 2^60 steps.
func TestCheckEndsOnExplosiveSchemas(t *testing.T) {
	s := compile(t, `{"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}`)
	var v any = 1
	for range 60 {
		v = []any{v}
	}
	if err := s.Check(v); err == nil || !strings.Contains(err.Error(), "too many steps") {
		t.Errorf("got %v", err)
	}
	s.Normalise(v) // must terminate, too
}

// A schema that applies itself to the same value rejects every value.
func TestCheckEndsOnLoops(t *testing.T) {
	for _, doc := range []string{`{"$ref": "#"}`, `{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}`} {
		s := compile(t, doc)
		if err := s.Check(1); err == nil || !strings.Contains(err.Error(), "too many steps") {
			t.Errorf("%s: %v", doc, err)
		}
		s.Normalise(1)
	}
}

func TestCheckRefusesDeepValues(t *testing.T) {
	s := compile(t, `{"items": {"$ref": "#"}}`)
	v := []any{}
	for range 1_000_000 {
		v = []any{v}
	}
	if err := s.Check(v); err == nil || !strings.Contains(err.Error(), "too many steps") {
		t.Errorf("got %.200v", err)
	}
	s.Normalise(v)
}

func TestCheckAppended(t *testing.T) {
	plain := compile(t, `{"type": "array", "items": {"type": "integer"}, "maxItems": 3}`)
	unique := compile(t, `{"type": "array", "uniqueItems": true}`)
	tests := []struct {
		schema *Schema
		list   string
		from   int
		want   string
	}{
		{plain, `["old and wrong", 2]`, 1, ``}, // CheckAppended skips the first element
		{plain, `["old and wrong", 2]`, 0, `at "[0]": "old and wrong" is not an integer`},
		{plain, `[1, "x"]`, 1, `at "[1]": "x" is not an integer`},
		{plain, `[1, 2, 3, 4]`, 3, `a list of 4 items is longer than 3 items`},
		{unique, `[1, 2, 1]`, 2, `items 0 and 2 are equal: 1`},
		{compile(t, `{"type": "string"}`), `[1]`, 1, `a list of 1 item is not a string`},
		{compile(t, `{}`), `[1]`, 0, ``},
		{nil, `[1]`, 0, ``},
	}
	for _, test := range tests {
		list, _ := parseData(t, test.list).([]any)
		if got := errorText(test.schema.CheckAppended(list, test.from)); got != test.want {
			t.Errorf("%s from %d against %v: got %s, want %s", test.list, test.from, test.schema, got, test.want)
		}
	}
}

func TestNormalise(t *testing.T) {
	list := func(v ...any) []any { return v }
	tests := []struct {
		schema   string
		in, want any
	}{
		{`{}`, 1.0, 1},
		{`{}`, 1.5, 1.5},
		{`{}`, 1e300, 1e300},
		{`{}`, list(1.0, "a", map[string]any{"b": 2.0}), list(1, "a", map[string]any{"b": 2})},
		{`{"type": "integer"}`, 1.0, 1},
		{`{"type": "number"}`, 1, 1.0},
		{`{"type": ["number", "null"]}`, 1, 1.0},
		{`{"type": ["integer", "number"]}`, 1, 1.0},
		{`{"items": {"type": "number"}}`, list(1, 2.5), list(1.0, 2.5)},
		{`{"prefixItems": [{"type": "number"}]}`, list(1, 1.0), list(1.0, 1)},
		{`{"properties": {"a": {"type": "number"}}}`, map[string]any{"a": 1, "b": 1.0}, map[string]any{"a": 1.0, "b": 1}},
		{`{"additionalProperties": {"type": "number"}}`, map[string]any{"a": 1}, map[string]any{"a": 1.0}},
		{`{"patternProperties": {"^a": {"type": "number"}}}`, map[string]any{"ab": 1, "b": 1.0}, map[string]any{"ab": 1.0, "b": 1}},
		{`{"$ref": "#/$defs/x", "$defs": {"x": {"type": "number"}}}`, 1, 1.0},
		{`{"anyOf": [{"type": "string"}, {"type": "number"}]}`, 1, 1.0},
		{`{"anyOf": [{"required": ["a"]}, {"properties": {"b": {"type": "number"}}}]}`, map[string]any{"b": 1}, map[string]any{"b": 1.0}},
		{`{"allOf": [{"items": {"type": "number"}}, {"items": {"type": "integer"}}]}`, list(1.0), list(1)},
	}
	for _, test := range tests {
		if got := compile(t, test.schema).Normalise(test.in); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v by %s: got %#v, want %#v", test.in, test.schema, got, test.want)
		}
	}
}

func TestNormaliseCopiesOnlyTheWay(t *testing.T) {
	s := compile(t, `{}`)
	same := []any{1, "a", map[string]any{"x": 2.5}}
	if got := s.Normalise(same).([]any); &got[0] != &same[0] {
		t.Error("an unchanged list was copied")
	}
	inner := []any{1, 2}
	outer := map[string]any{"keep": inner, "change": []any{1.0}}
	got := s.Normalise(outer).(map[string]any)
	if _, ok := outer["change"].([]any)[0].(float64); !ok {
		t.Error("the value that was given changed")
	}
	if kept := got["keep"].([]any); &kept[0] != &inner[0] {
		t.Error("an unchanged part was copied")
	}
}

func TestNilSchemaAcceptsAll(t *testing.T) {
	var s *Schema
	if err := s.Check([]any{1}); err != nil {
		t.Error(err)
	}
	if got := s.Normalise(1.0); got != 1 {
		t.Errorf("got %v", got)
	}
	if got := s.String(); got != "{}" {
		t.Errorf("got %s", got)
	}
}

func TestString(t *testing.T) {
	s := compile(t, `{"enum": ["a", "no", "b c", 1.5, null], "type": "string", "properties": {"x": true}}`)
	want := `{type: string, enum: [a, "no", "b c", 1.5, null], properties: {x: true}}`
	if got := s.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkCheck(b *testing.B) {
	list := make([]any, 1000)
	for i := range list {
		list[i] = i
	}
	for _, bench := range []struct {
		name, schema string
		value        any
	}{
		{"integer", `{"type": "integer"}`, 3},
		{"enum", `{"type": "string", "enum": ["a", "b", "c"]}`, "c"},
		{"range", `{"type": "number", "minimum": 0, "maximum": 1}`, 0.5},
		{"list1000", `{"type": "array", "items": {"type": "integer"}}`, list},
		{"object", `{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}`, map[string]any{"a": "x", "b": 1}},
		{"ref", `{"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}`, 3},
	} {
		s := compile(b, bench.schema)
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Check(bench.value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNormalise(b *testing.B) {
	s := compile(b, `{"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}}`)
	list := make([]any, 1000)
	for i := range list {
		list[i] = map[string]any{"a": i}
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Normalise(list)
	}
}

func BenchmarkCompile(b *testing.B) {
	doc := parseData(b, `{"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}, "b": {"type": "array", "items": {"type": "integer"}}}}`).(map[string]any)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(doc); err != nil {
			b.Fatal(err)
		}
	}
}
