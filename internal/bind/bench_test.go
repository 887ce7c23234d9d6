package bind_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// mixedFlow is a flow of so many nodes of several kinds.
func mixedFlow(nodes int) string {
	var b strings.Builder
	b.WriteString("graphrun: v1\nname: mixed\nstart: n0\nstate:\n  n: {type: integer, default: 0}\n  text: {type: string, default: hello}\n" +
		"  mood: {type: string, enum: [a, b, c], default: a}\n  notes: {type: array, items: {type: string}, reducer: append, default: []}\nnodes:\n")
	for i := range nodes {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {n: n + 1, mood: \"n > %d ? 'b' : 'a'\"}}\n", i, i)
		case 1:
			fmt.Fprintf(&b, "  n%d: {kind: exec, command: [echo, \"{{ text }} %d\"], writes: [text]}\n", i, i)
		case 2:
			fmt.Fprintf(&b, "  n%d: {kind: http, method: POST, url: https://example.com/api/%d, body: {text: \"{{ text }}\"}}\n", i, i)
		case 3:
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {notes: \"['note %d']\", n: n + 1}}\n", i, i)
		default:
			fmt.Fprintf(&b, "  n%d: {kind: pass}\n", i)
		}
	}
	b.WriteString("edges:\n")
	for i := range nodes {
		next := fmt.Sprintf("n%d", i+1)
		if i == nodes-1 {
			next = "END"
		}
		switch {
		case i%3 == 0:
			fmt.Fprintf(&b, "  - {from: n%d, to: %s, when: \"n < %d and mood in ['a', 'b']\"}\n  - {from: n%d, to: END}\n", i, next, i+5, i)
		case i%3 == 1 && i > 5:
			fmt.Fprintf(&b, "  - {from: n%d, to: n%d, when: \"visits.n%d < 3 and text startsWith 'x'\"}\n  - {from: n%d, to: %s}\n", i, i-5, i-5, i, next)
		default:
			fmt.Fprintf(&b, "  - {from: n%d, to: %s}\n", i, next)
		}
	}
	return b.String()
}

// What compiling the expressions of a flow of 50 nodes costs who looks at them,
// and who runs them.
func BenchmarkBind(b *testing.B) {
	g, found := spec.Parse("flow.yaml", []byte(mixedFlow(50)), spec.Options{})
	if found.HasErrors() {
		b.Fatal(found)
	}
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bound, found := bind.Check(g, nil, nil)
			if len(found) > 0 {
				b.Fatal(found)
			}
			for i := range bound.Edges {
				if when := bound.Edges[i].When; when != nil && when.Tree() == nil {
					b.Fatal("no tree")
				}
			}
		}
	})
	b.Run("run", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, found := bind.Bind(g, nil); len(found) > 0 {
				b.Fatal(found)
			}
		}
	})
}
