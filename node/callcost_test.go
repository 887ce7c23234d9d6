package node

import (
	"fmt"
	"slices"
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
			var kept beginnings
			b.ReportAllocs()
			for b.Loop() {
				req.Messages = append(messages[:len(messages):len(messages)], model.Message{Role: model.User, Content: "And now?"})
				if key, tokens := kept.measure(modelRef{name: "m"}, req); key == "" || tokens < n {
					b.Fatal("no key or no tokens")
				}
			}
		})
	}
}

// What is kept of the call before changes no key and no number of tokens.
func TestMeasure(t *testing.T) {
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
	var kept beginnings
	seen := map[string]int{}
	for i, messages := range [][]model.Message{all[:100], all[:150], all, changed, args, part, all[:199], all[:20], long(200), all} {
		req := &model.Request{System: "s", Messages: messages}
		key, tokens := kept.measure(modelRef{name: "m"}, req)
		alone, _ := (*beginnings)(nil).measure(modelRef{name: "m"}, req)
		if key != alone || tokens != price.RequestTokens(req) {
			t.Errorf("%d: %s with %d tokens, alone %s with %d", i, key, tokens, alone, price.RequestTokens(req))
		}
		seen[key]++
		if len(kept.kept) > mostBeginnings {
			t.Fatalf("%d are kept", len(kept.kept))
		}
	}
	if len(seen) != 8 { // long(200) and the last are what all is
		t.Errorf("%d keys", len(seen))
	}
	other, _ := kept.measure(modelRef{name: "n"}, &model.Request{System: "s", Messages: all})
	if seen[other] > 0 {
		t.Error("another model has the same key")
	}
}
