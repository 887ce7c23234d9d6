package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveOlderHTTP starts an HTTP server with an older protocol. It asks on a separate stream, not on
// that of the call. listen answers the request for that stream.
func serveOlderHTTP(t *testing.T, listen func(w http.ResponseWriter, req *http.Request, all http.Handler)) map[string]any {
	t.Helper()
	fake := newServer("old")
	fake.AddTool(&mcp.Tool{Name: "ask", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}})
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action}}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return fake }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case bytes.Contains(body, []byte("server/discover")):
			http.Error(w, "what is that?", http.StatusBadRequest)
		case req.Method == http.MethodGet:
			listen(w, req, handler)
		default:
			handler.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(func() {
		web.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return map[string]any{"srv": map[string]any{"mcp": map[string]any{"url": web.URL}}}
}

// An HTTP server can ask a question outside of its answers to calls.
func TestServerHTTPAsks(t *testing.T) {
	r := newRegistry(t, serveOlderHTTP(t, func(w http.ResponseWriter, req *http.Request, all http.Handler) { all.ServeHTTP(w, req) }))
	if got, problem := callServer(t, r, &fakeActor{answer: map[string]any{}}, "ask", nil); got != "accept" {
		t.Errorf("%v, %s", got, problem)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Calls work even if a server has no separate stream, ends it, or never starts it.
func TestServerHTTPAsksNothing(t *testing.T) {
	for name, listen := range map[string]func(w http.ResponseWriter, req *http.Request){
		"has none":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotImplemented) },
		"another kind": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "welcome") },
		"ends it":      func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
		"waits":        func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			var opened atomic.Int32
			begun := make(chan struct{})
			r := newRegistry(t, serveOlderHTTP(t, func(w http.ResponseWriter, req *http.Request, _ http.Handler) {
				if opened.Add(1) == 1 {
					close(begun)
				}
				listen(w, req)
			}))
			actor := &fakeActor{}
			for range 10 {
				if got, problem := callServer(t, r, actor, "echo", map[string]any{"text": "hi"}); !strings.HasPrefix(fmt.Sprint(got), `{"text":"hi"}`) {
					t.Fatalf("%v, %s", got, problem)
				}
			}
			<-begun
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if n := opened.Load(); n != 1 || len(actor.warnings) > 0 {
				t.Errorf("opened %d times, warnings %v", n, actor.warnings)
			}
		})
	}
}

// The start of a session waits only briefly for a server that sends no response header before its
// first message.
func TestStreamWithoutHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://silent", nil)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		resp, err := optionalStream{roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}.RoundTrip(req)
		if took := time.Since(begin); err != nil || took != listenTime {
			t.Errorf("%v after %s", err, took)
		}
		cancel()
		synctest.Wait()
		_ = resp.Body.Close()
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestFormOf(t *testing.T) {
	choice := func(more map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": map[string]any{"pet": more}}
	}
	cat := map[string]any{"const": "c", "title": "Cat"}
	for name, test := range map[string]struct{ asked, want any }{
		"named choices": {
			choice(map[string]any{"type": "string", "enum": []any{"c"}, "enumNames": []any{"Cat"}}),
			choice(map[string]any{"type": "string", "enum": []any{"c"}}),
		},
		"as today":  {choice(map[string]any{"oneOf": []any{cat}}), choice(map[string]any{"oneOf": []any{cat}})},
		"no schema": {choice(map[string]any{"colour": "red"}), map[string]any{"type": "object"}},
	} {
		if diff := cmp.Diff(test.want, any(readAnswerSchema(test.asked))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
