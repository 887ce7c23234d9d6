// What a provider wants back with a message.

package modeltest

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
)

// GoesBack has a client answer from a file, whole or streamed, and checks that
// the answer goes back with the texts that the provider wants, as an element of
// the conversation and after a way through JSON, and that a client of another
// provider sends none of them. open returns a client of a provider by its name,
// at an address.
func GoesBack(t *testing.T, file string, open func(provider, url string) model.Client, want ...string) {
	t.Helper()
	ask := model.Request{Messages: []model.Message{{Role: model.User, Content: "Weather?"}}}
	got, err := open("ours", Serve(t, file, 0, nil)).Chat(t.Context(), &ask, func(string) {})
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
		if _, err := open(provider, Serve(t, file, 0, func(r Request) { seen = r })).Chat(t.Context(), &next, func(string) {}); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if has := strings.Contains(string(seen.Raw), text); has != (provider == "ours") {
				t.Errorf("%s: %s is told %s", file, provider, seen.Raw)
			}
		}
	}
}

// Thinks has a client answer from a streamed file and checks the thoughts that it
// tells, and that nobody is told who does not want them.
func Thinks(t *testing.T, file, want string, open func(provider, url string) model.Client) {
	t.Helper()
	var thoughts strings.Builder
	ask := model.Request{
		Messages:   []model.Message{{Role: model.User, Content: "Weather?"}},
		OnThinking: func(chunk string) { thoughts.WriteString(chunk) },
	}
	told, err := open("ours", Serve(t, file, 0, nil)).Chat(t.Context(), &ask, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if thoughts.String() != want {
		t.Errorf("%s: thoughts are %q, want %q", file, thoughts.String(), want)
	}
	ask.OnThinking = nil
	if untold, err := open("ours", Serve(t, file, 0, nil)).Chat(t.Context(), &ask, func(string) {}); err != nil || untold.Content != told.Content {
		t.Errorf("%s: %v, %v", file, untold, err)
	}
}
