// The kind http: building a request, following redirects, reading the answer.

package node

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/model/wire"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

const maxRedirects = 10

type httpHandler struct{ client *http.Client }

func newHTTPHandler(client *http.Client) *httpHandler {
	if client == nil {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
		if usual, ok := http.DefaultTransport.(*http.Transport); ok {
			transport = usual.Clone()
		}
		transport.MaxIdleConnsPerHost = 16 // a fan-out to one server keeps these busy
		client = &http.Client{Transport: transport}
	}
	return &httpHandler{client: client}
}

// call is a request and the limits for its answer.
type call struct {
	URL     string         `key:"url"`
	Query   map[string]any `key:"query"`
	Method  string         `key:"method"`
	Headers map[string]any `key:"headers"`
	Body    any            `key:"body"`
	Expect  []string       `key:"expect"` // statuses; empty means 200 to 299
	MaxBody int            `key:"max_body" default:"8388608" min:"1"`
	Follow  string         `key:"follow" default:"same_host"`

	request *http.Request
	shown   string // "GET https://host/path", safe for messages
}

// Run makes the request and returns {status, headers, body}.
func (h *httpHandler) Run(ctx context.Context, task *runner.Task) (any, error) {
	c, err := readCall(ctx, task.Config)
	if err != nil {
		return nil, err
	}
	client := *h.client
	client.CheckRedirect = c.checkRedirect
	resp, err := client.Do(c.request)
	if resp != nil {
		defer resp.Body.Close()
	}
	if err != nil {
		return nil, c.requestFailure(ctx, resp, err)
	}
	return c.readAnswer(ctx, resp)
}

func readCall(ctx context.Context, config map[string]any) (*call, error) {
	c := &call{}
	if err := decodeConfig(config, c); err != nil {
		return nil, err
	}
	target, err := c.targetURL()
	if err != nil {
		return nil, err
	}
	method, body, bodyType := http.MethodGet, io.Reader(nil), ""
	if c.Body != nil {
		method = http.MethodPost
		if body, bodyType, err = c.encodeBody(); err != nil {
			return nil, err
		}
	}
	method = strings.ToUpper(cmp.Or(c.Method, method))
	c.shown = method + " " + shownURL(target)
	if c.request, err = http.NewRequestWithContext(ctx, method, target.String(), body); err != nil {
		return nil, invalidInput("\"url\" or \"method\" can't be requested: %s", c.shown)
	}
	if parent := handler.TraceParent(ctx); parent != "" {
		c.request.Header.Set("Traceparent", parent)
	}
	return c, c.setHeaders(bodyType)
}

// targetURL returns the URL with query added. Its own query keeps its bytes, which may be signed.
func (c *call) targetURL() (*url.URL, error) {
	target, err := url.Parse(strings.TrimSpace(c.URL))
	if err != nil {
		var parse *url.Error
		if strings.Contains(c.URL, "@") || !errors.As(err, &parse) {
			return nil, invalidInput("\"url\" is not valid (it is not shown: it may hold a password)")
		}
		return nil, invalidInput("\"url\" is not valid: %v", parse.Err)
	}
	if target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return nil, invalidInput("\"url\" is %q; one that begins with http:// or https:// and a host is wanted", eval.Shorten(shownURL(target), 100))
	}
	added := url.Values{}
	for name, value := range c.Query {
		if values := keys.Texts(value); len(values) > 0 {
			added[name] = values
		}
	}
	if len(added) > 0 {
		target.RawQuery = strings.TrimPrefix(strings.TrimSuffix(target.RawQuery, "&")+"&"+added.Encode(), "&")
	}
	return target, nil
}

// shownURL returns a URL without user, query and fragment, for messages.
func shownURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

func (c *call) encodeBody() (body io.Reader, contentType string, err error) {
	if text, isText := c.Body.(string); isText {
		return strings.NewReader(text), "text/plain; charset=utf-8", nil
	}
	text, err := eval.AppendJSON(nil, c.Body)
	if err != nil {
		return nil, "", invalidInput("\"body\" can't be written as JSON: %v", err)
	}
	return bytes.NewReader(text), "application/json", nil
}

func (c *call) setHeaders(bodyType string) error {
	header := c.request.Header
	header.Set("User-Agent", "graphrun")
	if bodyType != "" {
		header.Set("Content-Type", bodyType)
	}
	for _, name := range keys.Sorted(c.Headers) {
		if !token.Get().MatchString(name) {
			return invalidInput("%q in \"headers\" can't be the name of a header", eval.Shorten(name, 60))
		}
		header.Del(name)
		for _, value := range keys.Texts(c.Headers[name]) {
			if strings.ContainsAny(value, "\r\n\x00") {
				return invalidInput("the value of %q in \"headers\" holds a line break or NUL byte", name)
			}
			header.Add(name, value)
		}
	}
	if host := header.Get("Host"); host != "" {
		c.request.Host = host
	}
	return nil
}

// token matches the name of a header (RFC 9110, 5.6.2).
var token = lazyregexp.New("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$")

// checkRedirect follows redirects as far as the call allows. It drops the graph's headers
// for other hosts, because the standard client drops only known credentials.
func (c *call) checkRedirect(req *http.Request, via []*http.Request) error {
	if c.Follow == "none" {
		return http.ErrUseLastResponse
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("was redirected more than %d times", maxRedirects)
	}
	if scheme := req.URL.Scheme; scheme != "http" && scheme != "https" {
		return fmt.Errorf("was redirected to a URL of scheme %q; http and https are allowed", scheme)
	}
	// After a redirect to another host, that host may have chosen even an address of the first one.
	isAway := func(at *http.Request) bool { return !isSameHost(via[0].URL, at.URL) }
	if !isAway(req) && !slices.ContainsFunc(via, isAway) {
		return nil
	}
	if c.Follow == "same_host" {
		return fmt.Errorf("was redirected to %s://%s, another host than %s://%s; \"follow: any\" allows it", req.URL.Scheme, req.URL.Host, via[0].URL.Scheme, via[0].URL.Host)
	}
	harmless := []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "User-Agent"}
	maps.DeleteFunc(req.Header, func(name string, _ []string) bool { return !slices.Contains(harmless, name) })
	return nil
}

// isSameHost reports whether a URL has the first one's host and port, or moves from 80 to 443.
func isSameHost(first, then *url.URL) bool {
	from, to := effectivePort(first), effectivePort(then)
	return strings.EqualFold(first.Hostname(), then.Hostname()) &&
		(first.Scheme == then.Scheme && from == to || then.Scheme == "https" && from == "80" && to == "443")
}

func effectivePort(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

func (c *call) requestFailure(ctx context.Context, resp *http.Response, err error) *runner.Failure {
	if ctx.Err() != nil {
		return stoppedFailure(ctx, c.shown+" got no answer")
	}
	// Use only the innermost error: the outer ones repeat the URL with its query.
	var outer *url.Error
	inner := err
	for errors.As(inner, &outer) {
		inner = outer.Err
	}
	if resp != nil { // a redirect was not followed
		return c.statusFailure(resp, inner.Error(), nil)
	}
	switch {
	case errors.Is(inner, io.EOF), errors.Is(inner, io.ErrUnexpectedEOF):
		return newFailure("network", "%s failed: the server closed the connection without an answer", c.shown)
	case errors.Is(inner, context.DeadlineExceeded):
		return newFailure("timeout", "%s failed: %v", c.shown, inner)
	}
	return newFailure("network", "%s failed: %v", c.shown, inner)
}

// readAnswer returns the node's output, or a failure for an unexpected status.
func (c *call) readAnswer(ctx context.Context, resp *http.Response) (any, error) {
	expected := resp.StatusCode/100 == 2
	if len(c.Expect) > 0 {
		expected = slices.Contains(c.Expect, strconv.Itoa(resp.StatusCode))
	}
	if !expected {
		// An error while reading is ignored: the failure reports the status anyway.
		begin, _ := io.ReadAll(io.LimitReader(resp.Body, detailBytes+utf8.UTFMax))
		if ctx.Err() != nil {
			return nil, stoppedFailure(ctx, c.shown+" was broken off")
		}
		return nil, c.statusFailure(resp, "answered "+statusText(resp.StatusCode), begin)
	}
	tooLarge := resp.ContentLength > int64(c.MaxBody) && resp.Request.Method != http.MethodHead
	var body []byte
	var err error
	if !tooLarge {
		body, err = io.ReadAll(io.LimitReader(resp.Body, int64(c.MaxBody)+1))
	}
	switch {
	case tooLarge, len(body) > c.MaxBody:
		return nil, newFailure("invalid_output", "%s answered with more than %d bytes (max_body)", c.shown, c.MaxBody)
	case err != nil && ctx.Err() != nil:
		return nil, stoppedFailure(ctx, c.shown+" was broken off")
	case err != nil:
		return nil, newFailure("network", "%s: the answer broke off after %d bytes: %v", c.shown, len(body), err)
	}
	data, err := parseBody(resp.Header.Get("Content-Type"), body)
	if err != nil {
		failure := newFailure("invalid_output", "%s answered %s whose body is not JSON as its type says: %v%s", c.shown, statusText(resp.StatusCode), err, quotedHead(body))
		failure.Details = answerData(resp, headText(body, detailBytes))
		return nil, failure
	}
	return answerData(resp, data), nil
}

// answerData returns an answer as data, for outputs and the details of failures.
func answerData(resp *http.Response, body any) map[string]any {
	headers := make(map[string]any, len(resp.Header))
	for name, values := range resp.Header {
		headers[strings.ToLower(name)] = validText([]byte(strings.Join(values, ", ")))
	}
	return map[string]any{"status": resp.StatusCode, "headers": headers, "body": body}
}

func (c *call) statusFailure(resp *http.Response, what string, body []byte) *runner.Failure {
	kinds := map[int]string{http.StatusTooManyRequests: "rate_limited", http.StatusServiceUnavailable: "overloaded", 529: "overloaded"}
	return &runner.Failure{
		Kind: cmp.Or(kinds[resp.StatusCode], "http_status"), Message: c.shown + " " + what, Details: answerData(resp, headText(body, detailBytes)),
		RetryAfter: wire.RetryAfter(resp.Header, time.Now()).Milliseconds(),
	}
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// parseBody decodes a body by its content type. It fails for invalid JSON.
func parseBody(contentType string, body []byte) (any, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		kind = "" // absent or unreadable
	}
	switch {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		if len(body) == 0 {
			return nil, nil // an answer to HEAD
		}
		return decodeJSON(body)
	case kind == "" && utf8.Valid(body), wire.IsTextType(kind):
		return decodeText(params["charset"], body), nil
	}
	return base64.StdEncoding.EncodeToString(body), nil
}

// decodeText decodes UTF-8 and Latin-1. In other encodings it replaces bytes that are not valid UTF-8.
func decodeText(charset string, body []byte) string {
	if c := strings.ToLower(charset); c != "iso-8859-1" && c != "latin1" {
		return validText(body)
	}
	runes := make([]rune, len(body))
	for i, b := range body {
		runes[i] = rune(b)
	}
	return string(runes)
}
