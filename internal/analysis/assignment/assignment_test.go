package assignment_test

import (
	"fmt"
	"testing"

	"github.com/graphrun/graphrun/internal/analysis/assignment"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Node b assigns the only variable. The cases say whether it may be open at d, and on which path.
func TestAnalysis(t *testing.T) {
	for name, c := range map[string]struct {
		d, edges string
		want     string
	}{
		"on the way":                          {"{kind: pass}", "{from: a, to: b}, {from: b, to: d}", "made"},
		"on one of two ways":                  {"{kind: pass}", "{from: a, to: b, when: ok}, {from: a, to: c}, {from: [b, c], to: d}", "open by [a c d]"},
		"in a branch that the join waits for": {"{kind: pass, join: {wait: all}}", "{from: a, to: [b, c]}, {from: [b, c], to: d}", "made"},
		"in a branch that joins by itself":    {"{kind: pass}", "{from: a, to: [b, c]}, {from: [b, c], to: d}", "made"},
		"in a branch that it does not":        {"{kind: pass, join: {wait: any}}", "{from: a, to: [b, c]}, {from: [b, c], to: d}", "open by [a c d]"},
		"only after a success":                {"{kind: pass}", "{from: a, to: b}, {from: b, to: c}, {from: b, to: d, condition: on_failure}", "open by [a b d]"},
	} {
		text := "graphrun: v1\nname: g\nstart: a\nstate: {ok: {type: boolean, default: true}}\n" +
			"nodes: {a: {kind: pass}, b: {kind: exec, command: [x]}, c: {kind: pass}, d: " + c.d + "}\nedges: [{from: d, to: END}, " + c.edges + "]\n"
		g, found := spec.Parse("g.yaml", []byte(text), spec.Options{})
		bound, more := bind.Bind(g, nil, nil)
		if found.HasErrors() || more.HasErrors() {
			t.Fatal(name, found, more)
		}
		vertices := controlflow.NewVertices(g)
		a := assignment.New(controlflow.New(vertices, bound), 1, func(*controlflow.Group) bool { return false })
		a.AddAssignment(vertices.Vertex("b"), 0)
		a.Solve()
		got := "made"
		if d := vertices.Vertex("d"); a.MayBeUnassigned(d, 0) {
			var path []string
			for _, v := range a.FindPath(0, d) {
				path = append(path, vertices.Name(v))
			}
			got = fmt.Sprint("open by ", path)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
