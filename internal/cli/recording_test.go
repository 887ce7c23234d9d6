package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model/modeltest"
)

const recordedFlow = `graphrun: v1
name: recorded
limits: {timeout: 5m}
start: begin
secrets: {key: {env: RECORDED_KEY}}
providers: {local: {type: openai, base_url: "{{ run.input.url }}", api_key: "{{ secrets.key }}"}}
models: {default: local/m}
state:
  url: {type: string, required: true}
  words: {type: array, items: {type: string}}
  told: {type: string}
  got: {}
tools:
  look: {exec: {command: [sh, -c, "cat; echo $KEY >&2; test ! -e looked"], env: {KEY: "{{ secrets.key }}"}}, description: looks, parameters: {type: object}}
nodes:
  begin: {kind: pass}
  spread: {kind: llm, each: "[0, 1, 2, 3, 4, 5, 6, 7]", prompt: The same for all., conversation: isolated, writes: [words]}
  fails: {kind: llm, prompt: Please fail., retry: {max_attempts: 1}, conversation: isolated}
  told: {kind: llm, prompt: "And now?", conversation: isolated, writes: [told]}
  look: {kind: tool, tool: look, args: {x: 1}, writes: {got: output}}
  end: {kind: pass, join: {wait: all}}
edges:
  - {from: begin, to: [spread, fails, look]}
  - {from: fails, to: told, condition: on_failure}
  - {from: [spread, fails, told, look], to: end}
  - {from: end, to: END}
`

// counting starts a server that answers each request differently, and returns the key that it was
// given when it is asked to fail.
func counting(t *testing.T, calls *atomic.Int64) string {
	return modeltest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if bytes.Contains(body, []byte("Please fail")) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"wrong key: %s","code":"invalid_api_key"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			return
		}
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":"answer %d"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, n, n)
	}))
}

// A run recorded once plays a hundred times, with no server and no program, to
// the same path, state, output and usage; no file holds the key.
func TestRecordedOncePlayedOften(t *testing.T) {
	const canary = "sk-canary-recorded-5120"
	t.Setenv("RECORDED_KEY", canary)
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("flow.yaml", []byte(recordedFlow), 0o600); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	url := counting(t, &calls)
	run := func(args ...string) map[string]any {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code := Main(context.Background(), Program{
			Args:  append([]string{"run", "flow.yaml", "-o", "json", "-i", "url=" + url + "/v1", "--store", "runs.db"}, args...),
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		})
		if code != 0 || strings.Contains(stdout.String()+stderr.String(), canary) {
			t.Fatalf("exit code %d\n%s\n%s", code, &stdout, &stderr)
		}
		var out map[string]any
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		for _, varies := range []string{"run_id", "started_at", "duration_ms"} {
			delete(out, varies)
		}
		return out
	}
	want := run("--record", "tape.jsonl", "--trace", "trace.jsonl")
	if n := calls.Load(); n != 10 {
		t.Errorf("%d calls", n)
	}
	if err := os.WriteFile("looked", nil, 0o600); err != nil { // the tool would fail now
		t.Fatal(err)
	}
	for range 20 {
		if diff := cmp.Diff(want, run("--replay", "tape.jsonl")); diff != "" {
			t.Fatal(diff)
		}
	}
	if n := calls.Load(); n != 10 {
		t.Errorf("a replay asked the server: %d calls", n)
	}
	checkAbsent(t, dir, canary)
}

// checkAbsent fails for each file that contains a text.
func checkAbsent(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
