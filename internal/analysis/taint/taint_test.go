package taint

import (
	"testing"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Taint flows from a source through keys, outputs and edges to the reader.
func TestOf(t *testing.T) {
	const head = `graphrun: v1
name: g
start: ask
state:
  given: {type: string, required: true}
  copied: {type: string, default: ""}
  said: {type: string, default: ""}
  own: {type: string, default: ""}
  kind: {enum: [a, b], default: a}
  record: {type: object, required: true, properties: {place: {type: string, enum: [a, b]}, note: {type: string}}}
  list: {type: array, items: {type: string}, default: []}
  odd: {type: array, items: {type: string}, reducer: union, default: []}
nodes:
  ask: {kind: llm, model: p/m, prompt: x, writes: [said]}
  copy: {kind: set, set: {copied: "given + own", own: "'x'", list: "[said]"}}
  pick: {kind: set, each: list, set: {odd: "[item]"}}
  use: {kind: exec, command: ["x{{ `
	const tail = ` }}"]}
edges:
  - {from: ask, to: copy}
  - {from: copy, to: pick}
  - {from: copy, to: use, transform: {text: said, fixed: "'y'"}}
`
	for read, want := range map[string]Origin{
		"given": FromInput, "copied": FromInput, "said": FromWorld, "own": FromFlow, "kind": FromFlow, "record.place": FromFlow, "record.note": FromInput, "len(said)": FromFlow,
		"input.text": FromWorld, "input.fixed": FromFlow, "nodes.ask.output": FromWorld, "nodes.copy.visits": FromFlow,
		"said + own": FromWorld, "odd[0]": FromWorld, "run.input.given": FromInput, "run.id": FromFlow,
	} {
		g, found := spec.Parse("g.yaml", []byte(head+read+tail), spec.Options{})
		bound, more := bind.Bind(g, nil, nil)
		if found.HasErrors() || more.HasErrors() {
			t.Fatal(read, found, more)
		}
		vertices := controlflow.NewVertices(g)
		uses := dataflow.NewUses(g, bound, vertices.From).OfNode(g.Node("use").Index)
		a := New(g, bound, dataflow.Accesses(g, bound), controlflow.New(vertices, bound))
		if got := a.Of(uses[0]); got != want {
			t.Errorf("%s: from %s, want %s", read, got, want)
		}
	}
}

// A pattern makes a text safe only if it matches the whole text.
func TestNarrow(t *testing.T) {
	for pattern, want := range map[string]bool{
		`^[a-z]+$`: true, `^[A-Za-z0-9_.-]{1,20}$`: true, `^(a|b)$`: true, `^a$|^b$`: true, `\Av\d+\z`: true,
		`[a-z]+`: false, `^[a-z]+`: false, `[a-z]+$`: false, `^a|b$`: false, `^.*$`: false, `^[^;]+$`: false, `^\S+$`: false,
		`^[a-z;]+$`: false, `^\$\(x\)$`: false, `(`: false, `(?m)^[a-z]+$`: false, ``: false,
	} {
		if got := plainPattern().MatchString(pattern); got != want {
			t.Errorf("%q: %v, want %v", pattern, got, want)
		}
	}
}
