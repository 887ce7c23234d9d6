package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// remembers is a flow that saves a value in its session when a file exists.
const remembers = `graphrun: v1
name: remembers
start: wait
state: {dir: {type: string, required: true}, n: {type: integer, default: 0, scope: session}}
nodes:
  wait:
    kind: exec
    script: 'touch "$DIR/began"; until test -e "$DIR/open"; do sleep 0.05; done; echo 1'
    env: {DIR: "{{ dir }}"}
    writes: [n]
edges:
  - {from: wait, to: END}
`

// TestAskedWhileLeaving: a request to a run that has ended, but still saves its session, gets a
// reply.
func TestAskedWhileLeaving(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{})
	dir := t.TempDir()
	file := filepath.Join(dir, "flow.yaml")
	if err := os.WriteFile(file, []byte(remembers), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(client.Options{HostPort: o.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ended := make(chan int)
	go func() {
		_, stderr, code := command(&o, "run", file, "-i", "dir="+dir, "--run-id", "late", "--session", "s", "-o", "json")
		if code != 0 {
			t.Error(stderr)
		}
		ended <- code
	}()
	waitFor(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "began"))
		return err == nil
	})
	// Without a worker, the session accepts no update.
	if _, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "session/s", TaskQueue: "nobody"}, "graphrun-session"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "open"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := o.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	s := cluster.Store(t.Context())
	waitFor(t, func() bool {
		lines, err := s.List(store.RunFilter{ID: "late"})
		return err == nil && len(lines) == 1 && lines[0].Status == machine.Completed
	})
	asked := make(chan error, 1)
	go func() { asked <- s.SendRequest("late", store.RequestCancel) }()
	select {
	case err := <-asked:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("who asks the run to cancel gets no reply")
	}
	if err := c.TerminateWorkflow(t.Context(), "session/s", "", "enough"); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if kept, err := s.Session("s"); err != nil || kept.Keys["n"] == nil {
		t.Errorf("the session has %v, want n (%v)", kept.Keys, err)
	}
}

// TestInterruptedAtOnce: an interrupt while the run begins cancels the run, and no workflow
// remains open.
func TestInterruptedAtOnce(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{})
	file := waitsLong(t)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, args := range [][]string{{"run", file, "--run-id", "w"}, {"resume", "w"}} {
		if _, stderr, code := interrupted(ctx, &o, args...); code != 130 || !strings.Contains(stderr, "cancelled") {
			t.Errorf("%s: exit code %d, want 130\n%s", args[0], code, stderr)
		}
		if stdout, _, _ := command(&o, "runs", "show", "w", "-o", "json"); !strings.Contains(stdout, `"status":"cancelled"`) {
			t.Errorf("after %s: the run is\n%s\nwant it cancelled", args[0], stdout)
		}
	}
}
