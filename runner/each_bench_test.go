package runner_test

import (
	"testing"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
)

// BenchmarkEach compares `each` over many elements of a set node with a plain loop that evaluates
// the same expression for each element and keeps the results.
func BenchmarkEach(b *testing.B) {
	const elements = 100_000
	f := prepareBench(b, `graphrun: v1
name: each
start: a
state: {xs: {type: array}, total: {type: integer, reducer: sum, default: 0}}
nodes: {a: {kind: set, each: xs, set: {total: item + 1}}}
edges: [{from: a, to: END}]
`)
	items := make([]any, elements)
	for i := range items {
		items[i] = i
	}
	input := map[string]any{"xs": items}
	scope := eval.NewScope(map[string]eval.Type{"item": eval.Any()}, eval.ScopeOptions{})
	program, bad := scope.Compile("item + 1", eval.Value)
	if bad != nil {
		b.Fatal(bad.Message)
	}
	base := func() {
		var vm eval.VM
		env, results, total := map[string]any{}, make([]any, elements), 0
		for i, item := range items {
			env["item"] = item
			v, err := vm.Eval(program, env)
			if err != nil {
				b.Fatal(err)
			}
			results[i] = v
			total += v.(int)
		}
		if total != elements*(elements+1)/2 {
			b.Fatal(total)
		}
	}
	compareTimes(b, elements, base, func() { mustRun(b, f, runner.Options{Input: input}, 1) })
}
