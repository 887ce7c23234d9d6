package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// countingStore counts commits. It waits for ready before it stores the end of a task.
type countingStore struct {
	store.Memory
	commits int
	ready   *sync.WaitGroup
}

func (c *countingStore) Create(r store.RunRecord, first ...machine.Event) (store.Journal, error) {
	j, err := c.Memory.Create(r, first...)
	c.commits++
	return &countingJournal{j, c}, err
}

type countingJournal struct {
	store.Journal
	store *countingStore
}

func (j *countingJournal) Append(e ...machine.Event) error {
	j.store.commits++
	if e[0].Kind == machine.TaskEnded && j.store.ready != nil {
		j.store.ready.Wait()
		for range 500 { // as slow as a disk, so that the other tasks end meanwhile
			runtime.Gosched()
		}
	}
	return j.Journal.Append(e...)
}

// fanOutFlow returns a flow with a hundred branches of a node, and a join.
func fanOutFlow(node string) string {
	var nodes, edges strings.Builder
	for i := range 100 {
		fmt.Fprintf(&nodes, "  n%d: {%s}\n", i, node)
		fmt.Fprintf(&edges, "  - {from: a, to: n%d}\n  - {from: n%d, to: z}\n", i, i)
	}
	return "limits: {max_steps: 200, max_concurrency: 100}\nstate: {log: {type: array, reducer: append}}\nnodes:\n  a: {kind: pass}\n  z: {kind: pass, join: {wait: all}}\n" +
		nodes.String() + "edges:\n  - {from: z, to: END}\n" + edges.String()
}

// Steps without effects share a commit, however many there are.
func TestPureStepsShareACommit(t *testing.T) {
	s := &countingStore{}
	f := prepareFlow(t, runner.Config{Store: s}, fanOutFlow("kind: set, set: {log: step}"))
	if got := runPrepared(t, f, runner.Options{}); got.Status != machine.Completed || got.Steps != 102 || s.commits != 1 {
		t.Errorf("%s, %d steps in %d commits", got.Status, got.Steps, s.commits)
	}
}

// Tasks share a commit if they begin together, or end while the journal writes.
func TestCommitsAreShared(t *testing.T) {
	s := &countingStore{ready: &sync.WaitGroup{}}
	s.ready.Add(100)
	f := prepareFlow(t, runner.Config{Store: s, Kinds: []runner.Kind{workKind(map[string]runner.HandlerFunc{
		"x": func(_ context.Context, task *runner.Task) (any, error) {
			s.ready.Done()
			return task.Visit, nil
		},
	})}}, fanOutFlow("kind: work, do: x, writes: [log]"))
	got := runPrepared(t, f, runner.Options{RunID: "one"})
	// Two commits hold the start of the run and of the tasks, the others hold ends.
	if ends := s.commits - 2; got.Status != machine.Completed || got.Steps != 102 || ends > 90 {
		t.Errorf("%s, %d steps, %d commits for 100 ends", got.Status, got.Steps, ends)
	}
}

// slotlessStore is a store that fails, like a killed process, when a run asks for its slot.
type slotlessStore struct{ *store.Memory }

func (s slotlessStore) Create(r store.RunRecord, first ...machine.Event) (store.Journal, error) {
	j, err := s.Memory.Create(r, first...)
	return slotlessJournal{j}, err
}

type slotlessJournal struct{ store.Journal }

func (slotlessJournal) EnterGroup(string, int) (store.GroupState, error) {
	return store.GroupState{}, errKilled
}

// A run that is killed before it gets its slot continues when it is resumed.
func TestKilledBeforeSlot(t *testing.T) {
	memory, text := &store.Memory{}, "concurrency: {group: name, limit: 1}\nstate: {n: {type: integer}, name: {default: g}}\nnodes: {a: {kind: set, set: {n: n + 1}}}\nedges: [{from: a, to: END}]\n"
	f := prepareFlow(t, runner.Config{Store: slotlessStore{memory}}, text)
	if _, err := f.Run(t.Context(), runner.Options{RunID: "one", Input: map[string]any{"n": 2}}); !errors.Is(err, errKilled) {
		t.Fatalf("the process lives: %v", err)
	}
	r, err := runner.New(runner.Config{Store: memory})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Show("one", runner.Options{}); err != nil || got.Status != machine.Paused || got.Reason != "concurrency" {
		t.Errorf("before it is resumed: %+v, %v", got, err)
	}
	got, err := r.Resume(t.Context(), "one", runner.Options{})
	if err != nil || got.Status != machine.Completed || got.State["n"] != 3 {
		t.Errorf("resumed: %+v, %v", got, err)
	}
}
