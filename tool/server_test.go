package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reports receives the reports of servers.
type reports struct {
	lines chan string
	ends  chan string // the reports whose connections ended
	addr  string
}

func newReports(tb testing.TB) *reports {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r := &reports{lines: make(chan string, 100), ends: make(chan string, 100), addr: listener.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				in := bufio.NewReader(conn)
				line, _ := in.ReadString('\n')
				r.lines <- strings.TrimSpace(line)
				_, _ = io.Copy(io.Discard, in)
				r.ends <- strings.TrimSpace(line)
				_ = conn.Close()
			})
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return r
}

// fakeServer declares this test binary as a server.
func fakeServer(tb testing.TB, mode string, r *reports) map[string]any {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	env := map[string]any{serverEnv: mode, "EXTRA": "more", "GORACE": "atexit_sleep_ms=0"}
	if r != nil {
		env[addrEnv] = r.addr
	}
	return map[string]any{"srv": map[string]any{"mcp": map[string]any{"command": []any{self}, "env": env}}}
}

func callServer(tb testing.TB, r *Registry, actor Actor, name string, args map[string]any) (any, string) {
	tb.Helper()
	got, err := r.Call(tb.Context(), actor, []string{"srv.*"}, Call{Name: "srv." + name, Args: args})
	var failed *Error
	if err != nil && !errors.As(err, &failed) {
		tb.Fatalf("%s: %v is no error for the model", name, err)
	}
	if err != nil {
		return nil, err.Error()
	}
	return got, ""
}

func TestServer(t *testing.T) {
	actor := &fakeActor{}
	r := newRegistry(t, fakeServer(t, "polite", nil))
	tools, err := r.ListTools(t.Context(), actor.Warn, []string{"srv.pid", "srv.*"})
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, tool := range tools {
		names += tool.Name + " "
	}
	if names != "srv.pid srv.ask srv.die srv.die-again srv.echo srv.fail srv.grow srv.noisy srv.parts srv.slow srv.steps " || tools[0].Description != "does pid" || tools[0].Parameters["type"] != "object" {
		t.Errorf("tools %s: %+v", names, tools)
	}
	if got, problem := callServer(t, r, actor, "echo", map[string]any{"text": "hi"}); got != `{"text":"hi"} more` {
		t.Errorf("echo: %v, %s", got, problem)
	}
	actor.parent = "00-1-2-01"
	got, err := r.Call(t.Context(), actor, []string{"srv.*"}, Call{Name: "srv.echo", Args: map[string]any{"text": "hi"}})
	if err != nil || got != `{"text":"hi"} more under 00-1-2-01` {
		t.Errorf("echo in a trace: %v, %v", got, err)
	}
	first, _ := callServer(t, r, actor, "pid", nil)
	if second, _ := callServer(t, r, actor, "pid", nil); first == nil || cmp.Diff(first, second) != "" {
		t.Errorf("two servers: %v, %v", first, second)
	}
	want := []any{
		map[string]any{"text": "a"},
		map[string]any{"image": "data:image/png;base64,AQ=="},
	}
	if got, _ := callServer(t, r, actor, "parts", nil); cmp.Diff(any(want), got) != "" {
		t.Errorf("parts: %v", got)
	}
	for _, test := range []struct{ name, want string }{
		{"fail", "it went wrong"},
		{"nope", `server "srv" has no tool "nope"; its tools are ask, die, die-again, echo`},
	} {
		if got, problem := callServer(t, r, actor, test.name, nil); !strings.HasPrefix(problem, test.want) {
			t.Errorf("%s: %v, %s", test.name, got, problem)
		}
	}
	if _, problem := callServer(t, r, actor, "echo", map[string]any{"text": 1}); problem != `arguments of tool "srv.echo": at "text": 1 is not a string` {
		t.Errorf("wrong arguments: %s", problem)
	}
	if _, err := r.ListTools(t.Context(), actor.Warn, []string{"srv.nope"}); err == nil {
		t.Error("a tool that the server has not is offered")
	}
	if len(actor.warnings) != 0 {
		t.Errorf("warnings %q", actor.warnings)
	}
}

// A server can announce that its tools have changed.
func TestServerChangesTools(t *testing.T) {
	r := newRegistry(t, fakeServer(t, "polite", nil))
	if _, problem := callServer(t, r, &fakeActor{}, "grown", nil); !strings.Contains(problem, "no tool") {
		t.Errorf("before: %q", problem)
	}
	if _, problem := callServer(t, r, &fakeActor{}, "grow", nil); problem != "" {
		t.Fatal(problem)
	}
	// The notification arrives asynchronously.
	for problem := "no tool"; problem != ""; {
		callServer(t, r, &fakeActor{}, "echo", nil)
		if _, problem = callServer(t, r, &fakeActor{}, "grown", nil); problem != "" && !strings.Contains(problem, "no tool") {
			t.Fatal(problem)
		}
	}
}

// A server that dies is restarted once. The interrupted call is repeated only if that is safe.
func TestServerDies(t *testing.T) {
	heard := newReports(t)
	actor := &fakeActor{}
	r := newRegistry(t, fakeServer(t, "polite", heard))
	if _, problem := callServer(t, r, actor, "die", nil); problem != `server "srv" went away during the call of "die": fatal error: out of cheese` {
		t.Errorf("the call it died of: %s", problem)
	}
	if got, problem := callServer(t, r, actor, "echo", nil); got != "{} more" {
		t.Errorf("after a restart: %v, %s", got, problem)
	}
	if _, problem := callServer(t, r, actor, "die", nil); !strings.Contains(problem, "went away during") {
		t.Errorf("the second death: %s", problem)
	}
	const over = `server "srv" went away 2 times and is not started again: fatal error: out of cheese`
	if _, problem := callServer(t, r, actor, "echo", nil); problem != over {
		t.Errorf("after two deaths: %s", problem)
	}
	<-heard.lines
	<-heard.lines
	if len(actor.warnings) != 2 || actor.warnings[0] != `server "srv" went away: fatal error: out of cheese` {
		t.Errorf("warnings %q", actor.warnings)
	}

	again := newRegistry(t, fakeServer(t, "polite", heard))
	if _, problem := callServer(t, again, actor, "die-again", nil); !strings.Contains(problem, "went away during") {
		t.Errorf("a repeatable call: %s", problem)
	}
	<-heard.lines
	<-heard.lines // the call was made twice
	if len(heard.lines) != 0 {
		t.Error("more deaths than calls that kill")
	}
}

// A cancelled call is also cancelled at the server, which keeps running.
func TestServerSlowCall(t *testing.T) {
	heard := newReports(t)
	r := newRegistry(t, fakeServer(t, "polite", heard))
	first, _ := callServer(t, r, &fakeActor{}, "pid", nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.Call(ctx, &fakeActor{}, []string{"srv.slow"}, Call{Name: "srv.slow"})
		done <- err
	}()
	if line := <-heard.lines; line != "slow" {
		t.Fatalf("heard %q", line)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if line := <-heard.lines; line != "cancelled" {
		t.Errorf("heard %q", line)
	}
	if second, problem := callServer(t, r, &fakeActor{}, "pid", nil); first == nil || cmp.Diff(first, second) != "" {
		t.Errorf("another server: %v, %v, %s", first, second, problem)
	}
}

func TestServerConcurrentCalls(t *testing.T) {
	r := newRegistry(t, fakeServer(t, "polite", nil))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			text := fmt.Sprint("n", i)
			if got, problem := callServer(t, r, &fakeActor{}, "echo", map[string]any{"text": text}); got != `{"text":"`+text+`"} more` {
				t.Errorf("call %d: %v, %s", i, got, problem)
			}
		})
	}
	all.Wait()
}

// The error for a server that does not start has the reason.
func TestServerDoesNotStart(t *testing.T) {
	for _, test := range []struct {
		mode, want string
	}{
		{"broken", `can't start server "srv": Error: no key in canary-99`},
	} {
		r := newRegistry(t, fakeServer(t, test.mode, nil))
		if got, problem := callServer(t, r, &fakeActor{}, "echo", nil); !strings.HasPrefix(problem, test.want) {
			t.Errorf("%s: %v, %q", test.mode, got, problem)
		}
	}
	missing := newRegistry(t, map[string]any{"srv": map[string]any{"mcp": map[string]any{"command": []any{"no-such-program-here"}}}})
	if _, problem := callServer(t, missing, &fakeActor{}, "echo", nil); problem != `can't start server "srv": program "no-such-program-here" was not found in PATH` {
		t.Errorf("a missing program: %s", problem)
	}
}

// Lines that a server prints between its messages are skipped and reported.
func TestStrayLines(t *testing.T) {
	actor := &fakeActor{}
	r := newRegistry(t, fakeServer(t, "garbage", nil))
	for range 2 {
		if got, problem := callServer(t, r, actor, "noisy", nil); got != "quiet" {
			t.Fatalf("%v, %s", got, problem)
		}
	}
	all := strings.Join(actor.warnings, "\n")
	for _, line := range []string{"starting up!", "{debug: true}", `"a text"`} {
		if !strings.Contains(all, "is skipped: "+line) {
			t.Errorf("%q is not told of: %s", line, all)
		}
	}
}

// A server that does not answer a request of a newer protocol gets one of the older protocol.
func TestOlderServer(t *testing.T) {
	r, err := New(fakeServer(t, "old", nil), Options{DiscoverTime: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if got, problem := callServer(t, r, &fakeActor{}, "echo", map[string]any{"text": "hi"}); got != `{"text":"hi"} more` {
		t.Errorf("%v, %s", got, problem)
	}
}

// The progress of a running call is reported, perhaps late.
func TestProgress(t *testing.T) {
	actor := &fakeActor{progress: make(chan string, 10)}
	r := newRegistry(t, fakeServer(t, "polite", nil))
	if got, problem := callServer(t, r, actor, "steps", nil); got != "done" {
		t.Fatalf("%v, %s", got, problem)
	}
	heard := []string{<-actor.progress, <-actor.progress, <-actor.progress}
	slices.Sort(heard)
	if want := []string{"srv.steps step 1/3", "srv.steps step 2/3", "srv.steps step 3/3"}; cmp.Diff(want, heard) != "" {
		t.Errorf("heard %q", heard)
	}
}

// Servers start concurrently: each of these waits for the others.
func TestServersStartTogether(t *testing.T) {
	const many = 5
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	decls, allowed := map[string]any{}, []string{}
	for i := range many {
		name := fmt.Sprintf("s%d", i)
		decls[name], allowed = fakeServer(t, "together", &reports{addr: listener.Addr().String()})["srv"], append(allowed, name)
	}
	r := newRegistry(t, decls)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		var all []net.Conn
		for range many {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all = append(all, conn)
		}
		for _, conn := range all {
			_ = conn.Close()
		}
	}()
	tools, err := r.ListTools(ctx, (&fakeActor{}).Warn, allowed)
	if err != nil || len(tools) < many {
		t.Errorf("%d tools, %v", len(tools), err)
	}
}

// A caller can stop waiting for a server that does not start.
func TestServerStartCancelled(t *testing.T) {
	heard := newReports(t)
	r := newRegistry(t, fakeServer(t, "silent", heard))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.Call(ctx, &fakeActor{}, []string{"srv"}, Call{Name: "srv.echo"})
		done <- err
	}()
	<-heard.lines
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	<-heard.ends // the process is gone
}

// A server that ignores both the end of its input and SIGTERM is killed with its children.
func TestServerStubborn(t *testing.T) {
	heard := newReports(t)
	r, err := New(fakeServer(t, "stubborn", heard), Options{Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, problem := callServer(t, r, &fakeActor{}, "echo", nil); problem != "" {
		t.Fatal(problem)
	}
	<-heard.lines
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if end := <-heard.ends; end != "started" {
		t.Errorf("heard the end of %q", end)
	}
	if _, err := r.Call(t.Context(), &fakeActor{}, []string{"srv"}, Call{Name: "srv.echo"}); err == nil {
		t.Error("a closed registry starts servers")
	}
}

// Calls work over streamable HTTP, with the headers of the declaration on each request.
func TestServerHTTP(t *testing.T) {
	fake := newServer("polite")
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return fake }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer canary" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, req)
	}))
	defer web.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	with := func(token string) map[string]any {
		return map[string]any{"srv": map[string]any{
			"mcp": map[string]any{"url": web.URL}, "headers": map[string]any{"Authorization": token},
		}}
	}
	r := newRegistry(t, with("Bearer canary"))
	if got, problem := callServer(t, r, &fakeActor{}, "echo", map[string]any{"text": "hi"}); got != `{"text":"hi"} ` {
		t.Errorf("echo: %v, %s", got, problem)
	}
	if _, problem := callServer(t, r, &fakeActor{}, "fail", nil); problem != "it went wrong" {
		t.Errorf("fail: %s", problem)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, problem := callServer(t, newRegistry(t, with("wrong")), &fakeActor{}, "echo", nil); !strings.HasPrefix(problem, `can't start server "srv": `) || !strings.Contains(problem, "Unauthorized") {
		t.Errorf("without a key: %s", problem)
	}
}
