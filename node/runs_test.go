package node_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// prepareTalk prepares a flow of one model node, whose model is at a URL, for many runs.
func prepareTalk(tb testing.TB, url string) *runner.Flow {
	tb.Helper()
	r, err := runner.New(runner.Config{Kinds: node.Kinds(node.Options{}), Decider: node.NewDecider(node.Options{})})
	if err != nil {
		tb.Fatal(err)
	}
	g, found := spec.Parse("flow.yaml", []byte(`
graphrun: v1
name: talk
start: a
models: {default: local/m}
providers: {local: {type: openai, base_url: "`+url+`/v1/"}}
state: {said: {type: string}}
nodes: {a: {kind: llm, prompt: Hi., writes: [said]}, b: {kind: llm, prompt: Go on.}}
edges: [{from: a, to: b}, {from: b, to: END}]`), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		tb.Fatal(found)
	}
	f, err := r.Prepare(g)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// serveChunks starts a chat server that sends its answers in a number of chunks.
func serveChunks(tb testing.TB, chunks int) string {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range chunks {
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"}}]}\n\n")
		}
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// A run leaks no memory: the heap is as large after many runs as after a few.
func TestManyRunsLeakNothing(t *testing.T) {
	f := prepareTalk(t, serveChunks(t, 3))
	heap := func(runs int) uint64 {
		for range runs {
			result, err := f.Run(t.Context(), runner.Options{})
			if err != nil || result.Status != "completed" {
				t.Fatal(result, err)
			}
		}
		var m runtime.MemStats
		for range 3 { // the second collection frees what finalizers hold
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	few := heap(50)
	many := heap(1000)
	t.Logf("heap after 50 runs %d bytes, after 1000 more %d", few, many)
	if many > few+1000*200 {
		t.Errorf("the heap grows from %d to %d bytes in 1000 runs", few, many)
	}
}

// BenchmarkStream measures a streamed chunk from a server's bytes, over a local connection, to a
// line of the event stream.
func BenchmarkStream(b *testing.B) {
	const chunks = 5000
	f := prepareTalk(b, serveChunks(b, chunks))
	b.ReportAllocs()
	for b.Loop() {
		result, err := f.Run(b.Context(), runner.Options{Sink: runner.NewJSONSink(io.Discard)})
		if err != nil || fmt.Sprint(result.Status) != "completed" {
			b.Fatal(result, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*chunks), "ns/chunk")
}
