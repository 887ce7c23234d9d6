//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// killed runs a flow in a separate process, kills it as soon as a line arrives in the pipe
// $READY, and resumes the run. It returns the result of the resumed run.
func killed(t *testing.T, dir, flow string) map[string]any {
	t.Helper()
	write(t, filepath.Join(dir, "flow.yaml"), flow)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ready := openPipe(t, filepath.Join(dir, "ready"))
	openPipe(t, filepath.Join(dir, "hold")) // what reads it ends with the test
	run := func(args ...string) *exec.Cmd {
		cmd := &exec.Cmd{Path: self, Args: append([]string{"graphrun"}, args...), Dir: dir, Stderr: os.Stderr}
		cmd.Env = append(os.Environ(), "GRAPHRUN_STORE="+filepath.Join(dir, "runs.db"), "READY="+ready.Name(), "LOCAL_KEY=local-key", "GORACE=atexit_sleep_ms=0")
		return cmd
	}
	first := run("run", "flow.yaml", "--run-id", "r", "--no-input", "-o", "json")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := ready.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	out, err := run("resume", "r", "--no-input", "-o", "json").Output()
	if err != nil {
		t.Fatalf("resume: %v\n%s", err, out)
	}
	var result map[string]any
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// openPipe makes a named pipe and opens it for reading and writing, so that
// opening does not block.
func openPipe(t *testing.T, name string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	return pipe
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// logTool is a tool that appends its argument to the file log. The first call with
// "two" reports that it runs, and does not end.
const logTool = `
tools:
  log:
    parameters: {type: object, properties: {what: {type: string}}, required: [what]}
    exec:
      command: [sh, -c, 'read x; x=${x#*:\"}; x=${x%%\"*}; echo "$x $GRAPHRUN_TASK_KEY" >> log; if [ "$x" = two ] && [ ! -e again ]; then touch again; echo on > "$READY"; exec cat hold; fi; echo "did $x"']
      env_pass: [READY]
`

// effects returns the calls in the file log, and their keys.
func effects(t *testing.T, dir string) (calls []string, keys map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	keys = map[string]bool{}
	for line := range strings.Lines(string(text)) {
		what, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		calls, keys[key] = append(calls, what), true
	}
	return calls, keys
}

// Killed during the second of several tool calls: finished calls are not repeated, and the
// interrupted one is repeated with the same key.
func TestKilledDuringToolCall(t *testing.T) {
	dir := t.TempDir()
	result := killed(t, dir, `graphrun: v1
name: calls
start: a
`+logTool+`
nodes: {a: {kind: pass}, b: {kind: tools, sequential: true}}
edges:
  - {from: a, to: b, transform: "{tool_calls: [{name: 'log', args: {what: 'one'}}, {name: 'log', args: {what: 'two'}}, {name: 'log', args: {what: 'three'}}]}"}
  - {from: b, to: END}
`)
	calls, keys := effects(t, dir)
	if got := strings.Join(calls, " "); got != "one two two three" || len(keys) != 3 {
		t.Errorf("calls %s with %d keys", got, len(keys))
	}
	if got := fmt.Sprint(result["output"]); !strings.Contains(got, "did one") || !strings.Contains(got, "did two") || !strings.Contains(got, "did three") {
		t.Errorf("output %s", got)
	}
}

// Killed in the middle of a graph that a tools node calls: its finished nodes do
// not run again.
func TestKilledDuringGraphCall(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "inner.yaml"), `graphrun: v1
name: inner
start: one
output: output
`+logTool+`
nodes:
  one: {kind: tool, tool: log, args: {what: one}}
  two: {kind: tool, tool: log, args: {what: two}}
edges: [{from: one, to: two}, {from: two, to: END}]
`)
	result := killed(t, dir, `graphrun: v1
name: outer
start: a
tools: {inner: {graph: inner.yaml}}
nodes: {a: {kind: pass}, b: {kind: tools, sequential: true}}
edges:
  - {from: a, to: b, transform: "{tool_calls: [{name: 'inner', args: {}}, {name: 'inner', args: {}}]}"}
  - {from: b, to: END}
`)
	calls, keys := effects(t, dir)
	if got := strings.Join(calls, " "); got != "one two two one two" || len(keys) != 4 {
		t.Errorf("calls %s with %d keys", got, len(keys))
	}
	if got := fmt.Sprint(result["output"]); strings.Count(got, "did two") != 2 || result["steps"] != 6.0 {
		t.Errorf("output %s, %v steps", got, result["steps"])
	}
}

// fakeProvider answers and counts chat completions, the n-th with the n-th item of
// answers. One request never gets its answer.
type fakeProvider struct {
	mu      sync.Mutex
	asked   []string // the last message of each request
	answers func(asked string) (answer map[string]any, hang bool)
	ready   func()
}

func (p *fakeProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	text, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(text, &body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	last := body.Messages[len(body.Messages)-1]
	asked := fmt.Sprint(last.Content)
	p.mu.Lock()
	p.asked = append(p.asked, asked)
	answer, hang := p.answers(asked)
	p.mu.Unlock()
	if hang {
		p.ready()
		<-r.Context().Done() // the client is gone
		return
	}
	answer["role"] = "assistant"
	w.Header().Set("Content-Type", "text/event-stream")
	event, _ := json.Marshal(map[string]any{
		"id": "x", "object": "chat.completion.chunk", "model": "m", "created": 1,
		"choices": []any{map[string]any{"index": 0, "delta": answer, "finish_reason": "stop"}},
		"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
	})
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", event)
}

// Killed during the second model call of an agent: neither the first call nor the tool call that
// it requested is repeated.
func TestKilledDuringAgentTurn(t *testing.T) {
	dir := t.TempDir()
	hung := false
	p := &fakeProvider{}
	p.ready = func() {
		if f, err := os.OpenFile(filepath.Join(dir, "ready"), os.O_WRONLY, 0); err == nil {
			fmt.Fprintln(f, "on")
			_ = f.Close()
		}
	}
	p.answers = func(asked string) (map[string]any, bool) {
		switch {
		case asked == "go":
			return map[string]any{"content": "", "tool_calls": []any{map[string]any{
				"index": 0, "id": "c1", "type": "function", "function": map[string]any{"name": "log", "arguments": `{"what":"one"}`},
			}}}, false
		case !hung:
			hung = true
			return nil, true
		}
		return map[string]any{"content": "the end"}, false
	}
	server := httptest.NewServer(p)
	defer server.Close()
	result := killed(t, dir, `graphrun: v1
name: agent
start: a
secrets: {key: {env: LOCAL_KEY}}
providers: {local: {type: openai, base_url: "`+server.URL+`/v1", api_key: "{{ secrets.key }}"}}
models: {default: local/m}
`+logTool+`
state: {ans: {type: string}}
nodes: {a: {kind: agent, prompt: go, tools: [log], writes: [ans]}}
edges: [{from: a, to: END}]
`)
	calls, _ := effects(t, dir)
	if got := strings.Join(calls, " "); got != "one" {
		t.Errorf("tool calls %s", got)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) != 3 || p.asked[0] != "go" || p.asked[1] != "did one" || p.asked[2] != "did one" {
		t.Errorf("requests %q", p.asked)
	}
	usage, _ := result["usage"].(map[string]any)
	if state, _ := result["state"].(map[string]any); state["ans"] != "the end" || usage["llm_calls"] != 2.0 {
		t.Errorf("state %v, usage %v", result["state"], usage)
	}
}
