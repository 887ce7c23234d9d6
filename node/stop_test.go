package node

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
)

var errByPerson = errors.New("stopped by a person")

// result is the result of a Run in another goroutine.
type result struct {
	output any
	err    error
}

func startExec(ctx context.Context, opts Options, task *runner.Task) <-chan result {
	done := make(chan result, 1)
	go func() {
		output, err := runKind(ctx, "exec", opts, task)
		done <- result{output, err}
	}()
	return done
}

// checkGone fails unless the process at the other end is dead.
func checkGone(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the process still runs (%v)", err)
	}
}

func TestStopKillsGroup(t *testing.T) {
	for _, mode := range []string{"block", "stubborn", "parent-block", "parent-stubborn"} {
		t.Run(mode, func(t *testing.T) {
			addr, accept := listen(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			opts := Options{Grace: time.Minute}
			if strings.HasSuffix(mode, "stubborn") {
				opts = testOptions()
			}
			done := startExec(ctx, opts, helperTask(mode, addr))
			conn := accept()
			cancel(errByPerson)
			failure := checkFailure(t, (<-done).err, "cancelled", "was stopped", "stopped by a person")
			checkGone(t, conn)
			// A leader with a stubborn child may end by either signal.
			want := map[string]any{"block": "SIGTERM", "parent-block": "SIGTERM", "stubborn": "SIGKILL"}[mode]
			if want != nil && failure.Details["signal"] != want {
				t.Errorf("ended by %v, want %v", failure.Details["signal"], want)
			}
		})
	}
}

func TestStopWaitsForCleanup(t *testing.T) {
	addr, accept := listen(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := startExec(ctx, Options{Grace: time.Minute}, helperTask("polite", addr))
	accept()
	cancel(context.DeadlineExceeded)
	failure := checkFailure(t, (<-done).err, "timeout", "its time was up")
	want := map[string]any{"exit_code": 0, "stderr": "cleaned up\n", "stdout": "partial"}
	if diff := cmp.Diff(want, failure.Details); diff != "" {
		t.Error(diff)
	}
}

// The process group gets its grace period even if its leader exits at once.
func TestStopWaitsForCleanupOfChild(t *testing.T) {
	addr, accept := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := startExec(ctx, Options{Grace: time.Minute}, helperTask("parent-thorough", addr))
	conn := accept()
	cancel()
	answer := make([]byte, 2)
	if _, err := conn.Read(answer[:1]); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
		t.Fatal("Run returned while a child still cleaned up")
	case <-time.After(100 * time.Millisecond): // a Run that waits always gets here
	}
	if _, err := conn.Write([]byte("!")); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(answer[1:]); err != nil || string(answer) != "?!" {
		t.Errorf("the child cleaned up as far as %q, %v", answer, err)
	}
	checkFailure(t, (<-done).err, "cancelled")
	checkGone(t, conn)
}

func TestStopOnDeadline(t *testing.T) {
	addr, _ := listen(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("node_timeout"))
	defer cancel()
	_, err := runKind(ctx, "exec", testOptions(), helperTask("block", addr))
	checkFailure(t, err, "timeout")
}

func TestOutputCap(t *testing.T) {
	task := helperTask("flood", "")
	task.Config["max_output"] = 5000
	_, err := runExec(t, task)
	failure := checkFailure(t, err, "invalid_output", "more than 5000 bytes (max_output)")
	if out, _ := failure.Details["stdout"].(string); len(out) != detailBytes {
		t.Errorf("details hold %d bytes of stdout", len(out))
	}

	task = newShellTask("printf 12345", map[string]any{"max_output": 5, "parse": "text"})
	if got, err := runExec(t, task); got != "12345" || err != nil {
		t.Errorf("exactly the cap: %v, %v", got, err)
	}
	_, err = runExec(t, newShellTask("printf 123456", map[string]any{"max_output": 5}))
	checkFailure(t, err, "invalid_output")
}

func TestLeftBehindIsNotKilled(t *testing.T) {
	addr, accept := listen(t)
	done := startExec(t.Context(), testOptions(), helperTask("leave", addr))
	conn := accept()
	if r := <-done; r.output != "done" || r.err != nil {
		t.Fatalf("got %v, %v", r.output, r.err)
	}
	if _, err := conn.Write([]byte("?")); err != nil {
		t.Fatal(err)
	}
	if b, err := bufio.NewReader(conn).ReadByte(); b != '?' || err != nil {
		t.Errorf("the process that was left behind answers %q, %v", b, err)
	}
}

func TestStopReachesLeftBehind(t *testing.T) {
	addr, accept := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := startExec(ctx, Options{Grace: 100 * time.Millisecond, Linger: time.Minute}, helperTask("leave", addr))
	conn := accept()
	cancel()
	checkFailure(t, (<-done).err, "cancelled")
	checkGone(t, conn)
}
