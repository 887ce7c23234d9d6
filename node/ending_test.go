package node_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// endingServer answers each request with a text and a way to end, and counts.
func endingServer(t *testing.T, delta, finish string) (*chat, *int) {
	t.Helper()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", delta, finish)
	}))
	t.Cleanup(server.Close)
	return &chat{url: server.URL + "/v1"}, &calls
}

// An answer that was refused, filtered or cut is a failure of its own kind with
// what was said, asked for once; a node may accept it.
func TestEndings(t *testing.T) {
	const structured = ", output: {type: object, properties: {n: {type: integer}}, required: [n]}"
	for _, end := range []struct{ kind, delta, finish, said string }{
		{"refused", `{"refusal":"I won't."}`, "stop", "I won't."},
		{"filtered", `{"content":"The first half"}`, "content_filter", "The first half"},
		{"truncated", `{"content":"The first half"}`, "length", "The first half"},
	} {
		for _, node := range []string{
			"kind: llm", "kind: llm" + structured, "kind: llm, retry: {max_attempts: 3}", "kind: agent", "kind: agent" + structured,
		} {
			chat, calls := endingServer(t, end.delta, end.finish)
			const flow = "start: a\nnodes: {a: {%s, prompt: go%s}}\nedges: [{from: a, to: END}]"
			result := runFlow(t, chat, fmt.Sprintf(flow, node, ""), runner.Options{})
			if result.Status != machine.Failed || result.Error.Kind != end.kind || result.Error.Details["answer"] != end.said || *calls != 1 {
				t.Errorf("%s, %s: %v after %d calls", end.kind, node, result.Error, *calls)
			}
			if strings.Contains(node, "output") {
				continue
			}
			chat, _ = endingServer(t, end.delta, end.finish)
			result = runFlow(t, chat, fmt.Sprintf(flow, node, ", accept: ["+end.kind+"]"), runner.Options{})
			if result.Status != machine.Completed || result.Output != end.said {
				t.Errorf("%s, %s, accepted: %v %v", end.kind, node, result.Output, result.Error)
			}
		}
		chat, calls := endingServer(t, end.delta, end.finish)
		runFlow(t, chat, "start: a\nnodes: {a: {kind: llm, prompt: go, retry: {max_attempts: 2, on: "+end.kind+"}}}\nedges: [{from: a, to: END}]", runner.Options{})
		if *calls != 2 {
			t.Errorf("%s: %d calls where retry names the kind", end.kind, *calls)
		}
	}
}
