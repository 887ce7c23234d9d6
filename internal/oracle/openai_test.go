package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/sashabaranov/go-openai"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
	"github.com/graphrun/graphrun/model/openai"
	"github.com/graphrun/graphrun/model/wire"
)

const openaiAnswers = "../../model/openai/testdata/"

// What the adapter sends has no key that the library does not know.
func TestOpenAIRequests(t *testing.T) {
	for name, req := range modeltest.NewRequests() {
		var body []byte
		url := modeltest.ServeFile(t, openaiAnswers+"text.http", 0, func(r modeltest.Request) { body = r.Raw })
		client, err := wire.New(&openai.Protocol, wire.Config{Model: "m-1", BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Chat(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		var known sdk.ChatCompletionRequest
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&known); err != nil && req.Schema == nil { // its response_format can't be decoded
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The library reads the recorded answers, whole and streamed, as the adapter does.
func TestOpenAIAnswers(t *testing.T) {
	for _, name := range []string{"text", "tools", "structured", "length"} {
		for _, streams := range []bool{false, true} {
			file := openaiAnswers + name + ".http"
			if streams {
				file = openaiAnswers + name + "-stream.http"
			}
			ours, err := wire.New(&openai.Protocol, wire.Config{Model: "m", BaseURL: modeltest.ServeFile(t, file, 0, nil)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours.Chat(t.Context(), modeltest.NewRequests()["plain"], func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			config := sdk.DefaultConfig("k")
			config.BaseURL = modeltest.ServeFile(t, file, 0, nil)
			want := byLibrary(t, sdk.NewClientWithConfig(config), streams)
			if diff := cmp.Diff(want, comparable(t, got)); diff != "" {
				t.Errorf("%s: %s", file, diff)
			}
		}
	}
}

func byLibrary(t *testing.T, client *sdk.Client, streams bool) reading {
	t.Helper()
	req := sdk.ChatCompletionRequest{Model: "m", Messages: []sdk.ChatCompletionMessage{{Role: "user", Content: "Hi."}}}
	var out reading
	var calls []sdk.ToolCall
	var finish sdk.FinishReason
	var usage *sdk.Usage
	if streams {
		stream, err := client.CreateChatCompletionStream(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stream.Close() }()
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if chunk.Usage != nil {
				usage = chunk.Usage
			}
			for _, choice := range chunk.Choices {
				out.Text += choice.Delta.Content
				if choice.FinishReason != "" {
					finish = choice.FinishReason
				}
				for _, piece := range choice.Delta.ToolCalls {
					if *piece.Index == len(calls) {
						calls = append(calls, sdk.ToolCall{ID: piece.ID, Function: sdk.FunctionCall{Name: piece.Function.Name}})
					}
					calls[*piece.Index].Function.Arguments += piece.Function.Arguments
				}
			}
		}
	} else {
		whole, err := client.CreateChatCompletion(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		out.Text, calls, finish, usage = whole.Choices[0].Message.Content, whole.Choices[0].Message.ToolCalls, whole.Choices[0].FinishReason, &whole.Usage
	}
	out.Input, out.Output = usage.PromptTokens, usage.CompletionTokens
	for _, call := range calls {
		var args any
		if err := json.Unmarshal([]byte(call.Function.Arguments), &args); err != nil {
			t.Fatal(err)
		}
		sorted, _ := json.Marshal(args)
		out.Calls = append(out.Calls, call.ID+" "+call.Function.Name+string(sorted))
	}
	out.Stop = map[sdk.FinishReason]model.StopReason{"stop": model.StopEnd, "tool_calls": model.StopToolCalls, "length": model.StopLength}[finish]
	return out
}
