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
		w := parseFlow(t, text)
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

// A join is implied where some of the branches that may start meet first, and only there.
func TestJoins(t *testing.T) {
	for edges, want := range map[string]string{
		"[{from: a, to: b, when: ok}, {from: a, to: c, when: visits.a < 9}, {from: [b, c], to: d}, {from: d, to: e}, {from: e, to: c, when: ok}, {from: e, to: END}]": "d",
		"[{from: a, to: [b, c]}, {from: [b, c], to: d}, {from: d, to: e}, {from: e, to: END}]":                                                                        "d",
	} {
		text := "graphrun: v1\nname: g\nstart: a\nstate: {ok: {type: boolean, default: true}}\n" +
			"nodes: {a: {kind: pass, routing: all}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass}, e: {kind: pass}}\nedges: " + edges + "\n"
		w := parseFlow(t, text)
		var joins []string
		for v := range w.End {
			if w.Joins[v] {
				joins = append(joins, w.Name(v))
			}
		}
		if got := strings.Join(joins, " "); got != want {
			t.Errorf("%s: joins at %s, want %s", edges, got, want)
		}
	}
}

// A fan-out between two joins counts once, even if a cycle leads back to the first join.
func TestMostArrivals(t *testing.T) {
	const nodes = "nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}, d: {kind: pass, join: {wait: all}}, e: {kind: pass}, f: {kind: pass}, g: {kind: pass, join: {wait: 2}}}\n"
	for edges, want := range map[string]int{
		"{from: d, to: a, when: visits.a < 3}, {from: d, to: [e, f]}, {from: [e, f], to: g}, {from: g, to: END}": 2,
		"{from: d, to: [e, f]}, {from: e, to: d, when: visits.e < 3}, {from: [e, f], to: g}, {from: g, to: END}": controlflow.ManyBranches,
	} {
		w := parseFlow(t, "graphrun: v1\nname: g\nstart: a\n"+nodes+"edges: [{from: a, to: [b, c]}, {from: [b, c], to: d}, "+edges+"]\n")
		got := w.MostArrivals(w.Source.Node("g").Index, func(*controlflow.Group) bool { return false })
		if got != want {
			t.Errorf("%s: %d arrivals, want %d", edges, got, want)
		}
	}
}

func parseFlow(t *testing.T, text string) *controlflow.Graph {
	t.Helper()
	g, found := spec.Parse("g.yaml", []byte(text), spec.Options{})
	bound, more := bind.Bind(g, nil, nil)
	if found.HasErrors() || more.HasErrors() {
		t.Fatal(found, more)
	}
	return controlflow.New(controlflow.NewVertices(g), bound)
}

// A node that may go anywhere leads to every vertex, so that nothing can be proven about paths.
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
