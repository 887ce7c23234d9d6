package bind_test

import (
	"testing"

	"github.com/graphrun/graphrun/internal/bigflowtest"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// The benchmarks measure compiling the expressions of a flow of 50 nodes, without and
// with running them.
func BenchmarkBind(b *testing.B) {
	g, found := spec.Parse("flow.yaml", []byte(bigflowtest.Mixed(50, 0)), spec.Options{})
	if found.HasErrors() {
		b.Fatal(found)
	}
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bound, found := bind.Bind(g, nil, nil)
			if len(found) > 0 {
				b.Fatal(found)
			}
			for i := range bound.Edges {
				if when := bound.Edges[i].When; when != nil && when.Tree == nil {
					b.Fatal("no tree")
				}
			}
		}
	})
	b.Run("run", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, found := bind.Bind(g, nil, nil); len(found) > 0 {
				b.Fatal(found)
			}
		}
	})
}
