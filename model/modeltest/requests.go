// Requests that use every field, for tests of what adapters send.

package modeltest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
)

// NewRequests returns requests by name. Together they use every field.
func NewRequests() map[string]*model.Request {
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
		"parts": {Messages: []model.Message{
			newMessage(model.User, newImage(), model.Part{Kind: model.TextPart, Text: "What are these?"}, model.Part{Kind: model.ImagePart, URL: "https://example.org/map.png"}),
			newMessage(model.User, model.Part{Kind: model.FilePart, Name: "a.pdf", Type: "application/pdf", Data: "JVBERi0="}, model.Part{Kind: model.FilePart, Name: "notes.txt", Type: "text/plain", Data: "aGVsbG8="}),
			{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "c1", Name: "shot"}, {ID: "c2", Name: "add"}}},
			{Role: model.ToolResult, ToolCallID: "c1", Name: "shot", Content: "the screen\n[image image/png]", Parts: []model.Part{{Kind: model.TextPart, Text: "the screen"}, newImage()}},
			{Role: model.ToolResult, ToolCallID: "c2", Name: "add", Content: "3"},
			{Role: model.User, Content: "Go on."},
		}},
		"text-schema": {Messages: []model.Message{{Role: model.User, Content: "Hi."}}, Schema: text},
	}
}

// newImage returns an image of one pixel.
func newImage() model.Part {
	return model.Part{
		Kind: model.ImagePart, Type: "image/png",
		Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
	}
}

func newMessage(role model.Role, parts ...model.Part) model.Message {
	return model.Message{Role: role, Content: model.FormatParts(parts), Parts: parts}
}

// CompareGolden compares a JSON body with a file, or writes the file if update is set.
func CompareGolden(t *testing.T, file string, body []byte, update *bool) {
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
