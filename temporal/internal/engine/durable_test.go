package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// TestMain lets this program be a worker that can be killed.
func TestMain(m *testing.M) {
	if address := os.Getenv("GRAPHRUN_TEST_WORKER"); address != "" {
		c, err := engine.Dial(engine.Options{Address: address, Payloads: os.Getenv("GRAPHRUN_TEST_PAYLOADS")})
		if err == nil {
			err = c.Work(context.Background(), engine.WorkerOptions{Heartbeat: 2 * time.Second, MostEvents: 300})
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// loop is a flow of many tasks: a loop, a list with each, branches that meet, a
// subgraph, a retry. Every execution of a node marks its beginning and its end.
const loop = `graphrun: v1
name: loop
start: work
limits: {max_steps: 1000, node_timeout: 1m}
state:
  marks: {type: string, required: true}
  most: {type: integer, default: 10}
  n: {type: integer, default: 0}
  sum: {type: array, reducer: append}
nodes:
  work:
    kind: exec
    script: 'echo "begin $GRAPHRUN_TASK_KEY" >> "$MARKS"; echo "end $GRAPHRUN_TASK_KEY" >> "$MARKS"; echo $(($N + 1))'
    env: {MARKS: "{{ marks }}", N: "{{ n }}"}
    writes: [n]
  list:
    kind: exec
    each: "[1, 2, 3, 4, 5]"
    script: 'echo "begin $GRAPHRUN_TASK_KEY" >> "$MARKS"; sleep 0.05; echo "end $GRAPHRUN_TASK_KEY" >> "$MARKS"; echo $ITEM'
    env: {MARKS: "{{ marks }}", ITEM: "{{ item }}"}
    writes: {sum: "output"}
  left: {kind: exec, script: 'test $GRAPHRUN_TASK_ATTEMPT = 2', retry: {max_attempts: 2, initial_interval: 10ms}}
  right: {kind: wait, for: 10ms}
  met: {kind: pass, join: {wait: all}}
edges:
  - {from: work, to: list}
  - {from: list, to: work, when: "n < most"}
  - {from: list, to: [left, right], when: "n >= most"}
  - {from: [left, right], to: met}
  - {from: met, to: END}
`

func writeLoop(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "flow.yaml")
	if err := os.WriteFile(file, []byte(loop), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// outcomeOf runs a command and reads its result.
func outcomeOf(t *testing.T, o *engine.Options, args ...string) outcome {
	t.Helper()
	stdout, stderr, code := command(o, append(args, "-o", "json")...)
	var out outcome
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatalf("%v: %v\n%s\n%s", args, err, stdout, stderr)
	}
	out.Code = code
	delete(out.State, "marks")
	return out
}

// TestMove: a run whose history gets long goes on in other workflows, and comes to
// what it comes to in one.
func TestMove(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	workerOf(t, o, engine.WorkerOptions{MostEvents: 60})
	dir := t.TempDir()
	file := writeLoop(t, dir)
	marks := "marks=" + filepath.Join(dir, "marks")
	here := outcomeOf(t, nil, "run", file, "-i", marks, "--store", filepath.Join(dir, "runs.db"))
	there := outcomeOf(t, &o, "run", file, "-i", marks, "--run-id", "moved")
	if diff := cmp.Diff(here, there); diff != "" {
		t.Errorf("in one workflow (-), in several (+):\n%s", diff)
	}
	events, _, code := command(&o, "runs", "events", "moved")
	if moves := strings.Count(events, `"event":"run_resumed"`); code != 0 || moves < 2 {
		t.Errorf("the run moved %d times (exit code %d), want at least 2", moves, code)
	}
	if starts := strings.Count(events, `"event":"run_started"`); starts != 1 {
		t.Errorf("%d events say that the run started, want 1", starts)
	}
	if again := outcomeOf(t, &o, "runs", "show", "moved"); again.Steps != here.Steps || cmp.Diff(again.Path, here.Path) != "" {
		t.Errorf("show has %d steps, path %v; want %d, %v", again.Steps, again.Path, here.Steps, here.Path)
	}
}

// TestKilledWorkers: whatever worker is killed whenever, every run comes to its end,
// and no task whose end a run knew of runs again.
func TestKilledWorkers(t *testing.T) {
	kills := 4
	if n, err := strconv.Atoi(os.Getenv("GRAPHRUN_TEMPORAL_KILLS")); err == nil {
		kills = n
	}
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	workerOf(t, o, engine.WorkerOptions{Queue: "nothing"}) // the server is ready
	begin := func() *exec.Cmd {
		w := exec.Command(os.Args[0])
		w.Env = append(os.Environ(), "GRAPHRUN_TEST_WORKER="+o.Address, "GRAPHRUN_TEST_PAYLOADS="+o.Payloads)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	dir := t.TempDir()
	file := writeLoop(t, dir)
	const runs = 4
	var group sync.WaitGroup
	results := make([]outcome, runs)
	over := make(chan struct{})
	for i := range runs {
		group.Add(1)
		go func() {
			defer group.Done()
			stdout, stderr, code := command(&o, "run", file, "-i", fmt.Sprintf("marks=%s/marks%d", dir, i), "-i", fmt.Sprintf("most=%d", 4*kills), "-o", "json")
			if err := json.Unmarshal([]byte(stdout), &results[i]); err != nil {
				t.Errorf("run %d: %v\n%s", i, err, stderr)
			}
			results[i].Code = code
		}()
	}
	go func() {
		group.Wait()
		close(over)
	}()
	random := rand.New(rand.NewSource(1))
	workers := []*exec.Cmd{begin(), begin()}
	killed := 0
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-time.After(time.Duration(300+random.Intn(1200)) * time.Millisecond):
			if killed < kills {
				i := random.Intn(len(workers))
				_ = workers[i].Process.Kill()
				_ = workers[i].Wait()
				workers[i] = begin()
				killed++
			}
		}
	}
	for _, w := range workers {
		_ = w.Process.Kill()
		_ = w.Wait()
	}
	repeated, ends := 0, 0
	for i, r := range results {
		if r.Code != 0 || len(r.Path) != 8*kills+3 || len(r.State["sum"].([]any)) != 20*kills {
			t.Errorf("run %d: exit code %d after %d steps, %v", i, r.Code, r.Steps, r.Error)
		}
		text, err := os.ReadFile(fmt.Sprintf("%s/marks%d", dir, i))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, line := range strings.Split(string(text), "\n") {
			if key, ok := strings.CutPrefix(line, "end "); ok {
				seen[key]++
				ends++
			}
		}
		for _, n := range seen {
			repeated += n - 1
		}
	}
	t.Logf("%d workers killed, %d tasks, of which %d ran again that had ended just before their worker did", killed, ends, repeated)
	if most := killed * runs * 5; repeated > most { // what was under way then
		t.Errorf("%d tasks ran again that had ended; at most %d were under way when a worker was killed", repeated, most)
	}
}

// TestKilledServer: a server that is killed and comes back goes on with its runs.
func TestKilledServer(t *testing.T) {
	if os.Getenv("GRAPHRUN_TEMPORAL_KILLS") == "" {
		t.Skip("GRAPHRUN_TEMPORAL_KILLS is not set: it takes minutes, until the server has given up what it lost")
	}
	dir := t.TempDir()
	db := filepath.Join(dir, "server.db")
	address, kill := startServer(t, "--db", db)
	_, port, _ := strings.Cut(address, ":")
	o := engine.Options{Address: address, Payloads: t.TempDir()}
	workerOf(t, o, engine.WorkerOptions{})
	file := writeLoop(t, dir)
	marks := filepath.Join(dir, "marks")
	c, err := engine.Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		// The command loses its connection; the run does not.
		_, _, _ = command(&o, "run", file, "-i", "marks="+marks, "-i", "most=20", "--run-id", "survivor", "-o", "json")
	}()
	for n := range 2 {
		waitFor(t, func() bool {
			text, _ := os.ReadFile(marks)
			return strings.Count(string(text), "end ") > 20*n+5
		})
		kill()
		if _, kill = startServer(t, "--db", db, "--port", port); kill == nil {
			t.Fatal("the server did not come back")
		}
	}
	<-begun
	waitFor(t, func() bool {
		stdout, _, code := command(&o, "runs", "list", "-o", "json")
		return code == 0 && strings.Contains(stdout, `"completed"`)
	})
	out := outcomeOf(t, &o, "runs", "show", "survivor")
	if out.Status != "completed" || out.Steps < 40 || len(out.State["sum"].([]any)) != 100 {
		t.Errorf("the run is %s after %d steps, with %v", out.Status, out.Steps, out.State["sum"])
	}
}

// waitFor waits until something holds.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatal("it does not come to hold")
		}
		time.Sleep(100 * time.Millisecond)
	}
}
