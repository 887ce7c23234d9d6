//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// syncBuffer is a buffer that a run may still write to while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// interruptible starts a run whose one node runs a shell script, and returns
// when that has written its process id to the pipe $READY.
type interruptible struct {
	t              *testing.T
	signals        chan<- os.Signal
	stdout, stderr syncBuffer
	code           chan int
	ready          string // the pipe
	pid            int
}

func startInterruptible(t *testing.T, script string, flags ...string) *interruptible {
	t.Helper()
	dir := t.TempDir()
	r := &interruptible{t: t, code: make(chan int, 1), ready: filepath.Join(dir, "ready")}
	if err := syscall.Mkfifo(r.ready, 0o600); err != nil {
		t.Fatal(err)
	}
	flow := filepath.Join(dir, "flow.yaml")
	src := "graphrun: v1\nname: slow\nstart: a\nnodes:\n  a:\n    kind: exec\n    timeout: 1m\n    env: {READY: ready}\n    script: |\n" +
		"      " + strings.ReplaceAll(script, "\n", "\n      ") + "\nedges: [{from: a, to: END}]\n"
	if err := os.WriteFile(flow, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	subscribed := make(chan chan<- os.Signal, 1)
	go func() {
		r.code <- Main(context.Background(), Program{
			Args: append([]string{"run", flow}, flags...), Stdin: strings.NewReader(""), Stdout: &r.stdout, Stderr: &r.stderr,
			Notify: func(c chan<- os.Signal) func() { subscribed <- c; return func() {} },
		})
	}()
	pid, err := os.ReadFile(r.ready) // waits until the script opens its end
	if err != nil {
		t.Fatal(err)
	}
	if r.pid, err = strconv.Atoi(strings.TrimSpace(string(pid))); err != nil {
		t.Fatal(err)
	}
	r.signals = <-subscribed
	return r
}

// end waits for the program and checks its exit code and that its child is gone.
func (r *interruptible) end() {
	r.t.Helper()
	select {
	case code := <-r.code:
		if code != exitCancelled {
			r.t.Errorf("exit code %d, want %d: %s", code, exitCancelled, r.stderr.String())
		}
	case <-time.After(30 * time.Second):
		r.t.Fatalf("the program does not end: %s", r.stderr.String())
	}
	if err := syscall.Kill(r.pid, 0); !errors.Is(err, syscall.ESRCH) {
		r.t.Errorf("the child still runs: %v", err)
	}
}

func TestFirstInterruptCancels(t *testing.T) {
	r := startInterruptible(t, "echo $$ > \"$READY\"\nexec sleep 100", "-o", "json")
	r.signals <- os.Interrupt
	r.end()
	for _, want := range []string{`"status":"cancelled"`, `"reason":"cancelled"`} {
		if !strings.Contains(r.stdout.String(), want) {
			t.Errorf("the result lacks %s: %s", want, r.stdout.String())
		}
	}
	if !strings.Contains(r.stderr.String(), "cancelling") {
		t.Errorf("the cancellation is not announced: %s", r.stderr.String())
	}
}

func TestSecondInterruptKills(t *testing.T) {
	// The child ignores SIGTERM and reports it, so that the second interrupt arrives
	// within the grace period of the first.
	r := startInterruptible(t, strings.Join([]string{
		`trap 'echo got > "$READY"' TERM`,
		`echo $$ > "$READY"`,
		`while :; do sleep 0.05; done`,
	}, "\n"))
	r.signals <- os.Interrupt
	if _, err := os.ReadFile(r.ready); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	r.signals <- syscall.SIGTERM
	r.end()
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("the second interrupt took %s", took)
	}
}
