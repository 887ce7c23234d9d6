// Wherever and however a run is interrupted, a resume gives the same result as a run without
// interruption.

package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// ending is a way in which a run ends early.
type ending string

const (
	byKill    ending = "kill"    // its process is gone after an event
	byCancel  ending = "cancel"  // a signal after an event
	byPause   ending = "pause"   // a request after an event
	bySteps   ending = "steps"   // max_steps
	byTime    ending = "time"    // limits.timeout
	byFailure ending = "failure" // an execution fails and is not retried
)

// world holds what outlives a process: the store, and the effects of the nodes.
type world struct {
	kept    *store.Memory
	mu      sync.Mutex
	did     map[string]int // attempts that were not cut off, by name
	started map[string]int
}

// process is one process that drives the run.
type process struct {
	world *world
	how   ending
	at    int // the number of the event or execution that ends it
	mu    sync.Mutex
	n     int  // events so far
	begun int  // executions so far
	dead  bool // its effects no longer count
	end   func()
}

var errDead = errors.New("the process is gone")

// countEvents is called before n events are stored. If it returns an error, they are not stored.
func (p *process) countEvents(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errDead
	}
	before := p.n
	p.n += n
	if p.at <= before || p.at > p.n {
		return nil
	}
	switch p.how {
	case byKill:
		p.dead = true
		return errDead
	case byCancel, byPause:
		p.end()
	}
	return nil
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// mustFail reports whether this execution is the one that must fail.
func (p *process) mustFail() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	return p.how == byFailure && p.begun == p.at
}

// killableStore is a store that fails once its process is dead.
type killableStore struct {
	*store.Memory
	process *process
}

type killableJournal struct {
	store.Journal
	process *process
	asked   chan store.Request
}

func (s *killableStore) wrap(events int, open func() (store.Journal, error)) (store.Journal, error) {
	asked := make(chan store.Request, 1)
	if s.process.how == byPause {
		s.process.end = func() { asked <- store.RequestPause }
	}
	if err := s.process.countEvents(events); err != nil {
		return nil, err
	}
	j, err := open()
	if err != nil {
		return nil, err
	}
	return &killableJournal{j, s.process, asked}, nil
}

func (s *killableStore) Create(r store.RunRecord, first ...machine.Event) (store.Journal, error) {
	return s.wrap(len(first), func() (store.Journal, error) { return s.Memory.Create(r, first...) })
}

func (s *killableStore) Open(id, owner string) (store.Journal, error) {
	return s.wrap(0, func() (store.Journal, error) { return s.Memory.Open(id, owner) })
}

func (j *killableJournal) Append(events ...machine.Event) error {
	if err := j.process.countEvents(len(events)); err != nil {
		return err
	}
	return j.Journal.Append(events...)
}

func (j *killableJournal) Requests() <-chan store.Request { return j.asked }

func (j *killableJournal) Snapshot(s store.Snapshot) error {
	if j.process.isDead() {
		return errDead
	}
	return j.Journal.Snapshot(s)
}

func (j *killableJournal) SaveSummary(s store.RunSummary) error {
	if j.process.isDead() {
		return nil
	}
	return j.Journal.SaveSummary(s)
}

// failing marks the names of attempts that fail because their node says so.
const failing = " fails"

// attemptName returns a name for an attempt that is the same in every process.
func attemptName(t *runner.Task) string {
	return t.Place + "#" + strconv.Itoa(t.Visit) + "." + strconv.Itoa(t.Attempt)
}

// workKind returns a kind whose nodes take time and fail as often as their keys say. It counts their
// attempts.
func (p *process) workKind() runner.Kind {
	return runner.Kind{
		Spec: spec.Kind{Name: "work", Keys: []spec.Key{
			{Name: "takes", Type: spec.TypeString, Role: spec.RoleTemplate, Required: true, Doc: "How long, in milliseconds."},
			{Name: "fails", Type: spec.TypeAny, Role: spec.RoleTemplate, Doc: "How many attempts fail."},
		}},
		Handler: runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
			doomed, name := p.mustFail(), attemptName(task)
			p.world.mu.Lock()
			p.world.started[name]++
			p.world.mu.Unlock()
			ms, _ := strconv.Atoi(fmt.Sprint(task.Config["takes"]))
			select {
			case <-time.After(time.Duration(ms) * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if p.isDead() || ctx.Err() != nil {
				return nil, context.Canceled
			}
			if doomed {
				return nil, &runner.Failure{Kind: "invalid_input", Message: "doomed"}
			}
			fails, _ := task.Config["fails"].(int)
			if task.Attempt <= fails {
				name += failing
			}
			p.world.mu.Lock()
			p.world.did[name]++
			p.world.mu.Unlock()
			if task.Attempt <= fails {
				return nil, &runner.Failure{Kind: "network", Message: "not yet"}
			}
			return 1, nil
		}),
	}
}

// drive starts or resumes a run, and returns when its process ends.
func drive(t *testing.T, files map[string]string, w *world, how ending, at int, resume bool, opts runner.Options) (*runner.Result, error) {
	t.Helper()
	p := &process{world: w, how: how, at: at}
	opts.Ask = func(context.Context, view.Pending, string) (string, error) { return "7", nil }
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if how == byCancel {
		p.end = cancel
	}
	r, err := runner.New(runner.Config{
		Kinds: []runner.Kind{p.workKind()}, Store: &killableStore{w.kept, p},
		Load: func(path string) ([]byte, error) { return []byte(files[filepath.Base(path)]), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files["flow.yaml"])%2 == 0 { // half of the flows resume from snapshots
		runner.SnapshotAlways(r)
	}
	if resume {
		if result, err := r.Resume(ctx, "k", opts); !errors.Is(err, store.ErrNoRun) {
			return result, err
		}
	}
	g, found := spec.Parse("/flow.yaml", []byte(files["flow.yaml"]), spec.Options{Kinds: r.Kinds()})
	if found = append(found, spec.Check(g)...); found.HasErrors() {
		t.Fatalf("%s: %s\n%s", found[0].Rule, found[0].Message, files["flow.yaml"])
	}
	f, err := r.Prepare(g)
	if err != nil {
		t.Fatal(err)
	}
	opts.RunID = "k"
	return f.Run(ctx, opts)
}

func newWorld() *world {
	return &world{kept: &store.Memory{}, did: map[string]int{}, started: map[string]int{}}
}

// stableOutcome returns the part of a result that interruptions must not change. It omits
// the order of the path, which depends on timing.
func stableOutcome(r *runner.Result, err error) map[string]any {
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	path := slices.Sorted(slices.Values(r.Path))
	out := map[string]any{
		"status": r.Status, "quality": r.Quality, "reason": r.Reason, "steps": r.Steps, "path": path, "state": r.State,
	}
	return out
}

// newRandomFlow returns the files of a flow in which all kinds of tasks are active at once: delayed
// retries, elements, subgraphs, and tasks that wait for max_concurrency. Its result does not depend
// on the order in which its nodes finish.
func newRandomFlow(random *rand.Rand) map[string]string {
	pick := func(list ...string) string { return list[random.Intn(len(list))] }
	takes := func() int { return 1 + random.Intn(60) }
	retry := func() string {
		return fmt.Sprintf("retry: {max_attempts: %d, initial_interval: %dms, jitter: 0}", 2+random.Intn(2), 1+random.Intn(80))
	}
	worker := func(sum string) string {
		return fmt.Sprintf(`kind: work, takes: "%d", fails: %d, %s, writes: {n: %s}`, takes(), random.Intn(2), retry(), sum)
	}
	elements := func() string {
		return fmt.Sprintf(`kind: work, each: "1..%d", takes: "{{ item * %d }}", fails: "{{ item == 2 ? 1 : 0 }}", %s, writes: {n: "len(output)"}`,
			2+random.Intn(4), takes(), retry())
	}
	head := func(name string) string {
		return fmt.Sprintf("graphrun: v1\nname: %s\nstart: a\nlimits: {max_steps: 300, max_concurrency: %d}\n"+
			"state: {n: {type: integer, default: 0, reducer: sum}}\n", name, 1+random.Intn(3))
	}
	var nodes, edges strings.Builder
	names := 0
	node := func(text string) string {
		names++
		fmt.Fprintf(&nodes, "  w%d: {%s}\n", names, text)
		return "w" + strconv.Itoa(names)
	}
	branches := 2 + random.Intn(2)
	for range branches {
		last := "a"
		for range 1 + random.Intn(3) {
			var text string
			switch pick("work", "work", "each", "tolerant", "graph", "graphs", "set", "wait", "caught", "inner", "human") {
			case "work":
				text = worker("output")
			case "each":
				text = elements()
			case "tolerant":
				text = fmt.Sprintf(`kind: work, each: "1..4", takes: "{{ item * %d }}", fails: "{{ item == 3 ? 9 : 0 }}", %s, parallel: {on_failure: continue_others}, writes: {n: "len(output)"}`, takes(), retry())
			case "graph":
				text = `kind: graph, graph: ./c.yaml, writes: {n: "output.state.n"}`
			case "graphs":
				text = `kind: graph, each: "1..2", graph: ./c.yaml, writes: {n: "len(output)"}`
			case "set":
				text = `kind: set, set: {n: 1}`
			case "wait":
				text = fmt.Sprintf("kind: wait, for: %dms", takes())
			case "human":
				text = `kind: human, prompt: "q?", schema: {type: integer}, writes: {n: output}`
			case "inner": // a fan-out with a branch that fails and is dropped
				fork, join := node("kind: pass, parallel: {on_failure: continue_others}"), ""
				good, bad := node(worker("output")), node(fmt.Sprintf(`kind: work, takes: "%d", fails: 9, %s`, takes(), retry()))
				join = node("kind: set, join: {wait: all}, set: {n: 50}")
				fmt.Fprintf(&edges, "  - {from: %s, to: %s}\n  - {from: %s, to: [%s, %s]}\n  - {from: [%s, %s], to: %s}\n",
					last, fork, fork, good, bad, good, bad, join)
				last = join
				continue
			case "caught":
				text = fmt.Sprintf(`kind: work, takes: "%d", fails: 9, %s`, takes(), retry())
				name := node(text)
				fmt.Fprintf(&edges, "  - {from: %s, to: %s}\n", last, name)
				text = `kind: set, set: {n: 100}`
				caught := node(text)
				fmt.Fprintf(&edges, "  - {from: %s, to: %s, condition: on_failure}\n  - {from: %s, to: %s}\n", name, caught, name, caught)
				last = caught
				continue
			}
			name := node(text)
			fmt.Fprintf(&edges, "  - {from: %s, to: %s}\n", last, name)
			last = name
		}
		fmt.Fprintf(&edges, "  - {from: %s, to: d}\n", last)
	}
	again := pick("", `  - {from: d, to: a, when: "visits.d < 2"}`+"\n")
	child := head("c") + "nodes:\n  a: {" + worker("output") + "}\n  b: {" + elements() + "}\n" +
		"edges: [{from: a, to: b}, {from: a, to: e}, {from: b, to: e}, {from: e, to: END}]\n"
	child = strings.Replace(child, "edges:", "  e: {kind: set, join: {wait: all}, set: {n: 10}}\nedges:", 1)
	return map[string]string{
		"flow.yaml": head("t") + "nodes:\n  a: {kind: pass}\n  d: {kind: set, join: {wait: all}, set: {n: 1000}}\n" + nodes.String() +
			"edges:\n" + edges.String() + again + "  - {from: d, to: END}\n",
		"c.yaml": child,
	}
}

// interruption says how a run ends early, and where.
type interruption struct {
	how ending
	at  int
}

// runInterrupted drives a run through its interruptions and returns its final outcome. skip reports
// that a failure did not end the run but was tolerated, which leads to another result.
func runInterrupted(t *testing.T, files map[string]string, w *world, list []interruption) (outcome map[string]any, skip bool) {
	t.Helper()
	for i, in := range list {
		opts := runner.Options{MaxSteps: 300}
		switch in.how {
		case bySteps:
			opts.MaxSteps = in.at
		case byTime:
			opts.Timeout = time.Duration(in.at) * time.Millisecond
		}
		result, err := drive(t, files, w, in.how, in.at, i > 0, opts)
		if errors.Is(err, errDead) {
			continue
		}
		if err != nil {
			return map[string]any{"error": err.Error()}, false
		}
		if result.Status == machine.Completed {
			return stableOutcome(result, nil), in.how == byFailure
		}
	}
	// The timeout of the interruption applies until a resume sets another. If a driver was killed
	// while the run ended, the first resume only finishes that end.
	opts := runner.Options{MaxSteps: 300, Timeout: time.Hour}
	result, err := drive(t, files, w, "", 0, true, opts)
	if err == nil && result.Status == machine.Limit {
		result, err = drive(t, files, w, "", 0, true, opts)
	}
	return stableOutcome(result, err), false
}

// checkRepeats checks that every attempt had its effect once. Attempts may repeat it if they were
// active when a process was killed, or ended before a final failure.
func checkRepeats(want, got map[string]int, list []interruption) string {
	kills, failures, cuts, times := 0, 0, 0, 0
	for _, in := range list {
		switch in.how {
		case byKill:
			kills++
		case byFailure:
			failures++
		case byTime, byCancel:
			times++
			fallthrough
		default:
			cuts++
		}
	}
	extra := 0
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch n := got[name] - want[name]; {
		case n < 0:
			return fmt.Sprintf("%s was done %d times, want %d", name, got[name], want[name])
		case n <= cuts && strings.HasSuffix(name, failing):
			// An attempt that fails at the moment of its cancellation counts as cut off.
		case n > kills+failures+times: // an attempt that ends at the moment of a timeout or cancel may be too late
			return fmt.Sprintf("%s was done %d times, want %d: its work was done again", name, got[name], want[name])
		default:
			extra += n
		}
	}
	for name := range got {
		if want[name] == 0 {
			return name + " was done, and never is in a run that nothing interrupts"
		}
	}
	if most := 9*kills + 2*failures + times; extra > most {
		return fmt.Sprintf("%d attempts were done again, at most %d can have been in flight", extra, most)
	}
	return ""
}

// endingSeeds returns the seeds of the random flows: three, and those that found defects. The
// variable GRAPHRUN_ENDINGS sets the number of seeds instead.
func endingSeeds(t *testing.T) []int {
	text := os.Getenv("GRAPHRUN_ENDINGS")
	if text == "" {
		return []int{0, 1, 2, 15, 21, 25, 27}
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	seeds := make([]int, n)
	for i := range seeds {
		seeds[i] = i
	}
	return seeds
}

func TestResumeAfterEveryEnding(t *testing.T) {
	for _, seed := range endingSeeds(t) {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { checkEveryEnding(t, int64(seed)) })
	}
}

func checkEveryEnding(t *testing.T, seed int64) {
	random := rand.New(rand.NewSource(seed))
	files := newRandomFlow(random)
	undisturbed := newWorld()
	var want map[string]any
	var events, took, steps, executions int
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		want, _ = runInterrupted(t, files, undisturbed, []interruption{{}})
		took = int(time.Since(began) / time.Millisecond)
		list, err := undisturbed.kept.Events("k", 0, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		events, steps = len(list), want["steps"].(int)
		for _, n := range undisturbed.started {
			executions += n
		}
	})
	if want["status"] != machine.Completed {
		t.Fatalf("undisturbed: %v\n%s", want, files["flow.yaml"])
	}
	points := map[ending]int{byKill: events, byCancel: events, byPause: events, bySteps: steps - 1, byTime: took, byFailure: executions}
	tried := 0
	for _, how := range []ending{byKill, byCancel, byPause, bySteps, byTime, byFailure} {
		for at := 1; at <= points[how]; at += 1 + points[how]/longtest.Choose(4, 60) {
			if how == byFailure && strings.Contains(files["flow.yaml"], "kind: pass, parallel:") {
				continue // a failed branch stays dropped after a resume, so none may be left
			}
			list := []interruption{{how, at}}
			if random.Intn(3) == 0 {
				other := []ending{byKill, byCancel, bySteps, byTime}[random.Intn(4)]
				list = append(list, interruption{other, 2 + random.Intn(1+points[other])})
			}
			tried++
			if problem := checkEnding(t, files, list, want, undisturbed); problem != "" {
				t.Fatalf("seed %d, %v: %s\n%s--- c.yaml\n%s", seed, list, problem, files["flow.yaml"], files["c.yaml"])
			}
		}
	}
	t.Logf("%d endings of a run of %d events", tried, events)
}

// checkEnding describes how an interrupted run ended differently from the undisturbed one, or
// why its replay failed. It returns "" if neither is the case.
func checkEnding(t *testing.T, files map[string]string, list []interruption, want map[string]any, undisturbed *world) (problem string) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		got, skip := runInterrupted(t, files, w, list)
		if skip {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			problem = "the run came to something else (-undisturbed +interrupted):\n" + diff
		}
		problem += checkRepeats(undisturbed.did, w.did, list)
		r, err := runner.New(runner.Config{
			Kinds: []runner.Kind{(&process{world: w}).workKind()}, Store: w.kept,
			Load: func(path string) ([]byte, error) { return []byte(files[filepath.Base(path)]), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, diverged, err := r.Verify("k", nil); err != nil || diverged != nil {
			problem += fmt.Sprintf("\nreplay: %+v, %v", diverged, err)
		}
		if problem != "" {
			problem += "\njournal:\n" + formatJournal(w)
		}
	})
	return problem
}

// formatJournal returns the journal of a run, one line per event.
func formatJournal(w *world) string {
	var out strings.Builder
	events, _ := w.kept.Events("k", 0, math.MaxInt)
	for i := range events {
		text, _ := json.Marshal(events[i])
		fmt.Fprintf(&out, "%d %s\n", i, text)
	}
	return out.String()
}
