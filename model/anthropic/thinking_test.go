package anthropic

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
	"github.com/graphrun/graphrun/model/wire"
)

// What the model thought before it called tools goes back with their results,
// as it came; a call without it switches thinking off.
func TestThinking(t *testing.T) {
	const want = `[{"signature":"EqQB==","thinking":"The user wants the weather.","type":"thinking"},{"data":"abc=","type":"redacted_thinking"},` +
		`{"text":"Let me look.","type":"text"},{"id":"toolu_01A","input":{"city":"Zürich \"Nord\"","days":3,"detail":{"wind":true}},"name":"weather_get","type":"tool_use"},` +
		`{"id":"toolu_01B","input":{"x":1,"y":2.5},"name":"add","type":"tool_use"}]`
	for _, file := range []string{"thinking", "thinking-stream"} {
		client := dial(t, modeltest.ServeFile(t, "testdata/"+file+".http", 0, nil))
		got, err := client.Chat(t.Context(), modeltest.NewRequests()["plain"], func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		var blocks json.RawMessage
		message := got.Message()
		if found, unchanged := wire.DecodeKept("anthropic", &message, &blocks); !found || !unchanged {
			t.Fatalf("%s: nothing is kept", file)
		}
		if diff := cmp.Diff(want, string(blocks)); diff != "" || got.Content != "Let me look." || len(got.ToolCalls) != 2 {
			t.Errorf("%s: %s %+v", file, diff, got)
		}
		answer := got.Message()
		req := &model.Request{Reasoning: 2000, Messages: []model.Message{
			{Role: model.User, Content: "Weather?"},
			answer,
			{Role: model.ToolResult, ToolCallID: answer.ToolCalls[0].ID, Content: "sunny"},
		}}
		seen := sent(t, Config{Model: "m"}, req, nil)
		if !strings.Contains(string(seen.Raw), `"content":[{"signature":"EqQB==",`) {
			t.Errorf("sent %s", seen.Raw)
		}
		budget := map[string]any{"type": "enabled", "budget_tokens": 2000.0}
		if diff := cmp.Diff(budget, seen.Body["thinking"]); diff != "" || seen.Body["max_tokens"] != 2000.0+MaxTokens {
			t.Error(diff, seen.Body["max_tokens"])
		}
		for name, thinking := range map[string]json.RawMessage{"another provider's": wire.EncodeKept("other", got, []any{map[string]any{"type": "thinking", "signature": "x"}}), "none": nil} {
			req.Messages[1].Thinking = thinking
			if seen := sent(t, Config{Model: "m"}, req, nil); seen.Body["thinking"] != nil || strings.Contains(string(seen.Raw), "signature") {
				t.Errorf("with %s: sent %s", name, seen.Raw)
			}
		}
		req.Messages = append(req.Messages, model.Message{Role: model.User, Content: "Go on."})
		if seen := sent(t, Config{Model: "m"}, req, nil); seen.Body["thinking"] == nil {
			t.Errorf("a new turn: sent %s", seen.Raw)
		}
	}
}

// Models think by default: what they thought goes back when the request does not
// speak of thinking, too, and blocks between texts keep their places.
func TestThinkingByDefault(t *testing.T) {
	open := func(provider, url string) model.Client {
		c, err := New(Config{Model: "m", Provider: provider, BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	modeltest.CheckThoughts(t, "testdata/thinking-stream.http", "The user wants the weather.", open)
	modeltest.CheckKept(t, "testdata/thinking.http", open, `{"signature":"EqQB==","thinking":"The user wants the weather.","type":"thinking"}`)
	modeltest.CheckKept(t, "testdata/thinking-stream.http", open, `{"signature":"EqQB==","thinking":"The user wants the weather.","type":"thinking"}`)
	modeltest.CheckKept(t, "testdata/interleaved.http", open,
		`{"later":1,"signature":"S1","thinking":"a","type":"thinking"},{"text":"One. ","type":"text"},{"signature":"S2","thinking":"b","type":"thinking"},{"text":"Two.","type":"text"}`)
}

// A message that was changed goes without the blocks that belonged to it.
func TestThinkingOfAnother(t *testing.T) {
	client := dial(t, modeltest.ServeFile(t, "testdata/interleaved.http", 0, nil))
	got, err := client.Chat(t.Context(), modeltest.NewRequests()["plain"], nil)
	if err != nil {
		t.Fatal(err)
	}
	m := got.Message()
	m.Content = "Three."
	seen := sent(t, Config{Model: "m"}, &model.Request{Messages: []model.Message{m, {Role: model.User, Content: "Go on."}}}, nil)
	if text := string(seen.Raw); strings.Contains(text, "S1") || !strings.Contains(text, "Three.") {
		t.Errorf("sent %s", text)
	}
}

func TestNothingToSay(t *testing.T) {
	client := dial(t, "http://127.0.0.1:1")
	_, err := client.Chat(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Content: " \n"}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "no message with a text") {
		t.Errorf("got %v", err)
	}
}

// Tokens read from and written to the cache count as input.
func TestCacheTokens(t *testing.T) {
	const body = `{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":3,"cache_read_input_tokens":200,"cache_creation_input_tokens":3000}}`
	client := dial(t, modeltest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, body)
	})))
	got, err := client.Chat(t.Context(), modeltest.NewRequests()["plain"], nil)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Usage{InputTokens: 3210, OutputTokens: 3, CachedTokens: 200, CacheWriteTokens: 3000}
	if got.Usage != want {
		t.Errorf("got %+v", got.Usage)
	}
}
