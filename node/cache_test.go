package node_test

import (
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// A cached answer is used for the same prompt in the same conversation, and is added to the
// conversation again. The prompt of the first visit differs, since its input does.
func TestCachedAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		b     string
		calls int
	}{
		"the same conversation": {"isolated", 3},
		"another conversation":  {"continuous", 4},
	} {
		t.Run(name, func(t *testing.T) {
			chat := newChat(t, func(asked string) string { return "<" + asked + ">" })
			result := runFlow(t, chat, `start: a
feedback_on_revisit: false
nodes:
  a: {kind: llm, prompt: pa}
  b: {kind: llm, prompt: pb, cache: {}, conversation: `+c.b+`}
edges: [{from: a, to: b}, {from: b, to: b, when: visits.b < 3}, {from: b, to: END}]
`, runner.Options{})
			if result.Status != machine.Completed || len(chat.requests) != c.calls || result.Usage.LLMCalls != c.calls {
				t.Errorf("%s: %v; %d calls, want %d", result.Status, result.Error, len(chat.requests), c.calls)
			}
		})
	}
}
