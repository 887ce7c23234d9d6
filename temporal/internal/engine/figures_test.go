package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// bare is a workflow that only executes one activity for each step of a flow.
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

// counting is a flow that runs a program in each of a number of steps.
const counting = `graphrun: v1
name: figures
start: a
limits: {max_steps: 1000, node_timeout: 1m}
state: {n: {type: integer, default: 0}}
nodes:
  a: {kind: exec, script: "echo 1", writes: {n: "n + 1"}}
edges:
  - {from: a, to: a, when: "n < %d"}
  - {from: a, to: END, when: "n >= %d"}
`

// TestFigures compares the steps a second of a flow and of a bare workflow.
// GRAPHRUN_TEMPORAL_FIGURES is the number of rounds.
func TestFigures(t *testing.T) {
	var rounds int
	if _, err := fmt.Sscan(os.Getenv("GRAPHRUN_TEMPORAL_FIGURES"), &rounds); err != nil {
		t.Skip("GRAPHRUN_TEMPORAL_FIGURES does not say how often to measure")
	}
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{})
	c, err := client.Dial(client.Options{HostPort: o.Address, Logger: slog.New(slog.DiscardHandler)})
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
	text := fmt.Sprintf(counting, steps, steps)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	look := func(id string) (events, bytes int64, took time.Duration) {
		reply, err := c.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			t.Fatal(err)
		}
		info := reply.GetWorkflowExecutionInfo()
		return info.GetHistoryLength(), info.GetHistorySizeBytes(), info.GetCloseTime().AsTime().Sub(info.GetStartTime().AsTime())
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
		events, bytes, alone := look(id)
		bareEvents, bareBytes, bareAlone := look(fmt.Sprintf("bare%d", i))
		t.Logf("%d steps: bare %.1f/s (%d events, %d bytes a step), flow %.1f/s (%d events, %d bytes a step): %.2f; from the start to the end of the workflow %.2f",
			steps, steps/took.Seconds(), bareEvents, bareBytes/steps, steps/ours.Seconds(), events, bytes/steps, took.Seconds()/ours.Seconds(), bareAlone.Seconds()/alone.Seconds())
	}
}

// TestThroughput compares the runs a second of 1, 2 and 4 workers with those of bare workflows.
// GRAPHRUN_TEMPORAL_FIGURES is the number of rounds.
func TestThroughput(t *testing.T) {
	var rounds int
	if _, err := fmt.Sscan(os.Getenv("GRAPHRUN_TEMPORAL_FIGURES"), &rounds); err != nil {
		t.Skip("GRAPHRUN_TEMPORAL_FIGURES does not say how often to measure")
	}
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, engine.Options{Address: o.Address, Payloads: o.Payloads}, engine.WorkerOptions{Queue: "nothing"}) // the server is ready
	ctx := context.Background()
	const runs, steps = 60, 10
	all := func(do func(i int) error) time.Duration {
		from := time.Now()
		var group sync.WaitGroup
		for i := range runs {
			group.Go(func() {
				if err := do(i); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		return time.Since(from)
	}
	quiet := slog.New(slog.DiscardHandler)
	for _, workers := range []int{1, 2, 4} {
		for round := range rounds {
			var clients []client.Client
			var stops []func()
			for range workers {
				c, err := client.Dial(client.Options{HostPort: o.Address, Logger: quiet})
				if err != nil {
					t.Fatal(err)
				}
				w := worker.New(c, "bare", worker.Options{})
				w.RegisterWorkflow(bare)
				w.RegisterActivity(program)
				if err := w.Start(); err != nil {
					t.Fatal(err)
				}
				clients, stops = append(clients, c), append(stops, w.Stop)
			}
			id := func(i int) string { return fmt.Sprintf("%d-%d-%d", workers, round, i) }
			took := all(func(i int) error {
				run, err := clients[0].ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "bare" + id(i), TaskQueue: "bare"}, bare, steps)
				if err != nil {
					return err
				}
				return run.Get(ctx, nil)
			})
			for i, stop := range stops {
				stop()
				clients[i].Close()
			}
			var clusters []*engine.Cluster
			stops = nil
			for range workers {
				c, err := o.Dial()
				if err != nil {
					t.Fatal(err)
				}
				stop, err := c.StartWorker(engine.WorkerOptions{})
				if err != nil {
					t.Fatal(err)
				}
				clusters, stops = append(clusters, c), append(stops, stop)
			}
			ours := all(func(i int) error { return clusters[0].RunAlone(ctx, "flow"+id(i), fmt.Sprintf(counting, steps, steps)) })
			for i, stop := range stops {
				stop()
				clusters[i].Close()
			}
			t.Logf("%d workers, %d runs of %d steps: bare %.1f runs/s, flow %.1f runs/s: %.2f",
				workers, runs, steps, runs/took.Seconds(), runs/ours.Seconds(), took.Seconds()/ours.Seconds())
		}
	}
}
