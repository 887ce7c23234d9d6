package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// keptThing counts the calls of Close.
type keptThing struct{ closed int }

func (k *keptThing) Close() error {
	k.closed++
	return nil
}

// All tasks of a run, including those of subgraphs, share the values in its scope until the run
// ends.
func TestScope(t *testing.T) {
	const child = "graphrun: v1\nname: child\nstart: c\nnodes: {c: {kind: work, do: use}}\nedges: [{from: c, to: END}]\n"
	var made []*keptThing
	use := func(_ context.Context, task *runner.Task) (any, error) {
		thing := task.Scope.GetOrOpen("thing", func() any {
			made = append(made, &keptThing{})
			return made[len(made)-1]
		}).(*keptThing)
		if thing.closed > 0 {
			t.Errorf("%s got what is closed", task.Node)
		}
		return nil, nil
	}
	f := prepareFlow(t, runner.Config{
		Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{"use": use})},
		Load:  func(string) ([]byte, error) { return []byte(child), nil },
	}, `
nodes: {a: {kind: work, do: use}, g: {kind: graph, graph: child.yaml}}
edges: [{from: a, to: g}, {from: g, to: END}]`)
	for i := range 2 {
		if result := runPrepared(t, f, runner.Options{}); result.Status != machine.Completed {
			t.Fatalf("run %d: %s: %v", i+1, result.Status, result.Error)
		}
		if len(made) != i+1 || made[i].closed != 1 {
			t.Fatalf("after run %d: %d made, the last closed %d times", i+1, len(made), made[i].closed)
		}
	}
}

// Templates of tools and providers see only values that are constant during a run.
func TestSetup(t *testing.T) {
	t.Setenv("SETUP_TOKEN", "s3cret-token")
	var tools, providers map[string]any
	flow := `
goal: win
secrets: {token: {env: SETUP_TOKEN}}
state: {n: {type: integer}}
tools: {t: {exec: {command: [prog, "{{ run.input.n }}", "{{ goal }}"], env: {TOKEN: "{{ secrets.token }}"}}, description: d}}
providers: {p: {type: openai, api_key: "Bearer {{ secrets.token }}"}}
nodes: {a: {kind: work, do: look}}
edges: [{from: a, to: END}]`
	wantResult(t, run(t, flow, map[string]runner.HandlerFunc{
		"look": func(_ context.Context, task *runner.Task) (any, error) {
			tools, providers = task.Tools, task.Providers
			return nil, nil
		},
	}, runner.Options{Input: map[string]any{"n": 4}}), machine.Completed, "a", "")
	want := map[string]any{
		"t": map[string]any{"description": "d", "exec": map[string]any{
			"command": []any{"prog", 4, "win"}, "env": map[string]any{"TOKEN": "s3cret-token"},
		}},
	}
	if diff := diffJSON(want, tools); diff != "" {
		t.Errorf("tools:\n%s", diff)
	}
	if diff := diffJSON(map[string]any{"p": map[string]any{"type": "openai", "api_key": "Bearer s3cret-token"}}, providers); diff != "" {
		t.Errorf("providers:\n%s", diff)
	}

	bad := snapshotHeader + strings.Replace(flow, "{{ goal }}", "{{ n }}", 1)
	g, _ := spec.Parse("flow.yaml", []byte(bad), spec.Options{Kinds: []spec.Kind{workKind(nil).Spec}})
	found := lint.Check(g, lint.Options{Kinds: []spec.Kind{workKind(nil).Spec}})
	if !found.HasErrors() || !strings.Contains(found[0].Message, "n changes during a run") {
		t.Errorf("a state key in a tool: %v", found)
	}
}
