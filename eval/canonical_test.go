package eval

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestCanonical(t *testing.T) {
	type inner struct {
		A int `json:"a"`
	}
	type named string
	seven := 7
	for _, c := range []struct {
		name     string
		in, want any
	}{
		{"nil", nil, nil},
		{"int", 5, 5},
		{"int64", int64(-5), -5},
		{"uint8", uint8(5), 5},
		{"big int", 1<<61 + 1, float64(1<<61 + 1)},
		{"int at the bound", -(1 << 61), -(1 << 61)},
		{"uint64", uint64(math.MaxUint64), float64(math.MaxUint64)},
		{"whole float", 3.0, 3},
		{"negative zero", math.Copysign(0, -1), 0},
		{"whole float at the bound", float64(1 << 53), 1 << 53},
		{"whole float beyond", float64(1<<53) * 2, float64(1<<53) * 2},
		{"float", 3.5, 3.5},
		{"float32", float32(0.5), 0.5},
		{"number", json.Number("12"), 12},
		{"number float", json.Number("1.50"), 1.5},
		{"number exponent", json.Number("1e2"), 100},
		{"number big", json.Number("12345678901234567890"), 12345678901234567890.0},
		{"list", []any{1.0, "x", []any{2.0}}, []any{1, "x", []any{2}}},
		{"typed list", []string{"a"}, []any{"a"}},
		{"nil list", []string(nil), []any{}},
		{"array", [2]int{1, 2}, []any{1, 2}},
		{"map", map[string]any{"a": 1.0}, map[string]any{"a": 1}},
		{"typed map", map[named]int{"a": 1}, map[string]any{"a": 1}},
		{"struct", inner{2}, map[string]any{"a": 2}},
		{"pointer", &inner{2}, map[string]any{"a": 2}},
		{"pointer to int", &seven, 7},
		{"nil pointer", (*int)(nil), nil},
		{"named string", named("x"), "x"},
		{"time", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "2026-01-02T03:04:05Z"},
		{"raw JSON", json.RawMessage(`{"a": [1.0]}`), map[string]any{"a": []any{1}}},
		{"structs in a list", []inner{{1}}, []any{map[string]any{"a": 1}}},
	} {
		got, err := Canonical(c.in)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %#v, %v, want %#v", c.name, got, err, c.want)
		}
	}
}

func TestCanonicalErrors(t *testing.T) {
	deep := any(1)
	for range 1001 {
		deep = []any{deep}
	}
	cycle := map[string]any{}
	cycle["a"], cycle["b"] = cycle, cycle
	for name, v := range map[string]any{
		"NaN": math.NaN(), "Inf": []any{math.Inf(1)}, "deep": deep, "cycle": cycle, "func": func() {}, "channel": make(chan int),
		"number": json.Number("1e999"), "nested NaN": map[string]float64{"a": math.NaN()},
	} {
		if got, err := Canonical(v); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestCanonicalKeepsWhatIsCanonical(t *testing.T) {
	list := []any{1, "x", map[string]any{"a": []any{2.5}}}
	object := map[string]any{"list": list}
	for _, v := range []any{list, object} {
		got, err := Canonical(v)
		if err != nil || reflect.ValueOf(got).Pointer() != reflect.ValueOf(v).Pointer() {
			t.Errorf("%v was copied", v)
		}
	}
	mixed := []any{list, 2.0}
	got, err := Canonical(mixed)
	if err != nil || mixed[1] != 2.0 || got.([]any)[1] != 2 {
		t.Errorf("got %v, input is now %v", got, mixed)
	}
	if reflect.ValueOf(got.([]any)[0]).Pointer() != reflect.ValueOf(list).Pointer() {
		t.Error("an unchanged part was copied")
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = Canonical(object) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		in   any
		want string
	}{
		{nil, ""},
		{"a\n", "a\n"},
		{true, "true"},
		{-3, "-3"},
		{1.0, "1"},
		{0.1, "0.1"},
		{1e21, "1e+21"},
		{123456789012.0, "123456789012"},
		{math.Inf(1), ""},
		{[]any{1.5, nil, "<&>"}, `[1.5,null,"<&>"]`},
		{map[string]any{"b": 1, "a": []any{}}, `{"a":[],"b":1}`},
		{[]string{"x"}, `["x"]`},
		{int64(4), "4"},
	} {
		if got := Text(c.in); got != c.want {
			t.Errorf("%#v: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestFromSchema(t *testing.T) {
	obj := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	closed := FromSchema(obj("type", "object", "properties", obj("a", obj("type", "integer")), "additionalProperties", false))
	if f, known, ok := closed.Field("a"); f.String() != "integer" || !known || !ok {
		t.Errorf("field a: %v, %v, %v", f, known, ok)
	}
	if _, _, ok := closed.Field("b"); ok {
		t.Error("a closed object has other fields")
	}
	open := FromSchema(obj("type", "object", "properties", obj("a", true)))
	if f, known, ok := open.Field("b"); !f.IsAny() || known || !ok {
		t.Error("an object is closed without saying so")
	}
	for want, schema := range map[string]map[string]any{
		"any":              obj(),
		"string":           obj("type", "string", "enum", []any{"a"}),
		"string ":          obj("enum", []any{"a", "b"}),
		"number":           obj("enum", []any{1, 2.5}),
		"any ":             obj("enum", []any{1, "b"}),
		"integer":          obj("const", 3),
		"boolean":          obj("type", "boolean"),
		"string  ":         obj("type", []any{"string", "null"}),
		"number ":          obj("type", []any{"integer", "number"}),
		"any  ":            obj("type", []any{"integer", "string"}),
		"list":             obj("type", "array"),
		"list of integers": obj("type", "array", "items", obj("type", "integer")),
		"null":             obj("type", "null"),
		"any   ":           obj("type", "strange"),
		"any    ":          obj("$ref", "#/x", "type", "string"),
		"any     ":         obj("type", 5),
	} {
		if got := FromSchema(schema).String(); got != strings.TrimSpace(want) {
			t.Errorf("%v: got %s, want %s", schema, got, want)
		}
	}
}

func TestAccepts(t *testing.T) {
	obj := func(t Type) Type { return Object(map[string]Type{"a": t}, false) }
	for _, c := range []struct {
		to, from Type
		want     bool
	}{
		{Any(), String(), true},
		{String(), Any(), true},
		{String(), typeOf(nil), true},
		{Float(), Int(), true},
		{Int(), Float(), true},
		{String(), Int(), false},
		{List(String()), List(Int()), false},
		{List(String()), List(Any()), true},
		{obj(Int()), obj(String()), false},
		{obj(Int()), obj(Int()), true},
		{obj(Int()), List(Int()), false},
	} {
		if got := c.to.Accepts(c.from); got != c.want {
			t.Errorf("%v accepts %v: %v", c.to, c.from, got)
		}
	}
}
