package controlflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// A node's edges fall into groups: guards by declaration and priority, defaults
// together, failures last; next to decisions only the fallback is a default.
func TestGroups(t *testing.T) {
	for edges, want := range map[string]string{
		"[{from: a, to: [b, c]}]":                                                        "default b c",
		"[{from: a, to: b, when: ok}, {from: a, to: c}]":                                 "guard b; default c",
		"[{from: a, to: b, when: ok}, {from: a, to: c, when: not ok, priority: 1}]":      "guard c; guard b",
		"[{from: a, to: b}, {from: a, to: c, condition: on_failure}]":                    "default b; failure c",
		"[{from: a, to: b, condition: always}]":                                          "default b; failure b",
		"[{from: a, to: b, condition: always}, {from: a, to: c, condition: on_failure}]": "default b; failure c",
		"[{from: a, to: b, condition: llm_decide, description: x}, {from: a, to: c}]":    "decision b",
	} {
		text := "graphrun: v1\nname: g\nstart: a\nstate: {ok: {type: boolean, default: true}}\n" +
			"nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}}\nedges: " + edges + "\n"
		g, found := spec.Parse("g.yaml", []byte(text), spec.Options{})
		bound, more := bind.Bind(g, nil, nil)
		if found.HasErrors() || more.HasErrors() {
			t.Fatal(found, more)
		}
		vertices := controlflow.NewVertices(g)
		w := controlflow.New(vertices, bound)
		names := map[controlflow.Kind]string{
			controlflow.ByGuard: "guard", controlflow.ByDecision: "decision", controlflow.ByDefault: "default", controlflow.OnFailure: "failure",
		}
		var groups []string
		for _, group := range w.Groups[w.Start()] {
			words := names[group.Kind]
			for _, v := range group.Targets {
				words += " " + w.Name(v)
			}
			groups = append(groups, words)
		}
		if got := strings.Join(groups, "; "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", edges, got, want)
		}
	}
}

// A node that may go anywhere leads to every vertex, and no path is left to prove.
func TestAnywhere(t *testing.T) {
	const text = "graphrun: v1\nname: g\nstart: a\nnodes: {a: {kind: pass, goto: \"'b'\"}, b: {kind: pass}}\nedges: [{from: b, to: END}]\n"
	g, _ := spec.Parse("g.yaml", []byte(text), spec.Options{})
	bound, _ := bind.Bind(g, nil, nil)
	vertices := controlflow.NewVertices(g)
	w := controlflow.New(vertices, bound)
	if got := fmt.Sprint(w.Anywhere, w.Reached[:3], w.Cyclic[:3]); got != "true [true true true] [true false false]" {
		t.Error(got)
	}
}
