package openai

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
)

// answered makes clients whose requests are read and answered without a network.
func answered(b *testing.B, contentType, body string) *Client {
	b.Helper()
	c, err := New(Config{Model: "m", HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	})}})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkStream measures one streamed chunk, from bytes to callback.
func BenchmarkStream(b *testing.B) {
	const chunks = 1000
	var body bytes.Buffer
	for i := range chunks {
		fmt.Fprintf(&body, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1782000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word%d\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", i)
	}
	body.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	c := answered(b, "text/event-stream", body.String())
	req := &model.Request{Messages: []model.Message{{Role: model.User, Content: "Hi."}}}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := c.Chat(b.Context(), req, func(string) { n++ }); err != nil {
			b.Fatal(err)
		}
	}
	if n != b.N*chunks {
		b.Fatalf("%d chunks of %d", n, b.N*chunks)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/chunk")
}

// BenchmarkConversation measures a call at the end of a long conversation, which sends all
// messages.
func BenchmarkConversation(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var messages []model.Message
			for i := range n / 4 {
				id := fmt.Sprint("call_", i)
				messages = append(messages,
					model.Message{Role: model.User, Content: strings.Repeat("a question ", 10)},
					model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: id, Name: "look.up", Args: map[string]any{"n": i}}}},
					model.Message{Role: model.ToolResult, ToolCallID: id, Name: "look.up", Content: "a result"},
					model.Message{Role: model.Assistant, Content: strings.Repeat("an answer ", 20)})
			}
			c := answered(b, "application/json", `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
			b.ReportAllocs()
			for b.Loop() {
				all := append(messages, model.Message{Role: model.User, Content: "And now?"})
				if _, err := c.Chat(b.Context(), &model.Request{Messages: all}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
		})
	}
}
