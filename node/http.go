// The kind http: building a request, following redirects, sending it.

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

const (
	maxRedirects = 10
	sameHost     = "same_host" // of follow
)

var errTooManyRedirects = fmt.Errorf("was redirected more than %d times", maxRedirects)

type httpHandler struct{ client *http.Client }

func newHTTPHandler(client *http.Client) *httpHandler {
	if client == nil {
		client = &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          64,
			MaxIdleConnsPerHost:   16, // what a fan-out to one server keeps busy
			IdleConnTimeout:       30 * time.Second,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
		}}
	}
	return &httpHandler{client: client}
}

// call is a request to make and what its answer may be.
type call struct {
	request *http.Request
	shown   string // "GET https://host/path", fit for messages
	expect  []int  // empty: 200 to 299
	maxBody int
	follow  string // none, same_host, any
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
		return nil, c.failure(ctx, resp, err)
	}
	return c.answer(ctx, resp)
}

func readCall(ctx context.Context, config map[string]any) (*call, error) {
	c := &call{}
	var err error
	if c.maxBody, err = intKey(config, "max_body", defaultMaxBytes, 1); err != nil {
		return nil, err
	}
	if c.expect, err = readExpect(config); err != nil {
		return nil, err
	}
	if c.follow, err = textKey(config, "follow", sameHost); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"none", sameHost, "any"}, c.follow) {
		return nil, invalidInput("\"follow\" is %q; none, same_host or any is wanted", head(c.follow, 40))
	}
	target, err := readURL(config)
	if err != nil {
		return nil, err
	}
	body, bodyType, err := readBody(config)
	if err != nil {
		return nil, err
	}
	fallback := http.MethodGet
	if body != nil {
		fallback = http.MethodPost
	}
	method, err := textKey(config, "method", fallback)
	if err != nil {
		return nil, err
	}
	if method = strings.ToUpper(method); !isToken(method) {
		return nil, invalidInput("\"method\" is %q; a method such as GET or POST is wanted", head(method, 40))
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	if c.request, err = http.NewRequestWithContext(ctx, method, target.String(), reader); err != nil {
		return nil, invalidInput("\"url\" or \"method\" can't be requested: %s", method+" "+shownURL(target))
	}
	c.shown = method + " " + shownURL(target)
	if parent := handler.TraceParent(ctx); parent != "" {
		c.request.Header.Set("Traceparent", parent)
	}
	return c, setHeaders(c.request, config, bodyType)
}

func readExpect(config map[string]any) ([]int, error) {
	var list []any
	switch v := config["expect"].(type) {
	case nil:
	case []any:
		list = v
	default:
		list = []any{v}
	}
	expect := make([]int, len(list))
	for i, v := range list {
		n, ok := wholeNumber(v)
		if !ok || n < 100 || n > 599 {
			return nil, invalidInput("\"expect\" holds %s; statuses from 100 to 599 are wanted", preview(v))
		}
		expect[i] = n
	}
	return expect, nil
}

// readURL reads url and query. The url's own query stays byte for byte as it
// is, since signatures may depend on it.
func readURL(config map[string]any) (*url.URL, error) {
	text, err := textKey(config, "url", "")
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		var parse *url.Error
		if strings.Contains(text, "@") || !errors.As(err, &parse) {
			return nil, invalidInput("\"url\" is not valid (it is not shown: it may hold a password)")
		}
		return nil, invalidInput("\"url\" is not valid: %v", parse.Err)
	}
	if target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return nil, invalidInput("\"url\" is %q; one that begins with http:// or https:// and a host is wanted", head(shownURL(target), 100))
	}
	query, err := mapKey(config, "query")
	if err != nil {
		return nil, err
	}
	added := url.Values{}
	for _, name := range sortedNames(query) {
		if values := texts(query[name]); len(values) > 0 {
			added[name] = values
		}
	}
	if len(added) > 0 {
		target.RawQuery = strings.TrimPrefix(strings.TrimSuffix(target.RawQuery, "&")+"&"+added.Encode(), "&")
	}
	return target, nil
}

// shownURL is a URL as messages show it: neither user nor query nor fragment.
func shownURL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return shown.String()
}

// readBody returns nil for no body, and the content type for a body whose
// headers name none.
func readBody(config map[string]any) ([]byte, string, error) {
	switch v := config["body"].(type) {
	case nil:
		return nil, "", nil
	case string:
		return []byte(v), "text/plain; charset=utf-8", nil
	default:
		text, err := encodeJSON(v)
		if err != nil {
			return nil, "", invalidInput("\"body\" can't be written as JSON: %v", err)
		}
		return bytes.TrimSuffix(text, []byte("\n")), "application/json", nil
	}
}

func setHeaders(req *http.Request, config map[string]any, bodyType string) error {
	headers, err := mapKey(config, "headers")
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "graphrun")
	if bodyType != "" {
		req.Header.Set("Content-Type", bodyType)
	}
	for _, name := range sortedNames(headers) {
		if !isToken(name) {
			return invalidInput("%q in \"headers\" can't be the name of a header", head(name, 60))
		}
		req.Header.Del(name)
		for _, value := range texts(headers[name]) {
			if strings.ContainsAny(value, "\r\n\x00") {
				return invalidInput("the value of %q in \"headers\" holds a line break or NUL byte", name)
			}
			req.Header.Add(name, value)
		}
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	return nil
}

// isToken reports whether s may be a method or the name of a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// checkRedirect follows redirects as far as the call says. From another host it
// keeps what the graph's headers hold, and the query of a Referer: the standard
// client drops only the headers that are known to be credentials.
func (c *call) checkRedirect(req *http.Request, via []*http.Request) error {
	if c.follow == "none" {
		return http.ErrUseLastResponse
	}
	if len(via) > maxRedirects {
		return errTooManyRedirects
	}
	if scheme := req.URL.Scheme; scheme != "http" && scheme != "https" {
		return fmt.Errorf("was redirected to a URL of scheme %q; http and https are allowed", scheme)
	}
	// Who was sent away and comes back has been given the address by another host.
	if stays := func(at *http.Request) bool { return atHost(via[0].URL, at.URL) }; stays(req) && !slices.ContainsFunc(via, func(at *http.Request) bool { return !stays(at) }) {
		return nil
	}
	if c.follow == sameHost {
		return fmt.Errorf("was redirected to %s, another host than %s; \"follow: any\" allows it",
			hostOf(req.URL), hostOf(via[0].URL))
	}
	for name := range req.Header {
		if !slices.Contains([]string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "User-Agent"}, name) {
			req.Header.Del(name)
		}
	}
	return nil
}

// atHost reports whether a URL is at the host of the first: under the same name
// and port, or the same name once it is encrypted, never less safe than before.
func atHost(first, then *url.URL) bool {
	switch {
	case !strings.EqualFold(first.Hostname(), then.Hostname()):
		return false
	case first.Scheme == then.Scheme:
		return portOf(first) == portOf(then)
	}
	return then.Scheme == "https" && portOf(first) == "80" && portOf(then) == "443"
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// hostOf is where a URL leads, as messages show it.
func hostOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// failure says what became of a request that got no usable answer.
func (c *call) failure(ctx context.Context, resp *http.Response, err error) *runner.Failure {
	if ctx.Err() != nil {
		return stopped(ctx, c.shown+" got no answer")
	}
	// Only the innermost error: the outer ones repeat the URL, with its query.
	var outer *url.Error
	inner := err
	for errors.As(inner, &outer) {
		inner = outer.Err
	}
	if resp != nil { // a redirect that was not followed
		return c.unexpected(resp, inner.Error(), nil)
	}
	message := inner.Error()
	if errors.Is(inner, io.EOF) || errors.Is(inner, io.ErrUnexpectedEOF) {
		message = "the server closed the connection without an answer"
	}
	kind := "network"
	if errors.Is(inner, context.DeadlineExceeded) {
		kind = "timeout"
	}
	return &runner.Failure{Kind: kind, Message: c.shown + " failed: " + message}
}
