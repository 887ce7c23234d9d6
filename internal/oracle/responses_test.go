package oracle

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
	ours "github.com/graphrun/graphrun/model/responses"
	"github.com/graphrun/graphrun/model/wire"
)

const responsesAnswers = "../../model/responses/testdata/"

// What the adapter sends is what OpenAI's library sends when it is given the same:
// the body, read into its types and written by them, has lost nothing. Reasoning
// that came back is part of it.
func TestResponsesRequests(t *testing.T) {
	requests := modeltest.NewRequests()
	requests["thinks"] = goingOn(t)
	for name, req := range requests {
		var body map[string]any
		url := modeltest.ServeFile(t, responsesAnswers+"text.http", 0, func(r modeltest.Request) { body = r.Body })
		client, err := wire.New(&ours.Protocol, wire.Config{Model: "m-1", BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		clean := *req
		clean.Params, clean.Stop = nil, nil // the first are the user's, the protocol has no second
		if _, err := client.Chat(t.Context(), &clean, nil); err != nil {
			t.Fatal(err)
		}
		delete(body, "stream") // the library adds it by the method that is called
		for _, item := range body["input"].([]any) {
			if fields := item.(map[string]any); fields["type"] == "message" {
				delete(fields, "id") // it reads an answer that goes back as a message of ours
				delete(fields, "status")
			}
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		var params responses.ResponseNewParams
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

// goingOn is a conversation whose last answer came with reasoning.
func goingOn(t *testing.T) *model.Request {
	t.Helper()
	client, err := wire.New(&ours.Protocol, wire.Config{Model: "m-1", BaseURL: modeltest.ServeFile(t, responsesAnswers+"thinking.http", 0, nil)})
	if err != nil {
		t.Fatal(err)
	}
	req := &model.Request{Messages: []model.Message{{Role: model.User, Content: "Weather?"}}}
	answer, err := client.Chat(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, answer.Message(), model.Message{Role: model.ToolResult, ToolCallID: answer.ToolCalls[0].ID, Content: "sunny"})
	return req
}

// The library reads the answers, whole and streamed, as the adapter does.
func TestResponsesAnswers(t *testing.T) {
	for _, name := range []string{"text", "tools", "structured", "length", "filtered", "refused", "thinking"} {
		for _, streams := range []bool{false, true} {
			file := responsesAnswers + name + ".http"
			if streams {
				file = responsesAnswers + name + "-stream.http"
			}
			client, err := wire.New(&ours.Protocol, wire.Config{Model: "m", BaseURL: modeltest.ServeFile(t, file, 0, nil)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Chat(t.Context(), modeltest.NewRequests()["plain"], func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			want := responseByLibrary(t, modeltest.ServeFile(t, file, 0, nil), streams)
			if diff := cmp.Diff(want, comparable(t, got)); diff != "" {
				t.Errorf("%s: %s", file, diff)
			}
		}
	}
}

func responseByLibrary(t *testing.T, url string, streams bool) reading {
	t.Helper()
	client := sdk.NewClient(option.WithBaseURL(url), option.WithAPIKey("k"), option.WithMaxRetries(0))
	params := responses.ResponseNewParams{Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: sdk.String("Hi.")}}
	var whole *responses.Response
	if streams {
		stream := client.Responses.NewStreaming(t.Context(), params)
		defer func() { _ = stream.Close() }()
		for stream.Next() {
			switch e := stream.Current().AsAny().(type) {
			case responses.ResponseCompletedEvent:
				whole = &e.Response
			case responses.ResponseIncompleteEvent:
				whole = &e.Response
			}
		}
		if err := stream.Err(); err != nil || whole == nil {
			t.Fatal(err, whole)
		}
	} else {
		var err error
		if whole, err = client.Responses.New(t.Context(), params); err != nil {
			t.Fatal(err)
		}
	}
	out := reading{Text: whole.OutputText(), Input: int(whole.Usage.InputTokens), Output: int(whole.Usage.OutputTokens), Stop: model.StopEnd}
	for _, item := range whole.Output {
		switch item := item.AsAny().(type) {
		case responses.ResponseFunctionToolCall:
			var args any
			if err := json.Unmarshal([]byte(item.Arguments), &args); err != nil {
				t.Fatal(err)
			}
			sorted, _ := json.Marshal(args)
			out.Calls, out.Stop = append(out.Calls, item.CallID+" "+item.Name+string(sorted)), model.StopToolCalls
		case responses.ResponseOutputMessage:
			for _, part := range item.Content {
				if part.Refusal != "" {
					out.Text, out.Stop = part.Refusal, model.StopRefusal
				}
			}
		}
	}
	switch whole.IncompleteDetails.Reason {
	case "max_output_tokens":
		out.Stop = model.StopLength
	case "content_filter":
		out.Stop = model.StopFilter
	}
	return out
}
