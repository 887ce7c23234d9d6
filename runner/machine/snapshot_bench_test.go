package machine_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// BenchmarkSnapshot writes and restores a state of about 10 MB: many small
// objects, as documents and tables are.
func BenchmarkSnapshot(b *testing.B) {
	plan := build(b, head+`
state: {v: {type: array}}
nodes: {a: {kind: exec, command: [x]}}
edges: [{from: a, to: END}]`)
	list := make([]any, 100_000)
	for i := range list {
		list[i] = map[string]any{
			"id": i, "name": fmt.Sprintf("the item with number %d", i), "tags": []any{"red", "green"}, "price": float64(i) + 0.5, "sold": i%2 == 0,
		}
	}
	s := plan.NewState()
	if _, err := plan.Apply(s, machine.Event{Kind: machine.RunBegan, Input: map[string]any{"v": list}}); err != nil {
		b.Fatal(err)
	}
	var text []byte
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			text, _, _ = s.AppendSnapshot(nil, math.MaxInt)
		}
		b.SetBytes(int64(len(text)))
	})
	b.Run("given up", func(b *testing.B) {
		for b.Loop() {
			if _, fits, _ := s.AppendSnapshot(nil, 64<<10); fits {
				b.Fatal("a large state fits")
			}
		}
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			if _, err := plan.Restore(text); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(len(text)))
	})
}
