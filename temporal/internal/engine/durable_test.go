package engine_test

import (
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

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// TestMain makes this program a worker that tests can kill.
func TestMain(m *testing.M) {
	if address := os.Getenv("GRAPHRUN_TEST_WORKER"); address != "" {
		c, err := engine.Options{Address: address, Payloads: os.Getenv("GRAPHRUN_TEST_PAYLOADS")}.Dial()
		if err == nil {
			o := engine.WorkerOptions{Heartbeat: 2 * time.Second, MaxEvents: 300}
			if events, err := strconv.Atoi(os.Getenv("GRAPHRUN_TEST_EVENTS")); err == nil {
				o.MaxEvents = events
			}
			if name := os.Getenv("GRAPHRUN_TEST_QUEUE"); name != "" {
				o.Nodes = []string{name}
			}
			if _, err = c.StartWorker(o); err == nil {
				select {} // until it is killed
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// loop is a flow of many tasks: a loop, a list with each, branches that join, a retry. The order
// in which branches end does not depend on time. Every execution of a program writes a mark at its
// beginning and at its end.
const loop = `graphrun: v1
name: loop
start: work
limits: {max_steps: 1000, node_timeout: 10m}
state:
  marks: {type: string, required: true}
  most: {type: integer, default: 10}
  n: {type: integer, default: 0}
  sum: {type: array, reducer: append}
nodes:
  work:
    kind: exec
    script: 'echo "begin work/$(($N + 1)) $(date +%s%N)" >> "$MARKS"; echo "end work/$(($N + 1))" >> "$MARKS"; echo $(($N + 1))'
    env: {MARKS: "{{ marks }}", N: "{{ n }}"}
    writes: [n]
  list:
    kind: exec
    each: "[1, 2, 3, 4, 5]"
    script: 'echo "begin list/$N/$ITEM $(date +%s%N)" >> "$MARKS"; sleep 0.05; echo "end list/$N/$ITEM" >> "$MARKS"; echo $ITEM'
    env: {MARKS: "{{ marks }}", N: "{{ n }}", ITEM: "{{ item }}"}
    writes: {sum: "output"}
  left: {kind: exec, script: 'test $GRAPHRUN_TASK_ATTEMPT = 2', retry: {max_attempts: 2, initial_interval: 10ms}}
  rest: {kind: wait, for: 10ms}
  right: {kind: pass}
  met: {kind: pass, join: {wait: all}}
edges:
  - {from: work, to: list}
  - {from: list, to: work, when: "n < most"}
  - {from: list, to: [left, right], when: "n >= most"}
  - {from: left, to: rest}
  - {from: [rest, right], to: met}
  - {from: met, to: END}
`

// countSteps returns the number of steps of loop for a number of rounds: work and list in each
// round, then left, right, rest and met.
func countSteps(rounds int) int { return 2*rounds + 4 }

func writeLoop(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "flow.yaml")
	if err := os.WriteFile(file, []byte(loop), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// runCommand runs a command and reads its result.
func runCommand(t *testing.T, o *engine.Options, args ...string) outcome {
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

// TestMove: a run with a long history continues in other workflows, with the same result as in
// one.
func TestMove(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{MaxEvents: 60})
	dir := t.TempDir()
	file := writeLoop(t, dir)
	marks := "marks=" + filepath.Join(dir, "marks")
	here := runCommand(t, nil, "run", file, "-i", marks, "--store", filepath.Join(dir, "runs.db"))
	there := runCommand(t, &o, "run", file, "-i", marks, "--run-id", "moved")
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
	if again := runCommand(t, &o, "runs", "show", "moved"); again.Steps != here.Steps || cmp.Diff(again.Path, here.Path) != "" {
		t.Errorf("show has %d steps, path %v; want %d, %v", again.Steps, again.Path, here.Steps, here.Path)
	}
}

// workerProcess begins a worker that can be killed.
func workerProcess(t *testing.T, o engine.Options) *exec.Cmd {
	t.Helper()
	w := exec.Command(os.Args[0])
	w.Env = append(os.Environ(), "GRAPHRUN_TEST_WORKER="+o.Address, "GRAPHRUN_TEST_PAYLOADS="+o.Payloads)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

func kill(w *exec.Cmd) {
	_ = w.Process.Kill()
	_ = w.Wait()
}

// TestKilledWorkers: every run completes, whichever workers are killed, and no task runs again
// after the run has recorded its end.
func TestKilledWorkers(t *testing.T) {
	kills := 4
	if n, err := strconv.Atoi(os.Getenv("GRAPHRUN_TEMPORAL_KILLS")); err == nil {
		kills = n
	}
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{Queue: "nothing"}) // the server is ready
	dir := t.TempDir()
	file := writeLoop(t, dir)
	const runs = 4
	loops := max(16, 2*kills)
	var group sync.WaitGroup
	results := make([]outcome, runs)
	over := make(chan struct{})
	for i := range runs {
		group.Add(1)
		go func() {
			defer group.Done()
			stdout, stderr, code := command(&o, "run", file, "-i", fmt.Sprintf("marks=%s/marks%d", dir, i), "-i", fmt.Sprintf("most=%d", loops), "-o", "json",
				"--run-id", fmt.Sprintf("run%d", i))
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
	for i := range runs {
		group.Go(func() { followJournal(t, o, fmt.Sprintf("run%d", i)) })
	}
	random := rand.New(rand.NewSource(1))
	workers := []*exec.Cmd{workerProcess(t, o), workerProcess(t, o)}
	killed := 0
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-time.After(time.Duration(300+random.Intn(1200)) * time.Millisecond):
			if killed < kills {
				i := random.Intn(len(workers))
				kill(workers[i])
				workers[i] = workerProcess(t, o)
				killed++
			}
		}
	}
	for _, w := range workers {
		kill(w)
	}
	startWorker(t, o, engine.WorkerOptions{}) // for those who look at the runs
	tasks, again := 0, 0
	for i, r := range results {
		if r.Code != 0 || len(r.Path) != countSteps(loops) || r.State["n"] != float64(loops) || len(r.State["sum"].([]any)) != 5*loops {
			t.Errorf("run %d: exit code %d after %d steps, %v", i, r.Code, r.Steps, r.Error)
		}
		ran, repeated := countRepeated(t, o, fmt.Sprintf("run%d", i), fmt.Sprintf("%s/marks%d", dir, i))
		tasks, again = tasks+ran, again+repeated
	}
	t.Logf("%d workers killed, %d tasks, of which %d ran again, none of which the run had known the end", killed, tasks, again)
}

// countRepeated counts the tasks of the loop, and the tasks that began more than once. It fails
// the test if a task began again after the run had recorded its end.
func countRepeated(t *testing.T, o engine.Options, runID, marks string) (tasks, again int) {
	t.Helper()
	c, err := o.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	texts, err := c.Texts(t.Context(), runID, 0)
	if err != nil {
		t.Fatal(err)
	}
	known, names := map[string]int64{}, map[machine.TaskID]string{}
	for _, text := range texts {
		var e machine.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case machine.TaskBegan:
			node, _, _ := strings.Cut(e.Node, "[")
			names[e.Task] = fmt.Sprintf("%s/%d", node, e.Visit)
			if e.Task.Element > 0 {
				names[e.Task] += fmt.Sprintf("/%d", e.Task.Element)
			}
		case machine.TaskEnded:
			known[names[e.Task]] = e.At
		}
	}
	text, err := os.ReadFile(marks)
	if err != nil {
		t.Fatal(err)
	}
	begun := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		var name string
		var at int64
		if _, err := fmt.Sscanf(line, "begin %s %d", &name, &at); err != nil {
			continue
		}
		if begun[name] {
			again++
		}
		begun[name] = true
		if end, ok := known[name]; !ok {
			t.Errorf("%s: %s has run, of which the run knows nothing", runID, name)
		} else if at > end {
			t.Errorf("%s: %s began %s after the run knew of its end", runID, name, time.Duration(at-end))
		}
	}
	return len(begun), again
}

// followJournal reads the growing journal of a run until the run has ended. Events that were
// read must not change, since followers read each event only once.
func followJournal(t *testing.T, o engine.Options, runID string) {
	c, err := o.Dial()
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	s := c.Store(t.Context())
	var all []string
	for ended := false; !ended; {
		lines, err := s.List(store.RunFilter{ID: runID})
		if err == nil && len(lines) == 0 { // it has not begun
			time.Sleep(100 * time.Millisecond)
			continue
		}
		var more []string
		if err == nil {
			more, err = c.Texts(t.Context(), runID, len(all))
		}
		if err != nil {
			t.Errorf("%s: %v", runID, err)
			return
		}
		all, ended = append(all, more...), lines[0].Status != machine.Running
		time.Sleep(50 * time.Millisecond)
	}
	whole, err := c.Texts(t.Context(), runID, 0)
	if err != nil {
		t.Errorf("%s: %v", runID, err)
		return
	}
	for i, text := range all {
		if i >= len(whole) || whole[i] != text {
			t.Errorf("%s: event %d of %d was read as\n%s\nand is, of %d,\n%s", runID, i, len(all), text, len(whole), strings.Join(whole[min(i, len(whole)):min(i+3, len(whole))], "\n"))
			return
		}
	}
}

// TestKilledServer: a restarted server continues its runs without interrupting their followers.
// The worker keeps the results of tasks that end while the server is stopped.
func TestKilledServer(t *testing.T) {
	if os.Getenv("GRAPHRUN_TEMPORAL_KILLS") == "" {
		t.Skip("GRAPHRUN_TEMPORAL_KILLS is not set: it takes a minute, until the server has given up what it lost")
	}
	dir := t.TempDir()
	db := filepath.Join(dir, "server.db")
	address, kill := startServer(t, "--db", db)
	_, port, _ := strings.Cut(address, ":")
	o := engine.Options{Address: address, Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{Heartbeat: 2 * time.Second})
	file := writeLoop(t, dir)
	marks := func(i int) string { return fmt.Sprintf("%s/marks%d", dir, i) }
	const runs, loops = 3, 20
	results := make([]outcome, runs)
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() {
			stdout, stderr, code := command(&o, "run", file, "-i", "marks="+marks(i), "-i", fmt.Sprintf("most=%d", loops), "--run-id", fmt.Sprintf("run%d", i), "-o", "json")
			if err := json.Unmarshal([]byte(stdout), &results[i]); err != nil {
				t.Errorf("run %d: %v\n%s", i, err, stderr)
			}
			results[i].Code = code
		})
	}
	for n := range 2 {
		waitFor(t, func() bool {
			text, _ := os.ReadFile(marks(0))
			return strings.Count(string(text), "end ") > 40*n+5
		})
		kill()
		if _, kill = startServer(t, "--db", db, "--port", port); kill == nil {
			t.Fatal("the server did not come back")
		}
	}
	group.Wait()
	for i, r := range results {
		if r.Code != 0 || r.Status != "completed" || len(r.Path) != countSteps(loops) || len(r.State["sum"].([]any)) != 5*loops {
			t.Errorf("run %d: exit code %d after %d steps, %v", i, r.Code, r.Steps, r.Error)
		}
		tasks, again := countRepeated(t, o, fmt.Sprintf("run%d", i), marks(i))
		t.Logf("run %d: %d tasks, of which %d ran again", i, tasks, again)
	}
}

// waitFor waits until a condition holds, and fails the test after a time limit.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatal("it does not come to hold")
		}
		time.Sleep(100 * time.Millisecond)
	}
}
