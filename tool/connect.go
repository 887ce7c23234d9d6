// Connecting to an MCP server: the transports, the handshake, the list of its tools.

package tool

import (
	"context"
	"errors"
	"fmt"
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
		&mcp.Implementation{Name: "graphrun", Version: s.opts.Version},
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
