package node

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
)

// serve starts a server and returns its URL and a client that leaves no
// connection open after the test.
func serve(t *testing.T, handler http.HandlerFunc) (string, *http.Client) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL, newTestClient(t)
}

func newTestClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func runHTTP(t *testing.T, client *http.Client, config map[string]any) (any, error) {
	t.Helper()
	return runKind(t.Context(), "http", Options{Client: client}, &runner.Task{Config: config})
}

// echo answers with a description of the request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s %s host=%s type=%s x=%q agent=%s body=%s",
		r.Method, r.RequestURI, strings.Split(r.Host, ":")[0], r.Header.Get("Content-Type"), r.Header["X-Test"], r.UserAgent(), body)
}

func TestHTTPRequest(t *testing.T) {
	url, client := serve(t, echo)
	for _, test := range []struct {
		name   string
		config map[string]any
		want   string
	}{
		{
			"plain",
			map[string]any{"url": url + "/a%2Fb#part"},
			`GET /a%2Fb host=127.0.0.1 type= x=[] agent=graphrun body=`,
		},
		{
			"text body",
			map[string]any{"url": url, "body": "hi"},
			`POST / host=127.0.0.1 type=text/plain; charset=utf-8 x=[] agent=graphrun body=hi`,
		},
		{
			"data body",
			map[string]any{"url": url, "method": "put", "body": map[string]any{"b": []any{1, "<"}, "a": nil}},
			`PUT / host=127.0.0.1 type=application/json x=[] agent=graphrun body={"a":null,"b":[1,"<"]}`,
		},
		{
			"headers",
			map[string]any{"url": url, "body": "a=1", "headers": map[string]any{
				"content-type": "application/x-www-form-urlencoded", "x-test": []any{"1", 2}, "user-agent": "me", "host": "example.org", "x-none": nil,
			}},
			`POST / host=example.org type=application/x-www-form-urlencoded x=["1" "2"] agent=me body=a=1`,
		},
		{
			"query",
			map[string]any{"url": url + "/?z=%20&sig=a+b", "query": map[string]any{"q": "a b&c", "n": []any{1, 2}, "none": nil, "a": true}},
			`GET /?z=%20&sig=a+b&a=true&n=1&n=2&q=a+b%26c host=127.0.0.1 type= x=[] agent=graphrun body=`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := runHTTP(t, client, test.config)
			if err != nil {
				t.Fatal(err)
			}
			if body := got.(map[string]any)["body"]; body != test.want {
				t.Errorf("the server saw\n%v, want\n%v", body, test.want)
			}
		})
	}
}

func TestHTTPBodies(t *testing.T) {
	for _, test := range []struct {
		kind, body string
		want       any
	}{
		{"application/json", `{"a": 1.0}`, map[string]any{"a": 1}},
		{"application/problem+json; charset=utf-8", `[1.5]`, []any{1.5}},
		{"application/json", ``, nil},
		{"text/html", "<p>\n", "<p>\n"},
		{"text/plain; charset=ISO-8859-1", "\xe9", "é"},
		{"text/plain", "a\xff", "a\uFFFD"},
		{"application/xml", "<a/>", "<a/>"},
		{"application/octet-stream", "ab", base64.StdEncoding.EncodeToString([]byte("ab"))},
		{"", "é", "é"},
		{"", "\xff", "/w=="},
		{"image/png", "", ""},
	} {
		got, err := parseBody(test.kind, []byte(test.body))
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", test.kind, err, diff)
		}
	}
}

func TestHTTPOutput(t *testing.T) {
	url, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		w.Header().Set("Content-Type", "application/json")
		w.Header().Add("X-Two", "1")
		w.Header().Add("X-Two", "2")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"ok": false}`)
	})
	got, err := runHTTP(t, client, map[string]any{"url": url, "expect": []any{200, 404.0}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"status":  404,
		"headers": map[string]any{"content-type": "application/json", "content-length": "13", "x-two": "1, 2"},
		"body":    map[string]any{"ok": false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHTTPUnexpectedStatus(t *testing.T) {
	url, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscan(strings.TrimPrefix(r.URL.Path, "/"), &status)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.Repeat("é", detailBytes))
	})
	for _, test := range []struct {
		status int
		kind   string
		text   string
	}{
		{429, "rate_limited", "429 Too Many Requests"},
		{503, "overloaded", "503 Service Unavailable"},
		{529, "overloaded", "529"},
		{500, "http_status", "500 Internal Server Error"},
		{404, "http_status", "404 Not Found"},
		{302, "http_status", "302 Found"},
	} {
		target := fmt.Sprintf("%s/%d", url, test.status)
		_, err := runHTTP(t, client, map[string]any{"url": target + "?token=secret"})
		failure := checkFailure(t, err, test.kind)
		if want := "GET " + target + " answered " + test.text; failure.Message != want {
			t.Errorf("message is %q, want %q", failure.Message, want)
		}
		if failure.RetryAfter != 2000 {
			t.Errorf("%d: retry after %d ms", test.status, failure.RetryAfter)
		}
		headers, _ := failure.Details["headers"].(map[string]any)
		if failure.Details["status"] != test.status || headers["retry-after"] != "2" {
			t.Errorf("details are %v", failure.Details)
		}
		if failure.Details["body"] != strings.Repeat("é", detailBytes/2) {
			t.Errorf("%d: body has %d bytes", test.status, len(failure.Details["body"].(string)))
		}
	}
	_, err := runHTTP(t, client, map[string]any{"url": url + "/200", "expect": 201})
	checkFailure(t, err, "http_status", "answered 200 OK")
}

func TestHTTPBadAnswers(t *testing.T) {
	url, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{\n\"a\" 1}")
		case "/long":
			_, _ = io.WriteString(w, "0123456789")
		case "/stream":
			_, _ = io.WriteString(w, "01234")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "56789")
		case "/short":
			w.Header().Set("Content-Length", "8")
			_, _ = io.WriteString(w, "abc")
		case "/gone":
			panic(http.ErrAbortHandler)
		case "/loop":
			http.Redirect(w, r, "/loop?token=secret", http.StatusFound)
		case "/ftp":
			http.Redirect(w, r, "ftp://user:secret@host/", http.StatusFound)
		}
	})
	for _, test := range []struct {
		path, kind, part string
	}{
		{"/json", "invalid_output", `answered 200 OK whose body is not JSON as its type says: line 2, column 5`},
		{"/long", "invalid_output", "more than 9 bytes (max_body)"},
		{"/stream", "invalid_output", "more than 9 bytes (max_body)"},
		{"/short", "network", "the answer broke off after 3 bytes"},
		{"/gone", "network", "the server closed the connection without an answer"},
		{"/loop", "http_status", "/loop was redirected more than 10 times"},
		{"/ftp", "http_status", `was redirected to a URL of scheme "ftp"; http and https are allowed`},
	} {
		t.Run(test.path, func(t *testing.T) {
			_, err := runHTTP(t, client, map[string]any{"url": url + test.path, "max_body": 9})
			failure := checkFailure(t, err, test.kind, test.part, "GET "+url+test.path)
			if strings.Contains(failure.Message, "secret") {
				t.Errorf("message %q tells a secret", failure.Message)
			}
		})
	}
	got, err := runHTTP(t, client, map[string]any{"url": url + "/long", "max_body": 10})
	if err != nil || got.(map[string]any)["body"] != "0123456789" {
		t.Errorf("exactly the cap: %v, %v", got, err)
	}
	got, err = runHTTP(t, client, map[string]any{"url": url + "/long", "max_body": 5, "method": "HEAD"})
	if err != nil || got.(map[string]any)["body"] != "" {
		t.Errorf("HEAD: %v, %v", got, err)
	}
}

func TestHTTPNetwork(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for _, url := range []string{closed.URL, secure.URL, "http://no-such-host.invalid"} {
		target := strings.Replace(url, "://", "://me:secret@", 1)
		_, err := runHTTP(t, newTestClient(t), map[string]any{"url": target + "/x?token=secret"})
		failure := checkFailure(t, err, "network", "GET "+url+"/x failed: ")
		if strings.Contains(failure.Message, "secret") {
			t.Errorf("message %q tells a secret", failure.Message)
		}
	}
}

func TestHTTPBadConfig(t *testing.T) {
	for _, test := range []struct {
		config map[string]any
		part   string
	}{
		{map[string]any{}, `"url" is ""`},
		{map[string]any{"url": "example.org"}, "http:// or https://"},
		{map[string]any{"url": "ftp://me:secret@example.org/x"}, `"ftp://example.org/x"`},
		{map[string]any{"url": "http://"}, "a host"},
		{map[string]any{"url": "http://a b/"}, `"url" is not valid: invalid character " " in host name`},
		{map[string]any{"url": "http://me:secret%@h:x/"}, "it may hold a password"},
		{map[string]any{"url": []any{}}, `"url" is a list`},
		{map[string]any{"url": "http://h", "method": "GE T"}, `"url" or "method" can't be requested`},
		{map[string]any{"url": "http://h", "headers": map[string]any{"a:b": 1}}, `"a:b"`},
		{map[string]any{"url": "http://h", "headers": map[string]any{"a": "secret\nx"}}, `the value of "a"`},
		{map[string]any{"url": "http://h", "headers": "x"}, `"headers" is a text`},
		{map[string]any{"url": "http://h", "query": []any{}}, `"query" is a list`},
		{map[string]any{"url": "http://h", "max_body": 1.5}, `"max_body" is 1.5`},
	} {
		_, err := runHTTP(t, nil, test.config)
		failure := checkFailure(t, err, "invalid_input", test.part)
		if strings.Contains(failure.Message, "secret") {
			t.Errorf("message %q tells a secret", failure.Message)
		}
	}
}

func TestHTTPRedirect(t *testing.T) {
	var other string
	landed := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "key=%s auth=%t agent=%s referer=%t", r.Header.Get("X-Key"), r.Header.Get("Authorization") != "", r.UserAgent(), r.Referer() != "")
	}
	url, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/landed", http.StatusFound)
		case "/other":
			http.Redirect(w, r, other, http.StatusTemporaryRedirect)
		case "/back":
			http.Redirect(w, r, other+"/return", http.StatusTemporaryRedirect)
		default:
			landed(w, r)
		}
	})
	other, _ = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/return" {
			http.Redirect(w, r, url+"/landed", http.StatusTemporaryRedirect)
			return
		}
		landed(w, r)
	})
	for _, test := range []struct{ path, follow, want, fails string }{
		{path: "/same", want: "key=k auth=true agent=graphrun referer=true"},
		{path: "/same", follow: "any", want: "key=k auth=true agent=graphrun referer=true"},
		{path: "/same", follow: "none", fails: "/same answered 302 Found"},
		{path: "/other", fails: "/other was redirected to " + other + `, another host than ` + url + `; "follow: any" allows it`},
		{path: "/other", follow: "same_host", fails: "another host"},
		{path: "/other", follow: "any", want: "key= auth=false agent=graphrun referer=false"},
		{path: "/back", fails: "another host"},
		{path: "/back", follow: "any", want: "key= auth=false agent=graphrun referer=false"},
	} {
		config := map[string]any{
			"url": url + test.path + "?token=secret", "body": "x",
			"headers": map[string]any{"X-Key": "k", "Authorization": "Bearer x"},
		}
		if test.follow != "" {
			config["follow"] = test.follow
		}
		got, err := runHTTP(t, client, config)
		if test.fails != "" {
			checkFailure(t, err, "http_status", test.fails)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if body := got.(map[string]any)["body"]; body != test.want {
			t.Errorf("%s, follow %q: %v, want %s", test.path, test.follow, body, test.want)
		}
	}
	config := map[string]any{"url": url + "/other", "follow": "none", "expect": []any{307}}
	got, err := runHTTP(t, client, config)
	if err != nil {
		t.Fatal(err)
	}
	if at := got.(map[string]any)["headers"].(map[string]any)["location"]; at != other {
		t.Errorf("a redirect that is the answer leads to %v, want %s", at, other)
	}
}

func TestHTTPSameHost(t *testing.T) {
	for _, test := range []struct {
		first, then string
		want        bool
	}{
		{"http://a.example/x", "http://A.example/y", true},
		{"http://a.example/x", "http://a.example:80/y", true},
		{"http://a.example/x", "https://a.example/y", true},
		{"https://a.example/x", "http://a.example/y", false},
		{"http://a.example/x", "http://a.example:8080/y", false},
		{"http://a.example:8080/x", "https://a.example/y", false},
		{"http://a.example/x", "http://b.a.example/y", false},
		{"http://a.example/x", "http://a.example.evil/y", false},
		{"http://a.example/x", "http://a.example@evil/y", false},
	} {
		first, err := url.Parse(test.first)
		if err != nil {
			t.Fatal(err)
		}
		then, err := url.Parse(test.then)
		if err != nil {
			t.Fatal(err)
		}
		if isSameHost(first, then) != test.want {
			t.Errorf("from %s to %s is the same host: %t", test.first, test.then, !test.want)
		}
	}
}

func TestHTTPContext(t *testing.T) {
	for _, path := range []string{"/silent", "/slow", "/slow-failure"} {
		for cause, kind := range map[error]string{context.DeadlineExceeded: "timeout", errors.New("a person said so"): "cancelled"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			url, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/slow":
					_, _ = io.WriteString(w, "some")
					w.(http.Flusher).Flush()
				case "/slow-failure":
					w.WriteHeader(http.StatusInternalServerError)
					w.(http.Flusher).Flush()
				}
				cancel(cause)
				<-r.Context().Done()
			})
			_, err := runKind(ctx, "http", Options{Client: client}, &runner.Task{Config: map[string]any{"url": url + path}})
			checkFailure(t, err, kind, "GET "+url+path)
		}
	}
}

func TestHTTPClientTimeout(t *testing.T) {
	release := make(chan struct{})
	url, client := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	client.Timeout = 20 * time.Millisecond
	_, err := runHTTP(t, client, map[string]any{"url": url})
	checkFailure(t, err, "timeout")
}

func TestHTTPDefaultClient(t *testing.T) {
	h := newHTTPHandler(nil)
	transport, ok := h.client.Transport.(*http.Transport)
	if !ok || transport.Proxy == nil || transport.TLSHandshakeTimeout == 0 {
		t.Fatalf("transport is %+v", h.client.Transport)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(echo), ReadHeaderTimeout: time.Minute}}
	server.Start()
	defer server.Close()
	defer transport.CloseIdleConnections()
	if _, err := h.Run(t.Context(), &runner.Task{Config: map[string]any{"url": server.URL}}); err != nil {
		t.Error(err)
	}
}
