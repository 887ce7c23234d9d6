// Package bigflowtest writes the text of large flows without problems, for benchmarks.
package bigflowtest

import (
	"fmt"
	"strings"
)

// Uniform returns a flow with a number of nodes that set a key, and twice as many edges.
func Uniform(nodes int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: large\nstart: n0\nlimits: {max_steps: %d}\nstate: {n: {type: integer, default: 0}}\nnodes:\n", 2*nodes)
	for i := range nodes {
		fmt.Fprintf(&b, "  n%d:\n    kind: set\n    set: {n: n + 1}\n", i)
	}
	b.WriteString("edges:\n")
	for i := range nodes {
		next := fmt.Sprintf("n%d", i+1)
		if i == nodes-1 {
			next = "END"
		}
		fmt.Fprintf(&b, "  - {from: n%d, to: %s, when: n >= 0}\n  - {from: n%d, to: END}\n", i, next, i)
	}
	return b.String()
}

// Mixed returns a flow with nodes of several kinds, conditions, loops that
// count, templates and retries. The number is part of its name.
func Mixed(nodes, number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: flow-%d\nstart: n0\nlimits: {max_steps: %d, timeout: 10m}\nstate:\n", number, 3*nodes)
	b.WriteString("  n: {type: integer, default: 0}\n  text: {type: string, default: hello}\n" +
		"  mood: {type: string, enum: [a, b, c], default: a}\n  notes: {type: array, items: {type: string}, reducer: append, default: []}\nnodes:\n")
	for i := range nodes {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {n: n + 1, mood: \"n > %d ? 'b' : 'a'\"}}\n", i, i)
		case 1:
			fmt.Fprintf(&b, "  n%d:\n    kind: exec\n    command: [echo, \"{{ text }} %d\"]\n    writes: [text]\n    retry: {max_attempts: 2}\n", i, i)
		case 2:
			fmt.Fprintf(&b, "  n%d:\n    kind: http\n    method: POST\n    url: https://example.com/api/%d\n    body: {text: \"{{ text }}\"}\n", i, i)
		case 3:
			fmt.Fprintf(&b, "  n%d:\n    kind: set\n    description: keep note %d\n    set: {notes: \"['note %d']\", n: n + 1}\n", i, i, i)
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
			fmt.Fprintf(&b, "  - {from: n%d, to: n%d, when: \"visits.n%d < 3 and text startsWith 'x'\", label: again}\n  - {from: n%d, to: %s}\n", i, i-5, i-5, i, next)
		default:
			fmt.Fprintf(&b, "  - {from: n%d, to: %s}\n", i, next)
		}
	}
	return b.String()
}
