package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// The result of a cancelled run has the text that the cancelled node had emitted.
func TestPartialOfACancelledNode(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	talk := runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
		task.Emit(runner.Said{Type: "text", Text: "half of "})
		task.Emit(runner.Said{Type: "text", Text: "an answer"})
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r, err := runner.New(runner.Config{Kinds: []runner.Kind{{Spec: spec.Kind{Name: "talk"}, Handler: talk}}})
	if err != nil {
		t.Fatal(err)
	}
	g, found := spec.Parse("talk.yaml", []byte("graphrun: v1\nname: t\nstart: a\nnodes: {a: {kind: talk}}\nedges: [{from: a, to: END}]\n"),
		spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	result, err := r.Run(ctx, g, runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != "cancelled" || result.Steps != 0 || result.Partial["a"] != "half of an answer" {
		t.Errorf("status %s, steps %d, partial %v", result.Status, result.Steps, result.Partial)
	}
}

// A completion event hides the values that its node writes to secret keys. It also hides a secret
// that truncation has cut.
func TestMaskedBeginningsAndWrites(t *testing.T) {
	t.Setenv("GRAPHRUN_TEST_TOKEN", "canary-secret-token")
	echo := runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
		return map[string]any{"pin": "canary-pin-1234", "text": strings.Repeat("x", 170) + "canary-secret-token"}, nil
	})
	r, err := runner.New(runner.Config{Kinds: []runner.Kind{{Spec: spec.Kind{Name: "echo"}, Handler: echo}}})
	if err != nil {
		t.Fatal(err)
	}
	g, found := spec.Parse("echo.yaml", []byte(`graphrun: v1
name: t
start: a
secrets: {token: {env: GRAPHRUN_TEST_TOKEN}}
state: {pin: {type: string, secret: true}, text: {}}
nodes: {a: {kind: echo, writes: [pin, text]}}
edges: [{from: a, to: END, when: "step > 5"}]
`), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	var out strings.Builder
	result, err := r.Run(context.Background(), g, runner.Options{Sink: runner.NewJSONSink(&out)})
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != "stuck" {
		t.Fatalf("status %s: %v", result.Status, result.Error)
	}
	if strings.Contains(out.String(), "canary") {
		t.Errorf("a secret shows: %s", out.String())
	}
}
