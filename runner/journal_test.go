package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

const journalFlow = `
limits: {max_steps: 40}
state:
  n: {type: integer, default: 0}
  f: {type: number, default: 0.5}
  log: {type: array, reducer: append}
  text: {type: string}
nodes:
  a: {kind: work, do: flaky, writes: [n], retry: {max_attempts: 3, initial_interval: 1ms}}
  b: {kind: set, set: {f: f * 2, log: "{'n': n, 'visits': visits.b}", text: "{{ n }} of {{ run.id }}"}}
  c: {kind: work, do: data}
  d: {kind: wait, for: 1ms}
edges:
  - {from: a, to: b}
  - {from: b, to: a, when: n < 5}
  - {from: b, to: [c, d]}
  - {from: c, to: END, condition: on_failure}
  - {from: [c, d], to: END}
`

func journalHandlers() map[string]runner.HandlerFunc {
	return map[string]runner.HandlerFunc{
		"flaky": func(_ context.Context, task *runner.Task) (any, error) {
			if (task.Visit+task.Attempt)%2 == 0 {
				return nil, errors.New("flaky")
			}
			return task.State["n"].(int) + 1, nil
		},
		"data": func(context.Context, *runner.Task) (any, error) {
			return map[string]any{"whole": 3.0, "half": 0.5, "list": []int{1, 2}, "none": nil, "big": 1 << 60}, nil
		},
	}
}

// Replaying a journal that was encoded as JSON gives the state at the end of the run.
func TestJournalReplays(t *testing.T) {
	memory := &store.Memory{}
	f := prepareFlow(t, runner.Config{Kinds: []runner.Kind{workKind(journalHandlers())}, Store: memory}, journalFlow)
	got := runPrepared(t, f, runner.Options{RunID: "one"})
	wantResult(t, got, machine.Completed, "a b a b a b a b a b c d", "")
	record, err := memory.Run("one")
	if err != nil || filepath.Base(record.File) != "flow.yaml" || !filepath.IsAbs(record.File) || string(record.Source) != snapshotHeader+journalFlow {
		t.Fatalf("record %+v, %v", record, err)
	}
	r, err := runner.New(runner.Config{Kinds: []runner.Kind{workKind(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	g, _ := spec.Parse(record.File, record.Source, spec.Options{Kinds: r.Kinds()})
	plan, found := machine.Build(g, r.Kinds(), nil)
	if plan == nil {
		t.Fatal(found)
	}
	events, err := memory.Events("one", 0, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	state := plan.NewState()
	for i, e := range events {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back machine.Event
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if state.HasEnded() {
			t.Fatalf("the state has ended after %d of %d events", i, len(events))
		}
		if _, err := plan.Apply(state, back); err != nil {
			t.Fatal(err)
		}
	}
	if state.Status != got.Status || state.Quality != got.Quality || state.Steps() != got.Steps {
		t.Errorf("replay: %s %s after %d steps; run: %s %s after %d", state.Status, state.Quality, state.Steps(), got.Status, got.Quality, got.Steps)
	}
	for what, pair := range map[string][2]any{
		"state": {got.State, state.Scope("").Values()}, "output": {got.Output, state.Output}, "path": {got.Path, state.Scope("").PathNodes()},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s (-run +replay):\n%s", what, diff)
		}
	}
}

// The start of a task with effects is in the journal before its end.
func TestJournalOrder(t *testing.T) {
	memory := &store.Memory{}
	seen := 0
	f := prepareFlow(t, runner.Config{Store: memory, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
		"look": func(_ context.Context, task *runner.Task) (any, error) {
			events, err := memory.Events(task.RunID, 0, math.MaxInt)
			for _, e := range events {
				if e.Kind == machine.TaskBegan && e.Node == task.Node && e.Visit == 1 && e.Task.Attempt == 1 {
					seen++
				}
			}
			return nil, err
		},
	})}}, "nodes: {a: {kind: work, do: look}, b: {kind: work, do: look}}\nedges: [{from: a, to: b}, {from: b, to: END}]")
	wantResult(t, runPrepared(t, f, runner.Options{RunID: "one"}), machine.Completed, "a b", "")
	if seen != 2 {
		t.Errorf("%d tasks found that they had begun, want 2", seen)
	}
}

func TestRunExists(t *testing.T) {
	f := prepareFlow(t, runner.Config{Store: &store.Memory{}}, "nodes: {a: {kind: pass}}\nedges: [{from: a, to: END}]")
	runPrepared(t, f, runner.Options{RunID: "one"})
	if result, err := f.Run(context.Background(), runner.Options{RunID: "one"}); !errors.Is(err, store.ErrRunExists) || result != nil {
		t.Errorf("a second run of one id gives %v, %v", result, err)
	}
	first, second := runPrepared(t, f, runner.Options{}), runPrepared(t, f, runner.Options{})
	if first.RunID == second.RunID || first.RunID == "" {
		t.Errorf("ids %q and %q", first.RunID, second.RunID)
	}
}

// brokenStore fails after the next `left` events.
type brokenStore struct {
	store.Memory
	left int
	err  error
}

type brokenJournal struct {
	store.Journal
	store *brokenStore
}

func (s *brokenStore) Create(record store.RunRecord, first ...machine.Event) (store.Journal, error) {
	if s.left -= len(first); s.left < 0 {
		return nil, s.err
	}
	journal, err := s.Memory.Create(record, first...)
	return brokenJournal{journal, s}, err
}

// Append stores all events or none, since they are one commit.
func (j brokenJournal) Append(events ...machine.Event) error {
	if j.store.left -= len(events); j.store.left < 0 {
		return j.store.err
	}
	return j.Journal.Append(events...)
}

// The runner does not act on an event that it could not store.
func TestBrokenJournal(t *testing.T) {
	full := errors.New("the disk is full")
	for keeps := range 6 {
		ran := 0
		broken := &brokenStore{left: keeps, err: full}
		f := prepareFlow(t, runner.Config{Store: broken, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
			"it": func(context.Context, *runner.Task) (any, error) { ran++; return nil, nil },
		})}}, "nodes: {a: {kind: work, do: it}, b: {kind: work, do: it}, c: {kind: work, do: it}}\nedges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: END}]")
		_, err := f.Run(context.Background(), runner.Options{RunID: "one"})
		if !errors.Is(err, full) || !strings.Contains(err.Error(), "one") {
			t.Errorf("keeping %d events gives %v", keeps, err)
		}
		// A task has two events: began and ended.
		if want := keeps / 2; ran != want {
			t.Errorf("keeping %d events, %d tasks ran, want %d", keeps, ran, want)
		}
	}
}
