// Checks of a protocol that need several calls or a recorded answer with thoughts.

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

// Protocol describes a wire format, for RunProtocol.
type Protocol struct {
	// Open returns a client for a provider's name, a model and an address.
	Open func(provider, name, url string) model.Client
	// Dir holds the recorded answers. The answer `thinking`, whole and streamed, has tool
	// calls and thoughts: the next request must hold the texts in Kept, OnThinking receives
	// Thoughts, and the answer reports Usage.
	Dir      string
	Kept     []string
	Thoughts string
	Usage    model.Usage
	// ConversationKey is the key of the messages in a request.
	ConversationKey string
	// MaxImageBytes and MaxTotalBytes are how many bytes an image and all parts may have.
	MaxImageBytes, MaxTotalBytes int
	// Audio says that the protocol accepts audio.
	Audio bool
	// Levels maps a model to what a request sends for the reasoning levels none, minimal and high:
	// the values of ReasoningKeys as JSON. "" means that the client refuses the request.
	Levels        map[string][3]string
	ReasoningKeys []string
	// Budgets says by model whether it accepts a number of tokens for reasoning.
	Budgets map[string]bool
}

// RunProtocol checks a protocol over several calls:
//
//	opaque data, and an unchanged beginning   opaque_data_goes_back, every_request_begins…
//	parts, with sizes and types               parts
//	usage for prices and budgets              usage, usage_that_is_not_reported
//	thoughts for people                       thoughts_are_told
//	levels of reasoning, and numbers          levels_of_reasoning, a_number_of_tokens…
//
// Run checks what concerns a single answer: tools, structured output, streams, endings (refused,
// filtered, length, content_filter) and errors (conflict, final, quota and others).
func RunProtocol(t *testing.T, w *Protocol) {
	t.Helper()
	t.Run("opaque data goes back", w.checkKept)
	t.Run("every request begins with the one before", w.checkPrefix)
	t.Run("thoughts are told", w.checkThoughts)
	t.Run("usage", w.checkUsage)
	t.Run("usage that is not reported", w.checkUnreportedUsage)
	t.Run("parts", w.checkParts)
	t.Run("levels of reasoning", w.checkLevels)
	t.Run("a number of tokens to reason", w.checkBudgets)
	t.Run("what is sent again is the same", func(t *testing.T) {
		for _, name := range []string{"conflict", "overloaded"} { // a node repeats these calls
			w.checkRepeat(t, name)
		}
	})
}

func (w *Protocol) listFiles(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for _, file := range []string{name + ".http", name + "-stream.http"} {
		out = append(out, filepath.Join(w.Dir, file))
	}
	return out
}

func (w *Protocol) openModel(name string) func(provider, url string) model.Client {
	return func(provider, url string) model.Client { return w.Open(provider, name, url) }
}

func (w *Protocol) checkKept(t *testing.T) {
	for _, file := range w.listFiles(t, "thinking") {
		CheckKept(t, file, w.openModel("m"), w.Kept...)
	}
}

func (w *Protocol) checkThoughts(t *testing.T) {
	CheckThoughts(t, filepath.Join(w.Dir, "thinking-stream.http"), w.Thoughts, w.openModel("m"))
}

// checkPrefix runs a loop of 20 turns. Each request must begin with the whole request
// before it, because providers cache such a prefix.
func (w *Protocol) checkPrefix(t *testing.T) {
	for _, file := range w.listFiles(t, "thinking") {
		var bodies []map[string]json.RawMessage
		url := ServeFile(t, file, 0, func(r Request) {
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
			before, after := w.splitBody(t, bodies[i]), w.splitBody(t, bodies[i+1])
			if len(after) <= len(before) || !slices.Equal(before, after[:len(before)]) {
				t.Fatalf("%s: request %d does not begin with the one before", file, i+2)
			}
		}
	}
}

// splitBody returns a request as a list of texts: first all fields but the conversation,
// then the conversation's elements.
func (w *Protocol) splitBody(t *testing.T, body map[string]json.RawMessage) []string {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(body[w.ConversationKey], &list); err != nil {
		t.Fatal(err)
	}
	rest := map[string]json.RawMessage{}
	for key, value := range body {
		if key != w.ConversationKey {
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

func (w *Protocol) checkUsage(t *testing.T) {
	for _, file := range w.listFiles(t, "thinking") {
		got, err := w.Open("ours", "m", ServeFile(t, file, 0, nil)).Chat(t.Context(), NewRequests()["plain"], func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.Usage, got.Usage); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// checkUnreportedUsage removes the usage from a recorded answer. It must count as unknown, not zero.
func (w *Protocol) checkUnreportedUsage(t *testing.T) {
	_, header, body := readRecording(t, filepath.Join(w.Dir, "text.http"))
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
		url := ServeHandler(t, http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", header.Get("Content-Type"))
			_, _ = out.Write(text)
		}))
		got, err := w.Open("ours", "m", url).Chat(t.Context(), NewRequests()["plain"], nil)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Usage.Unreported {
			t.Errorf("usage %v: %+v", usage, got.Usage)
		}
	}
}

// checkParts checks that parts which are too large, or of a type that the protocol does not
// accept, are refused before anything is sent.
func (w *Protocol) checkParts(t *testing.T) {
	bytes := func(kind model.PartKind, media string, n int) model.Part {
		return model.Part{Kind: kind, Type: media, Name: "a", Data: base64.StdEncoding.EncodeToString(make([]byte, n))}
	}
	many := slices.Repeat([]model.Part{bytes(model.ImagePart, "image/png", w.MaxImageBytes)}, w.MaxTotalBytes/w.MaxImageBytes+1)
	for name, test := range map[string]struct {
		parts []model.Part
		want  string // in the error message; "" means that the request is sent
	}{
		"an image":           {[]model.Part{newImage()}, ""},
		"too large an image": {[]model.Part{bytes(model.ImagePart, "image/png", w.MaxImageBytes+1)}, "an image may have"},
		"too many images":    {many, "in a request"},
		"a bitmap":           {[]model.Part{bytes(model.ImagePart, "image/bmp", 10)}, "it is image/bmp; taken are"},
		"a file":             {[]model.Part{bytes(model.FilePart, "application/pdf", 10)}, ""},
		"a sound":            {[]model.Part{bytes(model.AudioPart, "audio/wav", 10)}, map[bool]string{false: "takes no audio"}[w.Audio]},
	} {
		for _, role := range []model.Role{model.User, model.ToolResult} {
			requests := 0
			client := w.Open("ours", "m", ServeFile(t, filepath.Join(w.Dir, "text.http"), 0, func(Request) { requests++ }))
			m := newMessage(role, test.parts...)
			messages := []model.Message{m}
			if role == model.ToolResult {
				m.ToolCallID, m.Name = "c1", "shot"
				messages = []model.Message{{Role: model.User, Content: "Look."}, {Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "c1", Name: "shot"}}}, m}
			}
			_, err := client.Chat(t.Context(), &model.Request{Messages: messages}, nil)
			var failure *model.Error
			switch {
			case test.want == "" && (err != nil || requests != 1):
				t.Errorf("%s of the %s: %v after %d requests", name, role, err, requests)
			case test.want != "" && (!errors.As(err, &failure) || failure.Kind != "invalid_input" || !failure.Unsent || requests != 0 || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s of the %s: %v after %d requests, want %q", name, role, err, requests, test.want)
			}
		}
	}
}

// checkLevels checks how each level of reasoning is sent to each model, or refused.
func (w *Protocol) checkLevels(t *testing.T) {
	for name, want := range w.Levels {
		for i, level := range []string{"none", "minimal", "high"} {
			got, err := w.sendReasoning(t, name, level)
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

func (w *Protocol) checkBudgets(t *testing.T) {
	for name, taken := range w.Budgets {
		got, err := w.sendReasoning(t, name, 2000)
		var failure *model.Error
		refused := errors.As(err, &failure) && failure.Kind == "invalid_input" && failure.Unsent
		if refused == taken || taken && !strings.Contains(got, "2000") {
			t.Errorf("%s: sent %q, %v", name, got, err)
		}
	}
}

// sendReasoning sends a request and returns its fields about reasoning.
func (w *Protocol) sendReasoning(t *testing.T, name string, reasoning any) (string, error) {
	t.Helper()
	var body map[string]any
	client := w.Open("ours", name, ServeFile(t, filepath.Join(w.Dir, "text.http"), 0, func(r Request) { body = r.Body }))
	req := *NewRequests()["plain"]
	req.Reasoning = reasoning
	_, err := client.Chat(t.Context(), &req, nil)
	var out []string
	for _, key := range w.ReasoningKeys {
		if value, ok := body[key]; ok {
			text, _ := json.Marshal(value)
			out = append(out, fmt.Sprintf("%s %s", key, text))
		}
	}
	return strings.Join(out, ", "), err
}

// checkRepeat makes a failing call twice. A node repeats such a call, so both requests must be equal.
func (w *Protocol) checkRepeat(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join(w.Dir, name+".http")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	var bodies []string
	client := w.Open("ours", "m", ServeFile(t, file, 0, func(r Request) { bodies = append(bodies, string(r.Raw)) }))
	req := NewRequests()["parts"]
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
