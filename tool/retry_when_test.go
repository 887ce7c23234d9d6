package tool_test

import (
	"testing"

	"github.com/graphrun/graphrun/tool"
)

func TestRetryWhen(t *testing.T) {
	r, err := tool.New(map[string]any{"t": map[string]any{
		"exec":  map[string]any{"command": []any{"x"}},
		"retry": []any{map[string]any{"max_attempts": 4, "when": "error.details.exit_code == 75"}, map[string]any{"on": "tool", "max_attempts": 2}},
	}}, tool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[int]int{75: 4, 1: 2} {
		decl, _ := r.FindTool("t")
		_, attempts, again := decl.NextRetry(&tool.Error{Message: "m", Details: map[string]any{"exit_code": code}}, 1)
		if attempts != want || !again {
			t.Errorf("code %d: %d attempts, %v", code, attempts, again)
		}
	}
	if _, err := tool.New(map[string]any{"t": map[string]any{
		"exec": map[string]any{"command": []any{"x"}}, "retry": map[string]any{"when": "error."},
	}}, tool.Options{}); err == nil {
		t.Error("a condition that is not an expression is taken")
	}
}
