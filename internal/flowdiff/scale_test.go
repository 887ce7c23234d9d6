package flowdiff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/spec"
)

// Four times the graph takes about four times as long; a quadratic step would make it
// sixteen. A busy machine gets several tries.
func TestNoQuadraticStep(t *testing.T) {
	const small, large, most, tries = 1500, 6000, 10, 5
	head := "graphrun: v1\nname: s\nstart: n0\nlimits: {max_steps: 1000000}\nstate: {x: {type: integer, default: 0}}\nnodes:\n"
	shapes := map[string]func(n int) string{
		"a chain": func(n int) string {
			var b strings.Builder
			b.WriteString(head)
			for i := range n {
				fmt.Fprintf(&b, "  n%d: {kind: set, set: {x: x + 1}}\n", i)
			}
			fmt.Fprintf(&b, "edges:\n  - {from: n%d, to: END}\n", n-1)
			for i := range n - 1 {
				fmt.Fprintf(&b, "  - {from: n%d, to: n%d}\n", i, i+1)
			}
			return b.String()
		},
		"edges between two nodes": func(n int) string {
			var b strings.Builder
			b.WriteString(head + "  n0: {kind: pass}\n  n1: {kind: pass}\nedges:\n  - {from: [n0, n1], to: END}\n")
			for i := range n {
				fmt.Fprintf(&b, "  - {from: n0, to: n1, when: x == %d}\n", i)
			}
			return b.String()
		},
		"a node that sets many keys": func(n int) string {
			var b strings.Builder
			b.WriteString("graphrun: v1\nname: s\nstart: n0\nstrict_state: false\nnodes:\n  n0:\n    kind: set\n    set:\n")
			for i := range n {
				fmt.Fprintf(&b, "      k%d: 1\n", i)
			}
			return b.String() + "edges:\n  - {from: n0, to: END}\n"
		},
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			measure := func(n int) time.Duration {
				var graphs [2]*spec.Graph
				for i := range graphs {
					g, found := spec.Parse("f.yaml", []byte(shape(n)), spec.Options{})
					if found.HasErrors() {
						t.Fatal(found[0].Message)
					}
					graphs[i] = g
				}
				start := time.Now()
				if changes := Compare(graphs[0], graphs[1]); len(changes) > 0 {
					t.Fatal(changes[0])
				}
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
			t.Errorf("%d and %d take %s", small, large, strings.Join(log, ", then "))
		})
	}
}
