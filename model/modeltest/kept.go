// Data that a provider wants back with a message, and thoughts that it streams.

package modeltest

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
)

// CheckKept plays a recorded answer, appends it to the conversation, and checks that the
// next request holds all the wanted texts. A client of another provider must send none of
// them. open returns a client for a provider's name and an address.
func CheckKept(t *testing.T, file string, open func(provider, url string) model.Client, want ...string) {
	t.Helper()
	ask := model.Request{Messages: []model.Message{{Role: model.User, Content: "Weather?"}}}
	got, err := open("ours", ServeFile(t, file, 0, nil)).Chat(t.Context(), &ask, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	next := ask
	next.Messages = append(next.Messages, got.Message())
	for _, call := range got.ToolCalls {
		next.Messages = append(next.Messages, model.Message{Role: model.ToolResult, ToolCallID: call.ID, Name: call.Name, Content: "5"})
	}
	next.Messages = append(next.Messages, model.Message{Role: model.User, Content: "Go on."})
	for _, provider := range []string{"ours", "another"} {
		var seen Request
		if _, err := open(provider, ServeFile(t, file, 0, func(r Request) { seen = r })).Chat(t.Context(), &next, func(string) {}); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if sent := strings.Contains(string(seen.Raw), text); sent != (provider == "ours") {
				t.Errorf("%s: %s is told %s", file, provider, seen.Raw)
			}
		}
	}
}

// CheckThoughts plays a streamed answer and checks the thoughts that OnThinking receives.
// Without OnThinking, the answer must stay the same.
func CheckThoughts(t *testing.T, file, want string, open func(provider, url string) model.Client) {
	t.Helper()
	var thoughts strings.Builder
	ask := model.Request{
		Messages:   []model.Message{{Role: model.User, Content: "Weather?"}},
		OnThinking: func(chunk string) { thoughts.WriteString(chunk) },
	}
	first, err := open("ours", ServeFile(t, file, 0, nil)).Chat(t.Context(), &ask, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if thoughts.String() != want {
		t.Errorf("%s: thoughts are %q, want %q", file, thoughts.String(), want)
	}
	ask.OnThinking = nil
	if second, err := open("ours", ServeFile(t, file, 0, nil)).Chat(t.Context(), &ask, func(string) {}); err != nil || second.Content != first.Content {
		t.Errorf("%s: %v, %v", file, second, err)
	}
}
