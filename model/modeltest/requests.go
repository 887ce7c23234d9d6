// Requests that use all there is, for the tests of what adapters send.

package modeltest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
)

// Requests are named requests that use every field.
func Requests() map[string]*model.Request {
	warm := 0.7
	object := func(properties map[string]any, required ...any) map[string]any {
		return map[string]any{"type": "object", "properties": properties, "required": required}
	}
	text := map[string]any{"type": "string"}
	call := model.ToolCall{ID: "call.1", Name: "weather.get", Args: map[string]any{"city": "Zürich <1>"}}
	return map[string]*model.Request{
		"everything": {
			System: "Be <brief>.",
			Messages: []model.Message{
				{Role: model.User, Content: "Weather?"},
				{Role: model.Assistant, Content: "Let me look.", ToolCalls: []model.ToolCall{call, {ID: "c2", Name: "add", Malformed: "{x"}}},
				{Role: model.ToolResult, ToolCallID: "c2", Name: "add", Content: "no such numbers", IsError: true},
				{Role: model.ToolResult, ToolCallID: "call.1", Name: "weather.get", Content: "sunny"},
				{Role: model.User, Content: "Thanks."},
				{Role: model.User, Content: "And tomorrow?"},
			},
			Tools: []model.Tool{
				{Name: "weather.get", Description: "The weather.", Parameters: object(map[string]any{"city": text}, "city")},
				{Name: "weather_get"},
				{Name: "add"},
			},
			Schema:      object(map[string]any{"answer": text, "sure": map[string]any{"type": "number", "minimum": 0}}, "answer", "sure"),
			Temperature: &warm, MaxTokens: 500, Stop: []string{"STOP"}, Reasoning: "low",
			Params: map[string]any{"user": "u-1", "seed": nil},
		},
		"plain":           {Messages: []model.Message{{Role: model.User, Content: "Hi."}}},
		"assistant-first": {Messages: []model.Message{{Role: model.Assistant, Content: "Hello. "}, {Role: model.User, Content: "Hi."}, {Role: model.Assistant, ToolCalls: []model.ToolCall{call}}}},
		"loose-schema": {
			Messages: []model.Message{{Role: model.User, Content: "Hi."}},
			Schema:   object(map[string]any{"a": text, "b": map[string]any{"type": "array", "items": text}}, "a"),
		},
		"open-schema": {
			Messages: []model.Message{{Role: model.User, Content: "Hi."}},
			Schema:   map[string]any{"type": "object", "additionalProperties": text},
		},
		"text-schema": {Messages: []model.Message{{Role: model.User, Content: "Hi."}}, Schema: text},
	}
}

// Golden compares a body with the file of that name, or writes the file when
// update is set.
func Golden(t *testing.T, file string, body []byte, update *bool) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Errorf("%s: %s", file, diff)
	}
}
