package runner_test

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// An attempt gets its notes when it runs again, and only then.
func TestNotesAfterResume(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var logs [][]any
	handler := runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
		logs = append(logs, task.Log)
		if len(task.Log) == 0 {
			if err := task.Note(map[string]any{"paid": 3}); err != nil {
				return nil, err
			}
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return "done", nil
	})
	r, err := runner.New(runner.Config{
		Store: &store.Memory{}, Kinds: []runner.Kind{{Spec: spec.Kind{Name: "noting"}, Handler: handler}},
	})
	if err != nil {
		t.Fatal(err)
	}
	src := "graphrun: v1\nname: notes\nstart: a\nnodes: {a: {kind: noting}}\nedges: [{from: a, to: END}]\n"
	g, found := spec.Parse("notes.yaml", []byte(src), spec.Options{Kinds: r.Kinds()})
	if len(found) > 0 {
		t.Fatal(found)
	}
	if _, err := r.Run(ctx, g, runner.Options{RunID: "n"}); err != nil {
		t.Fatal(err)
	}
	result, err := r.Resume(context.Background(), "n", runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{nil, {map[string]any{"paid": 3}}}
	if result.Status != "completed" || !reflect.DeepEqual(logs, want) {
		t.Errorf("%s, logs %v; want completed, %v", result.Status, logs, want)
	}
}

// A note has at most the size of a value. A larger one is refused before it is stored.
func TestNotesAreBounded(t *testing.T) {
	kept := &store.Memory{}
	f := prepareFlow(t, runner.Config{Store: kept, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
		"note": func(_ context.Context, task *runner.Task) (any, error) {
			return nil, task.Note(map[string]any{"text": strings.Repeat("x", 2000)})
		},
	})}}, "limits: {max_state_bytes: 2000}\nnodes: {a: {kind: work, do: note}}\nedges: [{from: a, to: END}]")
	result := runPrepared(t, f, runner.Options{RunID: "n"})
	if result.Error == nil || result.Error.Kind != "limit" || !strings.HasPrefix(result.Error.Message, "a note takes more than 2000 bytes") {
		t.Errorf("%s: %v", result.Status, result.Error)
	}
	events, err := kept.Events("n", 0, math.MaxInt)
	if err != nil || slices.ContainsFunc(events, func(e machine.Event) bool { return e.Kind == machine.TaskNoted }) {
		t.Errorf("the note was kept (%v)", err)
	}
}
