// Package modeltest tests what every adapter of a model provider must do.
package modeltest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
)

// Key is the API key of adapters under test. No error message may contain it.
const Key = "sk-canary-4711"

// scenario is a call and its expected result, the same for every provider.
type scenario struct {
	name string
	// wire marks a scenario that needs a server.
	wire    bool
	request model.Request
	want    model.Response
	// failure is the expected error without its message. The zero value means success.
	failure model.Error
}

// Run tests an adapter. open returns a client whose provider answers as the scenario says,
// streamed or not: text, structured, rate_limited, overloaded, auth, failing (in the middle
// of a stream). Scenarios that need a server are tools (with a text), length, refused,
// filtered, conflict, final, quota, context_length, content_filter, invalid_request,
// malformed, empty, cut and broken; open may return nil to skip one of them.
func Run(t *testing.T, open func(t *testing.T, scenario string, streams bool) model.Client) {
	t.Helper()
	for _, s := range listScenarios() {
		for _, streams := range []bool{false, true} {
			name := s.name
			if streams {
				name += "-stream"
			}
			if streamed := s.name == "failing" || s.name == "cut" || s.name == "broken"; streamed && !streams {
				continue
			}
			t.Run(name, func(t *testing.T) {
				client := open(t, s.name, streams)
				switch {
				case client == nil && s.wire:
					t.Skip("no wire")
				case client == nil:
					t.Fatal("there is no client for this scenario")
				}
				s.check(t, client, streams)
			})
		}
	}
	t.Run("cancelled", func(t *testing.T) { checkCancelled(t, open(t, "text", true)) })
	t.Run("concurrent", func(t *testing.T) { checkConcurrent(t, open) })
}

func listScenarios() []scenario {
	hello := []model.Message{{Role: model.User, Content: "Say hello to the wörld."}}
	tools := []model.Tool{
		{Name: "weather.get", Description: "The weather of a place.", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []any{"city"},
		}},
		{Name: "add"},
	}
	schema := map[string]any{
		"type":       "object",
		"properties": map[string]any{"category": map[string]any{"type": "string"}, "confidence": map[string]any{"type": "number"}},
		"required":   []any{"category", "confidence"},
	}
	caller := model.Caller{Node: "a", Role: "chat", Visit: 1, Turn: 1}
	plain := model.Request{Caller: caller, System: "You are kind.", Messages: hello}
	withTools := model.Request{Caller: caller, Messages: hello, Tools: tools}
	withSchema := model.Request{Caller: caller, Messages: hello, Schema: schema}
	ok := func(name string, wire bool, req model.Request, want model.Response) scenario {
		return scenario{name: name, wire: wire, request: req, want: want}
	}
	bad := func(name string, wire bool, failure model.Error) scenario {
		return scenario{name: name, wire: wire, request: plain, failure: failure}
	}
	return []scenario{
		ok("text", false, plain, model.Response{Content: "Hello, wörld.\nNice day!", Stop: model.StopEnd, Usage: model.Usage{InputTokens: 12, OutputTokens: 7, CachedTokens: 4}}),
		ok("tools", true, withTools, model.Response{
			Content: "Let me look.", Stop: model.StopToolCalls, Usage: model.Usage{InputTokens: 80, OutputTokens: 33},
			ToolCalls: []model.ToolCall{
				{Name: "weather.get", Args: map[string]any{"city": "Zürich \"Nord\"", "days": 3, "detail": map[string]any{"wind": true}}},
				{Name: "add", Args: map[string]any{"x": 1, "y": 2.5}},
			},
		}),
		ok("structured", false, withSchema, model.Response{Content: `{"category":"billing","confidence":0.9}`, Stop: model.StopEnd, Usage: model.Usage{InputTokens: 30, OutputTokens: 9}}),
		ok("length", true, plain, model.Response{Content: "Hello, w", Stop: model.StopLength, Usage: model.Usage{InputTokens: 12, OutputTokens: 3}}),
		ok("refused", true, plain, model.Response{Content: "I can't help with that.", Stop: model.StopRefusal, Usage: model.Usage{InputTokens: 12, OutputTokens: 6}}),
		ok("filtered", true, plain, model.Response{Content: "Hello, w", Stop: model.StopFilter, Usage: model.Usage{InputTokens: 12, OutputTokens: 3}}),
		bad("conflict", true, model.Error{Kind: "overloaded", Status: 409}),
		bad("final", true, model.Error{Kind: "overloaded", Status: 500, Final: true}),
		bad("quota", true, model.Error{Kind: "auth", Class: "quota", Status: 400}),
		bad("rate_limited", false, model.Error{Kind: "rate_limited", Status: 429, RetryAfter: 7 * time.Second}),
		bad("overloaded", false, model.Error{Kind: "overloaded", Status: 529}),
		bad("auth", false, model.Error{Kind: "auth", Status: 401}),
		bad("context_length", true, model.Error{Kind: "invalid_input", Class: "context_length", Status: 400}),
		bad("content_filter", true, model.Error{Kind: "llm", Class: "content_filter"}),
		bad("invalid_request", true, model.Error{Kind: "invalid_input", Class: "invalid_request", Status: 400}),
		bad("failing", false, model.Error{Kind: "overloaded"}),
		bad("malformed", true, model.Error{Kind: "llm", Class: "bad_answer"}),
		bad("empty", true, model.Error{Kind: "llm", Class: "bad_answer"}),
		bad("cut", true, model.Error{Kind: "network"}),
		bad("broken", true, model.Error{Kind: "network"}),
	}
}

func (s scenario) check(t *testing.T, client model.Client, streams bool) {
	t.Helper()
	var chunks []string
	var onText func(string)
	if streams {
		onText = func(chunk string) { chunks = append(chunks, chunk) }
	}
	request := s.request
	got, err := client.Chat(t.Context(), &request, onText)
	if diff := cmp.Diff(s.request, request); diff != "" {
		t.Errorf("the request was changed: %s", diff)
	}
	if s.failure.Kind != "" {
		s.checkFailure(t, got, err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for i := range got.ToolCalls {
		ids[got.ToolCalls[i].ID] = true
		got.ToolCalls[i].ID = ""
	}
	if len(ids) != len(s.want.ToolCalls) || ids[""] {
		t.Errorf("the tool calls have the ids %v", ids)
	}
	if len(got.ToolCalls) == 0 {
		got.ToolCalls = nil
	}
	if diff := cmp.Diff(&s.want, got); diff != "" {
		t.Error(diff)
	}
	if streams && strings.Join(chunks, "") != s.want.Content && s.want.Stop != model.StopRefusal {
		t.Errorf("streamed %q", chunks)
	}
	if streams && s.name == "text" && len(chunks) < 2 {
		t.Errorf("streamed in %d pieces", len(chunks))
	}
}

// checkFailure checks an error's fields, and that its message is one line without the key.
func (s scenario) checkFailure(t *testing.T, got *model.Response, err error) {
	t.Helper()
	var failure *model.Error
	if got != nil || !errors.As(err, &failure) {
		t.Fatalf("got %v, %v", got, err)
	}
	if strings.Contains(err.Error(), Key) {
		t.Errorf("the message holds the key: %v", err)
	}
	if len(err.Error()) < 10 || strings.Contains(err.Error(), "\n") {
		t.Errorf("the message is %q", err.Error())
	}
	data := *failure
	data.Message = ""
	if data.Status == 0 || s.failure.Status == 0 {
		data.Status = s.failure.Status // some providers have no status
	}
	if s.name == "overloaded" && data.Status == http.StatusServiceUnavailable {
		data.Status = s.failure.Status // only Anthropic answers 529
	}
	if diff := cmp.Diff(s.failure, data); diff != "" {
		t.Errorf("%s\n%v", diff, err)
	}
}

// checkCancelled makes a call with a cancelled context.
func checkCancelled(t *testing.T, client model.Client) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := listScenarios()[0]
	if got, err := client.Chat(ctx, &s.request, func(string) {}); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", got, err)
	}
}

// checkConcurrent makes several calls of one client at once.
func checkConcurrent(t *testing.T, open func(*testing.T, string, bool) model.Client) {
	s := listScenarios()[0]
	clients := []model.Client{open(t, "text", false)}
	for range 7 {
		clients = append(clients, clients[0])
	}
	done := make(chan error, len(clients))
	for _, c := range clients {
		go func() {
			_, err := c.Chat(t.Context(), &s.request, nil)
			done <- err
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
