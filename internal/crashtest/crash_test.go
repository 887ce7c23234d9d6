// Package crashtest kills drivers of runs and checks the store and the resumed run: no acknowledged
// event is lost, the run has the same result, and only interrupted attempts are executed again.
package crashtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// killsEnv sets how often the tests kill drivers.
const killsEnv = "GRAPHRUN_CRASH_KILLS"

// killCount returns how often the tests kill drivers.
func killCount(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		return n
	}
	return 15
}

// process is a driver in a separate process.
type process struct {
	cmd       *exec.Cmd
	stdout    *bufio.Scanner
	kept      int // events that were acknowledged
	lines     int // acknowledgements
	snapshots int
	answered  bool
	result    string
	err       string
}

func startDriver(t *testing.T, dir, flow, kill string, env ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dirEnv+"="+dir, flowEnv+"="+flow, killEnv+"="+kill, "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, stdout: bufio.NewScanner(stdout)}
	p.stdout.Buffer(nil, 1<<20)
	return p
}

// awaitExit reads the driver's output until it exits.
func (p *process) awaitExit() {
	for p.stdout.Scan() {
		what, rest, _ := strings.Cut(p.stdout.Text(), " ")
		switch what {
		case "kept":
			p.kept, _ = strconv.Atoi(rest)
			p.lines++
		case "snapshot":
			p.snapshots++
		case "answered":
			p.answered = true
		case "result":
			p.result = rest
		default:
			p.err += p.stdout.Text() + "\n"
		}
	}
	_ = p.cmd.Wait()
}

// undisturbed holds the result of a flow whose driver was not killed.
type undisturbed struct {
	result  map[string]any
	effects map[string]int // by key and attempt
	writes  int
	took    time.Duration
}

// runUndisturbed runs a flow once without killing its driver.
func runUndisturbed(t *testing.T, f *flow) undisturbed {
	t.Helper()
	dir := newDir(t)
	began := time.Now()
	p := startDriver(t, dir, f.name, "")
	p.awaitExit()
	u := undisturbed{took: time.Since(began), result: checkCompleted(t, p), effects: map[string]int{}, writes: p.lines + 4}
	for _, line := range readEffects(t, dir) {
		u.effects[line]++
	}
	if f.name == "sequential" && p.snapshots == 0 {
		t.Error("no snapshot was written")
	}
	return u
}

func newDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"child.yaml": child, "parent.yaml": nested} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// checkCompleted checks that the run has completed, and returns its result without times.
func checkCompleted(t *testing.T, p *process) map[string]any {
	t.Helper()
	var out map[string]any
	if p.err != "" || json.Unmarshal([]byte(p.result), &out) != nil {
		t.Fatalf("the driver ends with %q, result %q", p.err, p.result)
	}
	delete(out, "started_at")
	delete(out, "duration_ms")
	if out["status"] != "completed" {
		t.Fatalf("the run has %v", out["status"])
	}
	return out
}

// readEffects returns the executions so far, as lines of key, node, visit, attempt and element.
func readEffects(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// checkStore checks that the store of a killed driver is intact and holds the acknowledged events.
// It returns the tasks that have begun but not ended.
func checkStore(t *testing.T, dir string, kept int) []string {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(dir, "runs.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CheckIntegrity(t.Context()); err != nil {
		t.Error(err)
	}
	events, err := s.Events("one", 0, math.MaxInt)
	if err != nil && (kept > 0 || !errors.Is(err, store.ErrNoRun)) {
		t.Fatal(err)
	}
	if len(events) < kept {
		t.Errorf("%d events are left of %d that were acknowledged", len(events), kept)
	}
	open := map[machine.TaskID]string{}
	trackOpenTasks(open, events)
	return slices.Collect(maps.Values(open))
}

// trackOpenTasks updates the attempts that have begun but not ended, including those of subgraphs.
// An attempt is described by its path, visit, attempt number and element.
func trackOpenTasks(open map[machine.TaskID]string, events []machine.Event) {
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case machine.TaskBegan:
			open[e.Task] = fmt.Sprintf("%s %d %d %d", withoutElements(e.Node), e.Visit, e.Task.Attempt, e.Task.Element-1)
		case machine.TaskEnded:
			delete(open, e.Task)
		}
	}
}

// withoutElements removes the element indexes from a path.
func withoutElements(path string) string { return elements.ReplaceAllString(path, "") }

var elements = regexp.MustCompile(`\[[0-9]+\]`)

// runTrial runs a flow and kills its driver once for each entry of the list: "before 3" and
// "after 3" name a write, "" a random time. It returns the number of drivers that died.
func runTrial(t *testing.T, f *flow, want *undisturbed, list []string, random *rand.Rand) (died int) {
	t.Helper()
	dir := newDir(t)
	allowed := map[string]int{} // by node, visit, attempt and element
	for _, kill := range list {
		p := startDriver(t, dir, f.name, kill)
		if kill == "" {
			timer := time.AfterFunc(time.Duration(random.Int64N(int64(want.took))), func() { _ = p.cmd.Process.Kill() })
			p.awaitExit()
			timer.Stop()
		} else {
			p.awaitExit()
		}
		if p.err != "" {
			t.Fatal(p.err)
		}
		if p.result != "" {
			break // the run completed before the kill
		}
		died++
		for _, task := range checkStore(t, dir, p.kept) {
			allowed[task]++
		}
	}
	p := startDriver(t, dir, f.name, "")
	p.awaitExit()
	if diff := cmp.Diff(want.result, checkCompleted(t, p)); diff != "" {
		t.Errorf("after %d kills the run ends otherwise (-undisturbed +killed):\n%s", died, diff)
	}
	checkEffects(t, want, readEffects(t, dir), allowed)
	return died
}

// checkEffects compares the executions with those of an undisturbed run. Each kill that
// interrupted an execution allows one more of it.
func checkEffects(t *testing.T, want *undisturbed, lines []string, allowed map[string]int) {
	t.Helper()
	count := map[string]int{}
	for _, line := range lines {
		count[line]++
	}
	for line := range want.effects {
		if count[line] == 0 {
			t.Errorf("%s was not executed", line)
		}
	}
	for line, n := range count {
		_, task, _ := strings.Cut(line, " ")
		again := allowed[task]
		if want.effects[line] != 1 || n > 1+again {
			t.Errorf("%s was executed %d times; undisturbed %d, and under way at %d kills", line, n, want.effects[line], again)
		}
	}
}

// A run whose drivers are killed has the same result as an undisturbed one.
func TestCrashes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	all := flows()
	want := make([]undisturbed, len(all))
	boundaries := 0
	for i := range all {
		want[i] = runUndisturbed(t, &all[i])
		boundaries += 2 * want[i].writes
	}
	// Half of the kills happen at the boundaries of writes. The stride spreads even a few kills
	// over all boundaries.
	stride := boundaries*618/1000 | 1
	done := 0
	for trials := 0; done < killCount(t); trials++ {
		which, kill := findBoundary(want, trials*stride%boundaries)
		list := []string{kill}
		if trials%2 == 1 {
			which, list = random.IntN(len(all)), []string{""}
		}
		for range trials % 3 {
			list = append(list, []string{"", "after 2", "before 5"}[random.IntN(3)])
		}
		t.Run(fmt.Sprintf("%s %q", all[which].name, list), func(t *testing.T) {
			done += runTrial(t, &all[which], &want[which], list, random)
		})
		if t.Failed() {
			t.Fatalf("seed %d, after %d kills", seed, done)
		}
	}
}

// findBoundary returns the flow and the kill of the n-th boundary among the writes of all flows.
func findBoundary(want []undisturbed, n int) (flow int, kill string) {
	for flow = range want {
		if n < 2*want[flow].writes {
			break
		}
		n -= 2 * want[flow].writes
	}
	return flow, []string{"before ", "after "}[n%2] + strconv.Itoa(n/2+1)
}
