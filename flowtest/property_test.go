// Cases agree with the ordinary driver on random graphs, and execute nothing.

package flowtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// scripted holds the results of the visits of a node. A negative number is a failure.
type scripted map[string][]int

// randomFlow returns a graph whose nodes write numbers to keys of their own, with guards,
// failure edges, loops and fan-outs.
func randomFlow(r *rand.Rand, nodes int) (text string, script scripted) {
	var b strings.Builder
	script = scripted{}
	name := func(i int) string { return fmt.Sprintf("n%d", i) }
	b.WriteString("graphrun: v1\nname: random\nstart: n0\nlimits: {max_steps: 40}\nparallel: {on_failure: wait_all}\nstate:\n")
	for i := range nodes {
		fmt.Fprintf(&b, "  k%d: {type: integer, default: 0}\n", i)
	}
	b.WriteString("  all: {type: array, default: [], reducer: union}\nnodes:\n")
	for i := range nodes {
		join := ""
		if r.IntN(5) == 0 {
			join = ", join: {wait: all}"
		}
		fmt.Fprintf(&b, "  %s: {kind: exec, command: [\"false\"], writes: {k%d: output, all: \"['%s']\"}, timeout: 1h%s}\n", name(i), i, name(i), join)
		for range 45 {
			value := r.IntN(6)
			if r.IntN(6) == 0 {
				value = -1
			}
			script[name(i)] = append(script[name(i)], value)
		}
	}
	b.WriteString("edges:\n")
	for i := range nodes {
		target := func() string {
			if to := i - 2 + r.IntN(6); to > 0 && to < nodes && to != i {
				return name(to)
			}
			return "END"
		}
		for range r.IntN(3) {
			fmt.Fprintf(&b, "  - {from: %s, to: %s, when: \"output %s %d and visits.%s < 4\"}\n", name(i), target(), []string{">", "==", "<="}[r.IntN(3)], r.IntN(6), name(i))
		}
		seen := []string{}
		for range 1 + r.IntN(2) {
			if to := target(); !slices.Contains(seen, to) {
				seen = append(seen, to)
				fmt.Fprintf(&b, "  - {from: %s, to: %s}\n", name(i), to)
			}
		}
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "  - {from: %s, to: %s, condition: on_failure}\n", name(i), target())
		}
	}
	return b.String(), script
}

// stubs returns the script as stubs of a test file.
func (s scripted) stubs() string {
	var b strings.Builder
	for _, node := range slices.Sorted(func(yield func(string) bool) {
		for name := range s {
			if !yield(name) {
				return
			}
		}
	}) {
		var list []string
		for _, n := range s[node] {
			if n < 0 {
				list = append(list, "{error: {kind: exit_status}}")
			} else {
				list = append(list, fmt.Sprintf("{output: %d}", n))
			}
		}
		fmt.Fprintf(&b, "      %s: [%s]\n", node, strings.Join(list, ", "))
	}
	return b.String()
}

// handler plays the script without a clock of its own.
func (s scripted) handler() runner.Kind {
	return runner.Kind{Spec: spec.Kind{Name: "exec"}, Handler: runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
		n := s[task.Node][task.Visit-1]
		if n < 0 {
			return nil, &runner.Failure{Kind: "exit_status", Message: "the stub says so"}
		}
		return n, nil
	})}
}

func TestCasesRunAsTheDriverDoes(t *testing.T) {
	rounds := longtest.Choose(60, 150)
	checked, statuses := 0, map[string]int{}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		text, script := randomFlow(r, 3+r.IntN(8))
		g, found := spec.Parse("random.yaml", []byte(text), spec.Options{})
		if found = append(found, spec.Check(g)...); found.HasErrors() {
			continue // a node that nothing reaches, a cycle without a way out
		}
		driver, err := runner.New(runner.Config{Kinds: []runner.Kind{script.handler()}})
		if err != nil {
			t.Fatal(err)
		}
		want, err := driver.Run(t.Context(), g, runner.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		state, err := json.Marshal(want.State)
		if err != nil {
			t.Fatal(err)
		}
		dir := writeFolder(t, map[string]string{
			"random.yaml": text,
			"random.test.yaml": fmt.Sprintf("graphrun-test: v1\ncases:\n  - name: random\n    stubs:\n%s    expect:\n      status: %s\n      reason: %s\n      path: [%s]\n      state_exactly: %s\n      steps: %d\n",
				script.stubs(), want.Status, want.Reason, strings.Join(want.Path, ", "), state, want.Steps),
		})
		for _, result := range runFolder(t, flowtest.Config{}, dir).Results {
			if !result.Passed {
				t.Fatalf("seed %d: %s\n%s", seed, result.Text(), text)
			}
		}
		checked++
		statuses[string(want.Status)]++
	}
	if checked < rounds/4 || len(statuses) < 2 {
		t.Errorf("%d of %d graphs were run: %v", checked, rounds, statuses)
	}
}

// Generated cases pass, and fire the edges that static checks call possible.
func TestGeneratedCasesOfRandomGraphs(t *testing.T) {
	rounds := longtest.Choose(10, 14)
	edges, fired, flows := 0, 0, 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 2))
		text, _ := randomFlow(r, 3+r.IntN(5))
		g, found := spec.Parse("random.yaml", []byte(text), spec.Options{})
		if found = append(found, spec.Check(g)...); found.HasErrors() {
			continue
		}
		made, err := flowtest.Generate(t.Context(), flowtest.Config{}, g, "")
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if made.Cases == 0 {
			continue
		}
		dir := writeFolder(t, map[string]string{"random.yaml": text, "random.test.yaml": made.Text})
		report := runFolder(t, flowtest.Config{}, dir)
		for _, result := range report.Results {
			if !result.Passed {
				t.Fatalf("seed %d: %s\n%s\n%s", seed, result.Text(), text, made.Text)
			}
		}
		got := report.Coverage[filepath.Join(dir, "random.yaml")].Edges
		if got.Covered != made.Edges {
			t.Errorf("seed %d: the cases fire %d edges, and are said to fire %d", seed, got.Covered, made.Edges)
		}
		edges, fired, flows = edges+got.Total, fired+got.Covered, flows+1
	}
	t.Logf("%d of %d edges of %d graphs", fired, edges, flows)
	if flows < 3 || fired*100 < edges*85 { // some edges are shadowed by an equal one
		t.Errorf("%d of %d edges of %d graphs are fired", fired, edges, flows)
	}
}

// world records every attempt to start a program or to reach a network.
type world struct {
	marks string // a folder
	url   string
	calls atomic.Int64
}

// newWorld makes a PATH whose programs only write a mark, and a server to which all addresses of
// proxies, name servers and flows lead.
func newWorld(t *testing.T) *world {
	w := &world{marks: t.TempDir()}
	bin := t.TempDir()
	for _, name := range []string{"sh", "bash", "test", "false", "true", "touch", "printf", "echo", "cat", "make", "python3", "npx", "node", "sleep", "env", "date", "go", "git"} {
		script := "#!/bin/sh\n: > " + w.marks + "/" + name + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			w.calls.Add(1)
			_ = c.Close()
		}
	}()
	w.url = "http://" + listener.Addr().String()
	for _, proxy := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(proxy, w.url)
	}
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		w.calls.Add(1)
		return nil, errors.New("nobody is asked for names here")
	}}
	return w
}

// copyFlow copies a folder, and replaces its addresses by the address of the world.
func (w *world) copyFlow(t *testing.T, from string) string {
	t.Helper()
	address := regexp.MustCompile(`https?://[A-Za-z0-9.:-]+`)
	dir := t.TempDir()
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(dir, name), 0o700))
		}
		src, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), address.ReplaceAll(src, []byte(w.url)), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w *world) checkUntouched(t *testing.T, what string) {
	t.Helper()
	left, err := os.ReadDir(w.marks)
	if err != nil || len(left) > 0 {
		t.Errorf("%s: programs were started: %v (%v)", what, left, err)
	}
	if n := w.calls.Load(); n > 0 {
		t.Errorf("%s: the network was asked %d times", what, n)
	}
}

// The tests of all examples execute nothing and use no network. Nor do generating cases, mutating
// flows and dry runs.
func TestNothingIsExecuted(t *testing.T) {
	w := newWorld(t)
	for _, from := range []string{"../examples", "../internal/templates", "testdata/effects"} {
		dir := w.copyFlow(t, from)
		names, err := flowtest.Find(dir)
		if err != nil || len(names) == 0 {
			t.Fatalf("%d test files: %v", len(names), err)
		}
		flowtest.Test(t, flowtest.Config{}, names...)
		w.checkUntouched(t, "test "+from)
		for _, name := range names {
			file, _, err := flowtest.Load(flowtest.Config{}, name)
			if err != nil || file == nil {
				t.Fatal(name, err)
			}
			if _, err := flowtest.Generate(t.Context(), flowtest.Config{}, file.Graph, ""); err != nil {
				t.Error(name, err)
			}
			w.checkUntouched(t, "generate "+name)
			if _, _, err := flowtest.DryRun(t.Context(), flowtest.Config{}, file.Graph, runner.Options{}, nil, ""); err != nil {
				t.Error(name, err)
			}
			w.checkUntouched(t, "run dry "+name)
			if strings.Contains(from, "effects") {
				if _, err := flowtest.Mutate(flowtest.Config{}, []*flowtest.File{file}); err != nil {
					t.Error(name, err)
				}
				w.checkUntouched(t, "mutate "+name)
			}
		}
	}
}

// The world records real effects: a real stub starts its program and sends a
// request.
func TestWhatIsExecutedIsRecorded(t *testing.T) {
	w := newWorld(t)
	dir := w.copyFlow(t, "testdata/effects")
	src, err := os.ReadFile(filepath.Join(dir, "effects.test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	real := regexp.MustCompile(`(program|request): \{output.*\}`).ReplaceAll(src, []byte("$1: {real: true}"))
	if err := os.WriteFile(filepath.Join(dir, "effects.test.yaml"), real, 0o600); err != nil {
		t.Fatal(err)
	}
	runFolder(t, flowtest.Config{}, dir)
	left, err := os.ReadDir(w.marks)
	if err != nil || len(left) == 0 || w.calls.Load() == 0 {
		t.Errorf("marks %v (%v), %d calls", left, err, w.calls.Load())
	}
}
