package node

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/model/provider"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// BenchmarkCallKey measures what a call at the end of a long conversation costs besides sending
// it: its key in the journal, and the tokens to reserve.
func BenchmarkCallKey(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			messages := newConversation(n)
			req := &model.Request{System: "s", Messages: messages}
			b.ReportAllocs()
			for b.Loop() {
				req.Messages = append(messages[:len(messages):len(messages)], model.Message{Role: model.User, Content: "And now?"})
				if requestKey(modelRef{name: "m"}, req) == "" || price.EstimateRequestTokens(req) < n {
					b.Fatal("no key or no tokens")
				}
			}
		})
	}
}

// newConversation returns a conversation of n messages with tool calls.
func newConversation(n int) []model.Message {
	var out []model.Message
	for i := range n / 4 {
		id := fmt.Sprint("call_", i)
		out = append(out,
			model.Message{Role: model.User, Content: strings.Repeat("a question ", 10)},
			model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: id, Name: "look.up", Args: map[string]any{"n": i}}}},
			model.Message{Role: model.ToolResult, ToolCallID: id, Name: "look.up", Content: "a result"},
			model.Message{Role: model.Assistant, Content: strings.Repeat("an answer ", 20)})
	}
	return out
}

// listProtocols returns protocols with their shortest answers.
func listProtocols() map[string]string {
	return map[string]string{
		"chat":      `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`,
		"responses": `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}`,
		"anthropic": `{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`,
	}
}

// noAccount is an account that records nothing.
type noAccount struct{}

func (noAccount) Note(any, handler.Usage) error { return nil }
func (noAccount) Hide(string)                   {}
func (noAccount) Reserve(r handler.Reservation) (*handler.Reserved, error) {
	return handler.NewReserved(r.Output, func(handler.Usage) {}), nil
}
func (noAccount) Sleep(context.Context, time.Duration) error { return nil }
func (noAccount) Now() time.Time                             { return time.Now() }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newVisits returns a function that visits an llm node at the end of a conversation, which grows by
// two messages with each visit. The node calls a server that speaks the protocol.
func newVisits(tb testing.TB, wire string, talk []handler.Message) func() error {
	tb.Helper()
	kind, api := "openai", "api: "+wire+", "
	if wire == "anthropic" {
		kind, api = wire, ""
	}
	g, found := spec.Parse("flow.yaml", []byte("graphrun: v1\nname: g\nstart: a\nlimits: {timeout: 1m}\nmodels: {default: local/m}\nproviders: {local: {type: "+kind+", "+api+"base_url: 'http://local'}}\n"+
		"nodes: {a: {kind: llm, prompt: And now?}}\nedges: [{from: a, to: END}]\n"), spec.Options{Kinds: []spec.Kind{{Name: "llm"}}})
	if found.HasErrors() {
		tb.Fatal(found)
	}
	h := &toolkit{models: models{options: provider.Options{HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(listProtocols()[wire]))}, err
	})}}}}
	scope := handler.NewScope(nil, "")
	tb.Cleanup(scope.Close)
	providers := map[string]any{"local": map[string]any{"type": kind, "base_url": "http://local"}}
	if api != "" {
		providers["local"].(map[string]any)["api"] = wire
	}
	return func() error {
		task := &runner.Task{
			Node: "a", Visit: 1, Graph: g, Scope: scope, Config: map[string]any{"prompt": "And now?"}, Providers: providers,
			Models: &handler.ModelAccess{ModelAccounting: noAccount{}}, Talk: &handler.Talk{Talk: machine.Talk{Messages: talk}},
		}
		if _, err := h.runLLM(tb.Context(), task); err != nil {
			return err
		}
		talk = append(talk, handler.Message{Role: "user", Content: "And now?"}, handler.Message{Role: "assistant", Content: "ok"})
		return nil
	}
}

// BenchmarkCall measures a visit of an llm node at the end of 10,000 messages: building,
// identifying, encoding and sending its request, and reading the answer. cpu-ms/op is the
// processor time of the process.
func BenchmarkCall(b *testing.B) {
	for _, wire := range slices.Sorted(maps.Keys(listProtocols())) {
		b.Run(wire, func(b *testing.B) {
			visit := newVisits(b, wire, newConversation(10_000))
			if err := visit(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				if err := visit(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((processorTime(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime returns the processor time of the process.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Calls with other messages, or of another model, have other keys.
func TestRequestKey(t *testing.T) {
	long := func(n int) []model.Message {
		var out []model.Message
		for i := range n {
			out = append(out, model.Message{Role: model.Assistant, Content: fmt.Sprint("text ", i), ToolCalls: []model.ToolCall{{ID: fmt.Sprint(i), Name: "f", Args: map[string]any{"n": i}}}})
		}
		return out
	}
	all := long(200)
	changed := slices.Clone(all)
	changed[70].Content = "another"
	args := slices.Clone(all)
	args[70].ToolCalls = []model.ToolCall{{ID: "70", Name: "f", Args: map[string]any{"n": 71}}}
	part := slices.Clone(all)
	part[199].Parts = []model.Part{{Kind: model.TextPart, Text: "x"}}
	seen := map[string]int{}
	for _, messages := range [][]model.Message{all[:100], all[:150], all, changed, args, part, all[:199], all[:20], long(200), all} {
		req := &model.Request{System: "s", Messages: messages}
		seen[requestKey(modelRef{name: "m"}, req)]++
	}
	if len(seen) != 8 { // long(200) and the last equal all
		t.Errorf("%d keys", len(seen))
	}
	other := requestKey(modelRef{name: "n"}, &model.Request{System: "s", Messages: all})
	if seen[other] > 0 {
		t.Error("another model has the same key")
	}
}
