package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// A subgraph that only waits blocks its own branch and no other, also if its attempt or the subgraph has a timeout.
func TestSubgraphWaitBlocksOnlyItsBranch(t *testing.T) {
	child := `graphrun: v1
name: child
start: w
nodes: {w: {kind: wait, for: 1h}, end: {kind: pass}}
edges: [{from: w, to: end}, {from: end, to: END}]
`
	load := func(path string) ([]byte, error) {
		if strings.HasSuffix(path, "outer.yaml") {
			return []byte(strings.NewReplacer("name: child", "name: outer", "kind: wait, for: 1h", "kind: graph, graph: child.yaml").Replace(child)), nil
		}
		return []byte(child), nil
	}
	for _, test := range []struct{ node, path string }{
		{"graph: child.yaml", "a g b c end"},
		{"graph: outer.yaml", "a g b c end"},
		{"graph: child.yaml, each: '[1, 2]'", "a g b c end"},
		{"graph: child.yaml, timeout: 2h", "a g b c end"},
		{"graph: outer.yaml, timeout: 2h", "a g b c end"},
	} {
		clock, ran := newFakeClock(), make(chan bool, 1)
		f := prepareFlow(t, runner.Config{Clock: clock, Load: load, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
			"tell": func(context.Context, *runner.Task) (any, error) {
				ran <- true
				return nil, nil
			},
		})}}, fmt.Sprintf(`
nodes: {a: {kind: pass}, g: {kind: graph, %s}, b: {kind: pass}, c: {kind: work, do: tell}, end: {kind: pass, join: {wait: all}}}
edges: [{from: a, to: [g, b]}, {from: b, to: c}, {from: [g, c], to: end}, {from: end, to: END}]`, test.node))
		end := startFlow(t, t.Context(), f, runner.Options{})
		<-ran
		clock.fire(time.Hour)
		result := end()
		if got := strings.Join(result.Path, " "); got != test.path || result.Status != machine.Completed {
			t.Errorf("%s: %s, path %s, want %s", test.node, result.Status, got, test.path)
		}
	}
}
