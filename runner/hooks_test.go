package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// A hook can answer instead of the node and recover from its failure. The node's own hooks run
// before the run's.
func TestHooksReply(t *testing.T) {
	var log []string
	said := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	f := prepareFlow(t, runner.Config{
		Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
			"it": func(_ context.Context, task *runner.Task) (any, error) { said("run %s", task.Node); return "own", nil },
			"fail": func(_ context.Context, task *runner.Task) (any, error) {
				said("run %s", task.Node)
				return nil, errors.New("no")
			},
		})},
		NodeHooks: map[string]runner.Hooks{
			"a": {BeforeNode: func(context.Context, *runner.Task) (*runner.Reply, error) {
				return &runner.Reply{Output: "from a hook"}, nil
			}},
			"b": {OnError: func(_ context.Context, _ *runner.Task, failure *runner.Failure) *runner.Reply {
				return &runner.Reply{Output: "instead of " + failure.Message}
			}},
			"c": {BeforeNode: func(context.Context, *runner.Task) (*runner.Reply, error) { return &runner.Reply{}, nil }},
			"d": {BeforeNode: func(context.Context, *runner.Task) (*runner.Reply, error) { return &runner.Reply{Output: 3}, nil }},
		},
		Hooks: runner.Hooks{
			BeforeNode: func(_ context.Context, task *runner.Task) (*runner.Reply, error) {
				said("before %s", task.Node)
				return nil, nil
			},
			AfterNode: func(_ context.Context, task *runner.Task, output any) (any, error) {
				said("after %s: %v", task.Node, output)
				return output, nil
			},
			OnError: func(_ context.Context, task *runner.Task, failure *runner.Failure) *runner.Reply {
				said("error of %s: %s", task.Node, failure.Kind)
				return nil
			},
		},
	}, `
state: {a: {type: string}, b: {type: string}, d: {type: string}}
nodes:
  a: {kind: work, do: it, writes: [a]}
  b: {kind: work, do: fail, writes: [b], retry: {max_attempts: 2}}
  c: {kind: work, do: it}
  d: {kind: work, do: it, writes: [d]}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: d}, {from: d, to: END}]`)
	got := runPrepared(t, f, runner.Options{})
	wantResult(t, got, machine.Failed, "a b c d", "invalid_output")
	want := []string{
		"after a: from a hook",
		"before b", "run b",
		"after c: <nil>",
		"after d: 3",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"a": "from a hook", "b": "instead of no"}, got.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// Hooks can build a cache and a fallback: one answers instead of a node, the other replaces the
// result of a node that failed.
func ExampleHooks() {
	kind := func(name string, run runner.HandlerFunc) runner.Kind {
		return runner.Kind{Spec: spec.Kind{Name: name}, Handler: run}
	}
	known := map[string]any{"ask": "an answer from yesterday"}
	r, err := runner.New(runner.Config{
		Kinds: []runner.Kind{
			kind("slow", func(context.Context, *runner.Task) (any, error) { return "asked again", nil }),
			kind("flaky", func(context.Context, *runner.Task) (any, error) { return nil, errors.New("no connection") }),
		},
		Hooks: runner.Hooks{
			BeforeNode: func(_ context.Context, task *runner.Task) (*runner.Reply, error) {
				if answer, ok := known[task.Node]; ok {
					return &runner.Reply{Output: answer}, nil
				}
				return nil, nil
			},
		},
		NodeHooks: map[string]runner.Hooks{
			"send": {OnError: func(_ context.Context, _ *runner.Task, failure *runner.Failure) *runner.Reply {
				return &runner.Reply{Output: "kept for later: " + failure.Message}
			}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	graph, findings := spec.Parse("mail.yaml", []byte(`
graphrun: v1
name: mail
start: ask
nodes: {ask: {kind: slow}, send: {kind: flaky}}
output: {asked: nodes.ask.output, sent: nodes.send.output}
edges: [{from: ask, to: send}, {from: send, to: END}]
`), spec.Options{Kinds: r.Kinds()})
	if findings = append(findings, spec.Check(graph)...); findings.HasErrors() {
		fmt.Println(findings.Sort()[0].Message)
		return
	}
	result, err := r.Run(context.Background(), graph, runner.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Quality, result.Output)
	// Output: clean map[asked:an answer from yesterday sent:kept for later: no connection]
}
