package runner_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// stepClock advances by step at each call of Now. Its timers fire at once.
type stepClock struct {
	mu   sync.Mutex
	now  time.Time
	step time.Duration
}

func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.step)
	return c.now
}

func (c *stepClock) AfterFunc(_ time.Duration, f func()) func() bool {
	go f()
	return func() bool { return false }
}

// lineSink encodes each event separately, as a sink of another Go program might.
type lineSink struct{ bytes.Buffer }

func (s *lineSink) Event(e *runner.Event) error {
	s.Write(append(e.AppendJSON(nil), '\n'))
	return nil
}

// actorKind returns a kind whose nodes act as their ids say.
func actorKind() runner.Kind {
	run := func(_ context.Context, task *runner.Task) (any, error) {
		switch task.Node {
		case "flaky":
			if task.Attempt < 3 {
				return nil, &runner.Failure{Kind: "network", Message: "no \"route\" to <host>\n"}
			}
			return "third time", nil
		case "broken":
			return nil, &runner.Failure{Kind: "failed", Message: "état \x01 \xff", Details: map[string]any{"z": 1, "a": []any{nil, 1.5}}}
		case "goes":
			return map[string]any{"goto": []any{"x", map[string]any{"to": "y", "input": 7}}}, nil
		case "says":
			task.Emit(runner.Said{Type: "progress", Percent: 12.5, Message: "on \"it\""})
			task.Emit(runner.Said{Type: "text", Text: "chunk \u2028"})
			task.Emit(runner.Said{Type: "custom", Name: "mine", Data: map[string]any{"b": true, "a": nil}})
		}
		return map[string]any{"b": 1e300, "a": -5, "deep": []any{map[string]any{}, []any{}, "é\t"}}, nil
	}
	return runner.Kind{Spec: spec.Kind{Name: "actor"}, Handler: runner.HandlerFunc(run)}
}

const eventFlows = `
graphrun: v1
name: retries-failures-says
start: flaky
state: {n: {type: integer, default: 99}, list: {type: array, reducer: append, default: []}, text: {}}
nodes:
  flaky: {kind: actor, writes: {n: n + 1}}
  broken: {kind: actor}
  says: {kind: actor, emit: {what: output, n: n}}
  "set": {kind: set, set: {n: n + 1, list: "[n]", text: "'\"'"}}
edges:
  - {from: flaky, to: broken}
  - {from: broken, to: says, condition: on_failure}
  - {from: says, to: set}
  - {from: set, to: END}
---
graphrun: v1
name: goto-and-fan-out
start: goes
nodes: {goes: {kind: actor, ends: {x: x, y: y, z: END}}, x: {kind: pass}, y: {kind: pass}, z: {kind: pass}}
edges:
  - {from: [x, y], to: z}
  - {from: z, to: END}
---
graphrun: v1
name: decision
start: a
nodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}}
edges:
  - {from: a, to: b, condition: llm_decide, description: one}
  - {from: a, to: c, condition: llm_decide, description: two, fallback: true}
  - {from: [b, c], to: END}
---
graphrun: v1
name: skips
start: a
limits: {max_steps: 60}
state: {n: {type: integer, default: 0}}
nodes:
  a: {kind: set, set: {n: n + 1}, max_visits: 12, on_max_visits: skip}
  b: {kind: set, set: {n: n + 1}}
edges:
  - {from: a, to: b}
  - {from: b, to: a, when: n < 40}
  - {from: b, to: END}
---
graphrun: v1
name: visit-limit
start: a
nodes: {a: {kind: pass, max_visits: 1}}
edges: [{from: a, to: a}]
---
graphrun: v1
name: many-ways
start: a
limits: {max_steps: 300}
state: {n: {type: integer, default: 0}, secret: {type: string, default: sesame}, pair: {}}
nodes:
  a: {kind: set, set: {n: n + 1, pair: "[n, 'open ' + secret]"}}
  b: {kind: set, set: {n: n + 1}}
  c: {kind: pass}
edges:
  - {from: a, to: b, when: n % 3 == 0}
  - {from: a, to: c, when: n % 3 == 1}
  - {from: a, to: [b, c]}
  - {from: b, to: END, when: n > 100}
  - {from: [b, c], to: a}
---
graphrun: v1
name: circles
start: a
limits: {max_steps: 2000}
state: {n: {type: integer, default: 0}, text: {type: string, default: ""}, odd: {}}
nodes:
  a: {kind: set, set: {n: n + 1}}
  b: {kind: set, set: {text: "string(n % 7 * n * n) + ',\"visit\":1\\n'", odd: "{'seq': n % 3, 'step': 2}"}}
  c: {kind: pass}
edges:
  - {from: a, to: a, when: n % 5 != 0}
  - {from: a, to: b}
  - {from: b, to: c, when: n % 2 == 0}
  - {from: b, to: a}
  - {from: c, to: END, when: n >= 1200}
  - {from: c, to: a}
---
graphrun: v1
name: stuck
start: a
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: pass}, b: {kind: pass}}
edges: [{from: a, to: b, when: n > 0}, {from: b, to: END}]
`

// A JSONSink writes the same JSON as AppendJSON of each event, in all its modes.
func TestJSONSinkLikeEvents(t *testing.T) {
	for _, text := range strings.Split(eventFlows, "---\n") {
		secret := strings.Replace(text, "{type: string, default: sesame}", "{type: string, required: true, secret: true}", 1)
		name := strings.TrimPrefix(strings.Split(strings.TrimSpace(text), "\n")[1], "name: ")
		step := 1373 * time.Microsecond
		if strings.Contains(text, "actor") {
			step = 0 // driver and handler read the clock in random order
		}
		t.Run(name+"/"+step.String(), func(t *testing.T) { compareSinks(t, text, step, "", false) })
		t.Run(name+"/kept", func(t *testing.T) { compareSinks(t, text, 0, "", true) })
		if secret != text {
			t.Run(name+"/masked", func(t *testing.T) { compareSinks(t, secret, time.Millisecond, "sesame", false) })
		}
	}
}

// compareSinks compares the output of a JSONSink and a lineSink. It runs the flow twice with each,
// because a JSONSink reuses parts of what it wrote.
func compareSinks(t *testing.T, text string, step time.Duration, secret string, kept bool) {
	t.Helper()
	g, found := spec.Parse("flow.yaml", []byte(text), spec.Options{Kinds: []spec.Kind{actorKind().Spec}})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	run := func(sink runner.Sink) {
		t.Helper()
		clock := &stepClock{now: time.Date(2031, 12, 31, 23, 59, 59, 123456000, time.UTC), step: step}
		cfg := runner.Config{Kinds: []runner.Kind{actorKind()}, Clock: clock}
		if kept {
			cfg.Store = &store.Memory{}
		}
		r, err := runner.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		opts := runner.Options{Sink: sink, RunID: "run \"1\""}
		if secret != "" {
			opts.Input = map[string]any{"secret": secret}
		}
		if _, err := r.Run(context.Background(), g, opts); err != nil {
			t.Fatal(err)
		}
	}
	var fast bytes.Buffer
	sink := runner.NewJSONSink(&fast)
	var plain lineSink
	for range 2 {
		fast.Reset()
		plain.Reset()
		run(sink)
		run(&plain)
		if plain.String() != fast.String() {
			diff := cmp.Diff(strings.Split(plain.String(), "\n"), strings.Split(fast.String(), "\n"))
			t.Fatalf("lines differ (- event by itself, + sink):\n%.3000s", diff)
		}
	}
	if secret != "" && strings.Contains(fast.String(), secret) {
		t.Errorf("the secret is in the lines")
	}
	if !strings.Contains(fast.String(), `"event":"run_finished"`) {
		t.Errorf("no end: %s", fast.String())
	}
	if kept != strings.Contains(fast.String(), `"event":"checkpoint"`) {
		t.Errorf("checkpoints although kept is %t: %s", kept, fast.String())
	}
}
