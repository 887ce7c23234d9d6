package node_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// endingServer starts a server that answers each request with a delta and a finish reason, and
// counts the requests.
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

// If the model refuses, or its answer is filtered or truncated, the node fails with the kind
// refused, filtered or truncated, and without a retry. A node can accept such an answer.
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

// A router or judge whose answer was refused, filtered or truncated is not called again. The error
// names it and has its answer.
func TestEndingsOfDeciders(t *testing.T) {
	const router = "start: a\nnodes: {a: {kind: pass}, b: {kind: pass}, c: {kind: pass}}\nedges: [{from: a, to: b, condition: llm_decide}, {from: a, to: c, condition: llm_decide%s}, {from: b, to: END}, {from: c, to: END}]"
	const judge = "start: a\nnodes: {a: {kind: agent, prompt: go, judge: {criteria: [good]}}}\nedges: [{from: a, to: END}]"
	for _, end := range []struct{ delta, finish, message string }{
		{`{"refusal":"I won't."}`, "stop", `the model refused to answer: "I won't."`},
		{`{"content":"The first"}`, "content_filter", `the provider's content filter ended the answer: "The first"`},
		{`{"content":"The first"}`, "length", `the answer was cut: it had all the tokens that it may have: "The first"`},
		{`{}`, "content_filter", "the provider withheld the answer by its content filter"},
	} {
		server, calls := endingServer(t, end.delta, end.finish)
		result := runFlow(t, server, fmt.Sprintf(router, ", fallback: true"), runner.Options{})
		if result.Status != machine.Completed || result.Quality != machine.Degraded || *calls != 1 {
			t.Errorf("router, %s: %v %v after %d calls", end.finish, result.Status, result.Quality, *calls)
		}
		server, calls = endingServer(t, end.delta, end.finish)
		result = runFlow(t, server, fmt.Sprintf(router, ""), runner.Options{})
		if result.Status != machine.Stuck || result.Error == nil || !strings.Contains(result.Error.Message, end.message+") and no edge is marked fallback") || *calls != 1 {
			t.Errorf("router, %s: %v %q after %d calls", end.finish, result.Status, result.Error, *calls)
		}
		asked := 0
		judging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			if asked++; asked == 1 {
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"five\"},\"finish_reason\":\"stop\"}]}\n\n")
				return
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}]}\n\n", end.delta, end.finish)
		}))
		result = runFlow(t, &chat{url: judging.URL + "/v1"}, judge, runner.Options{})
		judging.Close()
		if result.Error == nil || result.Error.Kind != "escalated" || !strings.HasSuffix(result.Error.Message, end.message) || result.Error.Details["answer"] != "five" || asked != 2 {
			t.Errorf("judge, %s: %v after %d calls", end.finish, result.Error, asked)
		}
	}
}
