package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// grouped is a flow whose runs share a group with a limit. Each run writes a mark when it gets its
// slot and when it ends. It ends when the file go.RUN or go.all exists.
const grouped = `graphrun: v1
name: grouped
start: work
limits: {node_timeout: 10m}
concurrency: {group: "'g'", limit: %d, on_busy: %s}
state: {dir: {type: string, required: true}}
nodes:
  work:
    kind: exec
    script: 'echo "in $ID" >> "$DIR/marks"; until test -e "$DIR/go.$ID" -o -e "$DIR/go.all"; do sleep 0.05; done; echo "out $ID" >> "$DIR/marks"'
    env: {DIR: "{{ dir }}", ID: "{{ run.id }}"}
edges: [{from: work, to: END}]
`

// testGroup is a group on a server, with the folder in which its runs write marks.
type testGroup struct {
	*testing.T
	o    engine.Options
	dir  string
	runs sync.WaitGroup
}

func newGroup(t *testing.T) *testGroup {
	g := &testGroup{T: t, o: engine.Options{Address: serverOf(t), Payloads: t.TempDir()}, dir: t.TempDir()}
	t.Cleanup(g.runs.Wait)
	return g
}

// writeFlow writes a flow and returns its file.
func (g *testGroup) writeFlow(name, source string) string {
	g.Helper()
	file := filepath.Join(g.dir, name+".yaml")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		g.Fatal(err)
	}
	return file
}

// startRun starts a run and returns when the cluster lists it with a status. It checks the exit code
// when the run ends.
func (g *testGroup) startRun(file, runID, status string, want int) {
	g.Helper()
	g.runs.Go(func() {
		if _, stderr, code := command(&g.o, "run", file, "-i", "dir="+g.dir, "--run-id", runID); code != want {
			g.Errorf("%s: exit code %d, want %d\n%s", runID, code, want, stderr)
		}
	})
	waitFor(g.T, func() bool { return g.formatStatus(runID) == status })
}

// formatStatus returns the status of a run, or the reason if it is paused.
func (g *testGroup) formatStatus(runID string) string {
	stdout, _, _ := command(&g.o, "runs", "list", "-o", "json")
	var all []struct {
		ID     string `json:"run_id"`
		Status string `json:"status"`
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal([]byte(stdout), &all)
	for _, one := range all {
		if one.ID == runID && one.Status == "paused" {
			return one.Reason
		} else if one.ID == runID {
			return one.Status
		}
	}
	return ""
}

// readMarks returns the runs that executed, in order and each once, and how many executed at once.
func (g *testGroup) readMarks() (in []string, most int) {
	text, _ := os.ReadFile(filepath.Join(g.dir, "marks"))
	inside := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		what, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		if what == "out" {
			delete(inside, id)
			continue
		}
		inside[id] = true
		most = max(most, len(inside))
		if !slices.Contains(in, id) {
			in = append(in, id)
		}
	}
	return in, most
}

// releaseRun lets the waiting node of a run end, or the nodes of all runs for "all".
func (g *testGroup) releaseRun(runID string) {
	g.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, "go."+runID), nil, 0o600); err != nil {
		g.Fatal(err)
	}
}

// waitUntilInside waits until a run executes in the group, and returns how long that took.
func (g *testGroup) waitUntilInside(runID string) time.Duration {
	g.Helper()
	from := time.Now()
	waitFor(g.T, func() bool { in, _ := g.readMarks(); return slices.Contains(in, runID) })
	return time.Since(from)
}

// checkReplays replays the histories of runs and of the group. It waits for the group's workflow,
// which may end after the last run.
func (g *testGroup) checkReplays(events int, runs ...string) {
	g.Helper()
	c, err := g.o.Dial()
	if err != nil {
		g.Fatal(err)
	}
	defer c.Close()
	waitFor(g.T, func() bool {
		sizes, err := c.Sizes(g.Context(), engine.GroupID("g"))
		return err == nil && !sizes[0].Open
	})
	for _, id := range append(runs, engine.GroupID("g")) {
		if err := c.ReplayMoved(g.Context(), id, events); err != nil {
			g.Errorf("%s: %v", id, err)
		}
	}
}

// hasContinued reports whether a workflow has continued as a new one.
func (g *testGroup) hasContinued(id string) bool {
	g.Helper()
	c, err := g.o.Dial()
	if err != nil {
		g.Fatal(err)
	}
	defer c.Close()
	sizes, err := c.Sizes(g.Context(), id)
	if err != nil {
		g.Error(err)
	}
	return len(sizes) > 1
}

// TestGroupInOrder: two workers drive 12 runs of a group. The runs get slots in the order of their
// arrival and never exceed the limit, even if a worker is killed, or if the workflows of the group
// and of its runs continue as new.
func TestGroupInOrder(t *testing.T) {
	const runs, events = 12, 16
	for _, limit := range []int{1, 2} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			g := newGroup(t)
			startWorker(t, g.o, engine.WorkerOptions{Queue: "nothing"}) // the server is ready
			worker := func() *exec.Cmd {
				w := exec.Command(os.Args[0])
				w.Env = append(os.Environ(), "GRAPHRUN_TEST_WORKER="+g.o.Address, "GRAPHRUN_TEST_PAYLOADS="+g.o.Payloads, fmt.Sprint("GRAPHRUN_TEST_EVENTS=", events))
				if err := w.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = w.Process.Kill()
					_ = w.Wait()
				})
				return w
			}
			killed := worker()
			worker()
			file := g.writeFlow("flow", fmt.Sprintf(grouped, limit, "wait"))
			var want []string
			for i := range runs {
				id, status := fmt.Sprintf("run%02d", i), "concurrency"
				if i < limit {
					status = "running"
				}
				g.startRun(file, id, status, 0)
				if i < limit {
					g.waitUntilInside(id)
				}
				want = append(want, id)
			}
			for i, id := range want {
				g.waitUntilInside(id)
				if i == runs/4 && limit == 1 {
					_ = killed.Process.Kill()
					worker()
				}
				g.releaseRun(id)
			}
			g.runs.Wait()
			in, most := g.readMarks()
			if most != limit {
				t.Errorf("%d were inside at once, want %d", most, limit)
			}
			slices.Sort(want)
			if limit == 1 && !slices.Equal(in, want) {
				t.Errorf("they came in in the order %v", in)
			}
			for _, id := range []string{want[runs-1], engine.GroupID("g")} { // that run waited long
				if !g.hasContinued(id) {
					t.Errorf("%s has one history", id)
				}
			}
			g.checkReplays(events, want[0], want[runs-1])
		})
	}
}

// TestGroupHolders: a slot becomes free when its run pauses, is cancelled, or is terminated by
// the cluster without notice.
func TestGroupHolders(t *testing.T) {
	g := newGroup(t)
	startWorker(t, g.o, engine.WorkerOptions{})
	file := g.writeFlow("flow", fmt.Sprintf(grouped, 1, "wait"))
	asks := g.writeFlow("asks", strings.ReplaceAll(`graphrun: v1
name: asks
start: h
concurrency: {group: "'g'"}
state: {dir: {type: string, required: true}}
nodes:
  h: {kind: human, prompt: "?", choices: ["yes", "no"]}
  work: SAME
edges: [{from: h, to: work}, {from: work, to: END}]
`, "SAME", `{kind: exec, script: 'echo "in $ID" >> "$DIR/marks"; echo "out $ID" >> "$DIR/marks"', env: {DIR: "{{ dir }}", ID: "{{ run.id }}"}}`))

	g.startRun(asks, "asks", "human", 10)
	g.startRun(file, "one", "running", 130)
	g.waitUntilInside("one")
	g.startRun(file, "two", "concurrency", 1)
	if _, stderr, code := command(&g.o, "answer", "asks", "h=yes"); code != 0 {
		t.Fatalf("answer: exit code %d\n%s", code, stderr)
	}
	if status := g.formatStatus("asks"); status != "human" {
		t.Errorf("the waiting run has status %q, want the status before the resume", status)
	}
	if _, stderr, code := command(&g.o, "runs", "cancel", "one"); code != 0 {
		t.Fatalf("cancel: exit code %d\n%s", code, stderr)
	}
	g.waitUntilInside("two")

	c, err := g.o.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Terminate(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	g.waitUntilInside("asks") // the group notices without a signal
	waitFor(t, func() bool { return g.formatStatus("asks") == "completed" })

	g.startRun(file, "three", "running", 1)
	g.waitUntilInside("three")
	if err := c.Terminate(t.Context(), "three"); err != nil {
		t.Fatal(err)
	}
	g.releaseRun("all")
	g.startRun(file, "four", "completed", 0) // its claim makes the group check for the terminated run
	if stdout, stderr, code := command(&g.o, "resume", "two"); code != 0 {
		t.Errorf("resume: exit code %d\n%s%s", code, stdout, stderr)
	}
	if in, _ := g.readMarks(); strings.Join(in, " ") != "one two asks three four" {
		t.Errorf("they came in in the order %v", in)
	}
	g.runs.Wait()
	g.checkReplays(10000, "asks", "one", "four", "two")
}
