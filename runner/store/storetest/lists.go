// Lists of runs, and the cache.

package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// joinIDs returns the ids of a list, in its order.
func joinIDs(list []store.RunSummary) string {
	var out []string
	for i := range list {
		out = append(out, list[i].ID)
	}
	return strings.Join(out, " ")
}

// startTime returns the time at which the runs of lists start, plus some seconds.
func startTime(seconds int) time.Time { return time.Unix(1790000000+int64(seconds), 0) }

func testListFilters(t *testing.T, s store.Store) {
	for i, r := range []struct {
		record store.RunRecord
		status machine.Status
	}{
		{store.RunRecord{ID: "a", Graph: "g", Labels: map[string]string{"env": "prod", "who": "x"}}, machine.Completed},
		{store.RunRecord{ID: "b", Graph: "g", Labels: map[string]string{"env": "test"}, Session: "s"}, machine.Failed},
		{store.RunRecord{ID: "c", Graph: "h", Labels: map[string]string{"env": "prod"}, Parent: "a", ParentStep: 2}, machine.Completed},
		{store.RunRecord{ID: "d", Graph: "h", Session: "s"}, machine.Paused},
	} {
		r.record.Started = startTime(i)
		journal, err := s.Create(r.record, firstEvent())
		if err != nil {
			t.Fatal(err)
		}
		if err := journal.SaveSummary(store.RunSummary{Status: r.status, Updated: startTime(10 + i)}); err != nil {
			t.Fatal(err)
		}
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		filter store.RunFilter
		want   string
	}{
		{store.RunFilter{}, "d c b a"},
		{store.RunFilter{Limit: 2}, "d c"},
		{store.RunFilter{Prefix: "b"}, "b"},
		{store.RunFilter{Prefix: "b", Graph: "h"}, ""},
		{store.RunFilter{Prefix: "B"}, ""},
		{store.RunFilter{Prefix: "%"}, ""},
		{store.RunFilter{Prefix: "bb"}, ""},
		{store.RunFilter{Limit: 9}, "d c b a"},
		{store.RunFilter{Graph: "g"}, "b a"},
		{store.RunFilter{Graph: "g", Limit: 1}, "b"},
		{store.RunFilter{Graph: "none"}, ""},
		{store.RunFilter{Session: "s"}, "d b"},
		{store.RunFilter{Parent: "a"}, "c"},
		{store.RunFilter{Status: []machine.Status{machine.Completed}}, "c a"},
		{store.RunFilter{Status: []machine.Status{machine.Failed, machine.Paused}}, "d b"},
		{store.RunFilter{Labels: map[string]string{"env": "prod"}}, "c a"},
		{store.RunFilter{Labels: map[string]string{"env": "prod", "who": "x"}}, "a"},
		{store.RunFilter{Labels: map[string]string{"env": ""}}, ""},
		{store.RunFilter{Labels: map[string]string{"env": "prod"}, Graph: "h", Limit: 3}, "c"},
		{store.RunFilter{UpdatedBefore: startTime(12)}, "b a"},
		{store.RunFilter{StartedBy: startTime(2)}, "c b a"},
		{store.RunFilter{StartedBy: startTime(2), Limit: 1}, "c"},
		{store.RunFilter{StartedBy: startTime(-1)}, ""},
		{store.RunFilter{Graph: "' OR 1 = 1 --"}, ""},
	} {
		if list, err := s.List(c.filter); err != nil || joinIDs(list) != c.want {
			t.Errorf("%+v lists %q (%v), want %q", c.filter, joinIDs(list), err, c.want)
		}
	}
}

// testListOrder creates runs in another order than that of their start times. Two start at the same
// time.
func testListOrder(t *testing.T, s store.Store) {
	for i, at := range []int{3, 1, 2, 2, 0} {
		if _, err := s.Create(store.RunRecord{ID: fmt.Sprint(i), Started: startTime(at)}, firstEvent()); err != nil {
			t.Fatal(err)
		}
	}
	createRun(t, s, "never", firstEvent()) // without a start time
	if list, err := s.List(store.RunFilter{}); err != nil || joinIDs(list) != "0 3 2 1 4 never" {
		t.Errorf("the order is %q (%v)", joinIDs(list), err)
	}
}

func testSaveSummary(t *testing.T, s store.Store) {
	record := store.RunRecord{
		ID: "one", Graph: "g", File: "f.yaml", Source: []byte("x"), Labels: map[string]string{"k": "v"},
		Started: startTime(0), Parent: "p", ParentStep: 3,
	}
	journal, err := s.Create(record, firstEvent())
	if err != nil {
		t.Fatal(err)
	}
	line := wantSummary(t, s, store.RunSummary{Status: machine.Running, Updated: startTime(0)})
	if line.Owner == "" {
		t.Error("a run that is driven has no owner")
	}
	record.Source = nil
	if line.Started = record.Started; !reflect.DeepEqual(line.RunRecord, record) {
		t.Errorf("the record is %+v, want %+v", line.RunRecord, record)
	}
	// A new status is visible at once, other fields at the latest after Close.
	steps := store.RunSummary{Status: machine.Paused, Reason: "human", Steps: 4, Updated: startTime(1)}
	if err := journal.SaveSummary(steps); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, s, steps)
	steps.Steps, steps.Updated = 9, startTime(2)
	if err := journal.SaveSummary(steps); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if line := wantSummary(t, s, steps); line.Owner != "" {
		t.Errorf("a run that nobody drives is driven by %q", line.Owner)
	}
}

// wantSummary checks and returns the only summary of the list.
func wantSummary(t *testing.T, s store.Store, want store.RunSummary) store.RunSummary {
	t.Helper()
	list, err := s.List(store.RunFilter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d runs, %v", len(list), err)
	}
	got := list[0]
	if got.Status != want.Status || got.Reason != want.Reason || got.Steps != want.Steps || !got.Updated.Equal(want.Updated) {
		t.Errorf("the line is %+v, want %+v", got, want)
	}
	return got
}

func testCache(t *testing.T, s store.Store) {
	now := startTime(0)
	value := map[string]any{"n": 1, "f": 1.5, "big": 1<<60 + 1, "list": []any{nil, "<é>"}}
	saveCached(t, s, store.CacheEntry{Key: "for ever", Value: value})
	saveCached(t, s, store.CacheEntry{Key: "a while", Value: 1, Expires: now.Add(time.Second)})
	saveCached(t, s, store.CacheEntry{Key: "replaced", Value: "old", Expires: now.Add(time.Second)})
	saveCached(t, s, store.CacheEntry{Key: "replaced", Value: "new"})
	saveCached(t, s, store.CacheEntry{Key: "null", Value: nil})
	for _, c := range []struct {
		key  string
		at   time.Time
		want any
		ok   bool
	}{
		{"for ever", now.AddDate(200, 0, 0), value, true},
		{"a while", now, 1, true},
		{"a while", now.Add(time.Second - 1), 1, true},
		{"a while", now.Add(time.Second), nil, false},
		{"replaced", now.Add(time.Hour), "new", true},
		{"null", now, nil, true},
		{"unknown", now, nil, false},
	} {
		got, ok, err := s.LoadCached(c.key, c.at)
		if err != nil || ok != c.ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q at %s is %v, %t (%v), want %v, %t", c.key, c.at, got, ok, err, c.want, c.ok)
		}
	}
	if err := s.SaveCached(store.CacheEntry{Key: "no text", Value: func() {}}); err == nil {
		t.Error("a function was cached")
	}
}

func saveCached(t *testing.T, s store.Store, e store.CacheEntry) {
	t.Helper()
	if err := s.SaveCached(e); err != nil {
		t.Fatal(err)
	}
}

func testClearCache(t *testing.T, s store.Store) {
	for _, c := range []struct {
		graph string
		nodes []string
		left  string
	}{
		{"", nil, ""},
		{"g", nil, "h/a h/b"},
		{"g", []string{"a"}, "g/b h/a h/b"},
		{"g", []string{"b", "a", "c"}, "h/a h/b"},
		{"", []string{"a"}, "g/b h/b"},
		{"none", nil, "g/a g/b h/a h/b"},
		{"g", []string{}, "g/a g/b h/a h/b"},
	} {
		all := []string{"g/a", "g/b", "h/a", "h/b"}
		for _, key := range all {
			graph, node, _ := strings.Cut(key, "/")
			saveCached(t, s, store.CacheEntry{Key: key, Graph: graph, Node: node, Value: key})
		}
		n, err := s.ClearCache(c.graph, c.nodes)
		left := slices.DeleteFunc(slices.Clone(all), func(key string) bool {
			_, ok, err := s.LoadCached(key, startTime(0))
			return err == nil && !ok
		})
		if err != nil || strings.Join(left, " ") != c.left || n != len(all)-len(left) {
			t.Errorf("clearing %q %q clears %d (%v) and leaves %q, want %q", c.graph, c.nodes, n, err, left, c.left)
		}
	}
}
