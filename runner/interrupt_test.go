package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

const oneWork = "nodes: {a: {kind: work, do: ask}}\nedges: [{from: a, to: END}]\n"

// A handler gets its notes and the answers when it runs again.
func TestInterrupt(t *testing.T) {
	runs, failures := 0, 0
	cfg := runner.Config{
		Store: &store.Memory{},
		Hooks: runner.Hooks{OnError: func(context.Context, *runner.Task, *runner.Failure) *runner.Reply { failures++; return nil }},
		Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
			"ask": func(_ context.Context, task *runner.Task) (any, error) {
				runs++
				if len(task.Log) == 0 {
					if err := task.Note("draft"); err != nil {
						return nil, err
					}
				}
				answer, err := task.Interrupt(handler.Question{
					Key: "amount", Prompt: "How much?", Schema: map[string]any{"type": "integer", "minimum": 1},
				})
				if err != nil {
					return nil, fmt.Errorf("not yet: %w", err)
				}
				return []any{answer, task.Log[0], task.Attempt}, nil
			},
		})},
	}
	f := prepareFlow(t, cfg, oneWork)
	result := runPrepared(t, f, runner.Options{RunID: "r"})
	if len(result.Pending) != 1 || result.Pending[0].Target() != "a:amount" || result.Pending[0].Prompt != "How much?" {
		t.Fatalf("pending %+v, want a:amount", result.Pending)
	}
	r, err := runner.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var refused *runner.InputError
	_, err = r.Resume(context.Background(), "r", runner.Options{Answers: map[string][]string{"a:amount": {"0"}}})
	if !errors.As(err, &refused) {
		t.Errorf("an answer that is not legal gives %v", err)
	}
	result, err = r.Resume(context.Background(), "r", runner.Options{Answers: map[string][]string{"a:amount": {"7"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(result.Output), "[7 draft 1]"; got != want || runs != 2 || failures != 0 {
		t.Errorf("output %s after %d runs and %d failures, want %s after 2 and none", got, runs, failures, want)
	}
}

// A person gets each question once, even if a task asks several.
func TestPersonIsAskedEachQuestionOnce(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	result := run(t, oneWork, map[string]runner.HandlerFunc{
		"ask": func(_ context.Context, task *runner.Task) (any, error) {
			answers, err := task.InterruptAll(handler.Question{Key: "x"}, handler.Question{Key: "y"})
			if err != nil {
				return nil, err
			}
			return answers["x"].(string) + answers["y"].(string), nil
		},
	}, runner.Options{Ask: func(_ context.Context, q view.Pending, _ string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[*q.Key]++
		return *q.Key, nil
	}})
	if result.Output != "xy" || asked["x"] != 1 || asked["y"] != 1 {
		t.Errorf("output %v, asked %v", result.Output, asked)
	}
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	for _, q := range []handler.Question{{}, {Key: "k", Schema: map[string]any{"type": "nothing"}}} {
		result := run(t, oneWork, map[string]runner.HandlerFunc{
			"ask": func(_ context.Context, task *runner.Task) (any, error) { return task.Interrupt(q) },
		}, runner.Options{})
		wantResult(t, result, "failed", "a", "invalid_input")
	}
}
