// The package as Go programs use it.

package flowtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// writeFolder writes files, by name, to a new folder.
func writeFolder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runFolder runs the test files of a folder.
func runFolder(t *testing.T, cfg flowtest.Config, dir string) *flowtest.Report {
	t.Helper()
	names, err := flowtest.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []*flowtest.File
	for _, name := range names {
		file, found, err := flowtest.Load(cfg, name)
		if err == nil && found.HasErrors() {
			err = &spec.InvalidError{Findings: found}
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return flowtest.Run(cfg, files)
}

// newDouble returns a node kind of a Go program.
func newDouble(calls *atomic.Int64) runner.Kind {
	return runner.Kind{
		Spec: spec.Kind{Name: "double", Keys: []spec.Key{{Name: "of", Type: spec.TypeString, Role: spec.RoleExpr}}},
		Handler: runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
			calls.Add(1)
			n, _ := task.Config["of"].(int)
			return 2 * n, nil
		}),
	}
}

const doubling = `graphrun: v1
name: doubling
start: go
state: {n: {type: integer, default: 3}}
nodes: {go: {kind: double, of: n, writes: [n]}}
edges: [{from: go, to: END}]
`

func TestKindsOfAProgram(t *testing.T) {
	dir := writeFolder(t, map[string]string{"doubling.yaml": doubling, "doubling.test.yaml": `graphrun-test: v1
cases:
  - {name: stubbed, stubs: {go: {output: 7}}, expect: {state: {n: 7}}}
  - {name: by expression, stubs: {go: {expr: n + 1}}, expect: {state: {n: 4}}}
  - {name: as it is, stubs: {go: {real: true}}, expect: {state: {n: 6}}}
`})
	var calls atomic.Int64
	flowtest.Test(t, flowtest.Config{Kinds: []runner.Kind{newDouble(&calls)}, Parallel: 1}, dir)
	if calls.Load() != 1 {
		t.Errorf("the handler was called %d times, want once, by the case that is real", calls.Load())
	}
}

// recorder records the output of a test.
type recorder struct {
	lines []string
	names []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) Run(name string, f func(*recorder)) bool {
	r.names = append(r.names, name)
	f(r)
	return true
}

func TestFailuresHaveTheirPlace(t *testing.T) {
	dir := writeFolder(t, map[string]string{"doubling.yaml": doubling, "doubling.test.yaml": `graphrun-test: v1
cases:
  - name: wrong
    expect:
      state: {n: 7}
  - {name: right, expect: {state: {n: 6}}}
`})
	var calls atomic.Int64
	got := &recorder{}
	cfg := flowtest.Config{Kinds: []runner.Kind{newDouble(&calls)}, Real: []string{"double"}}
	flowtest.Test(got, cfg, dir)
	if len(got.lines) != 1 || !strings.Contains(got.lines[0], "doubling.test.yaml:5: state.n\n    want 7\n    got  6") {
		t.Errorf("got %q", got.lines)
	}
	if len(got.names) != 2 || got.names[0] != "wrong" {
		t.Errorf("subtests %q", got.names)
	}
	got = &recorder{}
	flowtest.Test(got, cfg, t.TempDir())
	if len(got.lines) != 1 || !strings.Contains(got.lines[0], "no test file") {
		t.Errorf("got %q", got.lines)
	}
}

// The writes of branches merge in the order of the file, no matter how long their stubs
// take.
func TestDelaysDoNotChangeTheResult(t *testing.T) {
	var flow, same strings.Builder
	flow.WriteString("graphrun: v1\nname: race\nstart: go\nstate: {won: {type: string}}\nnodes:\n  go: {kind: pass}\n")
	same.WriteString("graphrun-test: v1\ncases:\n")
	const branches = 8
	for i := range branches {
		fmt.Fprintf(&flow, "  b%d: {kind: exec, command: [\"false\"], writes: [won], timeout: 1m}\n", i)
	}
	flow.WriteString("edges:\n")
	for i := range branches {
		fmt.Fprintf(&flow, "  - {from: go, to: b%d}\n  - {from: b%d, to: END}\n", i, i)
	}
	for n := range 40 {
		fmt.Fprintf(&same, "  - name: same %d\n    stubs: {", n)
		for i := range branches {
			fmt.Fprintf(&same, "b%d: {output: b%d}, ", i, i)
		}
		fmt.Fprintf(&same, "}\n    expect: {state: {won: b%d}, duration: 0s}\n  - name: slow %d\n    stubs: {", branches-1, n)
		for i := range branches {
			fmt.Fprintf(&same, "b%d: {output: b%d, delay: %ds}, ", i, i, 1+(i*5+n)%branches)
		}
		fmt.Fprintf(&same, "}\n    expect: {state: {won: b%d}, duration: %ds}\n", branches-1, branches)
	}
	flowtest.Test(t, flowtest.Config{}, writeFolder(t, map[string]string{"race.yaml": flow.String(), "race.test.yaml": same.String()}))
}

// Nodes that really run take real time, and their timeouts end them.
func TestRealTime(t *testing.T) {
	slow := runner.Kind{
		Spec: spec.Kind{Name: "slow"},
		Handler: runner.HandlerFunc(func(ctx context.Context, _ *runner.Task) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	}
	dir := writeFolder(t, map[string]string{"slow.yaml": `graphrun: v1
name: slow
start: go
nodes: {go: {kind: slow, timeout: 50ms}, later: {kind: wait, for: 24h}}
edges: [{from: go, to: later, condition: on_failure}, {from: go, to: END}, {from: later, to: END}]
`, "slow.test.yaml": `graphrun-test: v1
cases:
  - {name: out of time, expect: {path: [go, later], where: ["nodes.go.error.kind == 'timeout'", "duration > 86400", "duration < 86410"]}}
`})
	began := time.Now()
	flowtest.Test(t, flowtest.Config{Kinds: []runner.Kind{slow}, Real: []string{"slow"}}, dir)
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("a timeout of 50ms took %s of what really ran", took)
	}
}

// A thousand cases of a flow of twenty nodes are quick.
func TestManyCasesAreQuick(t *testing.T) {
	var flow, tests strings.Builder
	flow.WriteString("graphrun: v1\nname: long\nstart: n0\nstate: {n: {type: integer, default: 0}}\nnodes:\n")
	tests.WriteString("graphrun-test: v1\ndefaults:\n  stubs:\n")
	for i := range 20 {
		fmt.Fprintf(&flow, "  n%d: {kind: exec, command: [\"false\"], writes: [n], timeout: 1m, retry: {max_attempts: 2}}\n", i)
		fmt.Fprintf(&tests, "    n%d: {output: %d}\n", i, i)
	}
	flow.WriteString("edges:\n")
	for i := range 19 {
		fmt.Fprintf(&flow, "  - {from: n%d, to: n%d, when: n == %d}\n  - {from: n%d, to: END}\n", i, i+1, i, i)
	}
	flow.WriteString("  - {from: n19, to: END}\n")
	tests.WriteString("cases:\n")
	for i := range 1000 {
		fmt.Fprintf(&tests, "  - {name: case %d, expect: {steps: 20, state: {n: 19}}}\n", i)
	}
	dir := writeFolder(t, map[string]string{"long.yaml": flow.String(), "long.test.yaml": tests.String()})
	began := time.Now()
	report := runFolder(t, flowtest.Config{}, dir)
	t.Logf("1000 cases of 20 nodes took %s", time.Since(began))
	if report.Passed != 1000 {
		t.Errorf("%d of 1000 cases passed", report.Passed)
	}
}
