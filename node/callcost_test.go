package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
)

// BenchmarkCallKey is what a call at the end of a long conversation costs besides
// its sending: its key in the journal and the tokens to reserve.
func BenchmarkCallKey(b *testing.B) {
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
			req := &model.Request{System: "s", Messages: messages}
			b.ReportAllocs()
			for b.Loop() {
				if callHash(modelRef{name: "m"}, req) == "" || price.RequestTokens(req) < n {
					b.Fatal("no key or no tokens")
				}
			}
		})
	}
}
