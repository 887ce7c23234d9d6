// The test binary is also the program that exec tests run: with NODE_TEST_HELPER set it acts in
// that mode and exits.

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/graphrun/graphrun/runner"
)

const (
	helperEnv = "NODE_TEST_HELPER"
	addrEnv   = "NODE_TEST_ADDR"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperEnv); mode != "" {
		os.Exit(runHelper(mode))
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/graphrun/graphrun/internal/process.startPrograms"))
}

func runHelper(mode string) int {
	switch mode {
	case "args":
		_ = json.NewEncoder(os.Stdout).Encode(os.Args[1:])
	case "block": // until killed
		dialTest()
		select {}
	case "stubborn": // until SIGKILL
		signal.Ignore(syscall.SIGTERM)
		dialTest()
		select {}
	case "polite": // cleans up on SIGTERM
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		dialTest()
		<-asked
		fmt.Print("partial")
		fmt.Fprintln(os.Stderr, "cleaned up")
	case "thorough": // cleans up until the test sends a byte
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		conn := dialTest()
		<-asked
		_, _ = conn.Write([]byte("?"))
		_, _ = io.CopyN(conn, conn, 1)
	case "parent-block", "parent-stubborn", "parent-thorough": // a child in the same group, then block
		startHelper(strings.TrimPrefix(mode, "parent-"))
		select {}
	case "leave": // starts a child that keeps stdout open, then exits
		startHelper("serve")
		fmt.Println("done")
	case "serve": // answers one byte, then ends with its connection
		conn := dialTest()
		_, _ = io.CopyN(conn, conn, 1)
		_, _ = io.Copy(io.Discard, conn)
	case "flood":
		for line := []byte(strings.Repeat("x", 1023) + "\n"); ; {
			if _, err := os.Stdout.Write(line); err != nil {
				return 1
			}
		}
	case "say": // emits two events, the second after the test got the first
		writeEvent(`{"event":"progress","percent":10}` + "\n")
		_, _ = dialTest().Read(make([]byte, 1))
		writeEvent(`{"event":"progress","percent":90}`)
	}
	return 0
}

func dialTest() net.Conn {
	conn, err := net.Dial("tcp", os.Getenv(addrEnv))
	if err != nil {
		panic(err)
	}
	return conn
}

func startHelper(mode string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+mode)
	if mode != "thorough" {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

func writeEvent(line string) {
	file, err := os.OpenFile(os.Getenv("GRAPHRUN_TASK_EVENTS"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	_, _ = file.WriteString(line)
	_ = file.Close()
}

// helperTask returns a task that runs the test binary in a mode. The program dials addr.
func helperTask(mode, addr string, args ...any) *runner.Task {
	return &runner.Task{Config: map[string]any{
		"command": append([]any{os.Args[0]}, args...),
		"env": map[string]any{
			helperEnv: mode, addrEnv: addr,
			"GORACE": "atexit_sleep_ms=0", // the race detector would sleep for a second
		},
	}}
}

// listen returns an address for helpers to dial. accept waits for one of them.
func listen(t *testing.T) (addr string, accept func() net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String(), func() net.Conn {
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return nil
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		return conn
	}
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

// testOptions returns options with a fast stop.
func testOptions() Options {
	return Options{Grace: 100 * time.Millisecond, Linger: 500 * time.Millisecond}
}

func runKind(ctx context.Context, kind string, opts Options, task *runner.Task) (any, error) {
	for _, k := range Kinds(opts) {
		if k.Spec.Name == kind {
			return k.Handler.Run(ctx, task)
		}
	}
	return nil, fmt.Errorf("no kind %q", kind)
}

// requireFailure returns the failure in err, and ends the test if there is none.
func requireFailure(t *testing.T, err error) *runner.Failure {
	t.Helper()
	var failure *runner.Failure
	if !errors.As(err, &failure) || failure == nil {
		t.Fatalf("error is %v (%T), a *runner.Failure is wanted", err, err)
	}
	return failure
}

// checkFailure checks the kind of the failure in err and the parts of its message.
func checkFailure(t *testing.T, err error, kind string, parts ...string) *runner.Failure {
	t.Helper()
	failure := requireFailure(t, err)
	if failure.Kind != kind {
		t.Errorf("kind is %q (%s), want %q", failure.Kind, failure.Message, kind)
	}
	for _, part := range parts {
		if !strings.Contains(failure.Message, part) {
			t.Errorf("message %q does not mention %q", failure.Message, part)
		}
	}
	return failure
}

// recorder keeps the messages that a task emits.
type recorder struct {
	mu   sync.Mutex
	said []runner.Said
}

func (r *recorder) emit(s runner.Said) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, s)
}
