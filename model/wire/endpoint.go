// Package wire is what the adapters for servers have in common: requests over
// HTTP, streams of events, what an error answer means, names of tools.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/model"
)

// MaxAnswer is how many bytes of one answer are read, streamed or not.
const MaxAnswer = 32 << 20

// maxErrorBody is how much of an error answer is read.
const maxErrorBody = 64 << 10

// Endpoint is one address of a server. It is safe for concurrent use.
type Endpoint struct {
	// Name is what messages call the server.
	Name string
	// URL is where requests go.
	URL string
	// Header is sent with each request.
	Header http.Header
	// Secrets are texts that no message may hold, such as the key.
	Secrets []string
	// Timeout bounds one call, its whole answer included; 0: no bound but the
	// caller's context.
	Timeout time.Duration
	// HTTP makes the requests; nil: a client with the default transport.
	HTTP *http.Client
}

// Join checks a base URL and puts a path behind it.
func Join(base, path string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("the base URL %q is none; it looks like https://host/path", base)
	}
	u.Path = strings.TrimRight(u.Path, "/") + path
	return u.String(), nil
}

// Tell passes a piece of text on, if there is one and somebody wants it.
func Tell(on func(chunk string), text string) {
	if on != nil && text != "" {
		on(text)
	}
}

// Answer is a response with status 2xx. Close it.
type Answer struct {
	// Streams reports whether the body is a stream of events.
	Streams bool

	endpoint *Endpoint
	ctx      context.Context // the caller's
	cancel   context.CancelFunc
	body     io.ReadCloser
	left     int64
	header   http.Header
}

// Post sends an object as JSON. Whatever is not an answer with status 2xx is an
// *model.Error, or the context's error. Nothing is tried twice and no redirect
// is followed: it could carry the key elsewhere.
func (e *Endpoint) Post(ctx context.Context, fields map[string]any) (*Answer, error) {
	var sent bytes.Buffer
	encoder := json.NewEncoder(&sent)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fields); err != nil {
		return nil, &model.Error{Kind: "invalid_input", Class: "invalid_request", Unsent: true, Message: fmt.Sprintf("%s: the request can't be written as JSON: %v", e.Name, err)}
	}
	inner, cancel := ctx, context.CancelFunc(func() {})
	if e.Timeout > 0 {
		inner, cancel = context.WithTimeout(ctx, e.Timeout)
	}
	req, err := http.NewRequestWithContext(inner, http.MethodPost, e.URL, &sent)
	if err != nil {
		cancel()
		return nil, &model.Error{Kind: "invalid_input", Unsent: true, Message: e.clean(fmt.Sprintf("%s: %v", e.Name, err))}
	}
	for name, values := range e.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "graphrun")
	}
	resp, err := e.client().Do(req)
	if err != nil {
		cancel()
		return nil, e.broken(ctx, err)
	}
	a := &Answer{endpoint: e, ctx: ctx, cancel: cancel, body: resp.Body, left: MaxAnswer, header: resp.Header}
	if resp.StatusCode/100 != 2 {
		defer a.Close()
		return nil, e.refused(resp)
	}
	a.sniff()
	return a, nil
}

// Unsent is the error of a request that could not be made, of which nothing was sent.
func Unsent(err error) error {
	var failed *model.Error
	if errors.As(err, &failed) {
		own := *failed
		own.Unsent = true
		return &own
	}
	return err
}

// sniff sees whether the body is a stream of events: several servers send one
// as text/plain. JSON never begins as a line of a stream does.
func (a *Answer) sniff() {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if a.Streams = kind == "text/event-stream"; a.Streams || kind == "application/json" {
		return
	}
	in := bufio.NewReader(a.body)
	begin, _ := in.Peek(len("event:")) // a failure comes again when the body is read
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		a.Streams = a.Streams || bytes.HasPrefix(begin, []byte(field))
	}
	a.body = struct {
		io.Reader
		io.Closer
	}{in, a.body}
}

func (e *Endpoint) client() *http.Client {
	c := http.Client{}
	if e.HTTP != nil {
		c = *e.HTTP
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// broken is the error of a request that got no whole answer.
func (e *Endpoint) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var located *url.Error
	if errors.As(err, &located) {
		err = located.Err // the address may hold a key
	}
	var slow interface{ Timeout() bool }
	if errors.As(err, &slow) && slow.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return &model.Error{Kind: "timeout", Message: e.clean(fmt.Sprintf("%s gave no whole answer in time: %v", e.Name, err))}
	}
	return &model.Error{Kind: "network", Message: e.clean(fmt.Sprintf("%s: the connection failed: %v", e.Name, err))}
}

// clean takes secrets out of a message; very short ones would take out too much.
func (e *Endpoint) clean(message string) string {
	for _, secret := range e.Secrets {
		if len(secret) >= 4 {
			message = strings.ReplaceAll(message, secret, "***")
		}
	}
	return message
}

// Close ends the answer, whether it was read to its end or not.
func (a *Answer) Close() {
	a.cancel()
	_ = a.body.Close()
}

// Read reads the body; more than MaxAnswer bytes are an error.
func (a *Answer) Read(p []byte) (int, error) {
	if a.left <= 0 {
		var one [1]byte
		if n, _ := a.body.Read(one[:]); n == 0 {
			return 0, io.EOF
		}
		return 0, a.Bad(fmt.Sprintf("is longer than %d bytes", MaxAnswer))
	}
	n, err := a.body.Read(p[:min(int64(len(p)), a.left)])
	a.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.endpoint.broken(a.ctx, err)
	}
	return n, err
}

// Decode reads a body that is one JSON value.
func (a *Answer) Decode(into any) error {
	text, err := io.ReadAll(a)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return a.Bad(fmt.Sprintf("is not the JSON that it should be: %v; it begins with %q", err, head(text, 80)))
	}
	return nil
}

// Bad is the error of an answer that can't be used; what continues "the answer".
func (a *Answer) Bad(what string) error {
	return &model.Error{Kind: "llm", Class: "bad_answer", Message: a.endpoint.clean(fmt.Sprintf("%s: the answer %s", a.endpoint.Name, what))}
}

// Cut is the error of a stream that ended before its answer did.
func (a *Answer) Cut() error {
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	return &model.Error{Kind: "network", Message: a.endpoint.Name + ": the connection was closed in the middle of the answer"}
}

// Failed is the error that a server reports inside a stream; status is 0 when
// the report holds none.
func (a *Answer) Failed(status int, report []byte) error {
	code, text := explain(report)
	return a.endpoint.failure(status, code, text, a.header)
}

func head(text []byte, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}

// Filtered is the error of an answer that the provider withheld.
func (a *Answer) Filtered() error {
	return &model.Error{Kind: "llm", Class: "content_filter", Message: a.endpoint.Name + ": the provider withheld the answer by its content filter"}
}

// Secrets are what messages must not hold: a key, and what headers carry that
// tell who we are, with and without the word before it as in "Bearer abc".
func Secrets(key string, headers map[string]string) []string {
	out := []string{key}
	for name, value := range headers {
		name = strings.ToLower(name)
		for _, telling := range []string{"auth", "cookie", "key", "secret", "token"} {
			if strings.Contains(name, telling) && value != "" {
				out = append(out, value)
				if _, rest, ok := strings.Cut(value, " "); ok {
					out = append(out, rest)
				}
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	return out
}
