package bind_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// TestMisfits checks that a literal that does not fit its state key is the only finding.
func TestMisfits(t *testing.T) {
	const head, tail = "graphrun: v1\nname: t\nstart: a\nstate:\n", "edges: [{from: a, to: END}]\n"
	state := func(key string) string { return head + "  " + key + "\nnodes: {a: {kind: pass}}\n" + tail }
	set := func(values string) string {
		return head + "  count: {type: integer}\n  log: {type: array, items: {type: string}, reducer: append}\n" +
			"  m: {type: object, reducer: merge, properties: {p: {type: string}}}\nnodes: {a: {kind: set, set: " + values + "}}\n" + tail
	}
	for _, c := range []struct {
		name, text string // «» around the span of the finding
		message    string // a part of it
	}{
		{"literal", set("{count: «1.5»}"), `the value for "count": 1.5 is not an integer`},
		{"literal element", set("{log: «5»}"), `5 is not a string`},
		{"literal list", set("{log: [a, «5»]}"), `at "[1]": 5 is not a string`},
		{"literal part", set("{m: {p: «5»}}"), `the value for "m": at "p": 5 is not a string`},
		{"default", state("n: {type: integer, default: «many»}"), `"many" is not an integer`},
		{"default enum", state("n: {enum: [a, b], default: «c»}"), `one of "a", "b"`},
		{"default null", state("n: {type: string, default: «null»}"), `null is not a string`},
		{"default fraction", state("n: {type: integer, default: «1.5»}"), `1.5 is not an integer`},
		{"default item", state("n: {type: array, items: {type: string}, default: [a, «1»]}"), `at "[1]": 1 is not a string`},
		{"default lacks", state("n: {type: object, required: [p, q], default: «{p: 1}»}"), `"q" is missing`},
		{"default const", state("n: {const: {a: 1, b: 2}, default: «{a: 1}»}"), `is not an object of 2 properties`},
		{"default list", state("n: {enum: [[1, 2]], default: «[1, 3]»}"), `is not one of a list of 2 items`},
		{"default property", state("n: {type: object, properties: {p: {type: boolean}}, default: {p: «1»}}"), `the default of "n": at "p": 1 is not true or false`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, rest, _ := strings.Cut(c.text, "«")
			part, after, _ := strings.Cut(rest, "»")
			g, found := spec.Parse("f.yaml", []byte(before+part+after), spec.Options{})
			_, more := bind.Bind(g, nil, nil)
			if found = append(found, more...); len(found) != 1 {
				t.Fatalf("%d findings, want one: %v", len(found), found)
			}
			want := spec.Span{From: len(before), To: len(before) + len(part)}
			if d := found[0]; d.Rule != "type-mismatch" || d.Span != want || !strings.Contains(d.Message, c.message) {
				t.Errorf("got %s at %v: %s; want …%s… at %v", d.Rule, d.Span, d.Message, c.message, want)
			}
		})
	}
}
