package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// nestedFiles returns a flow with nested graphs: a loop of pure steps, work, a handled failure,
// questions on two levels, elements.
func nestedFiles() map[string]string {
	return map[string]string{
		"outer.yaml": `graphrun: v1
name: outer
start: fan
state: {log: {type: array, reducer: append, default: []}}
nodes:
  fan: {kind: pass}
  m: {kind: graph, graph: middle.yaml, writes: {log: output.state.log}}
  w: {kind: work, do: count, with: "w", writes: [log]}
  e: {kind: graph, graph: inner.yaml, each: "[1, 2]", with: {id: "'e' + string(item)"}, writes: {log: "map(output, .output)"}}
  last: {kind: work, do: fails, with: "last", join: {wait: all}}
edges:
  - {from: fan, to: [m, w, e]}
  - {from: [m, w, e], to: last}
  - {from: last, to: END}
`,
		"middle.yaml": `graphrun: v1
name: middle
start: a
state: {log: {type: array, reducer: append, default: []}, n: {type: integer, default: 0}}
nodes:
  a: {kind: set, set: {n: n + 1, log: n}}
  b: {kind: work, do: count, with: "b{{ n }}", writes: [log]}
  c: {kind: graph, graph: inner.yaml, with: {id: "'c' + string(n)"}, writes: {log: output.output}}
  d: {kind: work, do: fails, with: "d", writes: [log]}
edges:
  - {from: a, to: b}
  - {from: b, to: a, when: n < 3}
  - {from: b, to: c}
  - {from: c, to: d}
  - {from: d, to: END}
`,
		"inner.yaml": `graphrun: v1
name: inner
start: x
state: {id: {type: string, required: true}, got: {type: string}}
output: id + got
nodes:
  x: {kind: work, do: count, with: "x-{{ id }}"}
  ask: {kind: human, prompt: "{{ id }}?", choices: [p, q], writes: [got]}
  y: {kind: work, do: count, with: "y-{{ id }}"}
edges:
  - {from: x, to: ask}
  - {from: ask, to: y}
  - {from: y, to: END}
`,
	}
}

// workCounter counts how often each piece of work was done.
type workCounter struct {
	mu    sync.Mutex
	done  map[string]int
	fails bool
}

func (c *workCounter) runner(t *testing.T, s store.Store, files map[string]string) *runner.Runner {
	t.Helper()
	count := func(_ context.Context, task *runner.Task) (any, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.done[task.Config["with"].(string)]++
		return task.Config["with"], nil
	}
	r, err := runner.New(runner.Config{
		Store: s,
		Load: func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
		Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
			"count": count,
			"fails": func(ctx context.Context, task *runner.Task) (any, error) {
				c.mu.Lock()
				fails := c.fails
				c.mu.Unlock()
				if fails {
					return nil, errors.New("not yet")
				}
				return count(ctx, task)
			},
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// runNested runs outer.yaml and resumes it until it has completed. After each crash the store
// accepts step more writes.
func (c *workCounter) runNested(t *testing.T, s *crashingStore, step int, snapshots bool) *runner.Result {
	t.Helper()
	files := nestedFiles()
	r := c.runner(t, s, files)
	if snapshots {
		runner.SnapshotAlways(r)
	}
	g, found := spec.Parse("outer.yaml", []byte(files["outer.yaml"]), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	result, err := r.Run(context.Background(), g, runner.Options{RunID: "one"})
	for range 200 {
		opts := runner.Options{}
		switch {
		case errors.Is(err, errKilled):
			s.after = step
		case err != nil:
			t.Fatal(err)
		case result.Status == machine.Completed:
			return result
		case result.Status == machine.Paused:
			opts.Answers = map[string][]string{}
			for i := range result.Pending {
				target := result.Pending[i].Target()
				opts.Answers[target] = []string{[]string{"p", "q"}[len(target)%2]}
			}
		default:
			c.mu.Lock() // a task may still run after the store failed
			c.fails = false
			c.mu.Unlock()
		}
		result, err = r.Resume(context.Background(), "one", opts)
	}
	t.Fatalf("the run does not end: %v, %v", result, err)
	return nil
}

// A run of nested graphs that crashes at any write resumes at that point: no finished step, at any
// depth, runs again.
func TestSubgraphsAfterCrashes(t *testing.T) {
	run := func(after, step int, snapshots bool) (*runner.Result, *workCounter, *crashingStore) {
		c := &workCounter{done: map[string]int{}, fails: true}
		s := &crashingStore{Store: &store.Memory{}, after: after}
		return c.runNested(t, s, step, snapshots), c, s
	}
	want, whole, _ := run(-1, -1, false)
	for work, n := range whole.done {
		if n != 1 && !strings.HasPrefix(work, "y-e") { // the failure of another branch may cut them off
			t.Errorf("without a crash %s was done %d times", work, n)
		}
	}
	if len(whole.done) != 12 {
		t.Errorf("%d pieces of work were done: %v", len(whole.done), whole.done)
	}
	for after := 1; after < 150; after += 3 {
		for _, step := range []int{-1, 12} { // three branches may need eight writes to begin again before one ends
			got, c, s := run(after, step, after%2 == 0)
			if diff := cmp.Diff(want.State, got.State); diff != "" || got.Steps != want.Steps {
				t.Errorf("crash after %d, then every %d: %d steps, want %d; state (-want +got):\n%s", after, step, got.Steps, want.Steps, diff)
			}
			again := 0
			for work, n := range c.done {
				again += n - whole.done[work]
			}
			if step < 0 && again > 5 { // at most the active tasks: three branches, one with two elements, and what a failure cut off
				t.Errorf("crash after %d: %d pieces of work were done again: %v", after, again, c.done)
			}
			if s.after >= 0 && step < 0 {
				return // the run took fewer writes
			}
		}
	}
}

// A run that was cancelled during a subgraph continues inside it.
func TestCancelledSubgraphs(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	files := map[string]string{
		"outer.yaml":  "graphrun: v1\nname: outer\nstart: a\nnodes: {a: {kind: graph, graph: middle.yaml}}\nedges: [{from: a, to: END}]\n",
		"middle.yaml": "graphrun: v1\nname: middle\nstart: a\nnodes: {a: {kind: graph, graph: inner.yaml}}\nedges: [{from: a, to: END}]\n",
		"inner.yaml": "graphrun: v1\nname: inner\nstart: x\nnodes: {x: {kind: work, do: count, with: x}, y: {kind: work, do: block, with: y}}\n" +
			"edges: [{from: x, to: y}, {from: y, to: END}]\n",
	}
	var mu sync.Mutex
	var done []string
	r, err := runner.New(runner.Config{
		Store: &store.Memory{}, Load: func(path string) ([]byte, error) { return []byte(files[path]), nil },
		Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
			"count": func(_ context.Context, task *runner.Task) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				done = append(done, fmt.Sprintf("%s %d", task.Node, task.Attempt))
				return nil, nil
			},
			"block": func(own context.Context, task *runner.Task) (any, error) {
				mu.Lock()
				done = append(done, fmt.Sprintf("%s %d", task.Node, task.Attempt))
				first := len(done) == 2
				mu.Unlock()
				if first {
					cancel()
					<-own.Done()
					return nil, own.Err()
				}
				return "done", nil
			},
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, _ := spec.Parse("outer.yaml", []byte(files["outer.yaml"]), spec.Options{Kinds: r.Kinds()})
	result, err := r.Run(ctx, g, runner.Options{RunID: "one"})
	if err != nil || result.Status != machine.Cancelled {
		t.Fatalf("%+v, %v", result, err)
	}
	result, err = r.Resume(context.Background(), "one", runner.Options{})
	if err != nil || result.Status != machine.Completed || result.Steps != 4 {
		t.Fatalf("%+v, %v", result, err)
	}
	if want := []string{"a/a/x 1", "a/a/y 1", "a/a/y 1"}; !slices.Equal(done, want) {
		t.Errorf("done %q, want %q", done, want)
	}
}

// Without a store, a subgraph that waits for an answer stays in memory.
func TestSubgraphsWithoutStore(t *testing.T) {
	c := &workCounter{done: map[string]int{}}
	files := nestedFiles()
	r := c.runner(t, nil, files)
	g, _ := spec.Parse("outer.yaml", []byte(files["outer.yaml"]), spec.Options{Kinds: r.Kinds()})
	var mu sync.Mutex
	asked := map[string]int{}
	result, err := r.Run(context.Background(), g, runner.Options{
		Answers: map[string][]string{"e[1]/ask": {"q"}},
		Ask: func(_ context.Context, q view.Pending, _ string) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[q.Target()]++
			return "p", nil
		},
	})
	if err != nil || result.Status != machine.Completed {
		t.Fatalf("%v, %v", result, err)
	}
	if want := map[string]int{"m/c/ask": 1, "e[0]/ask": 1}; !maps.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	for work, n := range c.done {
		if n != 1 {
			t.Errorf("%s was done %d times", work, n)
		}
	}
	if got, want := fmt.Sprint(result.State["log"]), "[1 2 b1 b2 b3]"; len(got) < len(want) {
		t.Errorf("log %s", got)
	}
}

// A pausing run does not wait for its subgraphs to end.
func TestPauseReachesSubgraphs(t *testing.T) {
	files := map[string]string{
		"outer.yaml": "graphrun: v1\nname: outer\nstart: a\nnodes: {a: {kind: graph, graph: middle.yaml}}\nedges: [{from: a, to: END}]\n",
		"middle.yaml": "graphrun: v1\nname: middle\nstart: a\nlimits: {max_steps: 10000000}\nnodes: {a: {kind: graph, each: '[1, 2]', graph: inner.yaml}}\n" +
			"edges: [{from: a, to: END}]\n",
		"inner.yaml": "graphrun: v1\nname: inner\nstart: a\nlimits: {max_steps: 10000000}\nnodes: {a: {kind: work, do: turn}}\n" +
			"edges: [{from: a, to: END, when: output == 'stop'}, {from: a, to: a}]\n",
	}
	s := &store.Memory{}
	var stop atomic.Bool
	r, err := runner.New(runner.Config{
		Store: s, Load: func(path string) ([]byte, error) { return []byte(files[path]), nil },
		Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
			"turn": func(_ context.Context, task *runner.Task) (any, error) {
				if task.Visit == 5 && !stop.Load() { // an element may reach this only after the pause
					if err := s.SendRequest("one", store.RequestPause); err != nil {
						return nil, err
					}
				}
				if stop.Load() {
					return "stop", nil
				}
				return "go on", nil
			},
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, _ := spec.Parse("outer.yaml", []byte(files["outer.yaml"]), spec.Options{Kinds: r.Kinds()})
	result, err := r.Run(context.Background(), g, runner.Options{RunID: "one", MaxSteps: 10_000_000})
	if err != nil || result.Status != machine.Paused || result.Reason != "pause" {
		t.Fatalf("%+v, %v", result, err)
	}
	stop.Store(true)
	result, err = r.Resume(context.Background(), "one", runner.Options{})
	if err != nil || result.Status != machine.Completed {
		t.Fatalf("%+v, %v", result, err)
	}
}

// askedBeside is a graph in which a person is asked while a timer runs.
const askedBeside = `graphrun: v1
name: child
start: a
nodes:
  a: {kind: pass}
  w: {kind: wait, for: 1h}
  ask: {kind: human, prompt: "Well?"}
  end: {kind: pass, join: {wait: all}}
edges:
  - {from: a, to: [w, ask]}
  - {from: [w, ask], to: end}
  - {from: end, to: END}
`

// A question of a subgraph is asked while a timer of the same subgraph runs.
func TestQuestionsNextToTimers(t *testing.T) {
	clock := newFakeClock()
	asked := make(chan string)
	f := prepareFlow(t, runner.Config{Clock: clock, Load: func(string) ([]byte, error) { return []byte(askedBeside), nil }},
		"nodes: {a: {kind: graph, each: '[1]', graph: child.yaml}}\nedges: [{from: a, to: END}]\n")
	end := startFlow(t, t.Context(), f, runner.Options{Ask: func(_ context.Context, q view.Pending, _ string) (string, error) {
		asked <- q.Target()
		return "yes", nil
	}})
	if target := <-asked; target != "a[0]/ask" {
		t.Errorf("asked %q", target)
	}
	clock.fire(time.Hour)
	if result := end(); result.Status != machine.Completed {
		t.Errorf("%+v", result)
	}
}
