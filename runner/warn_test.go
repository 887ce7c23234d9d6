package runner_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

const warnChild = `graphrun: v1
name: child
start: x
nodes:
  x: {kind: work, do: half, each: "[1, 2]", parallel: {on_failure: continue_others}}
  y: {kind: work, do: warn}
edges: [{from: x, to: y}, {from: y, to: END}]
`

// A caller without a sink gets the same warnings as a sink: those of handlers and of failed
// elements, also in subgraphs, with secrets masked.
func TestWarnings(t *testing.T) {
	work := workKind(map[string]runner.HandlerFunc{
		"warn": func(_ context.Context, task *runner.Task) (any, error) {
			task.Emit(runner.Said{Type: "progress", Message: "not told"})
			task.Emit(runner.Said{Type: "warning", Message: "beware of sesame-4711"})
			return nil, nil
		},
		"half": func(_ context.Context, task *runner.Task) (any, error) {
			if task.Item == 2 {
				return nil, &runner.Failure{Kind: "failed", Message: "no sesame-4711"}
			}
			return nil, nil
		},
	})
	const flow = `
state: {password: {type: string, secret: true, default: sesame-4711}}
nodes: {a: {kind: graph, graph: child.yaml}, b: {kind: work, do: warn}}
edges: [{from: a, to: b}, {from: b, to: END}]
`
	want := []string{"a/x: failed: element 1: no *** (item 2); the other elements go on", "a/y: beware of ***", "b: beware of ***"}
	load := func(string) ([]byte, error) { return []byte(warnChild), nil }
	for name, cfg := range map[string]runner.Config{
		"no store": {}, "store": {Store: &store.Memory{}},
	} {
		for _, sink := range []runner.Sink{nil, &recorder{}} {
			cfg.Kinds, cfg.Load = []runner.Kind{work}, load
			var got []string
			f := prepareFlow(t, cfg, flow)
			_, err := f.Run(t.Context(), runner.Options{Sink: sink, Warn: func(node, message string) { got = append(got, node+": "+message) }})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, sink %v (-want +got):\n%s", name, sink != nil, diff)
			}
		}
	}
}
