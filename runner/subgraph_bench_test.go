package runner_test

import (
	"context"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// BenchmarkSubgraph measures the cost of the journal of a subgraph with a thousand pure steps.
func BenchmarkSubgraph(b *testing.B) {
	const outer = "graphrun: v1\nname: outer\nstart: a\nlimits: {max_steps: 100000}\nnodes: {a: {kind: graph, graph: child.yaml}}\nedges: [{from: a, to: END}]\n"
	const child = "graphrun: v1\nname: child\nstart: a\nlimits: {max_steps: 100000}\nstate: {n: {type: integer, default: 0}}\n" +
		"nodes: {a: {kind: set, set: {n: n + 1}}}\nedges: [{from: a, to: a, when: n < 1000}, {from: a, to: END}]\n"
	for name, kept := range map[string]func() store.Store{
		"no store": func() store.Store { return nil },
		"memory":   func() store.Store { return &store.Memory{} },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, err := runner.New(runner.Config{Store: kept(), Load: func(string) ([]byte, error) { return []byte(child), nil }})
				if err != nil {
					b.Fatal(err)
				}
				g, _ := spec.Parse("outer.yaml", []byte(outer), spec.Options{})
				result, err := r.Run(context.Background(), g, runner.Options{})
				if err != nil || result.Steps != 1001 {
					b.Fatalf("%+v, %v", result, err)
				}
			}
		})
	}
}
