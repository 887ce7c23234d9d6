package responses

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
	"github.com/graphrun/graphrun/model/wire"
)

var update = flag.Bool("update", false, "write the expected bodies")

// sent makes a call and returns what the server saw.
func sent(t *testing.T, c Config, req *model.Request, onText func(string)) modeltest.Request {
	t.Helper()
	var seen modeltest.Request
	c.BaseURL = modeltest.ServeFile(t, "testdata/text.http", 0, func(r modeltest.Request) { seen = r })
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Chat(t.Context(), req, onText); err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestRequests(t *testing.T) {
	for name, req := range modeltest.NewRequests() {
		req.Stop = nil // the protocol has none
		body := sent(t, Config{Model: "m-1", Params: map[string]any{"seed": 7, "top_p": 0.5, "text": map[string]any{"verbosity": "low"}}}, req, nil).Raw
		modeltest.CompareGolden(t, "testdata/"+name+".json", body, update)
	}
	body := sent(t, Config{Model: "m-1"}, modeltest.NewRequests()["plain"], func(string) {}).Raw
	modeltest.CompareGolden(t, "testdata/plain-stream.json", body, update)
}

// Encrypted reasoning is requested only from models that reason, since others refuse.
func TestEncryptedReasoningIsAskedOfModelsThatReason(t *testing.T) {
	for id, want := range map[string]bool{
		"gpt-6.1-sol": true, "o4-mini": true, "gpt-5-mini": true, "openai/gpt-6-luna": true, "qwen3": true,
		"gpt-4.1-mini": false, "gpt-4o": false, "ft:gpt-4o:org": false, "chatgpt-4o-latest": false, "gpt-5-chat-latest": false,
	} {
		body := sent(t, Config{Model: id}, modeltest.NewRequests()["plain"], nil).Body
		if _, has := body["include"]; has != want || body["store"] != false {
			t.Errorf("%s: %v", id, body)
		}
	}
}

func TestBadRequests(t *testing.T) {
	client := dial(t, "http://127.0.0.1:1") // nothing is sent
	hello := modeltest.NewRequests()["plain"].Messages
	for name, req := range map[string]*model.Request{
		"a number":  {Reasoning: 5000, Messages: hello},
		"params":    {Params: map[string]any{"x": func() {}}, Messages: hello},
		"api: chat": {Stop: []string{"END"}, Messages: hello},
	} {
		_, err := client.Chat(t.Context(), req, nil)
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != "invalid_input" || failure.Class != "invalid_request" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, c := range []Config{{}, {Model: "m", BaseURL: "host/path"}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// Reasoning goes back encrypted with all that came with it, in its order, and to
// nobody else.
func TestReasoningGoesBack(t *testing.T) {
	open := func(provider, url string) model.Client {
		c, err := New(Config{Model: "m-1", Provider: provider, BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	modeltest.CheckThoughts(t, "testdata/thinking-stream.http", "**Looking** at the weather", open)
	for _, file := range []string{"thinking", "thinking-stream"} {
		modeltest.CheckKept(t, "testdata/"+file+".http", open,
			`"encrypted_content":"gAAAABthought"`, `"summary":[{"type":"summary_text","text":"**Looking** at the weather"}]`, `"id":"fc_0a4"`, `"phase":"commentary"`)
	}
	for _, file := range []string{"phases", "phases-stream"} {
		modeltest.CheckKept(t, "testdata/"+file+".http", open, `"encrypted_content":"gAAAABdone"`, `"phase":"final_answer"`, `"phase":"commentary"`)
	}
}

// A message that has changed is sent without its original items, and reasoning that only the
// server could find by its id is not sent.
func TestWhatDoesNotGoBack(t *testing.T) {
	items := func(text string) json.RawMessage {
		return wire.EncodeKept("openai", &model.Response{Content: "Hi"}, json.RawMessage(`[{"type":"reasoning","id":"rs_1","summary":[]`+text+`},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}]`))
	}
	for _, test := range []struct {
		content, encrypted string
		want               []string
	}{
		{"Hi", `,"encrypted_content":"gA"`, []string{"reasoning rs_1", "message msg_1"}},
		{"Hi", "", []string{"message msg_1"}},
		{"Ho", `,"encrypted_content":"gA"`, []string{"message "}},
	} {
		req := &model.Request{Messages: []model.Message{{Role: model.Assistant, Content: test.content, Thinking: items(test.encrypted)}}}
		var got []string
		for _, it := range sent(t, Config{Model: "m"}, req, nil).Body["input"].([]any) {
			fields := it.(map[string]any)
			id, _ := fields["id"].(string)
			got = append(got, fields["type"].(string)+" "+id)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.content, diff)
		}
	}
}

// Commentary of a model before its answer is not part of the answer.
func TestFinalAnswer(t *testing.T) {
	for _, file := range []string{"phases", "phases-stream"} {
		got, err := dial(t, modeltest.ServeFile(t, "testdata/"+file+".http", 0, nil)).Chat(t.Context(), modeltest.NewRequests()["plain"], func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		got.Thinking = nil
		want := &model.Response{Content: "It is sunny.", Stop: model.StopEnd, Usage: model.Usage{InputTokens: 90, OutputTokens: 30, CachedTokens: 80, ReasoningTokens: 10}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// Servers that speak the protocol do so with accents.
func TestAccents(t *testing.T) {
	const done = `data: {"type":"response.completed","response":{"status":"completed","output":[]}}` + "\n\n"
	const hi = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}`
	unreported := model.Usage{Unreported: true}
	for _, test := range []struct {
		name, body string
		want       model.Response
	}{
		{"no items at the end", `data: {"type":"response.output_item.done","item":` + hi + "}\n\n" + done, model.Response{Content: "Hi", Stop: model.StopEnd, Usage: unreported}},
		{"no item is ever done", `data: {"type":"response.output_text.delta","delta":"H"}` + "\n\n" + `data: {"type":"response.output_text.delta","delta":"i"}` + "\n\n" + done, model.Response{Content: "Hi", Stop: model.StopEnd, Usage: unreported}},
		{"an answer at once", `{"status":"completed","output":[` + hi + `],"usage":{"input_tokens":"3","output_tokens":2.0}}`, model.Response{Content: "Hi", Stop: model.StopEnd, Usage: model.Usage{InputTokens: 3, OutputTokens: 2}}},
		{"arguments as an object", `{"status":"completed","output":[{"type":"function_call","call_id":"c","name":"f","arguments":{"a":1}}]}`, model.Response{ToolCalls: []model.ToolCall{{ID: "c", Name: "f", Args: map[string]any{"a": 1}}}, Stop: model.StopToolCalls, Usage: unreported}},
		{"a call that was cut", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"function_call","status":"incomplete","call_id":"c","name":"f","arguments":"{\"a"}]}`, model.Response{Stop: model.StopLength, Usage: unreported}},
	} {
		client := dial(t, modeltest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[strings.HasPrefix(test.body, "data")])
			_, _ = io.WriteString(w, test.body)
		})))
		var text strings.Builder
		got, err := client.Chat(t.Context(), modeltest.NewRequests()["plain"], func(chunk string) { text.WriteString(chunk) })
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(&test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// A level is sent as the model accepts it. Level none fails for models that always reason.
func TestReasoningLevels(t *testing.T) {
	req := *modeltest.NewRequests()["plain"]
	req.Reasoning = "minimal"
	body := sent(t, Config{Model: "gpt-6.1-sol"}, &req, nil).Body
	if got := fmt.Sprint(body["reasoning"]); got != "map[effort:low]" {
		t.Errorf("got %s", got)
	}
	req.Reasoning = "none"
	client, err := New(Config{Model: "gpt-6.1-sol", BaseURL: "http://127.0.0.1:1"}) // nothing is sent
	if err != nil {
		t.Fatal(err)
	}
	var failure *model.Error
	if _, err := client.Chat(t.Context(), &req, nil); !errors.As(err, &failure) || failure.Kind != "invalid_input" || !failure.Unsent {
		t.Errorf("got %v", err)
	}
}
