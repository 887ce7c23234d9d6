package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/graphrun/graphrun/internal/cli/telemetry"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

const flow = `graphrun: v1
name: told
start: split
limits: {node_timeout: 1m}
models: {default: scripted/answers.yaml}
nodes:
  split: {kind: pass}
  twice: {kind: exec, script: 'echo "$TRACEPARENT" > $DIR/$GRAPHRUN_TASK_ATTEMPT; test "$GRAPHRUN_TASK_ATTEMPT" = 2', env: {DIR: "{{ run.input.dir }}"}, retry: {max_attempts: 2, initial_interval: 1ms}}
  model: {kind: llm, prompt: hello}
  meet: {kind: pass, join: {wait: all}}
  ask: {kind: human, prompt: "on?", choices: ["yes", "no"]}
  last: {kind: exec, script: 'exit 3'}
state: {dir: {type: string, required: true}}
edges:
  - {from: split, to: [twice, model]}
  - {from: [twice, model], to: meet}
  - {from: meet, to: ask}
  - {from: ask, to: last}
  - {from: last, to: END}
`

type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Links                               []struct{ SpanID string }
	Status                              struct{ Code int }
	Attributes                          []struct {
		Key   string
		Value map[string]any
	}
}

type record struct {
	TraceID, SpanID string
	EventName       string
	SeverityText    string
	Body            struct{ StringValue string }
}

// receiver is an OTLP receiver that keeps all data.
type receiver struct {
	mu      sync.Mutex
	spans   []span
	metrics []string
	logs    []record
	headers http.Header
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, _ := io.ReadAll(req.Body)
	var sent struct {
		ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		ResourceLogs  []struct {
			ScopeLogs []struct{ LogRecords []record }
		}
		ResourceMetrics []struct {
			ScopeMetrics []struct{ Metrics []struct{ Name string } }
		}
	}
	if req.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &sent) != nil {
		http.Error(w, "no OTLP", http.StatusBadRequest)
		return
	}
	r.headers = req.Header
	for _, rs := range sent.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			r.spans = append(r.spans, ss.Spans...)
		}
	}
	for _, rl := range sent.ResourceLogs {
		for _, sl := range rl.ScopeLogs {
			r.logs = append(r.logs, sl.LogRecords...)
		}
	}
	for _, rm := range sent.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				r.metrics = append(r.metrics, m.Name)
			}
		}
	}
}

// drive calls do with a new runner and new telemetry, as a new process would.
func drive(t *testing.T, kept store.Store, do func(*runner.Runner) (*runner.Result, error)) *runner.Result {
	t.Helper()
	told, err := telemetry.FromEnv("v1", func(text string) { t.Error(text) })
	if err != nil || told == nil {
		t.Fatal(told, err)
	}
	r, err := runner.New(runner.Config{Watch: told, Kinds: told.WrapKinds(node.Kinds(node.Options{})), Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	result, err := do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := told.Close(); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestOneTrace(t *testing.T) {
	got := &receiver{}
	server := httptest.NewServer(got)
	defer server.Close()
	checkOneTrace(t, got, server.URL, func() {})
	if got.headers.Get("X-Key") != "a b" {
		t.Errorf("the headers are %v", got.headers)
	}
}

// TestCollector is like TestOneTrace, but through an OpenTelemetry Collector.
// GRAPHRUN_TEST_COLLECTOR names the program, which .ci/collector builds.
func TestCollector(t *testing.T) {
	program := os.Getenv("GRAPHRUN_TEST_COLLECTOR")
	if program == "" {
		t.Skip("GRAPHRUN_TEST_COLLECTOR is not set")
	}
	got := &receiver{}
	server := httptest.NewServer(got)
	defer server.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "collector.yaml")
	text := fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {otlphttp: {endpoint: %q, encoding: json, compression: none}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [otlphttp]}
    metrics: {receivers: [otlp], exporters: [otlphttp]}
    logs: {receivers: [otlp], exporters: [otlphttp]}
`, address, server.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	collector := exec.Command(program, "--config", config)
	var said bytes.Buffer
	collector.Stdout, collector.Stderr = &said, &said
	if err := collector.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- collector.Wait() }()
	for ready := false; !ready; {
		select {
		case err := <-ended:
			t.Fatalf("the collector ended: %v\n%s", err, said.String())
		case <-time.After(50 * time.Millisecond):
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			ready = conn.Close() == nil
		}
	}
	checkOneTrace(t, got, "http://"+address, func() { // its queue is empty when it has ended
		if err := collector.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Fatalf("the collector ended: %v\n%s", err, said.String())
		}
	})
}

// conventions are the attributes of OpenTelemetry's registry that graphrun sends. All others
// belong to graphrun.
var conventions = []attribute.Key{
	semconv.ErrorTypeKey, semconv.GenAIOperationNameKey, semconv.GenAIProviderNameKey, semconv.GenAIRequestModelKey,
	semconv.GenAIUsageInputTokensKey, semconv.GenAIUsageOutputTokensKey, semconv.GenAIToolNameKey, semconv.GenAIToolCallIDKey,
}

// checkOneTrace runs a flow, resumes it, and checks the data that got returns for an endpoint.
func checkOneTrace(t *testing.T, got *receiver, endpoint string, flush func()) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "answers.yaml"), []byte("responses:\n  - {content: hi}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")
	kept := &store.Memory{}
	g, found := spec.Parse(filepath.Join(dir, "flow.yaml"), []byte(flow), spec.Options{})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	drive(t, kept, func(r *runner.Runner) (*runner.Result, error) {
		return r.Run(context.Background(), g, runner.Options{RunID: "one", Input: map[string]any{"dir": dir}})
	})
	drive(t, kept, func(r *runner.Runner) (*runner.Result, error) {
		return r.Resume(context.Background(), "one", runner.Options{Answers: map[string][]string{"ask": {"yes"}}})
	})

	flush()

	byID, names := map[string]span{}, map[string][]span{}
	for _, s := range got.spans {
		if s.TraceID != got.spans[0].TraceID {
			t.Errorf("%s is of another trace", s.Name)
		}
		if _, twice := byID[s.SpanID]; twice {
			t.Errorf("%s came twice", s.Name)
		}
		byID[s.SpanID] = s
		for _, a := range s.Attributes {
			if !strings.HasPrefix(a.Key, "graphrun.") && !slices.Contains(conventions, attribute.Key(a.Key)) {
				t.Errorf("%s has the attribute %s, which is not in the conventions", s.Name, a.Key)
			}
		}
		names[s.Name] = append(names[s.Name], s)
	}
	parents := map[string]string{"run told": "", "resume": "run told", "step twice": "run told", "step meet": "run told", "step last": "resume", "chat answers.yaml": "attempt"}
	for name, parent := range parents {
		if len(names[name]) != 1 || byID[names[name][0].ParentSpanID].Name != parent {
			t.Errorf("%s has %d spans, below %q, want %q", name, len(names[name]), byID[names[name][0].ParentSpanID].Name, parent)
		}
	}
	for _, s := range got.spans {
		if s.Name != "run told" && byID[s.ParentSpanID].Name == "" {
			t.Errorf("the parent of %s was not sent", s.Name)
		}
	}
	var links []string
	for _, l := range names["step meet"][0].Links {
		links = append(links, byID[l.SpanID].Name)
	}
	slices.Sort(links)
	if strings.Join(links, " ") != "step model step twice" {
		t.Errorf("where the branches meet, links lead to %q", links)
	}
	if names["step last"][0].Status.Code != 2 || names["step twice"][0].Status.Code != 0 {
		t.Error("a failure is not told, or a success is one")
	}
	attributes := map[string]any{}
	for _, a := range names["chat answers.yaml"][0].Attributes {
		attributes[a.Key] = a.Value["stringValue"]
	}
	if attributes["gen_ai.operation.name"] != "chat" || attributes["gen_ai.provider.name"] != "scripted" || attributes["gen_ai.request.model"] != "answers.yaml" {
		t.Errorf("the call of the model is %v", attributes)
	}
	for _, attempt := range []string{"1", "2"} { // programs get the span of their attempt
		text, err := os.ReadFile(filepath.Join(dir, attempt))
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(strings.TrimSpace(string(text)), "-")
		if len(parts) != 4 || parts[1] != got.spans[0].TraceID || byID[byID[parts[2]].ParentSpanID].Name != "step twice" {
			t.Errorf("attempt %s has TRACEPARENT=%s", attempt, text)
		}
	}
	for _, name := range []string{"graphrun.runs", "graphrun.steps", "graphrun.step.duration", genaiconv.ClientTokenUsage{}.Name()} {
		if !slices.Contains(got.metrics, name) {
			t.Errorf("metrics are %v, without %s", got.metrics, name)
		}
	}
	var logs []string
	for _, l := range got.logs {
		if l.TraceID != got.spans[0].TraceID {
			t.Errorf("the record %+v is of another trace", l)
		}
		logs = append(logs, byID[l.SpanID].Name+": "+l.SeverityText+" "+l.Body.StringValue)
	}
	wantLogs := []string{
		"run told: INFO run started", `attempt: WARN attempt failed: "sh" exited with code 1`, "run told: INFO run paused, waiting for ask",
		"resume: INFO run resumed", `attempt: ERROR node failed: "sh" exited with code 3`, `resume: ERROR run failed: "sh" exited with code 3`,
	}
	if diff := cmp.Diff(wantLogs, logs); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

func TestOffByDefault(t *testing.T) {
	for _, env := range []map[string]string{
		{},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"},
	} {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"} {
			t.Setenv(name, env[name])
		}
		if told, err := telemetry.FromEnv("v1", nil); told != nil || err != nil {
			t.Errorf("%v: %v, %v", env, told, err)
		}
	}
}

// TestParent checks that a run joins the trace of its caller.
func TestParent(t *testing.T) {
	got := &receiver{}
	server := httptest.NewServer(got)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	g, _ := spec.Parse("flow.yaml", []byte("graphrun: v1\nname: p\nstart: a\nnodes: {a: {kind: pass}}\nedges: [{from: a, to: END}]\n"), spec.Options{})
	drive(t, nil, func(r *runner.Runner) (*runner.Result, error) {
		return r.Run(context.Background(), g, runner.Options{})
	})
	for _, s := range got.spans {
		if s.TraceID != "0af7651916cd43dd8448eb211c80319c" || s.Name == "run p" && s.ParentSpanID != "b7ad6b7169203331" {
			t.Errorf("%+v", s)
		}
	}
	if len(got.spans) != 3 {
		t.Errorf("%d spans came", len(got.spans))
	}
}
