package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// fanFlow returns a flow, without its head, whose branches are single nodes, and a join. node returns
// what follows the name of branch i.
func fanFlow(top string, branches int, node func(i int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%slimits: {max_steps: %d, max_concurrency: 100000}\nnodes:\n  a: {kind: pass}\n", top, branches+2)
	for i := range branches {
		fmt.Fprintf(&b, "  b%d: {%s}\n", i, node(i))
	}
	b.WriteString("  j: {kind: pass, join: {wait: all}}\nedges:\n")
	for i := range branches {
		fmt.Fprintf(&b, "  - {from: a, to: b%d}\n  - {from: b%d, to: j}\n", i, i)
	}
	b.WriteString("  - {from: j, to: END}\n")
	return b.String()
}

// A thousand handlers run at once. Each runs once, and the sink gets the messages that they emit
// while they run.
func TestThousandBranches(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const branches = 1000
	var ran, now, most atomic.Int64
	gate := make(chan struct{})
	handlers := map[string]runner.HandlerFunc{"say": func(_ context.Context, task *runner.Task) (any, error) {
		ran.Add(1)
		if at := now.Add(1); at == branches {
			close(gate) // all of them run at the same time
		}
		most.Store(max(most.Load(), now.Load()))
		<-gate
		task.Emit(runner.Said{Type: "progress", Percent: 50})
		now.Add(-1)
		return task.Node, nil
	}}
	sink := &recorder{}
	text := "state: {names: {type: array, reducer: append, default: []}}\n" +
		fanFlow("", branches, func(int) string { return "kind: work, do: say, writes: [names]" })
	got := run(t, text, handlers, runner.Options{Sink: sink})
	if got.Status != machine.Completed || got.Steps != branches+2 || ran.Load() != branches {
		t.Errorf("status %s after %d steps, %d handlers ran", got.Status, got.Steps, ran.Load())
	}
	names, _ := got.State["names"].([]any)
	want := make([]any, branches)
	for i := range want {
		want[i] = fmt.Sprintf("b%d", i)
	}
	if !slices.Equal(names, want) {
		t.Errorf("%d names, not those of the branches in their order", len(names))
	}
	if said := sink.ofType("node_event"); len(said) != branches {
		t.Errorf("%d of %d messages reached the sink", len(said), branches)
	}
}

// processBranches has the handlers of branches that each run a process of a minute, except the first:
// it calls a function once the others are running.
type processBranches struct {
	waiting chan struct{} // closed when all but the first run
	running atomic.Int64
	stopped chan time.Time // when each was cancelled
	left    atomic.Int64   // handlers that have not returned
	acted   time.Time      // when the first called its function
}

func newProcessBranches(branches int) *processBranches {
	p := &processBranches{waiting: make(chan struct{}), stopped: make(chan time.Time, branches)}
	p.left.Store(int64(branches))
	return p
}

func (p *processBranches) newHandlers(others int, first func() (any, error)) map[string]runner.HandlerFunc {
	return map[string]runner.HandlerFunc{
		"first": func(ctx context.Context, _ *runner.Task) (any, error) {
			defer p.left.Add(-1)
			select {
			case <-p.waiting:
			case <-ctx.Done():
			}
			if first == nil {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			p.acted = time.Now()
			return first()
		},
		"sleep": func(ctx context.Context, _ *runner.Task) (any, error) {
			defer p.left.Add(-1)
			sleep := exec.Command("sleep", "60")
			if err := sleep.Start(); err != nil {
				return nil, err
			}
			if p.running.Add(1) == int64(others) {
				close(p.waiting)
			}
			<-ctx.Done()
			p.stopped <- time.Now()
			return nil, errors.Join(ctx.Err(), sleep.Process.Kill(), sleep.Wait())
		},
	}
}

// A run of many processes leaves no process and no goroutine behind, however it ends.
func TestBranchesEnd(t *testing.T) {
	const others = 30
	flow := func(top string) string {
		return fanFlow(top, others+1, func(i int) string {
			if i == 0 {
				return "kind: work, do: first"
			}
			return "kind: work, do: sleep"
		})
	}
	failing := func() (any, error) { return nil, errors.New("no") }
	any1 := func(text string) string { return strings.Replace(text, "wait: all", "wait: any", 1) }
	cases := []struct {
		name   string
		flow   string
		first  func() (any, error)
		cancel bool
		status machine.Status
		reason string
	}{
		{"a failure", flow(""), failing, false, machine.Failed, "node_failed"},
		{"a join that has enough", any1(flow("")), func() (any, error) { return 1, nil }, false, machine.Completed, "end"},
		{"a cancellation", flow(""), nil, true, machine.Cancelled, "cancelled"},
		{"the timeout of the run", strings.Replace(flow(""), "limits: {", "limits: {timeout: 300ms, ", 1), nil, false, machine.Limit, "timeout"},
		{"the timeout of a step", strings.Replace(flow(""), "limits: {", "limits: {step_timeout: 300ms, ", 1), nil, false, machine.Failed, "node_failed"},
		{"the timeout of a branch", flow("parallel: {branch_timeout: 300ms}\n"), nil, false, machine.Failed, "node_failed"},
		{"the timeouts of the tasks", strings.Replace(flow(""), "limits: {", "limits: {node_timeout: 300ms, ", 1), nil, false, machine.Failed, "node_failed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			p := newProcessBranches(others + 1)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if c.cancel {
				go func() { <-p.waiting; cancel() }()
			}
			f := prepareFlow(t, runner.Config{Kinds: []runner.Kind{workKind(p.newHandlers(others, c.first))}}, c.flow)
			got, err := f.Run(ctx, runner.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != c.status || got.Reason != c.reason {
				t.Errorf("status %s, reason %s (%v)", got.Status, got.Reason, got.Error)
			}
			if n := p.left.Load(); n != 0 {
				t.Errorf("%d handlers were running when the run had ended", n)
			}
		})
	}
}

// The siblings of a branch that fails are cancelled within 100 ms.
func TestSiblingsAreCancelledAtOnce(t *testing.T) {
	const others, tries = 30, 5
	best := time.Hour
	for range tries { // the machine may be busy for a moment
		p := newProcessBranches(others + 1)
		text := fanFlow("", others+1, func(i int) string {
			if i == 0 {
				return "kind: work, do: first"
			}
			return "kind: work, do: sleep"
		})
		got := run(t, text, p.newHandlers(others, func() (any, error) { return nil, errors.New("no") }), runner.Options{})
		wantResult(t, got, machine.Failed, "a b0", "failed")
		last := p.acted
		for range others {
			if at := <-p.stopped; at.After(last) {
				last = at
			}
		}
		if best = min(best, last.Sub(p.acted)); best < 100*time.Millisecond {
			return
		}
	}
	t.Errorf("the last of %d siblings was cancelled %v after the failure", others, best)
}
