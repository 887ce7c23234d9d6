// Stores that fail on purpose, and what a driver makes of it.

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
	// Write counts the writes of journals from 1: appends, snapshots, notes and
	// the ends of journals, Create being the first.
	Write int
	// Err is the error: a full disk, a failed write, a failed sync.
	Err error
	// Done says that the write is carried out and reported as failed all the
	// same, as happens when a sync fails after the data got through.
	Done bool
	// Once says that later writes succeed.
	Once bool
}

// Break returns a store that has a fault. Reading is not affected.
func Break(s store.Store, f Fault) *Broken { return &Broken{Store: s, fault: f} }

// Broken is a store with a fault.
type Broken struct {
	store.Store
	fault Fault

	mu     sync.Mutex
	writes int
}

// Writes is the number of writes so far, those that failed included.
func (b *Broken) Writes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writes
}

// write carries out a write, or fails, or both.
func (b *Broken) write(do func() error) error {
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
	return b.journal(func() (store.Journal, error) { return b.Store.Create(record, first...) })
}

// Open goes on with a journal, which has the fault of its store.
func (b *Broken) Open(runID, owner string) (store.Journal, error) {
	return b.journal(func() (store.Journal, error) { return b.Store.Open(runID, owner) })
}

func (b *Broken) journal(open func() (store.Journal, error)) (store.Journal, error) {
	var journal store.Journal
	err := b.write(func() (err error) {
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
	return j.store.write(func() error { return j.Journal.Append(events...) })
}

// Snapshot may fail.
func (j *brokenJournal) Snapshot(s store.Snapshot) error {
	return j.store.write(func() error { return j.Journal.Snapshot(s) })
}

// Adopt may fail.
func (j *brokenJournal) Adopt(run store.RunRecord) error {
	return j.store.write(func() error { return j.Journal.Adopt(run) })
}

// Note may fail.
func (j *brokenJournal) Note(s store.RunSummary) error {
	return j.store.write(func() error { return j.Journal.Note(s) })
}

// Close may fail, but it does close.
func (j *brokenJournal) Close() error {
	var closed error
	err := j.store.write(func() error {
		closed = j.Journal.Close()
		return closed
	})
	if err != nil && closed == nil {
		closed = j.Journal.Close()
	}
	return errors.Join(err, closed)
}

// faultyFlow has steps of every kind that matters to a journal.
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

// stopsDriver breaks a run at each of its writes in turn.
func stopsDriver(t *testing.T, s store.Store) {
	whole := Break(s, Fault{})
	if _, err := runFaulty(t, whole, "whole"); err != nil {
		t.Fatal(err)
	}
	all, err := s.Events("whole", 0, math.MaxInt)
	if err != nil || len(all) < 5 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	full, kept := errors.New("the disk is full"), 0
	for write := 1; write <= whole.Writes(); write++ {
		for _, done := range []bool{false, true} {
			id := fmt.Sprintf("%d-%t", write, done)
			result, err := runFaulty(t, Break(s, Fault{Write: write, Err: full, Done: done}), id)
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
			// A write keeps all of its events or none, and nothing comes after it.
			if prefix := len(got) <= len(all) && slices.EqualFunc(got, all[:len(got)], sameKind); err != nil || !prefix {
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

func sameKind(a, b machine.Event) bool { return a.Kind == b.Kind && a.Task == b.Task }

func runFaulty(t *testing.T, s store.Store, id string) (*runner.Result, error) {
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
