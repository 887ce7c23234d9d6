// What each protocol must do with today's models, point by point.

package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
)

// Wire is a protocol, as one kind of server speaks it.
type Wire struct {
	// Open returns a client of a provider by its name and of a model, at an address.
	Open func(provider, name, url string) model.Client
	// Dir holds the recorded answers. `thinking`, whole and streamed, is one with calls
	// of tools whose thoughts must go back with the texts in Back; Thoughts is what
	// is told of them, and Usage what they came to.
	Dir      string
	Back     []string
	Thoughts string
	Usage    model.Usage
	// List is the key of the conversation in a request.
	List string
	// MostImage and MostAll are how many bytes an image and all parts may have.
	MostImage, MostAll int
	// Audio says that sound is taken.
	Audio bool
	// Levels are models, and what of a request for the levels of reasoning none,
	// minimal and high is sent: JSON of the keys in Reasoning. Empty: it is refused.
	Levels    map[string][3]string
	Reasoning []string
	// Budget says that a number of tokens is taken for the model of the key.
	Budget map[string]bool
}

// Points checks what a protocol must do over several calls, and before one:
//
//	opaque data, and an unchanged beginning   opaque_data_goes_back, every_request_begins…
//	parts, with sizes and types               parts
//	usage for prices and budgets              usage, usage_that_is_not_reported
//	thoughts for people                       thoughts_are_told
//	levels of reasoning, and numbers          levels_of_reasoning, a_number_of_tokens…
//
// Run checks the rest, what belongs to single answers: tools, structured output,
// streams, endings (refused, filtered, length, content_filter) and errors (conflict,
// final, quota and others).
func Points(t *testing.T, w *Wire) {
	t.Helper()
	t.Run("opaque data goes back", w.goesBack)
	t.Run("every request begins with the one before", w.prefix)
	t.Run("thoughts are told", w.thinks)
	t.Run("usage", w.usage)
	t.Run("usage that is not reported", w.unreported)
	t.Run("parts", w.parts)
	t.Run("levels of reasoning", w.levels)
	t.Run("a number of tokens to reason", w.budget)
	t.Run("what is sent again is the same", func(t *testing.T) {
		for _, name := range []string{"conflict", "overloaded"} { // repeated by the node, from the same request
			w.sentAgain(t, name)
		}
	})
}

func (w *Wire) files(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for _, file := range []string{name + ".http", name + "-stream.http"} {
		out = append(out, filepath.Join(w.Dir, file))
	}
	return out
}

func (w *Wire) named(name string) func(provider, url string) model.Client {
	return func(provider, url string) model.Client { return w.Open(provider, name, url) }
}

func (w *Wire) goesBack(t *testing.T) {
	for _, file := range w.files(t, "thinking") {
		GoesBack(t, file, w.named("m"), w.Back...)
	}
}

func (w *Wire) thinks(t *testing.T) {
	Thinks(t, filepath.Join(w.Dir, "thinking-stream.http"), w.Thoughts, w.named("m"))
}

// prefix goes through a loop of 20 turns. Nothing that was sent is changed or gone in
// the next request: system prompt, tools and messages stand as they stood.
func (w *Wire) prefix(t *testing.T) {
	for _, file := range w.files(t, "thinking") {
		var bodies []map[string]json.RawMessage
		url := Serve(t, file, 0, func(r Request) {
			body := map[string]json.RawMessage{}
			if err := json.Unmarshal(r.Raw, &body); err != nil {
				t.Error(err)
			}
			bodies = append(bodies, body)
		})
		client := w.Open("ours", "m", url)
		req := model.Request{
			System: "Be brief.", Tools: []model.Tool{{Name: "weather.get"}, {Name: "add"}},
			Messages: []model.Message{{Role: model.User, Content: strings.Repeat("Weather? ", 1000)}},
		}
		for range 20 {
			answer, err := client.Chat(t.Context(), &req, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			req.Messages = append(slices.Clip(req.Messages), answer.Message())
			for _, call := range answer.ToolCalls {
				req.Messages = append(req.Messages, model.Message{Role: model.ToolResult, ToolCallID: call.ID, Name: call.Name, Content: "5"})
			}
		}
		for i := range bodies[1:] {
			before, after := w.sent(t, bodies[i]), w.sent(t, bodies[i+1])
			if len(after) <= len(before) || !slices.Equal(before, after[:len(before)]) {
				t.Fatalf("%s: request %d does not begin with the one before", file, i+2)
			}
		}
	}
}

// sent is a request as a list of texts: all but the conversation, then its elements.
func (w *Wire) sent(t *testing.T, body map[string]json.RawMessage) []string {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(body[w.List], &list); err != nil {
		t.Fatal(err)
	}
	rest := map[string]json.RawMessage{}
	for key, value := range body {
		if key != w.List {
			rest[key] = value
		}
	}
	text, err := json.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{string(text)}
	for _, item := range list {
		out = append(out, string(item))
	}
	return out
}

func (w *Wire) usage(t *testing.T) {
	for _, file := range w.files(t, "thinking") {
		got, err := w.Open("ours", "m", Serve(t, file, 0, nil)).Chat(t.Context(), Requests()["plain"], func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.Usage, got.Usage); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// unreported takes the usage out of a recorded answer: that is unknown, and not zero.
func (w *Wire) unreported(t *testing.T) {
	_, header, body := recorded(t, filepath.Join(w.Dir, "text.http"))
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	for _, usage := range []any{nil, map[string]any{}} {
		fields["usage"] = usage
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		url := Handle(t, http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", header.Get("Content-Type"))
			_, _ = out.Write(text)
		}))
		got, err := w.Open("ours", "m", url).Chat(t.Context(), Requests()["plain"], nil)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Usage.Unreported {
			t.Errorf("usage %v: %+v", usage, got.Usage)
		}
	}
}

// parts are refused before anything is sent when they are too large or of a kind that
// is not taken, and sent when they are neither.
func (w *Wire) parts(t *testing.T) {
	bytes := func(kind model.PartKind, media string, n int) model.Part {
		return model.Part{Kind: kind, Type: media, Name: "a", Data: base64.StdEncoding.EncodeToString(make([]byte, n))}
	}
	many := slices.Repeat([]model.Part{bytes(model.ImagePart, "image/png", w.MostImage)}, w.MostAll/w.MostImage+1)
	for name, test := range map[string]struct {
		parts []model.Part
		want  string // of the message; "": it is sent
	}{
		"an image":           {[]model.Part{image()}, ""},
		"too large an image": {[]model.Part{bytes(model.ImagePart, "image/png", w.MostImage+1)}, "an image may have"},
		"too many images":    {many, "in a request"},
		"a bitmap":           {[]model.Part{bytes(model.ImagePart, "image/bmp", 10)}, "it is image/bmp; taken are"},
		"a file":             {[]model.Part{bytes(model.FilePart, "application/pdf", 10)}, ""},
		"a sound":            {[]model.Part{bytes(model.AudioPart, "audio/wav", 10)}, map[bool]string{false: "takes no audio"}[w.Audio]},
	} {
		for _, role := range []model.Role{model.User, model.ToolResult} {
			asked := 0
			client := w.Open("ours", "m", Serve(t, filepath.Join(w.Dir, "text.http"), 0, func(Request) { asked++ }))
			m := said(role, test.parts...)
			messages := []model.Message{m}
			if role == model.ToolResult {
				m.ToolCallID, m.Name = "c1", "shot"
				messages = []model.Message{{Role: model.User, Content: "Look."}, {Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "c1", Name: "shot"}}}, m}
			}
			_, err := client.Chat(t.Context(), &model.Request{Messages: messages}, nil)
			var failure *model.Error
			switch {
			case test.want == "" && (err != nil || asked != 1):
				t.Errorf("%s of the %s: %v after %d requests", name, role, err, asked)
			case test.want != "" && (!errors.As(err, &failure) || failure.Kind != "invalid_input" || !failure.Unsent || asked != 0 || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s of the %s: %v after %d requests, want %q", name, role, err, asked, test.want)
			}
		}
	}
}

// levels of reasoning are sent as a model takes them; what it can't take is not sent.
func (w *Wire) levels(t *testing.T) {
	for name, want := range w.Levels {
		for i, level := range []string{"none", "minimal", "high"} {
			got, err := w.reasoned(t, name, level)
			var failure *model.Error
			if errors.As(err, &failure) && failure.Kind == "invalid_input" && failure.Unsent {
				err = nil
			}
			if err != nil || got != want[i] {
				t.Errorf("%s, %s: sent %q, %v; want %q", name, level, got, err, want[i])
			}
		}
	}
}

func (w *Wire) budget(t *testing.T) {
	for name, taken := range w.Budget {
		got, err := w.reasoned(t, name, 2000)
		var failure *model.Error
		refused := errors.As(err, &failure) && failure.Kind == "invalid_input" && failure.Unsent
		if refused == taken || taken && !strings.Contains(got, "2000") {
			t.Errorf("%s: sent %q, %v", name, got, err)
		}
	}
}

// reasoned is what a request says of reasoning.
func (w *Wire) reasoned(t *testing.T, name string, reasoning any) (string, error) {
	t.Helper()
	var body map[string]any
	client := w.Open("ours", name, Serve(t, filepath.Join(w.Dir, "text.http"), 0, func(r Request) { body = r.Body }))
	req := *Requests()["plain"]
	req.Reasoning = reasoning
	_, err := client.Chat(t.Context(), &req, nil)
	var out []string
	for _, key := range w.Reasoning {
		if value, ok := body[key]; ok {
			text, _ := json.Marshal(value)
			out = append(out, fmt.Sprintf("%s %s", key, text))
		}
	}
	return strings.Join(out, ", "), err
}

// sentAgain makes a call that fails twice: one that may pass is made again by its node,
// and nothing of the first try may be left in the second.
func (w *Wire) sentAgain(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join(w.Dir, name+".http")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	var bodies []string
	client := w.Open("ours", "m", Serve(t, file, 0, func(r Request) { bodies = append(bodies, string(r.Raw)) }))
	req := Requests()["parts"]
	for range 2 {
		var failure *model.Error
		if _, err := client.Chat(t.Context(), req, nil); !errors.As(err, &failure) || failure.Kind != "overloaded" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(bodies) != 2 || bodies[0] != bodies[1] {
		t.Errorf("%s: %d requests that differ", name, len(bodies))
	}
}
