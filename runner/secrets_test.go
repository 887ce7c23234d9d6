package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

const canary = `can"ary-4711-é`

// runAndShow runs a flow and returns everything that the run shows, as text: its live and
// recorded events, its result and its error.
func runAndShow(t *testing.T, cfg runner.Config, flow string, opts runner.Options) (*runner.Result, string) {
	t.Helper()
	f := prepareFlow(t, cfg, flow)
	var out strings.Builder
	for _, sink := range []runner.Sink{&recorder{}, nil} {
		var lines bytes.Buffer
		if sink == nil {
			sink = runner.NewJSONSink(&lines)
		}
		opts.Sink, opts.History = sink, true
		result, err := f.Run(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(lines.Bytes())
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
		if result.Error != nil {
			out.WriteString(result.Error.Error())
		}
		if r, ok := sink.(*recorder); ok {
			for _, e := range r.events {
				if said := e.Said; said != nil {
					fmt.Fprintf(&out, "%+v\n", *said)
				}
				fmt.Fprintf(&out, "%+v\n", e)
			}
			continue
		}
		return result, out.String()
	}
	panic("unreachable")
}

// wantHidden fails if the text contains the canary, plain, as JSON or as quoted by Go.
func wantHidden(t *testing.T, text string) {
	t.Helper()
	asJSON, _ := json.Marshal(canary) // a text always marshals
	for _, form := range []string{canary, strings.Trim(string(asJSON), `"`), strings.Trim(fmt.Sprintf("%q", canary), `"`)} {
		if at := strings.Index(text, form); at >= 0 {
			t.Errorf("the secret shows: …%s…", text[max(0, at-200):min(len(text), at+80)])
		}
	}
	if !strings.Contains(text, "***") {
		t.Error("nothing is masked: the secret went nowhere")
	}
}

// leakyKind replaces exec, because a flow may pass secrets to the environment of a program. The
// command names the handler of the test, which gets the secret as the variable T.
func leakyKind() runner.Kind {
	return runner.Kind{
		Spec: spec.Kind{Name: "exec"},
		Handler: runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
			do, _ := task.Config["command"].([]any)
			return leakyHandlers()[fmt.Sprint(do...)](ctx, task)
		}),
	}
}

// leakyHandlers returns handlers that leak a secret in different ways.
func leakyHandlers() map[string]runner.HandlerFunc {
	secret := func(task *runner.Task) string {
		env, _ := task.Config["env"].(map[string]any)
		return fmt.Sprint(env["T"])
	}
	return map[string]runner.HandlerFunc{
		"return": func(_ context.Context, task *runner.Task) (any, error) {
			return map[string]any{"text": "it is " + secret(task), secret(task): []any{secret(task)}}, nil
		},
		"fail": func(_ context.Context, task *runner.Task) (any, error) {
			return nil, &runner.Failure{Kind: "tool", Message: "with " + secret(task), Details: map[string]any{"stderr": secret(task)}}
		},
		"error": func(_ context.Context, task *runner.Task) (any, error) { return nil, errors.New(secret(task)) },
		"panic": func(_ context.Context, task *runner.Task) (any, error) { panic(secret(task)) },
		"emit": func(_ context.Context, task *runner.Task) (any, error) {
			task.Emit(runner.Said{Type: "progress", Message: secret(task)})
			task.Emit(runner.Said{Type: "text", Text: secret(task)})
			task.Emit(runner.Said{Type: "custom", Name: "mine", Data: map[string]any{"a": []any{secret(task)}}})
			return nil, nil
		},
	}
}

func TestSecretsAreHidden(t *testing.T) {
	t.Setenv("GRAPHRUN_TEST_TOKEN", canary)
	for name, rest := range map[string]string{
		"in an output and the state":   `{kind: exec, command: [return], env: {T: "{{ secrets.token }}"}, writes: [got], emit: {said: output.text}}`,
		"in a failure":                 `{kind: exec, command: [fail], env: {T: "{{ secrets.token }}"}, retry: {max_attempts: 2, initial_interval: 1ms}}`,
		"in an error":                  `{kind: exec, command: [error], env: {T: "{{ secrets.token }}"}}`,
		"in a panic":                   `{kind: exec, command: [panic], env: {T: "{{ secrets.token }}"}}`,
		"in what a node says":          `{kind: exec, command: [emit], env: {T: "{{ secrets.token }}"}}`,
		"in a refused output":          `{kind: exec, command: [return], env: {T: "{{ secrets.token }}"}, output: {type: object, properties: {text: {type: integer}}}}`,
		"in a refused write":           `{kind: exec, command: [return], env: {T: "{{ secrets.token }}"}, writes: {number: output.text}}`,
		"in a label that is not there": `{kind: exec, command: [return], env: {T: "{{ secrets.token }}"}, goto: output.text, ends: [END]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, text := runAndShow(t, runner.Config{Kinds: []runner.Kind{leakyKind()}}, `
secrets: {token: {env: GRAPHRUN_TEST_TOKEN}}
state: {got: {}, number: {type: integer}}
nodes: {a: `+rest+`}
edges: [{from: a, to: END}]`, runner.Options{})
			wantHidden(t, text)
		})
	}
	for name, edge := range map[string]string{
		"in a stuck run":           `{from: a, to: END, when: "got.text == 'x'"}`,
		"in a condition's error":   `{from: a, to: END, when: "got.text > 3"}`,
		"in what an edge computes": `{from: a, to: b, transform: output.text}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, text := runAndShow(t, runner.Config{Kinds: []runner.Kind{leakyKind()}}, `
secrets: {token: {env: GRAPHRUN_TEST_TOKEN}}
state: {got: {}, number: {type: integer}}
nodes: {a: {kind: exec, command: [return], env: {T: "{{ secrets.token }}"}, writes: {got: output}}, b: {kind: pass}}
edges: [`+edge+`, {from: a, to: b, when: step > 5}, {from: b, to: END}]`, runner.Options{})
			wantHidden(t, text)
		})
	}
}

// A secret in the answer of a decider is hidden.
func TestSecretOfADecider(t *testing.T) {
	t.Setenv("GRAPHRUN_TEST_TOKEN", canary)
	for _, answer := range []string{"b", canary, "error"} {
		_, text := runAndShow(t, runner.Config{Kinds: []runner.Kind{leakyKind()}, Decider: leakyDecider(answer)}, `
secrets: {token: {env: GRAPHRUN_TEST_TOKEN}}
nodes: {a: {kind: exec, command: [return], env: {T: "{{ secrets.token }}"}}, b: {kind: pass}, c: {kind: pass}}
edges: [{from: a, to: b, condition: llm_decide}, {from: a, to: c, condition: llm_decide, fallback: true}, {from: [b, c], to: END}]`, runner.Options{})
		wantHidden(t, text)
	}
}

type leakyDecider string

func (d leakyDecider) Decide(context.Context, *runner.Task, handler.Choice) (target, reasoning string, err error) {
	if d == "error" {
		return "", "", errors.New("no: " + canary)
	}
	return string(d), "because of " + canary, nil
}

// The value of a secret state key is hidden as a whole, and as a part of other texts.
func TestSecretStateKeys(t *testing.T) {
	result, text := runAndShow(t, runner.Config{Kinds: []runner.Kind{leakyKind()}}, `
state: {pin: {type: string, secret: true}, deep: {type: object, secret: true}, said: {}}
nodes: {a: {kind: exec, command: [return], env: {T: "{{ pin }}"}, writes: {said: output.text, deep: "{'inner': output.text}"}}}
edges: [{from: a, to: END}]`, runner.Options{Input: map[string]any{"pin": canary}})
	wantHidden(t, text)
	wantResult(t, result, machine.Completed, "a", "")
	if result.State["pin"] != "***" || result.State["deep"] != "***" || result.State["said"] != "***" {
		t.Errorf("state %v", result.State)
	}
}

// A secret key that is written during the run is hidden from then on.
func TestSecretKeyWrittenLater(t *testing.T) {
	events := &recorder{}
	result := run(t, `
state: {pin: {type: string, secret: true}}
nodes: {a: {kind: work, do: make, writes: [pin]}, b: {kind: work, do: use}}
edges: [{from: a, to: b}, {from: b, to: END}]`, map[string]runner.HandlerFunc{
		"make": func(context.Context, *runner.Task) (any, error) { return canary, nil },
		"use": func(_ context.Context, task *runner.Task) (any, error) {
			return nil, errors.New("can't use " + fmt.Sprint(task.State["pin"]))
		},
	}, runner.Options{Sink: events})
	wantHidden(t, fmt.Sprintf("%+v %v %+v", result, result.Error, events.ofType(runner.StateUpdated)))
	if result.Error.Message != "can't use ***" {
		t.Errorf("error %v", result.Error)
	}
}

func TestUnreadableSecrets(t *testing.T) {
	f := prepareFlow(t, runner.Config{}, `
secrets: {one: {env: GRAPHRUN_TEST_NOT_SET}, two: {file: testdata/no-such-file}}
nodes: {a: {kind: pass}}
edges: [{from: a, to: END}]`)
	_, err := f.Run(context.Background(), runner.Options{})
	var input *runner.InputError
	if !errors.As(err, &input) || len(input.Problems) != 2 {
		t.Fatalf("error %v, want two problems", err)
	}
	if !strings.Contains(err.Error(), "GRAPHRUN_TEST_NOT_SET") || !strings.Contains(err.Error(), "no-such-file") {
		t.Errorf("error %v", err)
	}
}
