//go:build unix

package tool

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// realServer is a server from npm, with its process group and a copy of its input.
type realServer struct {
	decls   map[string]any
	pidFile string
	sent    *bufio.Reader
}

func newRealServer(t *testing.T) *realServer {
	t.Helper()
	main := os.Getenv("GRAPHRUN_TEST_MCP")
	if main == "" {
		t.Skip("no server from npm: GRAPHRUN_TEST_MCP=$(.ci/mcp-server) go test ./tool")
	}
	dir := t.TempDir()
	pidFile, pipe := filepath.Join(dir, "pid"), filepath.Join(dir, "sent")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	sent, err := os.OpenFile(pipe, os.O_RDWR, 0) // also for writing, so that opening does not block
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sent.Close() })
	return &realServer{pidFile: pidFile, sent: bufio.NewReader(sent), decls: map[string]any{"srv": map[string]any{"mcp": map[string]any{
		"command": []any{"sh", "-c", `echo $$ > "$0"; tee "$1" | node "$2" stdio`, pidFile, pipe, main},
	}}}}
}

func (s *realServer) pid(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(s.pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestRealServer(t *testing.T) {
	r := newRegistry(t, newRealServer(t).decls)
	actor := &fakeActor{}
	tools, err := r.ListTools(t.Context(), actor.Warn, []string{"srv.*"})
	if err != nil || len(tools) < 5 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	if got, problem := callServer(t, r, actor, "echo", map[string]any{"message": "hi"}); got != "Echo: hi" {
		t.Errorf("echo: %v, %s", got, problem)
	}
	if got, problem := callServer(t, r, actor, "get-sum", map[string]any{"a": 1, "b": 2.5}); got != "The sum of 1 and 2.5 is 3.5." {
		t.Errorf("get-sum: %v, %s", got, problem)
	}
	got, problem := callServer(t, r, actor, "get-structured-content", map[string]any{"location": "Chicago"})
	if weather, ok := got.(map[string]any); !ok || weather["temperature"] == nil {
		t.Errorf("get-structured-content: %v, %s", got, problem)
	}
	if _, problem := callServer(t, r, actor, "get-sum", map[string]any{"a": "x", "b": 2}); !strings.Contains(problem, `at "a"`) {
		t.Errorf("wrong arguments: %s", problem)
	}
	if _, problem := callServer(t, r, actor, "no-such-tool", nil); !strings.Contains(problem, "its tools are") {
		t.Errorf("unknown tool: %s", problem)
	}
	// The server refuses what the registry can't check; the call gets an error of the tool.
	if _, problem := callServer(t, r, actor, "get-resource-reference", map[string]any{"resourceType": "Text", "resourceId": -1}); problem == "" {
		t.Error("the server's refusal is lost")
	}
	if len(actor.warnings) > 0 {
		t.Errorf("warnings %q", actor.warnings)
	}
}

// longCall starts a call that takes a minute and returns once the server has it.
func (s *realServer) longCall(ctx context.Context, t *testing.T, r *Registry, actor Actor) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := r.Call(ctx, actor, []string{"srv.*"}, Call{
			Name: "srv.trigger-long-running-operation", Args: map[string]any{"duration": 60, "steps": 1},
		})
		done <- err
	}()
	s.awaitLongCall(t)
	return done
}

// awaitLongCall returns after the server got a call that takes long.
func (s *realServer) awaitLongCall(t *testing.T) {
	t.Helper()
	for line := ""; !strings.Contains(line, "trigger-long"); {
		var err error
		if line, err = s.sent.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRealServerSlowCall(t *testing.T) {
	server := newRealServer(t)
	r := newRegistry(t, server.decls)
	callServer(t, r, &fakeActor{}, "echo", map[string]any{"message": "up"})
	before := server.pid(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := server.longCall(ctx, t, r, &fakeActor{})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got, problem := callServer(t, r, &fakeActor{}, "echo", map[string]any{"message": "still here"}); got != "Echo: still here" {
		t.Errorf("after a cancelled call: %v, %s", got, problem)
	}
	if after := server.pid(t); after != before {
		t.Errorf("process %d instead of %d", after, before)
	}
}

// If a server dies during a call, the next server repeats the call, since the tool declares that
// this is safe.
func TestRealServerCrash(t *testing.T) {
	server := newRealServer(t)
	r := newRegistry(t, server.decls)
	actor := &fakeActor{}
	callServer(t, r, actor, "echo", map[string]any{"message": "up"})
	before := server.pid(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := server.longCall(ctx, t, r, actor)
	if err := syscall.Kill(-before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	server.awaitLongCall(t)
	if after := server.pid(t); after == before {
		t.Error("the same process")
	}
	if got, problem := callServer(t, r, &fakeActor{}, "echo", map[string]any{"message": "again"}); got != "Echo: again" {
		t.Errorf("after the crash: %v, %s", got, problem)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the call under way: %v", err)
	}
	if len(actor.warnings) != 1 || !strings.Contains(actor.warnings[0], `server "srv" went away`) {
		t.Errorf("warnings %q", actor.warnings)
	}
}
