package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/client"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// readNumber returns the number in an environment variable, or the default.
func readNumber(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// size returns the large size, which the engine promises, or by default the small one.
// GRAPHRUN_TEMPORAL_SCALE sets a percentage.
func size(t *testing.T, large, small int) int {
	return max(large*readNumber(t, "GRAPHRUN_TEMPORAL_SCALE", 0)/100, small)
}

func manySteps(n int) string {
	return fmt.Sprintf(`graphrun: v1
name: steps
start: a
limits: {max_steps: 1000000, node_timeout: 1m}
state: {n: {type: integer, default: 0}}
nodes:
  a: {kind: exec, command: ["true"], writes: {n: "n + 1"}}
edges:
  - {from: a, to: a, when: "n < %d"}
  - {from: a, to: END, when: "n >= %d"}
`, n, n)
}

// pureSteps returns a flow whose steps need no activity.
func pureSteps(n int) string {
	return strings.NewReplacer(`{kind: exec, command: ["true"], writes: {n: "n + 1"}}`, `{kind: set, set: {n: "n + 1"}}`, "name: steps", "name: pure").Replace(manySteps(n))
}

func fanOut(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: fan\nstart: s\nlimits: {max_steps: 10000, max_concurrency: %d, node_timeout: 10m}\n", n)
	b.WriteString("state: {sum: {type: array, reducer: append}}\nnodes:\n  s: {kind: pass}\n  met: {kind: pass, join: {wait: all}}\n")
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("b%d", i)
		fmt.Fprintf(&b, "  %s: {kind: exec, command: [echo, '%d'], writes: [sum]}\n", names[i], i)
	}
	all := "[" + strings.Join(names, ", ") + "]"
	fmt.Fprintf(&b, "edges:\n  - {from: s, to: %s}\n  - {from: %s, to: met}\n  - {from: met, to: END}\n", all, all)
	return b.String()
}

func manyElements(n int) string {
	list, _ := json.Marshal(make([]int, n))
	return fmt.Sprintf(`graphrun: v1
name: each
start: a
limits: {max_concurrency: 200, node_timeout: 10m}
state: {list: {type: array, default: %s}, out: {type: array, default: []}}
nodes:
  a: {kind: exec, each: list, command: [echo, "{{ index }}"], writes: {out: output}}
edges: [{from: a, to: END}]
`, list)
}

// manyGraphs runs a graph of three steps for each element.
func manyGraphs(n int) string {
	list, _ := json.Marshal(make([]int, n))
	return fmt.Sprintf(`graphrun: v1
name: graphs
start: a
limits: {max_concurrency: 50, max_steps: 1000000, node_timeout: 10m}
state: {list: {type: array, default: %s}, out: {type: array, default: []}}
nodes:
  a: {kind: graph, graph: inner.yaml, each: list, with: {i: index}, writes: {out: "map(output, #.output)"}}
edges: [{from: a, to: END}]
`, list)
}

const threeSteps = `graphrun: v1
name: inner
start: a
state: {i: {type: integer, required: true}, out: {type: array, reducer: append}}
nodes:
  a: {kind: exec, command: [echo, "{{ i }}"], writes: [out]}
  b: {kind: exec, command: [echo, "{{ i }}"], writes: [out]}
  c: {kind: exec, command: [echo, "{{ i }}"], writes: [out]}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: END}]
output: out
`

// wideElements starts a hundred elements at once, each with 50 KB of its own. A cluster does not
// accept that much in one request.
const wideElements = `graphrun: v1
name: wide
start: pad
limits: {max_concurrency: 200, node_timeout: 10m}
state: {pad: {type: string, default: "xxxxxxxxxxxxxxxxxxxxxxxxx"}, out: {type: array, default: []}}
nodes:
  pad: {kind: set, set: {pad: "repeat(pad, 2000)"}}
  a: {kind: exec, each: "split(repeat('x ', 99), ' ')", script: "wc -c", stdin: "{{ pad }}{{ index }}", writes: {out: output}}
edges: [{from: pad, to: a}, {from: a, to: END}]
`

// largeState writes a flow with a state of some megabytes. Every task reads one of them.
func largeState(mb int) string {
	return fmt.Sprintf(`graphrun: v1
name: state
start: make
limits: {max_steps: 1000, node_timeout: 1m}
state: {all: {type: array, reducer: append}, text: {type: string, default: ""}, sizes: {type: array, reducer: append}, n: {type: integer, default: 0}}
nodes:
  make: {kind: exec, reads: [n], script: "head -c 1000000 /dev/zero | tr '\\0' x", parse: text, writes: {text: output}}
  keep: {kind: set, set: {all: "[text + string(n)]", n: "n + 1"}}
  look: {kind: exec, script: "wc -c", stdin: "{{ all[n - 1] }}", writes: {sizes: "[output]"}}
edges:
  - {from: make, to: keep}
  - {from: keep, to: look}
  - {from: look, to: make, when: "n < %d"}
  - {from: look, to: END, when: "n >= %d"}
`, mb, mb)
}

// TestScale runs large flows with both engines. GRAPHRUN_TEMPORAL_BUDGET limits the seconds that
// a run takes on the cluster.
func TestScale(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{})
	c, err := o.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	small := o // moves the run from workflow to workflow with its state
	small.Queue = "small"
	startWorker(t, small, engine.WorkerOptions{MaxEvents: 15})
	for _, f := range []struct {
		name, text string
		o          engine.Options
	}{
		{"fan", fanOut(size(t, 1000, 60)), o},
		{"wide", wideElements, o},
		{"state", largeState(size(t, 20, 2)), small},
		{"each", manyElements(size(t, 20000, 120)), o},
		{"graphs", manyGraphs(size(t, 2000, 20)), o},
		{"steps", manySteps(size(t, 10000, 30)), o},
		{"pure", pureSteps(size(t, 10000, 300)), o},
	} {
		t.Run(f.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "flow.yaml")
			if err := os.WriteFile(file, []byte(f.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "inner.yaml"), []byte(threeSteps), 0o600); err != nil {
				t.Fatal(err)
			}
			here := runCommand(t, nil, "run", file, "--store", filepath.Join(dir, "runs.db"))
			from := time.Now()
			there := runCommand(t, &f.o, "run", file, "--run-id", f.name)
			events, _, _ := command(&f.o, "runs", "events", f.name)
			took := time.Since(from)
			sizes, err := c.Sizes(t.Context(), f.name)
			if err != nil {
				t.Fatal(err)
			}
			own, most := 0, 0
			for _, s := range sizes {
				own, most = own+s.Events, max(most, s.Events)
			}
			t.Logf("%d steps in %s, moved %d times; %d events, at most %d in one history", there.Steps, took.Round(time.Millisecond),
				strings.Count(events, `"event":"run_resumed"`), own, most)
			if budget := readNumber(t, "GRAPHRUN_TEMPORAL_BUDGET", 0); budget > 0 && took > time.Duration(budget)*time.Second {
				t.Errorf("the run took %s, want at most %d s (GRAPHRUN_TEMPORAL_BUDGET)", took, budget)
			}
			if there.Code != 0 {
				t.Errorf("exit code %d, want 0: %v", there.Code, there.Error)
			}
			if diff := cmp.Diff(here, there); diff != "" {
				t.Errorf("on this machine (-), on the cluster (+):\n%.2000s", diff)
			}
		})
	}
}

// waitsLong returns the file of a flow that takes an hour.
func waitsLong(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flow.yaml")
	text := "graphrun: v1\nname: w\nstart: w\nnodes: {w: {kind: wait, for: 1h}}\nedges: [{from: w, to: END}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTerminatedAtOnce: followers also learn it if no worker has begun the run.
func TestTerminatedAtOnce(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	file := waitsLong(t)
	if _, stderr, code := command(&o, "run", file, "--run-id", "ended"); code != 1 || !strings.Contains(stderr, "no worker answers for it") {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	c, err := client.Dial(client.Options{HostPort: o.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.TerminateWorkflow(t.Context(), "ended", "", "enough"); err != nil {
		t.Fatal(err)
	}
	startWorker(t, o, engine.WorkerOptions{})
	_, stderr, code := command(&o, "runs", "show", "ended")
	if want := `run "ended" was ended by the cluster before anything of it began`; code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, want 1 and %q in\n%s", code, want, stderr)
	}
}

// TestTerminated: followers of a run learn that its workflow was terminated.
func TestTerminated(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{})
	file := waitsLong(t)
	c, err := client.Dial(client.Options{HostPort: o.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		for c.TerminateWorkflow(t.Context(), "ended", "", "enough") != nil && t.Context().Err() == nil { // until it is there
			time.Sleep(100 * time.Millisecond)
		}
	}()
	_, stderr, code := command(&o, "run", file, "--run-id", "ended")
	if want := `run "ended" was ended by the cluster`; code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, want 1 and %q in\n%s", code, want, stderr)
	}
}
