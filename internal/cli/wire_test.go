package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphrun/graphrun/model/modeltest"
)

const toolLoop = `graphrun: v1
name: loop
start: ask
limits: {timeout: 1m, max_visits: 5}
providers: {there: {PROVIDER, base_url: "{{ run.input.url }}"}}
models: {default: there/m}
state: {url: {type: string, required: true}, answer: {type: string}}
tools:
  weather_get: {exec: {command: [echo, sunny]}, parameters: {type: object}}
  add: {exec: {command: [echo, "3.5"]}, parameters: {type: object}}
nodes:
  ask: {kind: llm, prompt: "The weather?", tools: [weather_get, add], reasoning: low, writes: {answer: output.content}}
  act: {kind: tools}
edges:
  - {from: ask, to: act, when: "len(output.tool_calls) > 0"}
  - {from: ask, to: END}
  - {from: act, to: ask}
`

// A loop of a model and its tools over each wire format: the model gets its calls
// and thoughts back with the results, and its text streams.
func TestToolLoopOverTheWire(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]string{"openai": "type: openai", "responses": "type: openai, api: responses", "anthropic": "type: anthropic"}
	for provider, sent := range map[string][]string{
		"openai": {`"tool_call_id":"call_A"`, `"content":"sunny"`, `"arguments":"{\"city\":`},
		"responses": {
			`{"call_id":"call_A","output":"sunny","type":"function_call_output"}`,
			`{"id":"rs_0a3","type":"reasoning","summary":[{"type":"summary_text","text":"**Looking** at the weather"}],"encrypted_content":"gAAAABthought"}`,
		},
		"anthropic": {`{"signature":"EqQB==","thinking":"The user wants the weather.","type":"thinking"}`, `{"content":"sunny","tool_use_id":"toolu_01A","type":"tool_result"}`},
	} {
		answers := filepath.Join(root, "model", provider, "testdata")
		first := "tools-stream.http"
		if provider != "openai" {
			first = "thinking-stream.http"
		}
		var bodies []string
		keep := func(r modeltest.Request) { bodies = append(bodies, string(r.Raw)) }
		url := startRelay(t, modeltest.ServeFile(t, filepath.Join(answers, first), 0, keep), modeltest.ServeFile(t, filepath.Join(answers, "text-stream.http"), 0, keep))
		t.Chdir(t.TempDir())
		if err := os.WriteFile("flow.yaml", []byte(strings.Replace(toolLoop, "PROVIDER", declared[provider], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := Main(context.Background(), Program{
			Args:  []string{"run", "flow.yaml", "-o", "jsonl", "-i", "url=" + url, "--store", "memory"},
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		})
		if code != 0 || len(bodies) != 2 {
			t.Fatalf("%s: exit code %d, %d requests\n%s\n%s", provider, code, len(bodies), &stdout, &stderr)
		}
		for _, part := range append(sent, `"stream":true`) {
			if !strings.Contains(bodies[1], part) {
				t.Errorf("%s: the second request lacks %s:\n%s", provider, part, bodies[1])
			}
		}
		checkLoop(t, provider, stdout.String())
	}
}

func checkLoop(t *testing.T, provider, events string) {
	t.Helper()
	var streamed strings.Builder
	var last struct {
		Path  []string
		State map[string]any
		Usage struct {
			Calls  int `json:"llm_calls"`
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`

			Cached    int `json:"cached_tokens"`
			Reasoning int `json:"reasoning_tokens"`
		}
	}
	for line := range strings.Lines(events) {
		var e struct{ Event, Node, Text string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Event == "node_output" && e.Node == "ask" {
			streamed.WriteString(e.Text)
		}
		if e.Event == "run_finished" {
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				t.Fatal(err)
			}
		}
	}
	const text = "Hello, wörld.\nNice day!"
	if last.State["answer"] != text || strings.Join(last.Path, " ") != "ask act ask" || last.Usage.Calls != 2 || last.Usage.Input != 92 || last.Usage.Output != 40 || provider == "responses" && (last.Usage.Cached != 68 || last.Usage.Reasoning != 20) {
		t.Errorf("%s: %+v", provider, last)
	}
	if streamed.String() != "Let me look."+text {
		t.Errorf("%s: streamed %q", provider, streamed.String())
	}
}

// startRelay starts a server that forwards the first request to one URL, all others to another.
func startRelay(t *testing.T, first, rest string) string {
	t.Helper()
	var n atomic.Int64
	return modeltest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := rest
		if n.Add(1) == 1 {
			target = first
		}
		forwardRequest(w, r, target)
	}))
}

func forwardRequest(w http.ResponseWriter, r *http.Request, target string) {
	req := httptest.NewRequestWithContext(r.Context(), r.Method, target+r.URL.Path, r.Body)
	req.RequestURI, req.Header = "", r.Header
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
	_ = resp.Body.Close()
}
