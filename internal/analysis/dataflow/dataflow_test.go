package dataflow_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// usesOf reads a flow whose only edge with a condition has the given one.
func usesOf(t *testing.T, when string) (src string, uses *dataflow.Uses, writes []dataflow.Access) {
	t.Helper()
	src = `graphrun: v1
name: g
start: a
state:
  x: {type: [integer, "null"]}
  y: {type: [string, "null"]}
  visits_of_x: {type: integer, default: 0}
nodes:
  a: {kind: set, set: {x: 1}}
  b: {kind: set, each: "[1, 2]", set: {y: "'x'"}}
  c: {kind: exec, command: ["{{ y? }}"], output: {type: object}, writes: {y: output.y}}
edges:
  - from: a
    to: b
    when: ` + when + `
  - {from: a, to: c}
`
	g, found := spec.Parse("g.yaml", []byte(src), spec.Options{})
	bound, more := bind.Bind(g, nil, nil)
	if found.HasErrors() || more.HasErrors() {
		t.Fatal(found, more)
	}
	return src, dataflow.NewUses(g, bound, []int{0, 0}), dataflow.Accesses(g, bound)
}

// A program needs the value of a path unless a test, or ??, handles a missing value.
func TestFirmReads(t *testing.T) {
	for when, want := range map[string]string{
		"x > 1":                            "x",
		"x != None":                        "",
		"x != None and x > 1":              "",
		"x == None or x > 1":               "",
		"x > 1 and x != None":              "x",
		"(x ?? 0) > 1":                     "",
		"(x != None ? x : 0) > 1":          "",
		"y == 'x' and x > 1":               "x y",
		"visits.a > 1 and x > 1":           "", // it may know that there is a value
		"not (x == None) and len(y) < x":   "y",
		"x == None and visits_of_x > 1":    "visits_of_x",
		"visits_of_x > 1 and y != 'x > 1'": "visits_of_x y",
	} {
		_, uses, _ := usesOf(t, `"`+when+`"`)
		var got []string
		for _, r := range dataflow.FirmReads(uses.All[len(uses.All)-1].Program) {
			got = append(got, strings.Join(r.Path, "."))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: reads %q firmly, want %q", when, got, want)
		}
	}
}

// SpanOf finds the name of a path only as a whole word: not in a text, and not as a part of
// another name.
func TestSpanOf(t *testing.T) {
	for when, want := range map[string]int{
		"visits_of_x > 1 and x > 1": len("visits_of_x > 1 and "),
		"y == 'x' and x > 1":        len("y == 'x' and "),
		`y == 'it\'s x' or x > 1`:   len(`y == 'it\'s x' or `),
	} {
		src, uses, _ := usesOf(t, "|-\n      "+when)
		span := uses.All[len(uses.All)-1].SpanOf("x")
		if at := strings.Index(src, when); span != (spec.Span{From: at + want, To: at + want + 1}) {
			t.Errorf("%s: x stands at %d to %d, want %d", when, span.From-at, span.To-at, want)
		}
	}
}

// Uses lists each expression once, with its moment. An empty list writes nothing.
func TestUses(t *testing.T) {
	_, uses, writes := usesOf(t, "x > 1")
	var got []string
	for _, u := range uses.All {
		got = append(got, u.Field+": "+u.Program.Source)
	}
	if all := strings.Join(got, "; "); all != "set: 'x'; each: [1, 2]; command: y; writes: output.y; when: x > 1" {
		t.Error(all)
	}
	if c := uses.OfNode(2); c[0].Moment != dataflow.Before || !c[0].Optional || c[1].Moment != dataflow.After {
		t.Errorf("%+v", c)
	}
	if len(writes[0].Always) != 1 || len(writes[1].Writes) != 1 || writes[1].Always != nil || writes[2].Always[0].Name.Value != "y" {
		t.Errorf("%+v", writes)
	}
}
