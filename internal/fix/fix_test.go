package fix

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/spec"
)

func flow(edges string) string {
	return "graphrun: v1\nname: f\nstart: a\nnodes: {a: {kind: pass}, b: {kind: pass}, j: {kind: pass, join: {wait: all}}}\n" + edges
}

func TestEdits(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			"a line", `edges:
  - {from: a, to: b}   # first
  - {from: a, to: b}
  - {from: b, to: END} # last
`, `edges:
  - {from: a, to: b}   # first
  - {from: b, to: END} # last
`,
		},
		{
			"a comment stays", `edges:
  - {from: a, to: b}
  # above
  - {from: a, to: b} # behind
  - {from: b, to: END}
`, `edges:
  - {from: a, to: b}
  # above
  # behind
  - {from: b, to: END}
`,
		},
		{
			"several, in block style", `edges:
  - from: a
    to: b
  - from: a
    to: b
  - from: a
    to: b
  - from: b
    to: END
`, `edges:
  - from: a
    to: b
  - from: b
    to: END
`,
		},
		{
			"a flow list", "edges: [{from: a, to: b}, {from: a, to: b}, {from: b, to: END}]\n",
			"edges: [{from: a, to: b}, {from: b, to: END}]\n",
		},
		{
			"the last of a flow list", "edges: [{from: b, to: END}, {from: a, to: b},\n  {from: a, to: b}]\n",
			"edges: [{from: b, to: END}, {from: a, to: b}]\n",
		},
		{
			"not if anything differs", `edges:
  - {from: a, to: b}
  - {from: a, to: b, label: again}
  - {from: b, to: END}
`, "",
		},
		{
			"not before a join", `edges:
  - {from: a, to: j}
  - {from: a, to: j}
  - {from: [b, j], to: END}
`, "",
		},
		{
			"not inside a list of targets", `edges:
  - {from: a, to: [b, b]}
  - {from: b, to: END}
`, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := flow(c.in)
			g, found := spec.Parse("f.yaml", []byte(src), spec.Options{})
			if g == nil {
				t.Fatal(found)
			}
			found = append(found, spec.Check(g)...)
			got := string(Apply([]byte(src), FindEdits(g, found.Sort())))
			want := flow(c.want)
			if c.want == "" {
				want = src
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestComments(t *testing.T) {
	for _, c := range []struct{ in, name, want string }{
		{"a: b # graphrun: ignore x\nc: d\n", "x", "a: b\nc: d\n"},
		{"a: b # graphrun: ignore x because of y\nc: d\n", "x", "a: b\nc: d\n"},
		{"a: b\n  # graphrun: ignore x\nc: d\n", "x", "a: b\nc: d\n"},
		{"a: b # graphrun: ignore x", "x", "a: b"},
		{"# graphrun: ignore x, y\n", "x", "# graphrun: ignore y\n"},
		{"# graphrun: ignore y, x\n", "x", "# graphrun: ignore y\n"},
		{"# graphrun: ignore y, x, z why\n", "x", "# graphrun: ignore y, z why\n"},
		{"# graphrun: ignore y, x why\n", "x", ""},
	} {
		at := strings.LastIndex(c.in, c.name)
		if strings.Contains(c.in, c.name+" because") {
			at = strings.Index(c.in, c.name+" because")
		}
		got := ""
		if e := removeIgnoredRule([]byte(c.in), spec.Span{From: at, To: at + len(c.name)}); e != nil {
			got = string(Apply([]byte(c.in), []Edit{*e}))
		}
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}
