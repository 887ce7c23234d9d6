package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// visits is a flow that repeats a loop a number of times.
const visits = `graphrun: v1
name: visits
start: count
limits: {node_timeout: 1m}
state: {n: {type: integer, default: 0}}
nodes:
  count: {kind: exec, script: 'echo $(($N + 1))', env: {N: "{{ n }}"}, writes: [n]}
  rest: {kind: wait, for: 10ms}
edges:
  - {from: count, to: rest, when: "n < 4"}
  - {from: count, to: END, when: "n >= 4"}
  - {from: rest, to: count}
`

// TestVersions: workers of two builds whose cores decide differently share a queue. Each drives
// only the runs of its version, and readers of a run find the worker that can read it.
func TestVersions(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	older, newer := o.OfCore(1), o.OfCore(2)
	startWorker(t, older, engine.WorkerOptions{})
	startWorker(t, newer, engine.WorkerOptions{})
	file := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte(visits), 0o600); err != nil {
		t.Fatal(err)
	}
	want := runCommand(t, nil, "run", file, "--store", filepath.Join(t.TempDir(), "runs.db"))
	from := time.Now()
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			by := []engine.Options{older, newer}[i%2]
			id := fmt.Sprintf("run%d", i)
			there := runCommand(t, &by, "run", file, "--run-id", id)
			if diff := cmp.Diff(want, there); diff != "" {
				t.Errorf("%s: on this machine (-), on the cluster (+):\n%s", id, diff)
			}
			other := []engine.Options{newer, older}[i%2]
			if shown := runCommand(t, &other, "runs", "show", id); shown.Status != want.Status || cmp.Diff(shown.Path, want.Path) != "" {
				t.Errorf("%s is shown as %s after %v", id, shown.Status, shown.Path)
			}
		})
	}
	group.Wait()
	t.Logf("6 runs of two versions in %s", time.Since(from).Round(time.Millisecond))
}
