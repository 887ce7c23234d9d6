package serve

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestToken checks that only health checks work without the token.
func TestToken(t *testing.T) {
	s := newTested(t, nil)
	for _, c := range []struct {
		path, header, cookie string
		want                 int
	}{
		{"/api/v1/health", "", "", 200},
		{"/api/v1/ready", "", "", 200},
		{"/api/v1/runs", "", "", 401},
		{"/api/v1/runs", "Bearer wrong", "", 401},
		{"/api/v1/runs", "Bearer " + testToken + "x", "", 401},
		{"/api/v1/runs", "Bearer ", "", 401},
		{"/api/v1/runs", "Basic " + testToken, "", 401},
		{"/api/v1/runs", "bearer " + testToken, "", 200},
		{"/api/v1/runs", "", testToken, 200},
		{"/api/v1/runs", "", "wrong", 401},
		{"/api/v1/runs", "Bearer wrong", testToken, 401},
		{"/api/v1/runs?token=" + testToken, "", "", 401}, // logs contain the URL
		{"/", "", "", 401},
		{"/metrics", "", "", 401},
		{"/assets/page.js", "", "", 401},
		{"/nowhere", "", "", 401},
		{"/?token=wrong", "", "", 401},
		{"/?token=" + testToken, "", "", 303},
	} {
		r := s.request("GET", c.path, "")
		r.Header.Del("Authorization")
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		if c.cookie != "" {
			r.AddCookie(&http.Cookie{Name: s.server.guard.cookie, Value: c.cookie})
		}
		if answer, body := s.do(r); answer.StatusCode != c.want {
			t.Errorf("%s, %q, cookie %q: %s, want %d\n%s", c.path, c.header, c.cookie, answer.Status, c.want, body)
		}
	}
}

// TestLink checks that the link sets a cookie which scripts can't read and other sites can't use,
// and that it redirects to the address without the token, never to another host.
func TestLink(t *testing.T) {
	s := newTested(t, nil)
	for path, want := range map[string]string{"/?token=" + testToken: "/", "/run/x?a=1&token=" + testToken: "/run/x?a=1"} {
		r := s.request("GET", path, "")
		r.Header.Del("Authorization")
		answer, _ := s.do(r)
		cookies := answer.Cookies()
		if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/" {
			t.Fatalf("%s sets %v", path, cookies)
		}
		if to := answer.Header.Get("Location"); to != want {
			t.Errorf("%s leads to %q, want %q", path, to, want)
		}
	}
	r := s.request("GET", "/", "")
	r.Header.Del("Authorization")
	r.URL.Path, r.URL.RawQuery = "//elsewhere.example/x", "token="+testToken
	if answer, _ := s.do(r); strings.HasPrefix(answer.Header.Get("Location"), "//") {
		t.Errorf("the link leads to %q", answer.Header.Get("Location"))
	}
}

// TestHost checks that the server refuses foreign host names, which DNS may resolve to it.
func TestHost(t *testing.T) {
	for _, c := range []struct {
		host     string
		loopback bool
		want     int
	}{
		{"127.0.0.1:7300", true, 200},
		{"localhost:7300", true, 200},
		{"LOCALHOST", true, 200},
		{"[::1]:7300", true, 200},
		{"evil.example:7300", true, 403},
		{"localhost.evil.example", true, 403},
		{"127.0.0.1.evil.example", true, 403},
		{"10.0.0.1:7300", true, 403},
		{"10.0.0.1:7300", false, 200},
		{"runs.example.org", true, 200},
		{"RUNS.example.org:443", false, 200},
		{"evil.example", false, 403},
		{"xn--evil", false, 403},
	} {
		s := newTested(t, func(cfg *Config) { cfg.Hosts, cfg.Loopback = []string{"runs.example.org"}, c.loopback })
		for _, path := range []string{"/api/v1/runs", "/api/v1/health", "/"} {
			r := s.request("GET", path, "")
			r.Host = c.host
			if answer, _ := s.do(r); answer.StatusCode != c.want {
				t.Errorf("host %q (loopback: %t), %s: %s, want %d", c.host, c.loopback, path, answer.Status, c.want)
			}
		}
	}
}

// TestOrigin checks that pages of other sites are refused, even with the cookie.
func TestOrigin(t *testing.T) {
	s := newTested(t, nil)
	own := s.http.URL
	for _, c := range []struct {
		headers map[string]string
		method  string
		want    int
	}{
		{map[string]string{"Origin": own}, "POST", 400},
		{map[string]string{"Origin": own}, "GET", 200},
		{map[string]string{"Origin": "https://evil.example"}, "POST", 403},
		{map[string]string{"Origin": "https://evil.example"}, "GET", 403},
		{map[string]string{"Origin": "null"}, "POST", 403},
		{map[string]string{"Origin": "http://localhost:1"}, "POST", 403}, // another port
		{map[string]string{"Origin": own + ".evil.example"}, "POST", 403},
		{map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, "GET", 403},
		{map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, "GET", 403},
		{map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, "GET", 200},
		{map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, "POST", 403},
		{map[string]string{"Sec-Fetch-Site": "same-origin"}, "GET", 200},
	} {
		r := s.request(c.method, "/api/v1/runs", "")
		r.Header.Del("Authorization")
		r.AddCookie(&http.Cookie{Name: s.server.guard.cookie, Value: testToken})
		for name, value := range c.headers {
			r.Header.Set(name, value)
		}
		if answer, body := s.do(r); answer.StatusCode != c.want {
			t.Errorf("%s %v: %s, want %d\n%s", c.method, c.headers, answer.Status, c.want, body)
		}
	}
}

// TestNothingByGET checks that operations which change something refuse GET.
func TestNothingByGET(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"r"}`)
	before := s.until("r", "paused")
	for _, path := range []string{"/runs/r/answers", "/runs/r/cancel", "/runs/r/pause", "/runs/r/resume", "/runs/r/fork"} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			if answer, _ := s.do(s.request(method, prefix+path, "")); answer.StatusCode != 405 {
				t.Errorf("%s %s: %s", method, path, answer.Status)
			}
		}
	}
	if after := s.until("r", "paused"); after["steps"] != before["steps"] {
		t.Errorf("the run has gone on to step %v", after["steps"])
	}
}

// TestReadOnly checks that a read-only server refuses changes and allows reads.
func TestReadOnly(t *testing.T) {
	s := newTested(t, func(cfg *Config) { cfg.ReadOnly = true })
	s.call(200, "GET", "/runs", "")
	s.call(200, "GET", "/flows/asking.yaml", "")
	for i := range s.server.operations {
		o := &s.server.operations[i]
		if o.method == "GET" {
			continue
		}
		path := strings.NewReplacer("{run}", "r").Replace(o.path)
		if p := s.call(403, o.method, path, "{}"); p["type"] != "urn:graphrun:problem:read-only" {
			t.Errorf("%s %s: %v", o.method, path, p)
		}
	}
}

// TestHeaders checks the security headers of every response.
func TestHeaders(t *testing.T) {
	s := newTested(t, nil)
	for _, path := range []string{"/", "/api/v1/runs", "/nowhere", "/api/v1/runs/none"} {
		answer, _ := s.do(s.request("GET", path, ""))
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		policy := answer.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: the policy is %q", path, policy)
			}
		}
		if answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: other origins may read it", path)
		}
	}
}

// TestNoWayOut checks that no path and no link leads to a flow outside the folder.
func TestNoWayOut(t *testing.T) {
	s := newTested(t, nil)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.yaml")
	if err := os.WriteFile(secret, []byte(strings.Replace(plainFlow, "plain", "outside", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link.yaml": secret, "folder": outside, "device.yaml": "/dev/zero"} {
		if err := os.Symlink(to, filepath.Join(s.dir, link)); err != nil {
			t.Skip(err)
		}
	}
	rel, err := filepath.Rel(s.dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		rel, secret, "link.yaml", "folder/secret.yaml", "./../" + filepath.Base(outside) + "/secret.yaml", "deep/../../" + filepath.Base(outside) + "/secret.yaml",
		"device.yaml", `deep\plain.yaml`, "deep//plain.yaml", "", ".", "deep", "\x00", "deep/plain.yaml\x00",
	} {
		body := fmt.Sprintf(`{"flow":%q,"input":{"n":1}}`, path)
		if answer, text := s.do(s.request("POST", "/api/v1/runs", body)); answer.StatusCode < 400 || answer.StatusCode >= 500 {
			t.Errorf("%q is run: %s %s", path, answer.Status, text)
		}
		r := s.request("GET", "/", "")
		r.URL.Path = "/api/v1/flows/" + path
		r.URL.RawPath = "/api/v1/flows/" + strings.NewReplacer("/", "%2F", ".", "%2e", "\x00", "%00", `\`, "%5C").Replace(path)
		if answer, text := s.do(r); answer.StatusCode < 400 && bytes.Contains(text, []byte("outside")) {
			t.Errorf("%q is read: %s", path, text)
		}
	}
	_, list := s.do(s.request("GET", "/api/v1/flows", ""))
	if bytes.Contains(list, []byte("outside")) || !bytes.Contains(list, []byte("deep/plain.yaml")) {
		t.Errorf("the list is %s", list)
	}
}

// TestLarge checks that large bodies, large headers and bad JSON are refused and start nothing.
func TestLarge(t *testing.T) {
	s := newTested(t, nil)
	for _, c := range []struct {
		body string
		want int
	}{
		{`{"flow":"` + strings.Repeat("x", maxBody) + `"}`, 413},
		{`{"flow":`, 400},
		{`[]`, 400},
		{`{"flow":"asking.yaml"} {}`, 400},
		{`{"flow":"asking.yaml","nope":1}`, 400},
		{`{"flow":3}`, 400},
		{`null`, 400},
		{`{"flow":"asking.yaml","input":{"n":1e999}}`, 422},
		{strings.Repeat("[", 200_000), 400},
	} {
		if answer, text := s.do(s.request("POST", "/api/v1/runs", c.body)); answer.StatusCode != c.want {
			t.Errorf("%.40s…: %s, want %d: %s", c.body, answer.Status, c.want, text)
		}
	}
	r := s.request("POST", "/api/v1/runs", `{"flow":"asking.yaml"}`)
	r.Header.Set("Content-Type", "text/plain") // a form of another site can send this
	if answer, _ := s.do(r); answer.StatusCode != 415 {
		t.Errorf("text/plain: %s", answer.Status)
	}
	if runs := s.call(200, "GET", "/runs", "")["runs"].([]any); len(runs) != 0 {
		t.Errorf("runs were started: %v", runs)
	}
}

// TestSlowClients checks that clients which send nothing, or a byte now and then, delay nobody,
// and that the number of connections is bounded.
func TestSlowClients(t *testing.T) {
	s := newTested(t, nil)
	server := Listen(s.server)
	server.ReadHeaderTimeout = 300 * time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	connect := func() net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	slow := connect()
	if _, err := io.WriteString(slow, "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	_ = slow.SetReadDeadline(time.Now().Add(10 * time.Second))
	if text, err := io.ReadAll(slow); err != nil || bytes.Contains(text, []byte("200 OK")) {
		t.Errorf("a slow client is answered %q, %v", text, err)
	}
	quick := connect()
	if _, err := io.WriteString(quick, "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	_ = quick.SetReadDeadline(time.Now().Add(10 * time.Second))
	if text, _ := io.ReadAll(quick); !bytes.Contains(text, []byte("200 OK")) {
		t.Errorf("a quick client is answered %q", text)
	}
	huge := connect()
	_, _ = io.WriteString(huge, "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 200<<10)+"\r\n\r\n") // it may be cut off
	_ = huge.SetReadDeadline(time.Now().Add(10 * time.Second))
	if text, _ := io.ReadAll(huge); bytes.Contains(text, []byte("200 OK")) {
		t.Error("a huge header is read")
	}
}

// TestCrowd checks that the connection which has been idle longest is closed first.
func TestCrowd(t *testing.T) {
	c := &connLimiter{waiting: map[net.Conn]time.Time{}}
	var first net.Conn
	for i := range maxConnections + 10 {
		conn, other := net.Pipe()
		t.Cleanup(func() { _ = other.Close(); _ = conn.Close() })
		c.recordState(conn, http.StateNew)
		if i == 0 {
			first = conn
			c.recordState(conn, http.StateActive) // it is being answered
		}
	}
	if len(c.waiting) != maxConnections-1 {
		t.Errorf("%d connections wait", len(c.waiting))
	}
	c.recordState(first, http.StateIdle)
	if _, ok := c.waiting[first]; !ok {
		t.Error("a connection that is answered was closed")
	}
}
