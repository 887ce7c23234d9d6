package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// elements is a flow of lists: one whose elements fail at first, one whose elements are
// subgraphs with a question to people in one of them, one of which an element fails for
// good while others run.
const elements = `graphrun: v1
name: elements
start: tried
limits: {max_concurrency: 7, node_timeout: 1m}
state:
  out: {type: array, default: []}
  inner: {type: array, default: []}
nodes:
  tried:
    kind: exec
    each: "0..39"
    script: 'test $(($I % 5)) != 3 -o "$GRAPHRUN_TASK_ATTEMPT" = 2 && echo $I'
    env: {I: "{{ item }}"}
    retry: {max_attempts: 2, initial_interval: 10ms}
    writes: {out: output}
  subs:
    kind: graph
    graph: inner.yaml
    each: "0..11"
    with: {i: item}
    writes: {inner: "map(output, #.output)"}
  fails:
    kind: exec
    each: "0..19"
    script: 'test $I != 2 || exit 3; test $I -le 4 || sleep 60'
    env: {I: "{{ item }}"}
edges:
  - {from: tried, to: subs}
  - {from: subs, to: fails}
  - {from: fails, to: END}
`

const elementsInner = `graphrun: v1
name: inner
start: first
state: {i: {type: integer, required: true}, said: {type: string, default: "nothing"}, n: {type: integer, default: 0}}
nodes:
  first: {kind: exec, script: 'echo $(($I + 1))', env: {I: "{{ i }}"}, writes: [n]}
  ask: {kind: human, prompt: "what of {{ i }}?", writes: [said]}
  second: {kind: exec, script: 'echo $(($N * 2))', env: {N: "{{ n }}"}, writes: [n]}
edges:
  - {from: first, to: ask, when: "i == 5"}
  - {from: first, to: second, when: "i != 5"}
  - {from: ask, to: second}
  - {from: second, to: END}
output: {n: n, said: said}
`

// TestCarried: what carriers have done comes to the same as what the workflow of the run
// has done itself, also when that moves on, and can be replayed.
func TestCarried(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	workerOf(t, o, engine.WorkerOptions{})
	moving := o
	moving.Queue = "moving"
	workerOf(t, moving, engine.WorkerOptions{MostEvents: 60})
	c, err := engine.Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"flow.yaml": elements, "inner.yaml": elementsInner} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, db := filepath.Join(dir, "flow.yaml"), filepath.Join(dir, "runs.db")
	run := func(o *engine.Options, id string) (all []outcome) {
		store := []string{"--store", db}
		if o != nil {
			store = nil
		}
		for _, args := range [][]string{{"run", file, "--run-id", id}, {"resume", id, "--answer", "subs[5]/ask=much"}} {
			all = append(all, outcomeOf(t, o, append(args, store...)...))
			if of, ok := all[len(all)-1].Error.(map[string]any); ok {
				delete(of, "details") // of those that were at work when one failed
			}
		}
		return all
	}
	here := run(nil, "here")
	if here[0].Code != 10 || here[1].Code == 0 {
		t.Fatalf("exit codes %d and %d, want 10 and a failure: %v", here[0].Code, here[1].Code, here[1].Error)
	}
	for name, o := range map[string]engine.Options{"aside": o, "carried": o.SplitAbove(1), "moved": moving.SplitAbove(1)} {
		from := time.Now()
		if diff := cmp.Diff(here, run(&o, name)); diff != "" {
			t.Errorf("%s: on this machine (-), on the cluster (+):\n%s", name, diff)
		}
		sizes, err := c.Sizes(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		carriers := 0
		for _, s := range sizes {
			if s.Carrier {
				carriers++
			} else if name == "carried" && s.Activities > 0 {
				t.Errorf("%s: %d activities of elements are in the workflow of the run", name, s.Activities)
			}
		}
		if carries := name != "aside"; carries != (carriers > 0) {
			t.Errorf("%s: %d carriers", name, carriers)
		}
		t.Logf("%s: %d workflows, %d of them carriers, in %s", name, len(sizes), carriers, time.Since(from).Round(time.Millisecond))
		for range 3 { // the tasks that begin at once always begin in the same order
			events := 10000
			if name == "moved" {
				events = 60
			}
			if err := c.ReplayMoved(t.Context(), name, events); err != nil {
				t.Fatalf("%s does not replay: %v", name, err)
			}
		}
	}
	// Who forgets a run forgets its carriers.
	listed(t, c, "carried", func(n int) bool { return n > 0 })
	if _, stderr, code := command(&o, "runs", "delete", "carried"); code != 0 {
		t.Fatal(stderr)
	}
	listed(t, c, "carried", func(n int) bool { return n == 0 })
}

// listed waits until the cluster lists a number of carriers of a run that fits.
func listed(t *testing.T, c *engine.Cluster, runID string, fits func(carriers int) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		n, err := c.Store(t.Context()).Carriers(runID)
		if err != nil {
			t.Fatal(err)
		}
		if fits(n) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d carriers of run %q are listed", n, runID)
		}
	}
}

// TestCarriedCancelled: to cancel a run ends the tasks that carriers have at work, and
// the carriers.
func TestCarriedCancelled(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}.SplitAbove(1)
	workerOf(t, o, engine.WorkerOptions{})
	c, err := engine.Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir := t.TempDir()
	file, marks := filepath.Join(dir, "flow.yaml"), filepath.Join(dir, "marks")
	text := fmt.Sprintf(`graphrun: v1
name: cancelled
start: a
limits: {node_timeout: 10m}
nodes: {a: {kind: exec, each: "0..5", script: 'echo $GRAPHRUN_TASK_KEY >> %s; exec sleep 300'}}
edges: [{from: a, to: END}]
`, marks)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan outcome)
	go func() { ended <- outcomeOf(t, &o, "run", file, "--run-id", "cancelled") }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if text, _ := os.ReadFile(marks); strings.Count(string(text), "\n") > 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the elements don't begin")
		}
	}
	if _, stderr, code := command(&o, "runs", "cancel", "cancelled"); code != 0 {
		t.Fatal(stderr)
	}
	if out := <-ended; out.Status != "cancelled" {
		t.Errorf("the run is %s: %v", out.Status, out.Error)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		sizes, err := c.Sizes(t.Context(), "cancelled")
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, s := range sizes {
			if s.Open {
				open++
			}
		}
		if open == 0 && len(sizes) > 1 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d workflows are still open", open, len(sizes))
		}
	}
}
