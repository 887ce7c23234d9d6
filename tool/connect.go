// Connections to MCP servers: the transports, the handshake, the list of tools.

package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
)

// connect starts the server and lists its tools. The connection outlives ctx, which bounds
// the start.
func (s *server) connect(ctx context.Context) (*link, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	starting, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it was not ready after %s", startTime))
	defer cancel()
	abandon := context.AfterFunc(starting, end)
	l, err := s.open(life)
	if !abandon() && err == nil {
		_ = l.stop()
		err = context.Cause(starting)
	}
	if err != nil {
		end()
		if starting.Err() != nil {
			err = context.Cause(starting)
		}
		return nil, err
	}
	stop := l.stop
	l.stop = func() error {
		defer end()
		return stop()
	}
	return l, nil
}

// open starts the server, if it is a program, and opens a session.
func (s *server) open(ctx context.Context) (*link, error) {
	l := &link{asking: newAsking(), gone: make(chan struct{}), stderr: func() string { return "" }}
	var transport mcp.Transport
	kill := func() error { return nil }
	if s.URL != "" {
		transport = &mcp.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: &http.Client{Transport: listening{withHeaders{http.DefaultTransport, s.Headers}}},
		}
	} else {
		p, err := s.start()
		if err != nil {
			return nil, err
		}
		transport, kill, l.stderr = &mcp.IOTransport{Reader: filterMessages(p.stdout, s.stray), Writer: p.stdin}, p.stop, p.lastLine
	}
	client := mcp.NewClient(
		&mcp.Implementation{Name: "graphrun", Version: "dev"},
		&mcp.ClientOptions{
			Capabilities:                &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
			ElicitationHandler:          l.asking.question,
			ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { l.stale.Store(true) },
			ProgressNotificationHandler: l.progress.heard,
		},
	)
	client.AddSendingMiddleware(boundDiscovery(s.opts.DiscoverTime))
	session, err := client.Connect(ctx, transport, nil)
	if err == nil {
		l.session = session
		l.stale.Store(true)
		err = l.refresh(ctx)
	}
	if err != nil {
		err = errors.Join(err, kill())
		if words := l.stderr(); words != "" {
			err = errors.New(words)
		}
		return nil, err
	}
	go func() {
		_ = session.Wait()
		close(l.gone)
	}()
	l.stop = func() error {
		// Closing the session closes the program's stdin, which asks it to end.
		_ = session.Close()
		<-l.gone
		return kill()
	}
	return l, nil
}

// boundDiscovery bounds the first request, which older servers may not answer: the client
// then falls back to their protocol.
func boundDiscovery(limit time.Duration) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "server/discover" {
				bounded, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				ctx = bounded
			}
			return next(ctx, method, req)
		}
	}
}

// members lists the server's tools.
func members(ctx context.Context, session *mcp.ClientSession) ([]member, error) {
	var out []member
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		m := member{Tool: Tool{Name: t.Name, Description: t.Description, Parameters: map[string]any{"type": "object"}}}
		if a := t.Annotations; a != nil {
			m.repeatable = a.ReadOnlyHint || a.IdempotentHint
		}
		if plain, err := eval.Canonical(t.InputSchema); err == nil {
			if doc, ok := plain.(map[string]any); ok {
				m.Parameters = doc
				if compiled, err := schema.Compile(doc); err == nil {
					m.schema = compiled
				}
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// lost reports whether an error means a broken connection, not an answer of the server.
func lost(err error) bool {
	var answer *jsonrpc.Error
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) || !errors.As(err, &answer)
}

// withHeaders adds headers to every request.
type withHeaders struct {
	next    http.RoundTripper
	headers map[string]any
}

// RoundTrip sends a copy of the request with the headers.
func (t withHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(t.headers) == 0 {
		return t.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for name, value := range t.headers {
		req.Header.Set(name, eval.Text(value))
	}
	return t.next.RoundTrip(req)
}

// listenTime bounds the wait for the server's stream at the start of a session: many
// servers answer only with their first event.
const listenTime = 100 * time.Millisecond

// listening hides failures of the stream for a server's own messages: it is optional, and
// many servers end it when it is idle, which would end the session.
type listening struct{ next http.RoundTripper }

// RoundTrip opens the stream for a GET request.
func (l listening) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return l.next.RoundTrip(req)
	}
	out, in := io.Pipe()
	answered := make(chan struct{})
	go l.copyStream(req, in, answered)
	select {
	case <-answered:
	case <-time.After(listenTime):
	case <-req.Context().Done():
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out, ContentLength: -1, Request: req,
	}, nil
}

// copyStream copies the stream until the session ends. It closes answered at the server's
// answer.
func (l listening) copyStream(req *http.Request, in *io.PipeWriter, answered chan struct{}) {
	defer func() { _ = in.CloseWithError(context.Canceled) }()
	resp, err := l.next.RoundTrip(req)
	close(answered)
	if err == nil {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
			_, _ = io.Copy(in, resp.Body)
		}
		_ = resp.Body.Close()
	}
	<-req.Context().Done()
}
