package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// errKilled is the error of a run whose store no longer accepts writes.
var errKilled = errors.New("killed")

// crashingStore is a store that fails after a number of writes. It counts the events that are read and
// the bytes of states that are written.
type crashingStore struct {
	store.Store
	after     int // writes that are left; negative: no limit
	snapshots int
	read      int // events
	written   int // bytes of states
}

func (c *crashingStore) Create(r store.RunRecord, first ...machine.Event) (store.Journal, error) {
	var j store.Journal
	create := func() (err error) {
		j, err = c.Store.Create(r, first...)
		return err
	}
	err := (&crashingJournal{store: c}).write(create)
	return &crashingJournal{j, c}, err
}

func (c *crashingStore) Open(id, owner string) (store.Journal, error) {
	j, err := c.Store.Open(id, owner)
	if err != nil {
		return nil, err
	}
	return &crashingJournal{j, c}, nil
}

func (c *crashingStore) Events(id string, n, size int) ([]machine.Event, error) {
	events, err := c.Store.Events(id, n, size)
	c.read += len(events)
	return events, err
}

type crashingJournal struct {
	store.Journal
	store *crashingStore
}

func (j *crashingJournal) write(do func() error) error {
	if j.store.after == 0 {
		return errKilled
	}
	j.store.after--
	return do()
}

func (j *crashingJournal) Append(e ...machine.Event) error {
	return j.write(func() error { return j.Journal.Append(e...) })
}

func (j *crashingJournal) Snapshot(s store.Snapshot) error {
	j.store.snapshots++
	j.store.written += len(s.State)
	return j.write(func() error { return j.Journal.Snapshot(s) })
}

// snapshotFlow has a loop, branches, elements, retries, a question, and a failure that a resume
// repairs.
const snapshotFlow = `
limits: {max_steps: 100}
parallel: {conflict: first_wins}
state:
  n: {type: integer, default: 0}
  log: {type: array, reducer: append, default: []}
  token: {type: string, secret: true, default: none}
  answer: {type: string}
nodes:
  a: {kind: set, set: {n: n + 1, log: "{'n': n, 'before': len(history.a)}"}}
  b: {kind: work, do: echo, with: "{{ n }}", writes: {log: output, token: "'secret ' + string(n)"}}
  c: {kind: work, do: echo, with: "{{ item }}", each: "1..n", writes: {log: output}}
  d: {kind: set, set: {log: "[visits.a, nodes.b.output]"}, join: {wait: all}}
  e: {kind: human, prompt: "{{ n }}?", writes: [answer]}
  f: {kind: work, do: fails, with: "{{ token }}", retry: {max_attempts: 2, initial_interval: 1ms}}
edges:
  - {from: a, to: [b, c]}
  - {from: [b, c], to: d}
  - {from: d, to: a, when: n < 10}
  - {from: d, to: e}
  - {from: e, to: f}
  - {from: f, to: END}
`

// snapshotRunner returns a runner for snapshotFlow, whose node f fails while *fails.
func snapshotRunner(t *testing.T, s store.Store, fails *bool) (*runner.Runner, *spec.Graph) {
	t.Helper()
	r, err := runner.New(runner.Config{Store: s, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
		"echo": func(_ context.Context, task *runner.Task) (any, error) { return task.Config["with"], nil },
		"fails": func(_ context.Context, task *runner.Task) (any, error) {
			if *fails {
				return nil, fmt.Errorf("not yet with %s", task.Config["with"])
			}
			return "done", nil
		},
	})}})
	if err != nil {
		t.Fatal(err)
	}
	g, found := spec.Parse("flow.yaml", []byte(snapshotHeader+snapshotFlow), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	return r, g
}

// formatComparable formats a result without the parts that differ from run to run.
func formatComparable(t *testing.T, r *runner.Result) string {
	t.Helper()
	own := *r
	own.RunID, own.Duration, own.StartedAt = "", 0, time.Time{}
	text, err := json.MarshalIndent(&own, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// resumeToEnd resumes a run until it has completed, and returns its distinct results: paused,
// failed, completed.
func resumeToEnd(t *testing.T, r *runner.Runner, fails *bool, result *runner.Result, err error, again func()) (stages []string) {
	t.Helper()
	for range 1000 {
		opts := runner.Options{}
		switch {
		case errors.Is(err, errKilled):
			again()
		case err != nil:
			t.Fatal(err)
		default:
			if text := formatComparable(t, result); !slices.Contains(stages, text) {
				stages = append(stages, text)
			}
			switch result.Status {
			case machine.Completed:
				return stages
			case machine.Paused:
				opts.Answers = map[string][]string{"e": {"yes"}}
			default:
				*fails = false
			}
		}
		result, err = r.Resume(context.Background(), "one", opts)
	}
	t.Fatal("the run does not end")
	return nil
}

// A run that crashes at any write resumes from its latest snapshot and has the same result as a run
// without a crash, also if it fails and is resumed in between.
func TestSnapshotsAfterCrashes(t *testing.T) {
	stages := func(after, step int, always bool) ([]string, *crashingStore) {
		fails := true
		s := &crashingStore{Store: &store.Memory{}, after: after}
		r, g := snapshotRunner(t, s, &fails)
		if always {
			runner.SnapshotAlways(r)
		}
		result, err := r.Run(context.Background(), g, runner.Options{RunID: "one", Labels: map[string]string{"a": "b"}})
		return resumeToEnd(t, r, &fails, result, err, func() { s.after = step }), s
	}
	want, whole := stages(-1, -1, false)
	if len(want) != 3 || whole.snapshots > 0 {
		t.Fatalf("%d stages, %d snapshots: %s", len(want), whole.snapshots, want)
	}
	got, often := stages(-1, -1, true)
	if often.snapshots < 3 {
		t.Errorf("%d snapshots were written", often.snapshots)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with snapshots (-without +with):\n%s", diff)
	}
	for after := 1; after < 260; after += longtest.Choose(44, 11) {
		for _, step := range []int{-1, 20 + after%5} {
			got, s := stages(after, step, true)
			checkSnapshotRead(t, s)
			if last := len(got) - 1; got[last] != want[2] {
				t.Fatalf("after %d writes, then every %d: %d snapshots\n%s", after, step, s.snapshots, cmp.Diff(want[2], got[last]))
			}
		}
	}
}

// checkSnapshotRead checks that reading a run from its latest snapshot gives the same as
// reading it from its beginning.
func checkSnapshotRead(t *testing.T, s store.Store) {
	t.Helper()
	r, _ := snapshotRunner(t, s, new(bool))
	var latest, all recorder
	shown, err := r.Show("one", runner.Options{Sink: &latest})
	if err != nil {
		t.Fatal(err)
	}
	replayed, err := r.Replay("one", 0, -1, runner.Options{Sink: &all})
	if err != nil {
		t.Fatal(err)
	}
	replayed.History = nil
	if diff := cmp.Diff(formatComparable(t, replayed), formatComparable(t, shown)); diff != "" {
		t.Fatalf("shown from a snapshot the run is another (-whole +shown):\n%s", diff)
	}
	text := func(events []runner.Event) (out []string) {
		for i := range events {
			events[i].Seq = 0
			out = append(out, string(events[i].AppendJSON(nil)))
		}
		return out
	}
	if told, want := text(latest.events), text(all.events); !slices.Equal(told, want[len(want)-len(told):]) {
		t.Fatalf("the latest %d of %d events are others:\n%s", len(told), len(want), cmp.Diff(want[len(want)-len(told):], told))
	}
}

// The number of events that a resume reads is bounded by the size of the state, not by the length
// of the run.
func TestLongRunsOpenFast(t *testing.T) {
	const steps = 12_000
	s := &crashingStore{Store: &store.Memory{}, after: -1}
	flow := `
limits: {max_steps: 1000000}
state: {n: {type: integer, default: 0}, pad: {type: string, default: "` + strings.Repeat("x", 1000) + `"}}
nodes: {a: {kind: set, set: {n: n + 1}}, b: {kind: human, prompt: "?"}}
edges: [{from: a, to: a, when: n < ` + fmt.Sprint(steps) + `}, {from: a, to: b}, {from: b, to: END}]
`
	f := prepareFlow(t, runner.Config{Store: s}, flow)
	runPrepared(t, f, runner.Options{RunID: "one"})
	all, err := s.Store.Events("one", 0, math.MaxInt)
	if err != nil || len(all) < steps/1000 || s.snapshots < 5 {
		t.Fatal(len(all), s.snapshots, err)
	}
	if s.written > 64*steps { // each step counts as 64 bytes of events
		t.Errorf("%d bytes of states were written for %d steps", s.written, steps)
	}
	s.read = 0
	r, err := runner.New(runner.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Resume(context.Background(), "one", runner.Options{Answers: map[string][]string{"b": {"yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	if s.read > 3 {
		t.Errorf("%d of %d events were read", s.read, len(all))
	}
	s.read = 0
	var latest recorder
	if shown, err := r.Show("one", runner.Options{Sink: &latest}); err != nil || len(shown.Path) != steps+1 {
		t.Error(err)
	}
	if n := len(latest.ofType(runner.EdgesResolved)); s.read > 4000 || n < 400 {
		t.Errorf("%d events were read, %d steps told", s.read, n)
	}
	checkNearbyReads(t, s, r, steps)
	if result.Status != machine.Completed || len(result.Path) != steps+1 || result.Steps != steps+1 || result.Path[steps] != "b" || result.State["n"] != steps {
		t.Errorf("%s after %d steps, path of %d", result.Status, result.Steps, len(result.Path))
	}
}
