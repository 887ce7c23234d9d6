// Stores that fail on purpose, and how a driver handles that.

package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// Fault says which write of a store fails, and how.
type Fault struct {
	// Write is the number of the write that fails, from 1. Writes are Create, appends, snapshots,
	// summaries and closing a journal.
	Write int
	// Err is the error, such as a full disk, a failed write or a failed sync.
	Err error
	// Done means that the data is written, but the write is reported as failed. That happens when a
	// sync fails.
	Done bool
	// Once means that later writes succeed.
	Once bool
}

// NewBroken returns a store with a fault. Reads never fail.
func NewBroken(s store.Store, f Fault) *Broken { return &Broken{Store: s, fault: f} }

// Broken is a store with a fault.
type Broken struct {
	store.Store
	fault Fault

	mu     sync.Mutex
	writes int
}

// CountWrites returns the number of writes so far, including failed ones.
func (b *Broken) CountWrites() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writes
}

// tryWrite calls do, or fails, or both, as the fault says.
func (b *Broken) tryWrite(do func() error) error {
	b.mu.Lock()
	b.writes++
	hit := b.writes == b.fault.Write || b.writes > b.fault.Write && b.fault.Write > 0 && !b.fault.Once
	done := b.writes == b.fault.Write && b.fault.Done
	b.mu.Unlock()
	if !hit {
		return do()
	}
	if done {
		if err := do(); err != nil {
			return err
		}
	}
	return b.fault.Err
}

// Create starts a journal with the fault of its store.
func (b *Broken) Create(record store.RunRecord, first ...machine.Event) (store.Journal, error) {
	return b.openJournal(func() (store.Journal, error) { return b.Store.Create(record, first...) })
}

// Open opens a journal with the fault of its store.
func (b *Broken) Open(runID, owner string) (store.Journal, error) {
	return b.openJournal(func() (store.Journal, error) { return b.Store.Open(runID, owner) })
}

func (b *Broken) openJournal(open func() (store.Journal, error)) (store.Journal, error) {
	var journal store.Journal
	err := b.tryWrite(func() (err error) {
		journal, err = open()
		return err
	})
	if err != nil {
		if journal != nil {
			err = errors.Join(err, journal.Close())
		}
		return nil, err
	}
	return &brokenJournal{Journal: journal, store: b}, nil
}

type brokenJournal struct {
	store.Journal
	store *Broken
}

// Append may fail.
func (j *brokenJournal) Append(events ...machine.Event) error {
	return j.store.tryWrite(func() error { return j.Journal.Append(events...) })
}

// Snapshot may fail.
func (j *brokenJournal) Snapshot(s store.Snapshot) error {
	return j.store.tryWrite(func() error { return j.Journal.Snapshot(s) })
}

// ReplaceGraph may fail.
func (j *brokenJournal) ReplaceGraph(run store.RunRecord) error {
	return j.store.tryWrite(func() error { return j.Journal.ReplaceGraph(run) })
}

// SaveSummary may fail.
func (j *brokenJournal) SaveSummary(s store.RunSummary) error {
	return j.store.tryWrite(func() error { return j.Journal.SaveSummary(s) })
}

// Close closes the journal, even if it fails.
func (j *brokenJournal) Close() error {
	var closed error
	err := j.store.tryWrite(func() error {
		closed = j.Journal.Close()
		return closed
	})
	if err != nil && closed == nil {
		closed = j.Journal.Close()
	}
	return errors.Join(err, closed)
}

// faultyFlow has every kind of step that a journal records differently.
const faultyFlow = `
graphrun: v1
name: faulty
start: a
state: {n: {type: integer, default: 0}}
nodes:
  a: {kind: set, set: {n: n + 1}}
  b: {kind: work, writes: {n: output}}
  c: {kind: pass}
edges:
  - {from: a, to: b}
  - {from: b, to: a, when: n < 3}
  - {from: b, to: c}
  - {from: c, to: END}
`

// testFaults lets each write of a run fail in turn.
func testFaults(t *testing.T, s store.Store) {
	whole := NewBroken(s, Fault{})
	if _, err := runFaultyFlow(t, whole, "whole"); err != nil {
		t.Fatal(err)
	}
	all, err := s.Events("whole", 0, math.MaxInt)
	if err != nil || len(all) < 5 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	full, kept := errors.New("the disk is full"), 0
	for write := 1; write <= whole.CountWrites(); write++ {
		for _, done := range []bool{false, true} {
			id := fmt.Sprintf("%d-%t", write, done)
			result, err := runFaultyFlow(t, NewBroken(s, Fault{Write: write, Err: full, Done: done}), id)
			if !errors.Is(err, full) || result != nil && (result.Status != machine.Failed || result.Error == nil) {
				t.Errorf("a fault at write %d gives %v, %v; want the store's error", write, result, err)
			}
			got, err := s.Events(id, 0, math.MaxInt)
			if write == 1 && !done {
				if !errors.Is(err, store.ErrNoRun) {
					t.Errorf("a run that could not be created: %v", err)
				}
				continue
			}
			// A failed write stores all of its events or none, and no event follows it.
			if prefix := len(got) <= len(all) && slices.EqualFunc(got, all[:len(got)], haveSameKind); err != nil || !prefix {
				t.Errorf("after a fault at write %d (done: %t) %d events are left, not the first of %d (%v)", write, done, len(got), len(all), err)
			}
			if !done && len(got) != kept {
				t.Errorf("after a fault at write %d %d events are left, %d were written", write, len(got), kept)
			}
			kept = len(got)
		}
	}
	if kept != len(all) {
		t.Errorf("%d of %d events are left after the last write", kept, len(all))
	}
}

func haveSameKind(a, b machine.Event) bool { return a.Kind == b.Kind && a.Task == b.Task }

func runFaultyFlow(t *testing.T, s store.Store, id string) (*runner.Result, error) {
	t.Helper()
	work := runner.Kind{
		Spec: spec.Kind{Name: "work"},
		Handler: runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
			return 1 + task.Visit, nil
		}),
	}
	r, err := runner.New(runner.Config{Kinds: []runner.Kind{work}, Store: s})
	if err != nil {
		t.Fatal(err)
	}
	graph, found := spec.Parse("faulty.yaml", []byte(faultyFlow), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatal(found.Sort()[0].Message)
	}
	return r.Run(context.Background(), graph, runner.Options{RunID: id})
}
