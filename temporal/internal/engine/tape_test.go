package engine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// taped returns the files of a flow whose models and tools are recorded: elements, attempts that
// make the same call, an agent in a subgraph, a decision, a wait.
func taped() map[string]string {
	return map[string]string{
		"flow.yaml": `graphrun: v1
name: taped
start: spread
limits: {node_timeout: 10m, max_steps: 100}
secrets: {key: {env: TAPED_KEY}}
models: {default: scripted/s.yaml, router: scripted/s.yaml}
state: {words: {type: array}, n: {type: integer, default: 0}, sum: {}}
tools:
  add: {exec: {command: [sh, ./add.sh], parse: json}, description: adds, parameters: {type: object}}
  fail: {exec: {command: [sh, -c, "echo x >> failed; test $(wc -l < failed) -ge 3 && echo $KEY"], env: {KEY: "{{ secrets.key }}"}}, description: fails twice, parameters: {type: object}}
nodes:
  spread: {kind: llm, each: "0..5", prompt: "Say word {{ item }}", conversation: isolated, writes: [words]}
  again: {kind: tool, tool: fail, retry: {max_attempts: 3, initial_interval: 1ms}}
  inner: {kind: graph, graph: "#inner"}
  rest: {kind: wait, for: 10ms}
  where: {kind: pass}
  left: {kind: set, set: {n: n + 1}}
graphs:
  inner:
    start: loop
    tools:
      add: {exec: {command: [sh, ./add.sh], parse: json}, description: adds, parameters: {type: object}}
    nodes: {loop: {kind: agent, prompt: Do it., tools: [add]}}
    finish: loop
edges:
  - {from: spread, to: again}
  - {from: again, to: inner}
  - {from: inner, to: rest}
  - {from: rest, to: where}
  - {from: where, to: left, condition: llm_decide, description: once more}
  - {from: where, to: END, condition: llm_decide, description: enough, fallback: true}
  - {from: left, to: spread}
`,
		"s.yaml": `responses:
  - {node: "spread[0]", visit: 1, content: w0}
  - {node: "spread[1]", visit: 1, content: w1}
  - {node: "spread[2]", visit: 1, content: w2}
  - {node: "spread[3]", visit: 1, content: w3}
  - {node: "spread[4]", visit: 1, content: w4}
  - {node: "spread[5]", visit: 1, content: w5}
  - {node: "spread[0]", visit: 2, content: w0}
  - {node: "spread[1]", visit: 2, content: w1}
  - {node: "spread[2]", visit: 2, content: w2}
  - {node: "spread[3]", visit: 2, content: w3}
  - {node: "spread[4]", visit: 2, content: w4}
  - {node: "spread[5]", visit: 2, content: w5}
  - {node: inner/loop, tool_calls: [{name: add, args: {x: 1}}, {name: add, args: {x: 1}}]}
  - {node: inner/loop, content: three}
  - {role: router, visit: 1, content: {target: left}}
  - {node: inner/loop, content: four}
  - {role: router, content: {target: END}}
`,
		"add.sh": "echo 3\n",
	}
}

// TestTape: recordings of a cluster and of the local engine are equal, even if the run moves
// between workflows, and each engine plays the recording of the other.
func TestTape(t *testing.T) {
	t.Setenv("TAPED_KEY", "canary-4711")
	o := &engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, *o, engine.WorkerOptions{MaxEvents: 40})
	t.Chdir(t.TempDir())
	for name, text := range taped() {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(o *engine.Options, args ...string) outcome {
		t.Helper()
		_ = os.Remove("failed")
		if o == nil {
			args = append(args, "--store", "runs.db")
		}
		return runCommand(t, o, append([]string{"run", "flow.yaml"}, args...)...)
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := run(nil, "--record", "here.yaml")
	if want.Code != 0 || strings.Contains(read("here.yaml"), "canary") {
		t.Fatalf("the run on this machine: %+v\n%s", want, read("here.yaml"))
	}
	for name, on := range map[string]*engine.Options{"there": o} {
		if diff := cmp.Diff(want, run(on, "--run-id", name, "--record", name+".yaml")); diff != "" {
			t.Errorf("recorded on this machine (-), %s (+):\n%s", name, diff)
		}
		if diff := cmp.Diff(read("here.yaml"), read(name+".yaml")); diff != "" {
			t.Errorf("the recording of this machine (-), %s (+):\n%s", name, diff)
		}
		events, _, _ := command(o, "runs", "events", name)
		if !strings.Contains(events, "run_resumed") {
			t.Errorf("the run %s has not moved", name)
		}
	}
	for _, name := range []string{"s.yaml", "add.sh"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, on := range map[string]*engine.Options{"here": o, "there": nil} {
		if diff := cmp.Diff(want, run(on, "--run-id", name+"-played", "--replay", name+".yaml")); diff != "" {
			t.Errorf("recorded (-), %s played elsewhere (+):\n%s", name, diff)
		}
	}
	c, err := o.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, id := range []string{"there", "here-played"} {
		if err := c.ReplayMoved(t.Context(), id, 40); err != nil {
			t.Error(err)
		}
	}
}
