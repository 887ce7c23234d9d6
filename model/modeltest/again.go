// Conversations that are sent again and again.

package modeltest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/graphrun/graphrun/model"
)

// SendsAlike checks that a client, whatever it was asked before, sends what a new one
// sends, byte for byte: conversations grow, are told another way, are cut, compacted
// and changed in the middle. kept is what the provider wanted back with some message.
func SendsAlike(t *testing.T, open func(*http.Client) model.Client, kept ...[]byte) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		long := open(&http.Client{Transport: refusal{}})
		talk := conversation{kept: kept}
		tools := []model.Tool{{Name: "weather.get"}, {Name: "add"}}
		for step := range rapid.IntRange(2, 8).Draw(t, "steps") {
			talk.step(t, step)
			req := model.Request{System: rapid.SampledFrom([]string{"", "Be brief."}).Draw(t, "system"), Messages: slices.Clone(talk.messages)}
			req.Tools = tools[:rapid.IntRange(0, 2).Draw(t, "tools")]
			if rapid.Bool().Draw(t, "thinks") {
				req.Reasoning = "high"
			}
			if diff := cmp.Diff(sent(open, req, nil), sent(open, req, long)); diff != "" {
				t.Fatalf("a client that was asked before sends another request: %s", diff)
			}
		}
	})
	t.Run("branches", func(t *testing.T) { branches(t, open) })
}

// branches has one client go on with a conversation in several ways at once.
func branches(t *testing.T, open func(*http.Client) model.Client) {
	long := open(&http.Client{Transport: refusal{}})
	trunk := []model.Message{{Role: model.User, Content: strings.Repeat("long ", 4000)}, {Role: model.Assistant, Content: "Yes."}}
	var all sync.WaitGroup
	for branch := range 8 {
		all.Go(func() {
			talk := slices.Clone(trunk)
			for turn := range 20 {
				talk = append(talk,
					model.Message{Role: model.User, Content: fmt.Sprint("question ", branch, turn)},
					model.Message{Role: model.Assistant, Content: fmt.Sprint("answer ", branch, turn)})
				req := model.Request{Messages: slices.Clone(talk)}
				if want, got := sent(open, req, nil), sent(open, req, long); want != got {
					t.Errorf("branch %d, turn %d: the request is %q", branch, turn, got[max(0, len(got)-400):])
				}
			}
		})
	}
	all.Wait()
}

// sent is the body that a client sends; nil: a new one.
func sent(open func(*http.Client) model.Client, req model.Request, client model.Client) string {
	var body string
	if client == nil {
		client = open(&http.Client{Transport: refusal{}})
	}
	ctx := context.WithValue(context.Background(), seenKey{}, &body)
	_, err := client.Chat(ctx, &req, nil) // which is refused
	if body == "" {
		return err.Error()
	}
	return body
}

// refusal answers no request. What was sent goes to the text of its context.
type refusal struct{}

type seenKey struct{}

// RoundTrip reads the body, which is the same if it must be sent once more.
func (refusal) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	again, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	if second, err := io.ReadAll(again); err != nil || string(second) != string(body) || r.ContentLength != int64(len(body)) {
		return nil, fmt.Errorf("%d bytes are announced, %d sent, %d again: %w", r.ContentLength, len(body), len(second), err)
	}
	*r.Context().Value(seenKey{}).(*string) = string(body)
	return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Header: http.Header{}}, nil
}

// conversation is one that is told step by step.
type conversation struct {
	messages []model.Message
	kept     [][]byte
	calls    int
}

func (c *conversation) step(t *rapid.T, step int) {
	n := len(c.messages)
	switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
	case step == 0:
		c.messages = []model.Message{{Role: model.User, Content: strings.Repeat("long ", 2000)}} // so that it is worth keeping
	case what == 0: // another way
		c.messages = slices.Clone(c.messages[:rapid.IntRange(1, n).Draw(t, "cut")])
	case what == 1: // compacted
		from := rapid.IntRange(1, n).Draw(t, "from")
		c.messages = append([]model.Message{{Role: model.User, Content: "Summary: " + strings.Repeat("short ", 2000)}}, c.messages[from:]...)
	case what == 2: // changed
		c.messages = slices.Clone(c.messages)
		c.messages[rapid.IntRange(0, n-1).Draw(t, "at")].Content += "!"
	}
	for range rapid.IntRange(1, 6).Draw(t, "more") {
		c.say(t)
	}
}

func (c *conversation) say(t *rapid.T) {
	text := rapid.SampledFrom([]string{"", " ", "a", "b <c>", "d\n"}).Draw(t, "text")
	m := model.Message{Role: model.User, Content: text}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		m = said(model.User, image(), model.Part{Kind: model.TextPart, Text: text})
	case 1, 2:
		m.Role = model.Assistant
	case 3, 4:
		c.called(t, text)
		return
	}
	c.messages = append(c.messages, m)
}

// called adds a call of tools and most of its results.
func (c *conversation) called(t *rapid.T, text string) {
	m := model.Message{Role: model.Assistant, Content: text}
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		c.calls++
		name := rapid.SampledFrom([]string{"weather.get", "add", "odd.name", "odd_name"}).Draw(t, "name")
		m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: fmt.Sprint("call_", c.calls), Name: name, Args: map[string]any{"n": c.calls}})
	}
	if len(c.kept) > 0 && rapid.Bool().Draw(t, "thought") {
		m.Thinking = rapid.SampledFrom(c.kept).Draw(t, "kept")
	}
	c.messages = append(c.messages, m)
	for _, call := range m.ToolCalls[:rapid.IntRange(0, len(m.ToolCalls)).Draw(t, "results")] {
		result := model.Message{Role: model.ToolResult, ToolCallID: call.ID, Name: call.Name, Content: text}
		if rapid.Bool().Draw(t, "shows") {
			result.Parts = []model.Part{image()}
		}
		c.messages = append(c.messages, result)
	}
}
