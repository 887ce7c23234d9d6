// A chat server for tests that keeps its requests.

package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// chat answers requests with the result of reply: a text, tool calls as "call NAME {args}", or an
// HTTP error as "!429".
type chat struct {
	more  string // more keys of the provider, after a comma
	url   string
	dir   string // of the flow
	reply func(asked string) string
	// wait is called with the last message of each request, before it is answered.
	wait func(asked string)
	// header, if not nil, is called with the header Authorization of each request.
	header func(authorization string)

	// usage is the usage that the server reports; nil means 10 input and 5 output tokens.
	usage map[string]any

	mu       sync.Mutex
	requests []chatRequest
}

type chatMessage struct {
	Role      string `json:"role"`
	Content   any    `json:"content"`
	ToolCalls []any  `json:"tool_calls"`
}

type chatRequest struct {
	Model       string         `json:"model"`
	Messages    []chatMessage  `json:"messages"`
	Tools       []any          `json:"tools"`
	Temperature *float64       `json:"temperature"`
	Format      map[string]any `json:"response_format"`
	Extra       any            `json:"extra"`
}

// splitTexts splits the user's texts that the adapter joined, except the feedback on earlier
// visits.
func (r *chatRequest) splitTexts() {
	var out []chatMessage
	for _, m := range r.Messages {
		text, isText := m.Content.(string)
		if m.Role != "user" || !isText || strings.HasPrefix(text, "The ") { // of a router or a judge
			out = append(out, m)
			continue
		}
		for i, part := range strings.Split(text, "\n\n") {
			if before := len(out) - 1; i > 0 && strings.HasPrefix(part, "[This is visit") {
				out[before].Content = fmt.Sprint(out[before].Content) + "\n\n" + part
			} else {
				out = append(out, chatMessage{Role: m.Role, Content: part})
			}
		}
	}
	r.Messages = out
}

// formatMessages returns a request's messages in one line, without the system prompt.
func (r *chatRequest) formatMessages() string {
	var out []string
	for _, m := range r.Messages {
		text, _ := m.Content.(string)
		switch {
		case m.Role == "system" || m.Role == "developer":
			continue
		case strings.HasPrefix(text, "[The conversation moves on"):
			text = "MARKER"
		case len(m.ToolCalls) > 0:
			text += fmt.Sprintf("%d calls", len(m.ToolCalls))
		}
		out = append(out, m.Role[:1]+":"+text)
	}
	return strings.Join(out, " | ")
}

func (r *chatRequest) system() string {
	for _, m := range r.Messages {
		if m.Role == "system" || m.Role == "developer" {
			text, _ := m.Content.(string)
			return text
		}
	}
	return ""
}

// last returns the text of the last message.
func (r *chatRequest) last() string {
	text, _ := r.Messages[len(r.Messages)-1].Content.(string)
	return text
}

// inOrder returns a function that returns the replies one after the other.
func inOrder(replies ...string) func(string) string {
	return func(string) string {
		if len(replies) == 0 {
			return "!400"
		}
		next := replies[0]
		replies = replies[1:]
		return next
	}
}

func newChat(t *testing.T, reply func(asked string) string) *chat {
	c := &chat{reply: reply}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req chatRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		req.splitTexts()
		c.mu.Lock()
		c.requests = append(c.requests, req)
		if c.header != nil {
			c.header(r.Header.Get("Authorization"))
		}
		answer := c.reply(req.last())
		c.mu.Unlock()
		if c.wait != nil {
			c.wait(req.last())
		}
		c.answer(w, answer)
	}))
	t.Cleanup(server.Close)
	c.url = server.URL + "/v1/"
	return c
}

func (c *chat) answer(w http.ResponseWriter, text string) {
	if status, ok := strings.CutPrefix(text, "!"); ok {
		var code int
		_, _ = fmt.Sscan(status, &code)
		http.Error(w, `{"error":{"message":"no"}}`, code)
		return
	}
	delta := map[string]any{"role": "assistant", "content": text}
	finish := "stop"
	if call, ok := strings.CutPrefix(text, "call "); ok {
		name, args, _ := strings.Cut(call, " ")
		delta = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"index": 0, "id": "call_1", "type": "function", "function": map[string]any{"name": name, "arguments": args},
		}}}
		finish = "tool_calls"
	}
	usage := c.usage
	if usage == nil {
		usage = map[string]any{"prompt_tokens": 10, "completion_tokens": 5}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []map[string]any{
		{"choices": []any{map[string]any{"index": 0, "delta": delta}}},
		{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}},
		{"choices": []any{}, "usage": usage},
	} {
		line, _ := json.Marshal(chunk)
		fmt.Fprintf(w, "data: %s\n\n", line)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// formatRequests returns each request so far as one line.
func (c *chat) formatRequests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]string, len(c.requests))
	for i := range c.requests {
		out[i] = c.requests[i].formatMessages()
	}
	return out
}

// runFlow runs a flow whose models are the chat. The text lacks the head of the file.
func runFlow(t *testing.T, c *chat, flow string, opts runner.Options) *runner.Result {
	t.Helper()
	return runHooked(t.Context(), t, c, flow, opts, runner.Hooks{})
}

// runHooked is like runFlow, but takes hooks and a context.
func runHooked(ctx context.Context, t *testing.T, c *chat, flow string, opts runner.Options, hooks runner.Hooks) *runner.Result {
	t.Helper()
	r, err := runner.New(runner.Config{
		Kinds: node.Kinds(node.Options{}), Decider: node.NewDecider(node.Options{}), Store: &store.Memory{}, Clock: eagerClock{}, Hooks: hooks,
	})
	if err != nil {
		t.Fatal(err)
	}
	src := "graphrun: v1\nname: talk\nmodels: {default: local/m}\nproviders: {local: {type: openai, base_url: \"" + c.url + "\"" + c.more + "}}\n" + flow
	g, found := spec.Parse(filepath.Join(c.dir, "flow.yaml"), []byte(src), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found)
	}
	result, err := r.Run(ctx, g, opts)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// eagerClock is a clock whose timers fire immediately.
type eagerClock struct{}

func (eagerClock) Now() time.Time { return time.Unix(0, 0) }

func (eagerClock) AfterFunc(_ time.Duration, f func()) func() bool {
	go f()
	return func() bool { return false }
}
