package lint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/spec"
)

// shapes are graphs that are hard on algorithms with a quadratic step.
func shapes() map[string]func(n int) string {
	flow := func(nodes, edges func(b *strings.Builder, i int)) func(int) string {
		return func(n int) string {
			var b strings.Builder
			b.WriteString("graphrun: v1\nname: s\nstart: n0\nlimits: {max_steps: 1000000}\nstate: {k: {type: string}, n: {type: integer, default: 0}}\nnodes:\n  last: {kind: pass, join: {wait: all}}\n  alarm: {kind: pass}\n")
			for i := range n {
				nodes(&b, i)
			}
			fmt.Fprintf(&b, "  n%d: {kind: pass}\nedges:\n  - {from: [n%d, last, alarm], to: END}\n", n, n)
			for i := range n {
				edges(&b, i)
			}
			return b.String()
		}
	}
	pass := func(b *strings.Builder, i int) { fmt.Fprintf(b, "  n%d: {kind: pass}\n", i) }
	writer := func(b *strings.Builder, i int) {
		fmt.Fprintf(b, "  n%d: {kind: set, set: {k: \"'x'\"}}\n  r%d: {kind: set, set: {n: len(k)}}\n", i, i)
	}
	return map[string]func(int) string{
		"ladder of forks": flow(pass, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - {from: n%d, to: [n%d, last]}\n  - {from: n%d, to: alarm, condition: on_failure}\n", i, i+1, i)
		}),
		"forks of joins": flow(func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  n%d: {kind: pass, join: {wait: all}}\n  l%d: {kind: pass}\n  m%d: {kind: pass}\n", i, i, i)
		}, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - {from: n%d, to: [l%d, m%d, last]}\n  - {from: [l%d, m%d], to: n%d}\n  - {from: n%d, to: alarm, condition: on_failure}\n", i, i, i, i, i, i+1, i)
		}),
		"loops to the start": flow(pass, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - {from: n%d, to: n0, when: n > %d}\n  - {from: n%d, to: n%d}\n", i, i, i, i+1)
			if i == 0 {
				b.WriteString("  - {from: n0, to: [last, alarm], when: n > 3}\n")
			}
		}),
		"reads and writes": flow(writer, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - {from: n%d, to: [r%d, n%d]}\n  - {from: r%d, to: last}\n", i, i, i+1, i)
			if i == 0 {
				b.WriteString("  - {from: n0, to: alarm, when: n > 3}\n")
			}
		}),
		"one wide fork": func(n int) string {
			var b strings.Builder
			b.WriteString("graphrun: v1\nname: s\nstart: n0\nstate: {k: {type: string}}\noutput: k + '!'\nnodes:\n  n0: {kind: pass}\n  last: {kind: pass, join: {wait: all}}\n")
			for i := range n {
				fmt.Fprintf(&b, "  w%d: {kind: set, set: {k: \"'x'\"}}\n", i)
			}
			b.WriteString("edges:\n  - {from: last, to: END}\n")
			for i := range n {
				fmt.Fprintf(&b, "  - {from: n0, to: w%d}\n  - {from: w%d, to: last}\n", i, i)
			}
			return b.String()
		},
		"many policies": func(n int) string {
			var b strings.Builder
			b.WriteString("graphrun: v1\nname: s\nstart: n0\nlimits: {max_steps: 1000000}\nstate: {n: {type: integer, default: 0}, ok: {type: boolean, default: false}}\npolicies:\n")
			for i := range n {
				fmt.Fprintf(&b, "  - {require: n%d, before: n%d}\n  - {forbid: n%d, after: n%d}\n", i, n, i, i+1)
				fmt.Fprintf(&b, "  - {reach: END, from: n%d}\n  - {max_visits: %d, node: n%d}\n  - {never: n > %d, at: n%d}\n", i, 1+i%3, i, i, i)
			}
			fmt.Fprintf(&b, "nodes:\n  n%d: {kind: pass}\n", n)
			for i := range n {
				fmt.Fprintf(&b, "  n%d: {kind: set, set: {ok: not ok}}\n", i)
			}
			fmt.Fprintf(&b, "edges:\n  - {from: n%d, to: END}\n", n)
			for i := range n {
				fmt.Fprintf(&b, "  - {from: n%d, to: n%d, when: ok and n > %d}\n  - {from: n%d, to: n%d}\n", i, min(i+2, n), i%7, i, i+1)
			}
			return b.String()
		},
		"loops that count one key": func(n int) string {
			var b strings.Builder
			b.WriteString("graphrun: v1\nname: s\nstart: n0\nlimits: {max_steps: 1000000}\nstate: {n: {type: integer, default: 0}}\nnodes:\n")
			for i := range n {
				fmt.Fprintf(&b, "  n%d: {kind: set, set: {n: n + 1}}\n", i)
			}
			fmt.Fprintf(&b, "  n%d: {kind: pass}\nedges:\n  - {from: n%d, to: END}\n", n, n)
			for i := range n {
				fmt.Fprintf(&b, "  - {from: n%d, to: n%d, when: n < %d}\n  - {from: n%d, to: n%d}\n", i, i, 100+i, i, i+1)
			}
			return b.String()
		},
		"one loop in which every node counts": func(n int) string {
			var b strings.Builder
			b.WriteString("graphrun: v1\nname: s\nstart: n0\nlimits: {max_steps: 1000000}\nstate: {n: {type: integer, default: 0}}\nnodes:\n")
			for i := range n {
				fmt.Fprintf(&b, "  n%d: {kind: set, set: {n: n + 1}}\n", i)
			}
			fmt.Fprintf(&b, "  n%d: {kind: pass}\nedges:\n  - {from: n%d, to: END}\n", n, n)
			for i := range n {
				fmt.Fprintf(&b, "  - {from: n%d, to: n0, when: n < %d}\n  - {from: n%d, to: n%d}\n", i, 100+i, i, i+1)
			}
			return b.String()
		},
		"loops that overlap": flow(pass, func(b *strings.Builder, i int) {
			if back := i - 5; i%3 == 0 && back > 0 {
				fmt.Fprintf(b, "  - {from: n%d, to: n%d, when: \"visits.n%d < 3 and k startsWith 'x'\"}\n", i, back, back)
			}
			fmt.Fprintf(b, "  - {from: n%d, to: n%d, when: n < %d}\n  - {from: n%d, to: n%d}\n", i, i+1, i, i, i+1)
			if i == 0 {
				b.WriteString("  - {from: n0, to: [last, alarm], when: n > 3}\n")
			}
		}),
		"nodes that loop": flow(pass, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "  - {from: n%d, to: n%d, when: n > %d}\n  - {from: n%d, to: n%d}\n", i, i, i, i, i+1)
			if i == 0 {
				b.WriteString("  - {from: n0, to: [last, alarm], when: n > 3}\n")
			}
		}),
	}
}

// A graph with four times the nodes takes about four times as long. With a quadratic step it would
// take sixteen times as long. A busy machine gets several tries.
func TestNoQuadraticStep(t *testing.T) {
	if longtest.Choose(0, 1) == 0 {
		t.Skip("GRAPHRUN_TESTS is not long")
	}
	const small, large, most, tries = 400, 1600, 10, 5
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			measure := func(n int) time.Duration {
				g, found := spec.Parse("f.yaml", []byte(shape(n)), spec.Options{})
				if found.HasErrors() {
					t.Fatal(describe(found))
				}
				start := time.Now()
				Check(g, Options{})
				return time.Since(start)
			}
			var log []string
			for range tries {
				short, long := measure(small), measure(large)
				if long < most*short {
					return
				}
				log = append(log, fmt.Sprint(short, " and ", long))
			}
			t.Errorf("%d and %d nodes take %s", small, large, strings.Join(log, ", then "))
		})
	}
}
