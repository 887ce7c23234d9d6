package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// textRecorder keeps events as JSON, without their numbers. It must not keep the events, which are
// valid only during the call.
type textRecorder struct {
	texts []string
	// ended lists the steps with an event for their end.
	ended []int
}

func (r *textRecorder) Event(e *runner.Event) error {
	own := *e
	own.Seq = 0
	r.texts = append(r.texts, string(own.AppendJSON(nil)))
	if e.Type == runner.NodeCompleted || e.Type == runner.NodeFailed {
		r.ended = append(r.ended, e.Step)
	}
	return nil
}

// checkStepReads checks that reading a step from the nearest snapshot gives the same result and
// events as reading it from the beginning of the run.
func checkStepReads(t *testing.T, r *runner.Runner, id string) {
	t.Helper()
	var all textRecorder
	whole, err := r.Replay(id, 0, -1, runner.Options{Sink: &all})
	if err != nil {
		t.Fatal(err)
	}
	told := all.texts
	for step := 0; step <= len(whole.Path); step += longtest.Choose(3, 1) {
		want, err := r.Replay(id, 0, step, runner.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.ShowAt(id, step, runner.Options{Sink: &textRecorder{}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(formatComparable(t, want), formatComparable(t, got)); diff != "" {
			t.Fatalf("after step %d the run is another when it is read from near (-whole +near):\n%s", step, diff)
		}
		var from textRecorder
		if _, err := r.Replay(id, step, -1, runner.Options{Sink: &from}); err != nil {
			t.Fatal(err)
		}
		texts := from.texts
		if len(texts) > len(told) || !slices.Equal(texts, told[len(told)-len(texts):]) {
			t.Fatalf("from step %d on other events are told:\n%s", step, cmp.Diff(told[max(0, len(told)-len(texts)):], texts))
		}
		if step > 0 && !slices.Contains(from.ended, step) {
			t.Fatalf("step %d is not told", step)
		}
	}
}

// A run with retries, branches, people, elements, subgraphs and a revoked end reads the same from
// every snapshot.
func TestReadStepsFromSnapshots(t *testing.T) {
	fails := true
	kept := &store.Memory{}
	r, g := snapshotRunner(t, kept, &fails)
	runner.SnapshotAlways(r)
	result, err := r.Run(context.Background(), g, runner.Options{RunID: "one"})
	resumeToEnd(t, r, &fails, result, err, nil)
	checkStepReads(t, r, "one")
	whole, err := r.Replay("one", 0, -1, runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{7, 0, 1, len(whole.Path) - 1}[:longtest.Choose(1, 4)] {
		id := fmt.Sprintf("fork-%d", at)
		if _, err = r.Fork(context.Background(), "one", runner.ForkOptions{At: at, Options: runner.Options{RunID: id, Answers: map[string][]string{"e": {"yes"}}}}); err != nil {
			t.Fatal(err)
		}
		checkStepReads(t, r, id)
		result, divergence, err := r.Verify(id, nil)
		if err != nil || divergence != nil || result.Status != machine.Completed || !slices.Equal(result.Path, whole.Path) {
			t.Errorf("the fork at %d: %v, %v, %v", at, result.Status, divergence, err)
		}
	}
}

// A run with a subgraph reads the same from every snapshot, also from one that was written while
// the subgraph ran: when a concurrent branch ended.
func TestReadSubgraphsFromSnapshots(t *testing.T) {
	kept := &store.Memory{}
	calls, half := 0, make(chan struct{})
	handlers := map[string]runner.HandlerFunc{
		"long": func(context.Context, *runner.Task) (any, error) { return strings.Repeat("y", 1000), nil },
		"wait": func(context.Context, *runner.Task) (any, error) { <-half; return nil, nil },
		"call": func(ctx context.Context, _ *runner.Task) (any, error) {
			if calls++; calls == 15 {
				close(half)
				for ctx.Err() == nil {
					if s, err := kept.Snapshot("one", -1); err != nil || s.Events > 0 {
						return nil, err
					}
					runtime.Gosched()
				}
			}
			return nil, nil
		},
	}
	r, err := runner.New(runner.Config{Store: kept, Kinds: []runner.Kind{workKind(handlers)}, Load: func(string) ([]byte, error) {
		return []byte(snapshotHeader + "state: {n: {type: integer, default: 0}, pad: {type: string, default: " + strings.Repeat("x", 500) + "}}\n" +
			"nodes: {a: {kind: work, do: call, writes: {n: n + 1}}}\nedges: [{from: a, to: a, when: n < 30}, {from: a, to: END}]"), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	runner.SnapshotAlways(r)
	g, found := spec.Parse("flow.yaml", []byte(snapshotHeader+"limits: {max_steps: 500}\nstate: {m: {type: integer, default: 0}}\n"+
		"nodes: {a: {kind: pass}, sub: {kind: graph, graph: child.yaml}, w: {kind: work, do: wait}, z: {kind: set, set: {m: m + 1}, join: {wait: all}}, y: {kind: work, do: long, writes: {m: m + 1}}}\n"+
		"edges: [{from: a, to: [sub, w]}, {from: [sub, w], to: z}, {from: z, to: y}, {from: y, to: y, when: m < 30}, {from: y, to: END}]"), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	if result, err := r.Run(context.Background(), g, runner.Options{RunID: "one"}); err != nil || result.Status != machine.Completed {
		t.Fatal(result, err)
	}
	checkStepReads(t, r, "one")
}

// checkNearbyReads checks how much of a long run is read to show one step.
func checkNearbyReads(t *testing.T, s *crashingStore, r *runner.Runner, steps int) {
	t.Helper()
	for _, at := range []int{1, 2, steps / 3, steps / 2, steps - 1} {
		s.read = 0
		result, err := r.ShowAt("one", at, runner.Options{})
		if err != nil || len(result.Path) != at || result.State["n"] != at {
			t.Fatalf("after step %d: %v, %v", at, result.State["n"], err)
		}
		first := &firstDecision{step: at}
		if _, err := r.Replay("one", at, -1, runner.Options{Sink: first}); !errors.Is(err, runner.ErrEnough) || !first.seen {
			t.Fatalf("step %d is not told: %v", at, err)
		}
		if _, err := r.Fork(context.Background(), "one", runner.ForkOptions{At: at, Options: runner.Options{RunID: fmt.Sprint("fork-", at), MaxSteps: at + 10}}); err != nil {
			t.Fatal(err)
		}
		// A stretch is always read as a whole.
		if s.read > 3*stretch+3000 {
			t.Errorf("%d events were read around step %d", s.read, at)
		}
	}
}

// stretch is the maximum number of events of a pure loop that are read at once.
const stretch = 128 << 10 / 60

// firstDecision is a sink that stops reading at the edges of a step.
type firstDecision struct {
	step int
	seen bool
}

func (f *firstDecision) Event(e *runner.Event) error {
	if e.Type == runner.EdgesResolved && e.Step == f.step {
		f.seen = true
		return runner.ErrEnough
	}
	return nil
}

// A subgraph that waits for a person while other branches run reads the same from a snapshot that
// was written meanwhile. Its earlier steps are then only in the state, not in the events.
func TestReadWaitingSubgraphsFromSnapshots(t *testing.T) {
	calls, half := 0, make(chan struct{})
	handlers := map[string]runner.HandlerFunc{
		"long": func(context.Context, *runner.Task) (any, error) {
			if calls++; calls == 15 {
				close(half)
			}
			return strings.Repeat("y", 1000), nil
		},
	}
	r, err := runner.New(runner.Config{Store: &store.Memory{}, Kinds: []runner.Kind{workKind(handlers)}, Load: func(string) ([]byte, error) {
		return []byte(snapshotHeader + "state: {n: {type: integer, default: 0}, x: {type: string}}\n" +
			"nodes: {a: {kind: set, set: {n: n + 1}}, h: {kind: human, prompt: '?', writes: [x]}, z: {kind: set, set: {n: n + 1}}}\n" +
			"edges: [{from: a, to: a, when: n < 3}, {from: a, to: h}, {from: h, to: z}, {from: z, to: END}]"), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	runner.SnapshotAlways(r)
	g, found := spec.Parse("flow.yaml", []byte(snapshotHeader+"limits: {max_steps: 500}\nstate: {m: {type: integer, default: 0}}\n"+
		"nodes: {a: {kind: pass}, sub: {kind: graph, graph: child.yaml}, y: {kind: work, do: long, writes: {m: m + 1}}, z: {kind: pass, join: {wait: all}}}\n"+
		"edges: [{from: a, to: [sub, y]}, {from: y, to: y, when: m < 30}, {from: [sub, y], to: z}, {from: z, to: END}]"), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	result, err := r.Run(context.Background(), g, runner.Options{RunID: "one", Ask: func(context.Context, view.Pending, string) (string, error) {
		<-half
		return "yes", nil
	}})
	if err != nil || result.Status != machine.Completed {
		t.Fatal(result, err)
	}
	checkStepReads(t, r, "one")
}
