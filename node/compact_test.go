package node

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
)

// parseConversation makes a message of each letter: u is a user message, a an answer, c an answer
// with calls, r a result.
func parseConversation(sketch string) []model.Message {
	var out []model.Message
	for _, letter := range sketch {
		switch letter {
		case 'u':
			out = append(out, model.Message{Role: model.User})
		case 'a':
			out = append(out, model.Message{Role: model.Assistant})
		case 'c':
			out = append(out, model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1"}}})
		case 'r':
			out = append(out, model.Message{Role: model.ToolResult, ToolCallID: "1"})
		}
	}
	return out
}

// The summary covers all but the last turns, and never separates a call from its results.
func TestOldestTurns(t *testing.T) {
	for _, c := range []struct {
		sketch string
		keep   int
		want   int
	}{
		{"uaua", 2, 2},
		{"uaua", 4, 0},
		{"uaua", 5, 0},
		{"uaua", 0, 4},
		{"ucrra", 1, 4},
		{"ucrra", 2, 1},
		{"ucrra", 3, 0},
		{"uacr", 1, 2},
		{"uacr", 0, 2},
		{"uacrr", 0, 2},
		{"uac", 0, 2},
		{"", 2, 0},
	} {
		if got := countOldMessages(parseConversation(c.sketch), c.keep); got != c.want {
			t.Errorf("%s, keeping %d: %d are summarised, want %d", c.sketch, c.keep, got, c.want)
		}
	}
}

func TestGivenMessages(t *testing.T) {
	good := []any{
		map[string]any{"role": "system", "content": "be brief"},
		map[string]any{"role": "user", "content": map[string]any{"n": 1}},
		map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "1", "name": "t", "args": map[string]any{"x": 1}}}},
		map[string]any{"role": "tool", "tool_call_id": "1", "name": "t", "content": 3},
	}
	messages, system, err := readMessages(&runner.Task{}, good)
	if err != nil || len(messages) != 3 || len(system) != 1 || messages[0].Content != `{"n":1}` || messages[1].ToolCalls[0].Name != "t" || messages[2].Content != "3" {
		t.Errorf("%v, %v, %v", messages, system, err)
	}
	for want, bad := range map[string]any{
		"messages[0]: it is a text":            "hello",
		`messages[0]: the role is "owner"`:     map[string]any{"role": "owner"},
		`messages[0]: the role is ""`:          map[string]any{"content": "x"},
		`messages[0]: "tool_calls" is a numbe`: map[string]any{"role": "assistant", "tool_calls": 1},
		"messages[0]: tool_calls[0] has no na": map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{}}},
	} {
		if _, _, err := readMessages(&runner.Task{}, []any{bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", bad, err, want)
		}
	}
}
