// One MCP server. Its connection is opened at the first use, and once more if the server dies.

package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
)

// maxStarts bounds the starts of a server in a run: one that dies twice is broken.
const maxStarts = 2

// startTime bounds the start of a server, until it has listed its tools.
const startTime = time.Minute

// server is a declared server. Its lock guards link, starts and died.
type server struct {
	Command []string       `key:"command"` // or
	URL     string         `key:"url"`
	Env     map[string]any `key:"env"`
	Headers map[string]any `key:"headers"`
	EnvPass any            `key:"env_pass"`
	Dir     string         `key:"dir"`

	name string
	opts *Options

	locked chan struct{} // holds a token while the server is locked
	link   *link         // nil if not connected
	starts int
	died   string // why the last connection ended
	// stray holds lines of its stdout that are not messages.
	stray chan string
}

// link is one connection to a server.
type link struct {
	session *mcp.ClientSession
	// members are the server's tools. stale means that the server has changed them.
	members atomic.Pointer[[]member]
	stale   atomic.Bool
	// progress maps tokens to functions that receive progress: func(*mcp.ProgressNotificationParams).
	progress  sync.Map
	calls     atomic.Int64 // number of calls with a token
	questions *questionQueue
	// stop ends the connection and the server's program.
	stop func() error
	gone chan struct{} // closed when the connection has ended
	// stderr returns the last line of the server's stderr.
	stderr func() string
}

// member is a tool of a server.
type member struct {
	Tool
	// schema is nil if it can't be compiled. Then only the server checks arguments.
	schema *schema.Schema
	// repeatable means that two calls have the effect of one.
	repeatable bool
}

// callTool calls a tool. If the server dies meanwhile, it repeats the call only if that is harmless.
func (s *server) callTool(ctx context.Context, actor Actor, name string, call Call) (result any, err error) {
	full := s.name + "." + name
	err = s.useLink(ctx, actor.Warn, fmt.Sprintf("during the call of %q", name), func(l *link) (repeatable bool, err error) {
		members := *l.members.Load()
		i := slices.IndexFunc(members, func(m member) bool { return m.Name == name })
		if i < 0 {
			return false, unknownMemberError(s.name, name, members)
		}
		given, err := checkArgs(full, members[i].schema, call.Args)
		if err != nil {
			return false, err
		}
		params := &mcp.CallToolParams{Name: name, Arguments: given}
		if parent := actor.TraceParent(); parent != "" {
			params.Meta = mcp.Meta{"traceparent": parent}
		}
		params.SetProgressToken(l.newProgressToken(func(p *mcp.ProgressNotificationParams) {
			actor.Progress(full, p.Message, p.Progress, p.Total)
		}))
		calling, asked, end := l.questions.beginCall(ctx, actor, full)
		answer, err := l.session.CallTool(calling, params)
		end()
		switch {
		case asked.waiting.Load():
			return false, &Error{Message: fmt.Sprintf("tool %q waits for an answer of a person", full), NotMade: true}
		case err == nil:
			result, err = readCallResult(answer)
			if err != nil {
				err = &Error{Message: fmt.Sprintf("tool %q gave an answer that can't be read: %v", full, err)}
			} else if answer.IsError {
				err = &Error{Message: eval.Text(eval.ShortenURIs(result))}
			}
		case !isConnectionLost(err):
			return false, &Error{Message: fmt.Sprintf("tool %q: %v", full, err)}
		}
		return members[i].repeatable, err
	})
	return result, err
}

// useLink calls ask with a connection. If the server died and repeating is harmless, it calls ask once
// more. An error of ask other than an *Error means that the server died. when is for the message.
func (s *server) useLink(ctx context.Context, warn func(string), when string, ask func(*link) (repeatable bool, err error)) error {
	for first := true; ; first = false {
		l, err := s.ensureLink(ctx, warn)
		if err != nil {
			return err
		}
		repeatable, err := ask(l)
		s.warnStrayOutput(warn)
		_, isFailed := errors.AsType[*Error](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case isFailed:
			return err
		}
		died := s.dropLink(ctx, warn, l, err)
		if !first || !repeatable {
			return &Error{Message: fmt.Sprintf("server %q went away %s: %s", s.name, when, died)}
		}
	}
}

func (s *server) acquireLock(ctx context.Context) error {
	select {
	case s.locked <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *server) releaseLock() { <-s.locked }

// ensureLink returns the connection, and opens one if there is none.
func (s *server) ensureLink(ctx context.Context, warn func(string)) (*link, error) {
	if err := s.acquireLock(ctx); err != nil {
		return nil, err
	}
	defer s.releaseLock()
	if s.link != nil {
		select {
		case <-s.link.gone:
			s.discardLink(warn, s.link, mcp.ErrConnectionClosed)
		default:
			return s.link, s.link.refreshTools(ctx)
		}
	}
	if s.starts >= maxStarts {
		return nil, &Error{Message: fmt.Sprintf("server %q went away %d times and is not started again: %s", s.name, s.starts, s.died)}
	}
	s.starts++
	l, err := s.connectInTime(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.died = err.Error()
		return nil, &Error{Message: fmt.Sprintf("can't start server %q: %v", s.name, err)}
	}
	s.link = l
	s.warnStrayOutput(warn)
	return l, nil
}

// listTools connects to the server and returns its tools.
func (s *server) listTools(ctx context.Context, warn func(string)) ([]member, error) {
	l, err := s.ensureLink(ctx, warn)
	if err != nil {
		return nil, err
	}
	return *l.members.Load(), nil
}

// warnStrayOutput warns about output of the server that is not a message.
func (s *server) warnStrayOutput(warn func(string)) {
	for {
		select {
		case line := <-s.stray:
			warn(fmt.Sprintf("server %q printed a line on stdout that is not a message of the protocol; it is skipped: %s", s.name, line))
		default:
			return
		}
	}
}

// refreshTools lists the tools again if the server said that they have changed.
func (l *link) refreshTools(ctx context.Context) error {
	if !l.stale.Swap(false) {
		return nil
	}
	list, err := listMembers(ctx, l.session)
	if err != nil {
		l.stale.Store(true)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &Error{Message: "the server's tools can't be listed: " + err.Error()}
	}
	l.members.Store(&list)
	return nil
}

// dropLink discards a lost connection, unless another call did. It returns why the connection ended.
func (s *server) dropLink(ctx context.Context, warn func(string), l *link, cause error) string {
	if s.acquireLock(ctx) != nil {
		return "the call was given up"
	}
	defer s.releaseLock()
	if s.link == l {
		s.discardLink(warn, l, cause)
	}
	return s.died
}

func (s *server) discardLink(warn func(string), l *link, cause error) {
	s.link = nil
	_ = l.stop()
	s.died = cause.Error()
	if words := l.stderr(); words != "" {
		s.died = words
	}
	warn(fmt.Sprintf("server %q went away: %s", s.name, s.died))
}

func (s *server) closeServer() error {
	_ = s.acquireLock(context.Background())
	defer s.releaseLock()
	s.starts = maxStarts
	if s.link == nil {
		return nil
	}
	l := s.link
	s.link, s.died = nil, "the run is over"
	return l.stop()
}

// lateCalls is how many calls later a progress notification may still arrive.
const lateCalls = 100

// newProgressToken returns a token for a call. receive gets the progress notifications of the call.
func (l *link) newProgressToken(receive func(*mcp.ProgressNotificationParams)) string {
	n := l.calls.Add(1)
	l.progress.Store(progressToken(n), receive)
	l.progress.Delete(progressToken(n - lateCalls))
	return progressToken(n)
}

func progressToken(call int64) string { return "call-" + strconv.FormatInt(call, 10) }

func (l *link) deliverProgress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	if receive, ok := l.progress.Load(fmt.Sprint(req.Params.ProgressToken)); ok {
		receive.(func(*mcp.ProgressNotificationParams))(req.Params)
	}
}

// connectInTime connects to the server. ctx bounds the start, but not the connection.
func (s *server) connectInTime(ctx context.Context) (*link, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	starting, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it was not ready after %s", startTime))
	defer cancel()
	abandon := context.AfterFunc(starting, end)
	l, err := s.openLink(life)
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

// openLink starts the server, if it is a program, and opens a session.
func (s *server) openLink(ctx context.Context) (*link, error) {
	l := &link{questions: newQuestionQueue(), gone: make(chan struct{}), stderr: func() string { return "" }}
	var transport mcp.Transport
	kill := func() error { return nil }
	if s.URL != "" {
		transport = &mcp.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: &http.Client{Transport: optionalStream{headerTransport{http.DefaultTransport, s.Headers}}},
		}
	} else {
		p, err := s.startProgram()
		if err != nil {
			return nil, err
		}
		transport, kill, l.stderr = &mcp.IOTransport{Reader: filterMessages(p.stdout, s.stray), Writer: p.stdin}, p.stopProgram, p.lastLine
	}
	client := mcp.NewClient(
		&mcp.Implementation{Name: "graphrun", Version: "dev"},
		&mcp.ClientOptions{
			Capabilities:                &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
			ElicitationHandler:          l.questions.answerQuestion,
			ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { l.stale.Store(true) },
			ProgressNotificationHandler: l.deliverProgress,
		},
	)
	client.AddSendingMiddleware(limitDiscovery(s.opts.DiscoverTime))
	session, err := client.Connect(ctx, transport, nil)
	if err == nil {
		l.session = session
		l.stale.Store(true)
		err = l.refreshTools(ctx)
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

// limitDiscovery limits the time of the first request, because older servers may not answer it.
func limitDiscovery(limit time.Duration) mcp.Middleware {
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

func listMembers(ctx context.Context, session *mcp.ClientSession) ([]member, error) {
	var out []member
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		m := member{Tool: Tool{Name: t.Name, Description: t.Description, Parameters: map[string]any{"type": "object"}}}
		if a := t.Annotations; a != nil {
			m.repeatable = a.ReadOnlyHint || a.IdempotentHint
		}
		plain, _ := eval.Canonical(t.InputSchema)
		if doc, ok := plain.(map[string]any); ok {
			m.Parameters = doc
			m.schema, _ = schema.Compile(doc)
		}
		out = append(out, m)
	}
	return out, nil
}

// isConnectionLost reports whether an error means a broken connection, not an answer of the server.
func isConnectionLost(err error) bool {
	var answer *jsonrpc.Error
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) || !errors.As(err, &answer)
}

type headerTransport struct {
	next    http.RoundTripper
	headers map[string]any
}

// RoundTrip sends a copy of the request with the headers.
func (t headerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(t.headers) == 0 {
		return t.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for name, value := range t.headers {
		req.Header.Set(name, eval.Text(value))
	}
	return t.next.RoundTrip(req)
}

// listenTime bounds the wait for the server's stream: many servers answer only with an event.
const listenTime = 100 * time.Millisecond

// optionalStream hides failures of the optional event stream of a server, which would end the session.
type optionalStream struct{ next http.RoundTripper }

// RoundTrip opens the stream for a GET request, and passes other requests on.
func (l optionalStream) RoundTrip(req *http.Request) (*http.Response, error) {
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

// copyStream copies the stream until the session ends. It closes answered once the server answers.
func (l optionalStream) copyStream(req *http.Request, in *io.PipeWriter, answered chan struct{}) {
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
