// Package storetest holds the conformance suite that every store.Store passes.
package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Run runs the suite. open returns an empty store for each test.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	tests := map[string]func(t *testing.T, s store.Store){
		"a journal keeps its events in order": testEvents,
		"a run keeps its record":              testRecord,
		"two runs":                            testTwoRuns,
		"ids are unique":                      testUniqueIDs,
		"missing runs":                        testMissingRuns,
		"concurrent reads":                    testConcurrentReads,
		"events are copies":                   testCopies,
		"concurrent writes":                   testConcurrentWrites,
		"first events":                        testFirstEvents,
		"fields of events":                    testEventFields,
		"numbers keep their type":             testNumbers,
		"append":                              testAppend,
		"events after the first n":            testEventsAfter,
		"partial reads":                       testPartialReads,
		"forks":                               testForks,
		"invalid events":                      testBadEvents,
		"snapshots":                           testSnapshots,
		"one driver per run":                  testSingleDriver,
		"another graph for a run":             testReplaceGraph,
		"sessions":                            testSessions,
		"groups of runs":                      testGroups,
		"requests to a driver":                testRequests,
		"offers to a driver":                  testOffers,
		"runs that are due":                   testListDue,
		"a deleted run":                       testDeleteRun,
		"a closed journal":                    testClosedJournal,
		"lists":                               testListFilters,
		"lists are in order":                  testListOrder,
		"lists have saved summaries":          testSaveSummary,
		"logs":                                testLogs,
		"the cache":                           testCache,
		"the cache is cleared":                testClearCache,
		"a driver stops when its store fails": testFaults,
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) { tests[name](t, open(t)) })
	}
}

// newEvents returns events of all kinds, with all fields.
func newEvents() []machine.Event {
	task := machine.TaskID{Task: 7, Attempt: 3}
	return []machine.Event{
		{
			Kind: machine.RunBegan, At: 1e18, Input: map[string]any{"n": 1, "f": 0.5, "list": []any{nil, true, "é\n"}},
			Run: &machine.RunInfo{ID: "r", MaxSteps: 3, MaxConcurrency: 2, Timeout: 5, Goal: "win"},
		},
		{Kind: machine.TaskBegan, At: 1e18 + 1, Task: task},
		{Kind: machine.TaskEnded, At: 1e18 + 2, Task: task, Output: map[string]any{"deep": map[string]any{"x": []any{1, 2}}}, Cached: true},
		{
			Kind: machine.TaskEnded, At: 1e18 + 3, Task: task, Partial: "so far",
			Failure: &machine.Failure{Kind: "tool", Message: "no", Node: "a", Attempt: 3, Details: map[string]any{"code": 7}, RetryAfter: 10},
		},
		{Kind: machine.TimerFired, At: 1e18 + 4, Task: task, Timer: machine.RetryTimer},
		{Kind: machine.Advanced, At: 1e18 + 5},
		{Kind: machine.Decided, At: 1e18 + 6, Task: task, Target: "b", Reasoning: "because"},
		{Kind: machine.CancelAsked, At: 1e18 + 7},
	}
}

// createRun starts a journal with events. Without events the run has not started yet.
func createRun(t *testing.T, s store.Store, id string, first ...machine.Event) store.Journal {
	t.Helper()
	journal, err := s.Create(store.RunRecord{ID: id, File: id + ".yaml", Source: []byte("graphrun: v1 # " + id)}, first...)
	if err != nil {
		t.Fatal(err)
	}
	return journal
}

// firstEvent returns the first event of a run.
func firstEvent() machine.Event { return newEvents()[0] }

func appendEvents(t *testing.T, journal store.Journal, list ...machine.Event) {
	t.Helper()
	for _, e := range list {
		if err := journal.Append(e); err != nil {
			t.Fatal(err)
		}
	}
}

func wantEvents(t *testing.T, s store.Store, id string, want []machine.Event) {
	t.Helper()
	got, err := s.Events(id, 0, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	if g, w := encodeEvents(t, got), encodeEvents(t, want); !slices.Equal(g, w) {
		t.Errorf("events of %s are\n%s\nwant\n%s", id, strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
}

// encodeEvents returns each event as JSON.
func encodeEvents(t *testing.T, events []machine.Event) []string {
	t.Helper()
	out := make([]string, len(events))
	for i, e := range events {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(text)
	}
	return out
}

func testEvents(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one")
	for i, e := range newEvents() {
		appendEvents(t, journal, e)
		wantEvents(t, s, "one", newEvents()[:i+1])
	}
}

func testRecord(t *testing.T, s store.Store) {
	want := store.RunRecord{
		ID: "one", Graph: "g", File: "some/flow.yaml", Source: []byte("a: é\n\x00\xff"),
		Files:  map[string][]byte{"/some/child.yaml": []byte("b: é\xff"), "/same.yaml": []byte("a: é\n\x00\xff")},
		Labels: map[string]string{"a": "1", "": "b", "é": ""}, Session: "s",
		Started: time.Unix(1790000000, 123456789), Parent: "zero", ParentStep: 7,
	}
	if _, err := s.Create(want, firstEvent()); err != nil {
		t.Fatal(err)
	}
	got, err := s.Run("one")
	if err != nil {
		t.Fatal(err)
	}
	if !got.Started.Equal(want.Started) {
		t.Errorf("started %s, want %s", got.Started, want.Started)
	}
	if got.Started = want.Started; !reflect.DeepEqual(got, want) {
		t.Errorf("record %+v, want %+v", got, want)
	}
}

func testTwoRuns(t *testing.T, s store.Store) {
	one, two := createRun(t, s, "one"), createRun(t, s, "two")
	all := newEvents()
	appendEvents(t, one, all[0])
	appendEvents(t, two, all[1], all[2])
	appendEvents(t, one, all[3])
	wantEvents(t, s, "one", []machine.Event{all[0], all[3]})
	wantEvents(t, s, "two", all[1:3])
}

func testUniqueIDs(t *testing.T, s store.Store) {
	appendEvents(t, createRun(t, s, "one"), newEvents()[0])
	if _, err := s.Create(store.RunRecord{ID: "one", Source: []byte("other")}); !errors.Is(err, store.ErrRunExists) {
		t.Errorf("a second run of one id gives %v, want ErrRunExists", err)
	}
	wantEvents(t, s, "one", newEvents()[:1])
	if record, err := s.Run("one"); err != nil || string(record.Source) != "graphrun: v1 # one" {
		t.Errorf("the first run's record is %v, %v", record, err)
	}
}

func testMissingRuns(t *testing.T, s store.Store) {
	createRun(t, s, "one")
	if _, err := s.Events("two", 0, math.MaxInt); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("events give %v, want ErrNoRun", err)
	}
	if _, err := s.Run("two"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("a record gives %v, want ErrNoRun", err)
	}
	if _, err := s.Events("two", 3, math.MaxInt); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("events after some give %v, want ErrNoRun", err)
	}
	if _, err := s.Snapshot("two", -1); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("a snapshot gives %v, want ErrNoRun", err)
	}
	if _, err := s.Open("two", "x"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("opening gives %v, want ErrNoRun", err)
	}
	if err := s.Delete("two"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("deleting gives %v, want ErrNoRun", err)
	}
}

// testFirstEvents checks that a run is created with its first events or not at all.
func testFirstEvents(t *testing.T, s store.Store) {
	createRun(t, s, "whole", newEvents()[:3]...)
	wantEvents(t, s, "whole", newEvents()[:3])
	bad := machine.Event{Kind: machine.TaskEnded, Output: math.NaN()}
	if _, err := s.Create(store.RunRecord{ID: "bad"}, firstEvent(), bad); err == nil {
		t.Error("a run whose events have no text was made")
	}
	wantNoRun(t, s, "bad")
	if list, err := s.List(store.RunFilter{}); err != nil || len(list) != 1 {
		t.Errorf("%d runs (%v), want 1", len(list), err)
	}
}

// wantNoRun checks that a run does not exist.
func wantNoRun(t *testing.T, s store.Store, id string) {
	t.Helper()
	_, run := s.Run(id)
	_, events := s.Events(id, 0, math.MaxInt)
	_, snapshot := s.Snapshot(id, -1)
	for what, err := range map[string]error{
		"the record": run, "events": events, "a snapshot": snapshot, "deleting": s.Delete(id), "asking": s.SendRequest(id, store.RequestCancel),
	} {
		if !errors.Is(err, store.ErrNoRun) {
			t.Errorf("%s of %q: %v, want ErrNoRun", what, id, err)
		}
	}
	if list, err := s.List(store.RunFilter{ID: id}); err != nil || len(list) > 0 {
		t.Errorf("%d runs are %q (%v), want none", len(list), id, err)
	}
}

// testConcurrentReads reads from another goroutine. It must always see a prefix of the written events.
func testConcurrentReads(t *testing.T, s store.Store) {
	const total = 200
	journal := createRun(t, s, "one", machine.Event{Kind: machine.RunBegan})
	var reader sync.WaitGroup
	stop := make(chan struct{})
	reader.Go(func() {
		for seen := 0; ; {
			list, err := s.Events("one", 0, math.MaxInt)
			if err != nil || len(list) < seen {
				t.Errorf("%d events after %d, error %v", len(list), seen, err)
				return
			}
			for i, e := range list {
				if e.At != int64(i) {
					t.Errorf("event %d is %d", i, e.At)
					return
				}
			}
			seen = len(list)
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for i := 1; i < total; i++ {
		if err := journal.Append(machine.Event{Kind: machine.Advanced, At: int64(i)}); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	reader.Wait()
	if list, err := s.Events("one", 0, math.MaxInt); err != nil || len(list) != total {
		t.Errorf("%d events, want %d (%v)", len(list), total, err)
	}
}

func testCopies(t *testing.T, s store.Store) {
	journal := createRun(t, s, "one")
	all := newEvents()
	appendEvents(t, journal, all[4], all[5])
	list, err := s.Events("one", 0, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	list[0] = machine.Event{Kind: machine.CancelAsked}
	_ = append(list, machine.Event{Kind: machine.CancelAsked})
	appendEvents(t, journal, all[6])
	wantEvents(t, s, "one", all[4:7])
}

func testConcurrentWrites(t *testing.T, s store.Store) {
	const runs, each = 8, 25
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			journal, err := s.Create(store.RunRecord{ID: fmt.Sprint("run-", i)})
			if err != nil {
				t.Error(err)
				return
			}
			for at := range each {
				if err := journal.Append(machine.Event{Kind: machine.Advanced, At: int64(i*each + at)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for i := range runs {
		list, err := s.Events(fmt.Sprint("run-", i), 0, math.MaxInt)
		if err != nil || len(list) != each {
			t.Errorf("run %d has %d events (%v), want %d", i, len(list), err, each)
			continue
		}
		for at, e := range list {
			if e.At != int64(i*each+at) {
				t.Errorf("run %d: event %d is %d", i, at, e.At)
			}
		}
	}
}
