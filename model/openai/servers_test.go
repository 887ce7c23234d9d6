package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
)

// callAnswering calls a server that answers with a body of a type.
func callAnswering(t *testing.T, status int, contentType, body string) (*model.Response, string, error) {
	t.Helper()
	client := dial(t, modeltest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})))
	var text strings.Builder
	got, err := client.Chat(t.Context(), modeltest.NewRequests()["plain"], func(chunk string) { text.WriteString(chunk) })
	return got, text.String(), err
}

// Servers that speak the protocol do so with accents.
func TestAccents(t *testing.T) {
	events := func(parts ...string) string { return "data: " + strings.Join(parts, "\n\ndata: ") + "\n\n" }
	delta := func(text string) string { return `{"choices":[{"index":0,"delta":` + text + `}]}` }
	const finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	one := func(name string, args map[string]any) []model.ToolCall {
		return []model.ToolCall{{ID: "call_1_1", Name: name, Args: args}}
	}
	const stream, whole = "text/event-stream", "application/json"
	for _, test := range []struct {
		name, kind, body string
		want             model.Response
	}{
		{"an answer at once", whole, `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":null}`, model.Response{Content: "Hi", Stop: model.StopEnd, Usage: model.Usage{Unreported: true}}},
		{"no [DONE], windows lines, comments", stream, strings.ReplaceAll(": ping\n\n"+events(delta(`{"content":"Hi"}`), finished), "\n", "\r\n"), model.Response{Content: "Hi", Stop: model.StopEnd, Usage: model.Usage{Unreported: true}}},
		{"a call without index and id, stop after calls", stream, events(delta(`{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}}]}`), finished, "[DONE]"), model.Response{ToolCalls: one("f", map[string]any{"a": 1}), Stop: model.StopToolCalls, Usage: model.Usage{Unreported: true}}},
		{"arguments as an object", whole, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, model.Response{ToolCalls: one("f", map[string]any{"a": 1}), Stop: model.StopToolCalls, Usage: model.Usage{InputTokens: 1, OutputTokens: 2}}},
		{"no arguments", whole, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":null}}]}}]}`, model.Response{ToolCalls: one("f", map[string]any{}), Stop: model.StopToolCalls, Usage: model.Usage{Unreported: true}}},
		{"arguments that are no object", whole, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"[1]"}}]}}]}`, model.Response{ToolCalls: []model.ToolCall{{ID: "call_1_1", Name: "f", Malformed: "[1]"}}, Stop: model.StopToolCalls, Usage: model.Usage{Unreported: true}}},
		{"two calls under one index", stream, events(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}`), finished), model.Response{
			ToolCalls: []model.ToolCall{{ID: "a", Name: "f", Args: map[string]any{}}, {ID: "b", Name: "g", Args: map[string]any{}}}, Stop: model.StopToolCalls, Usage: model.Usage{Unreported: true},
		}},
		{"calls that all have the index 0 and no id", stream, events(delta(`{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":1}"}},{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":2}"}}]}`), finished), model.Response{
			ToolCalls: []model.ToolCall{{ID: "call_1_1", Name: "f", Args: map[string]any{"a": 1}}, {ID: "call_1_2", Name: "f", Args: map[string]any{"a": 2}}}, Stop: model.StopToolCalls, Usage: model.Usage{Unreported: true},
		}},
		{"id and name in each piece", stream, events(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}}]}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}`), finished), model.Response{
			ToolCalls: []model.ToolCall{{ID: "a", Name: "f", Args: map[string]any{"a": 1}}}, Stop: model.StopToolCalls, Usage: model.Usage{Unreported: true},
		}},
		{"the name in each piece", stream, events(delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\""}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":":1}"}}]}`), finished), model.Response{
			ToolCalls: one("f", map[string]any{"a": 1}), Stop: model.StopToolCalls, Usage: model.Usage{Unreported: true},
		}},
		{"a content of parts", whole, `{"choices":[{"message":{"content":[{"type":"text","text":"o"},{"type":"reference","reference_ids":[1]},{"type":"text","text":"k"}]}}]}`, model.Response{Content: "ok", Stop: model.StopEnd, Usage: model.Usage{Unreported: true}}},
		{"tokens as floats and nulls", whole, `{"choices":[{"message":{"content":"ok"}}],"usage":{"prompt_tokens":12.0,"completion_tokens":"7","prompt_tokens_details":{"cached_tokens":null}}}`, model.Response{Content: "ok", Stop: model.StopEnd, Usage: model.Usage{InputTokens: 12, OutputTokens: 7}}},
		{"tokens that are all zero", whole, `{"choices":[{"message":{"content":"ok"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, model.Response{Content: "ok", Stop: model.StopEnd, Usage: model.Usage{Unreported: true}}},
		{"an error without a word", whole, `{"error":"","choices":[{"message":{"content":"ok"}}]}`, model.Response{Content: "ok", Stop: model.StopEnd, Usage: model.Usage{Unreported: true}}},
		{"a stream as text/plain", "text/plain; charset=utf-8", events(delta(`{"content":"ok"}`), finished), model.Response{Content: "ok", Stop: model.StopEnd, Usage: model.Usage{Unreported: true}}},
		{"a stream without a type", "", ": hello\n\n" + events(delta(`{"content":"ok"}`), finished), model.Response{Content: "ok", Stop: model.StopEnd, Usage: model.Usage{Unreported: true}}},
		{"other choices", stream, events(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"},"finish_reason":"eos"}]}`), model.Response{Content: "yes", Stop: model.StopEnd, Usage: model.Usage{Unreported: true}}},
	} {
		got, text, err := callAnswering(t, 200, test.kind, test.body)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(&test.want, got); diff != "" || text != got.Content {
			t.Errorf("%s: %s, streamed %q", test.name, diff, text)
		}
	}
}

func TestErrorsOfServers(t *testing.T) {
	for _, test := range []struct {
		status            int
		body, kind, class string
		message           string
	}{
		{400, `{"error":"model requires more memory"}`, "invalid_input", "invalid_request", "model requires more memory"},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`, "invalid_input", "context_length", "exceeds the available"},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, "invalid_input", "context_length", "4096"},
		{402, `{"error":{"code":402,"message":"Insufficient credits"}}`, "auth", "quota", "Insufficient credits"},
		{404, `{"error":{"message":"The model 'x' does not exist","type":"invalid_request_error","code":"model_not_found"}}`, "invalid_input", "invalid_request", "model_not_found"},
		{400, `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`, "invalid_input", "invalid_request", ": API key not valid."},
		{401, `{"error":{"message":"unauthorized","type":"api_error"}}`, "auth", "", "unauthorized"},
		{409, `{"error":{"message":"conflict"}}`, "overloaded", "", "conflict"},
		{422, `{"detail":"no such field"}`, "invalid_input", "invalid_request", ": no such field"},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, "auth", "quota", "current quota"},
		{500, "oops\n\n<html>", "overloaded", "", "oops <html>"},
		{502, "", "overloaded", "", "502 Bad Gateway"},
		{504, "", "timeout", "", "504 Gateway Timeout"},
	} {
		_, _, err := callAnswering(t, test.status, "application/json", test.body)
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != test.kind || failure.Class != test.class || failure.Status != test.status || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%d %s: got %#v", test.status, test.body, err)
		}
	}
	for body, want := range map[string]model.Error{
		`{"error":{"code":502,"message":"Provider returned error"}}`:                  {Kind: "overloaded", Status: 502},
		`{"error":{"code":429,"message":"slow down"}}`:                                {Kind: "rate_limited", Status: 429},
		`{"choices":[{"finish_reason":"content_filter","delta":{}}]}`:                 {Kind: "llm", Class: "content_filter"},
		`{"object":"error","message":"boom","type":"InternalServerError","code":500}`: {Kind: "overloaded", Status: 500},
	} {
		_, _, err := callAnswering(t, 200, "text/event-stream", "data: "+body+"\n\n")
		var failure *model.Error
		if !errors.As(err, &failure) {
			t.Fatal(err)
		}
		data := *failure
		if data.Message = ""; data != want {
			t.Errorf("%s: got %#v", body, failure)
		}
	}
}

func TestOwnServer(t *testing.T) {
	client, err := New(Config{Model: "m", HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.String() != "https://api.openai.com/v1/chat/completions" || !strings.Contains(string(body), `"max_completion_tokens":5`) || strings.Contains(string(body), `"max_tokens"`) {
			t.Errorf("%s: %s", r.URL, body)
		}
		return nil, errors.New("no network in tests")
	})}})
	if err != nil {
		t.Fatal(err)
	}
	req := modeltest.NewRequests()["plain"]
	req.MaxTokens = 5
	if _, err := client.Chat(t.Context(), req, nil); err == nil || !strings.Contains(err.Error(), "no network in tests") || strings.Contains(err.Error(), "https://") {
		t.Errorf("got %v", err)
	}
}

// What servers want back goes back to them, and to nobody else. The forms are
// from DeepSeek's guide to its thinking mode, Gemini's to thought signatures
// under compatibility with OpenAI, Mistral's and OpenRouter's to reasoning.
func TestGoesBack(t *testing.T) {
	open := func(provider, url string) model.Client {
		c, err := New(Config{Model: "m", Provider: provider, BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	modeltest.CheckThoughts(t, "testdata/deepseek-stream.http", "I must look", open)
	modeltest.CheckThoughts(t, "testdata/mistral-stream.http", "I see", open)
	modeltest.CheckKept(t, "testdata/deepseek-stream.http", open, `"reasoning_content":"I must look"`)
	modeltest.CheckKept(t, "testdata/gemini-stream.http", open, `"extra_content":{"google":{"thought_signature":"SigA=="}}`)
	modeltest.CheckKept(t, "testdata/gemini.http", open, `"extra_content":{"google":{"thought_signature":"SigB=="}}`)
	modeltest.CheckKept(t, "testdata/mistral-stream.http", open, `"content":[{"type":"thinking","thinking":[{"type":"text","text":"I see"}]},{"type":"text","text":"Sunny."}]`)
	modeltest.CheckKept(t, "testdata/openrouter.http", open, `"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAA","id":"rs_1","index":0}]`)
}

// Models that reason want the key of their own behind a gateway, too.
func TestLongestAnswer(t *testing.T) {
	for name, key := range map[string]string{
		"gpt-6-luna": "max_completion_tokens", "openai/o3-mini": "max_completion_tokens", "gpt-5": "max_completion_tokens", "gpt-5.4-mini": "max_completion_tokens",
		"gpt-4.1": "max_tokens", "gpt-oss-120b": "max_tokens", "qwen3": "max_tokens", "solar-o1x": "max_tokens",
	} {
		req := modeltest.NewRequests()["plain"]
		req.MaxTokens = 9
		if got := sent(t, Config{Model: name}, req, nil).Body[key]; got != 9.0 {
			t.Errorf("%s: %s is %v", name, key, got)
		}
	}
}

// Retry-After is relative to the server's clock, and bounded.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"Retry-After: 3":                             3 * time.Second,
		"Retry-After: 0.5":                           500 * time.Millisecond,
		"Retry-After: -1":                            0,
		"Retry-After: soon":                          0,
		"Retry-After: 1e99":                          24 * time.Hour,
		"Retry-After-Ms: 1500":                       1500 * time.Millisecond,
		"Retry-After: Mon, 05 Jan 2026 10:00:07 GMT": 7 * time.Second,
		"Retry-After: Mon, 05 Jan 2026 09:00:00 GMT": 0,
		"X: y": 0,
	} {
		client := dial(t, modeltest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set("Date", "Mon, 05 Jan 2026 10:00:00 GMT")
			w.Header().Set(name, value)
			w.WriteHeader(429)
		})))
		_, err := client.Chat(t.Context(), modeltest.NewRequests()["plain"], nil)
		var failure *model.Error
		if !errors.As(err, &failure) || failure.RetryAfter != want {
			t.Errorf("%s: got %v", header, failure.RetryAfter)
		}
	}
}
