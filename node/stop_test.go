package node

import (
	"bufio"
	"context"
	"errors"
	"net"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
)

var errByPerson = errors.New("stopped by a person")

// result is what a Run in another goroutine came to.
type result struct {
	output any
	err    error
}

func runAside(ctx context.Context, opts Options, task *runner.Task) <-chan result {
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
			done := runAside(ctx, testOptions(), helperTask(mode, addr))
			conn := accept()
			cancel(errByPerson)
			failure := checkFailure(t, (<-done).err, "cancelled", "was stopped", "stopped by a person")
			checkGone(t, conn)
			signal := "SIGTERM"
			if mode == "stubborn" {
				signal = "SIGKILL"
			}
			if failure.Details["signal"] != signal {
				t.Errorf("ended by %v, want %s", failure.Details["signal"], signal)
			}
		})
	}
}

func TestStopWaitsForCleanup(t *testing.T) {
	addr, accept := listen(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := runAside(ctx, Options{Grace: time.Minute}, helperTask("polite", addr))
	accept()
	cancel(context.DeadlineExceeded)
	failure := checkFailure(t, (<-done).err, "timeout", "its time was up")
	want := map[string]any{"exit_code": 0, "stderr": "cleaned up\n", "stdout": "partial"}
	if diff := cmp.Diff(want, failure.Details); diff != "" {
		t.Error(diff)
	}
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

	task = sh("printf 12345", map[string]any{"max_output": 5, "parse": "text"})
	if got, err := runExec(t, task); got != "12345" || err != nil {
		t.Errorf("exactly the cap: %v, %v", got, err)
	}
	_, err = runExec(t, sh("printf 123456", map[string]any{"max_output": 5}))
	checkFailure(t, err, "invalid_output")
}

func TestLeftBehindIsNotKilled(t *testing.T) {
	addr, accept := listen(t)
	done := runAside(t.Context(), testOptions(), helperTask("leave", addr))
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
	done := runAside(ctx, Options{Grace: 100 * time.Millisecond, Linger: time.Minute}, helperTask("leave", addr))
	conn := accept()
	cancel()
	checkFailure(t, (<-done).err, "cancelled")
	checkGone(t, conn)
}

func TestGroupRuns(t *testing.T) {
	for _, test := range []struct {
		name string
		proc fstest.MapFS
		want bool
	}{
		{"live", fstest.MapFS{"7/stat": {Data: []byte("7 (a) b) 1) S 1 5 5")}}, true},
		{"dead", fstest.MapFS{"7/stat": {Data: []byte("7 (sh) Z 1 5 5")}}, false},
		{"other group", fstest.MapFS{"7/stat": {Data: []byte("7 (sh) S 1 6 6")}}, false},
		{"cut off", fstest.MapFS{"7/stat": {Data: []byte("7 (sh")}}, false},
		{"nothing listed", fstest.MapFS{"self": {}}, true},
	} {
		if got := groupRuns(test.proc, 5); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
