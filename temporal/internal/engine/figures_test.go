package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// bare is a workflow with as many activities as a flow has steps, and nothing else.
func bare(ctx workflow.Context, steps int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second})
	for range steps {
		if err := workflow.ExecuteActivity(ctx, program, "echo 1").Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func program(ctx context.Context, script string) (string, error) {
	out, err := exec.CommandContext(ctx, "sh", "-c", script).Output()
	return string(out), err
}

// TestFigures measures steps a second against a bare workflow, one after the other;
// GRAPHRUN_TEMPORAL_FIGURES says how often.
func TestFigures(t *testing.T) {
	var rounds int
	if _, err := fmt.Sscan(os.Getenv("GRAPHRUN_TEMPORAL_FIGURES"), &rounds); err != nil {
		t.Skip("GRAPHRUN_TEMPORAL_FIGURES does not say how often to measure")
	}
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	workerOf(t, o, engine.WorkerOptions{})
	c, err := client.Dial(client.Options{HostPort: o.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := worker.New(c, "bare", worker.Options{})
	w.RegisterWorkflow(bare)
	w.RegisterActivity(program)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	const steps = 100
	file := filepath.Join(t.TempDir(), "flow.yaml")
	text := fmt.Sprintf(`graphrun: v1
name: figures
start: a
limits: {max_steps: 1000, node_timeout: 1m}
state: {n: {type: integer, default: 0}}
nodes:
  a: {kind: exec, script: "echo 1", writes: {n: "n + 1"}}
edges:
  - {from: a, to: a, when: "n < %d"}
  - {from: a, to: END, when: "n >= %d"}
`, steps, steps)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	size := func(id string) (int64, int64) {
		info, err := c.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			t.Fatal(err)
		}
		return info.GetWorkflowExecutionInfo().GetHistoryLength(), info.GetWorkflowExecutionInfo().GetHistorySizeBytes()
	}
	for i := range rounds {
		from := time.Now()
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: fmt.Sprintf("bare%d", i), TaskQueue: "bare"}, bare, steps)
		if err == nil {
			err = run.Get(ctx, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(from)
		from = time.Now()
		id := fmt.Sprintf("flow%d", i)
		if _, stderr, code := command(&o, "run", file, "-q", "--run-id", id); code != 0 {
			t.Fatal(stderr)
		}
		ours := time.Since(from)
		events, bytes := size(id)
		bareEvents, bareBytes := size(fmt.Sprintf("bare%d", i))
		t.Logf("%d steps: bare %.1f/s (%d events, %d bytes a step), flow %.1f/s (%d events, %d bytes a step): %.2f",
			steps, steps/took.Seconds(), bareEvents, bareBytes/steps, steps/ours.Seconds(), events, bytes/steps, took.Seconds()/ours.Seconds())
	}
}
