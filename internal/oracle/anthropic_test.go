package oracle

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/anthropic"
	"github.com/graphrun/graphrun/model/modeltest"
	"github.com/graphrun/graphrun/model/wire"
)

const anthropicAnswers = "../../model/anthropic/testdata/"

// What the adapter sends is what the SDK sends when it is given the same: the
// body, read into the SDK's types and written by them, has lost nothing.
func TestAnthropicRequests(t *testing.T) {
	requests := modeltest.NewRequests()
	requests["thinks"] = &model.Request{Reasoning: 2000, Messages: []model.Message{
		{Role: model.User, Content: "Weather?"},
		{
			Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "a", Name: "b"}},
			Thinking: json.RawMessage(`[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"d"}]`),
		},
	}}
	for name, req := range requests {
		var body map[string]any
		url := modeltest.ServeFile(t, anthropicAnswers+"text.http", 0, func(r modeltest.Request) { body = r.Body })
		client, err := anthropic.New(wire.Config{Model: "m-1", BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		clean := *req
		clean.Params = nil // those are the user's, whatever they are
		if _, err := client.Chat(t.Context(), &clean, nil); err != nil {
			t.Fatal(err)
		}
		delete(body, "stream") // the SDK adds it by the method that is called
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		var params sdk.MessageNewParams
		if err := json.Unmarshal(text, &params); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := json.Marshal(params)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(plain(t, text), plain(t, again)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// plain is JSON as data; a system prompt as a text and as a list of one text
// mean the same, and so do contents.
func plain(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return blocks(v)
}

func blocks(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = blocks(v[i])
		}
	case map[string]any:
		for key, value := range v {
			if text, ok := value.(string); ok && (key == "system" || key == "content") {
				value = []any{map[string]any{"type": "text", "text": text}}
			}
			v[key] = blocks(value)
		}
	}
	return v
}

// The SDK reads the recorded answers, whole and streamed, as the adapter does.
func TestAnthropicAnswers(t *testing.T) {
	for _, name := range []string{"text", "tools", "thinking", "structured", "length", "refused"} {
		for _, streams := range []bool{false, true} {
			file := anthropicAnswers + name + ".http"
			if streams {
				file = anthropicAnswers + name + "-stream.http"
			}
			ours, err := anthropic.New(wire.Config{Model: "m", BaseURL: modeltest.ServeFile(t, file, 0, nil)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours.Chat(t.Context(), modeltest.NewRequests()["plain"], func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			theirs := sdk.NewClient(option.WithBaseURL(modeltest.ServeFile(t, file, 0, nil)), option.WithAPIKey("k"), option.WithMaxRetries(0))
			want := bySDK(t, &theirs, streams)
			if diff := cmp.Diff(want, comparable(t, got)); diff != "" {
				t.Errorf("%s: %s", file, diff)
			}
		}
	}
}

// reading is what both can say of an answer.
type reading struct {
	Text          string
	Calls         []string
	Thinking      []string
	Input, Output int
	Stop          model.StopReason
}

func comparable(t *testing.T, r *model.Response) reading {
	t.Helper()
	out := reading{Text: r.Content, Input: r.Usage.InputTokens, Output: r.Usage.OutputTokens, Stop: r.Stop}
	for _, call := range r.ToolCalls {
		args, err := json.Marshal(call.Args)
		if err != nil {
			t.Fatal(err)
		}
		out.Calls = append(out.Calls, call.ID+" "+call.Name+string(args))
	}
	var blocks []struct{ Type, Thinking, Signature, Data string }
	if len(r.Thinking) > 0 {
		var kept struct{ Data string }
		if err := json.Unmarshal(r.Thinking, &kept); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(kept.Data), &blocks); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range blocks {
		if b.Type == "thinking" || b.Type == "redacted_thinking" {
			out.Thinking = append(out.Thinking, b.Thinking+"|"+b.Signature+"|"+b.Data)
		}
	}
	return out
}

func bySDK(t *testing.T, client *sdk.Client, streams bool) reading {
	t.Helper()
	params := sdk.MessageNewParams{Model: "m", MaxTokens: 10, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hi."))}}
	message := &sdk.Message{}
	if streams {
		stream := client.Messages.NewStreaming(t.Context(), params)
		for stream.Next() {
			if err := message.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
	} else {
		var err error
		if message, err = client.Messages.New(t.Context(), params); err != nil {
			t.Fatal(err)
		}
	}
	u := message.Usage
	out := reading{Input: int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens), Output: int(u.OutputTokens)}
	var text strings.Builder
	for _, block := range message.Content {
		switch block.Type {
		case "text":
			text.WriteString(block.Text)
		case "tool_use":
			var args any
			if err := json.Unmarshal(block.Input, &args); err != nil {
				t.Fatal(err)
			}
			sorted, _ := json.Marshal(args)
			out.Calls = append(out.Calls, block.ID+" "+block.Name+string(sorted))
		case "thinking", "redacted_thinking":
			out.Thinking = append(out.Thinking, block.Thinking+"|"+block.Signature+"|"+block.Data)
		}
	}
	out.Text = text.String()
	out.Stop = map[sdk.StopReason]model.StopReason{
		sdk.StopReasonEndTurn: model.StopEnd, sdk.StopReasonToolUse: model.StopToolCalls,
		sdk.StopReasonMaxTokens: model.StopLength, sdk.StopReasonRefusal: model.StopRefusal,
	}[message.StopReason]
	return out
}
