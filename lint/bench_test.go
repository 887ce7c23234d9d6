package lint

import (
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/spec"
)

// bigGraph is a chain of blocks of five nodes: a loop with a counter, a
// fan-out that meets at a join, and a condition.
func bigGraph(nodes int) string {
	var b strings.Builder
	b.WriteString("graphrun: v1\nname: big\nstart: a0\nlimits: {max_steps: 1000000, timeout: 10m}\nstate:\n  n: {type: integer, default: 0}\n  log: {type: array, items: {type: string}, reducer: append, default: []}\n")
	blocks := nodes / 5
	for i := range blocks {
		fmt.Fprintf(&b, "  k%d: {type: string}\n", i)
	}
	b.WriteString("nodes:\n")
	for i := range blocks {
		fmt.Fprintf(&b, "  a%d: {kind: set, set: {n: n + 1}}\n", i)
		fmt.Fprintf(&b, "  b%d: {kind: exec, command: [echo, \"{{ n }}\"], parse: text, writes: [k%d]}\n", i, i)
		fmt.Fprintf(&b, "  c%d: {kind: set, set: {log: \"['step %d of {{ n }}']\"}}\n", i, i)
		fmt.Fprintf(&b, "  d%d: {kind: pass, join: {wait: all}}\n", i)
		fmt.Fprintf(&b, "  e%d: {kind: exec, command: [echo, \"{{ k%d }}\"]}\n", i, i)
	}
	b.WriteString("edges:\n")
	for i := range blocks {
		next := fmt.Sprintf("a%d", i+1)
		if i == blocks-1 {
			next = "END"
		}
		fmt.Fprintf(&b, "  - {from: a%d, to: a%d, when: \"n %% 7 != 0 and visits.a%d < 9\"}\n", i, i, i)
		fmt.Fprintf(&b, "  - {from: a%d, to: [b%d, c%d]}\n", i, i, i)
		fmt.Fprintf(&b, "  - {from: [b%d, c%d], to: d%d}\n", i, i, i)
		fmt.Fprintf(&b, "  - {from: d%d, to: e%d, when: \"n > %d\"}\n", i, i, i)
		fmt.Fprintf(&b, "  - {from: d%d, to: %s}\n", i, next)
		fmt.Fprintf(&b, "  - {from: e%d, to: %s}\n", i, next)
		fmt.Fprintf(&b, "  - {from: e%d, to: %s, condition: on_failure}\n", i, next)
	}
	return b.String()
}

func BenchmarkBig(b *testing.B) {
	for _, nodes := range []int{50, 1000, 10_000} {
		src := []byte(bigGraph(nodes))
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/%d", name, nodes), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
		run("yaml", func() {
			var n yaml.Node
			if err := yaml.Unmarshal(src, &n); err != nil {
				b.Fatal(err)
			}
		})
		run("parse", func() { spec.Parse("f.yaml", src, spec.Options{}) })
		g, _ := spec.Parse("f.yaml", src, spec.Options{})
		run("structure", func() { spec.Check(g) })
		run("lint", func() { Check(g, Options{}) })
		run("validate", func() {
			g, found := spec.Parse("f.yaml", src, spec.Options{})
			found = append(found, spec.Check(g)...)
			found = append(found, Check(g, Options{})...)
			if Filter(g.File, found); len(found) > 0 {
				b.Fatal(describe(found[:1]))
			}
		})
	}
}
