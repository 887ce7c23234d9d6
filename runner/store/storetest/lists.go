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

// ids are those of a list, in its order.
func ids(list []store.RunSummary) string {
	var out []string
	for i := range list {
		out = append(out, list[i].ID)
	}
	return strings.Join(out, " ")
}

// startAt is when the runs of lists start, plus some seconds.
func startAt(seconds int) time.Time { return time.Unix(1790000000+int64(seconds), 0) }

func listsRuns(t *testing.T, s store.Store) {
	for i, r := range []struct {
		record store.RunRecord
		status machine.Status
	}{
		{store.RunRecord{ID: "a", Graph: "g", Labels: map[string]string{"env": "prod", "who": "x"}}, machine.Completed},
		{store.RunRecord{ID: "b", Graph: "g", Labels: map[string]string{"env": "test"}, Session: "s"}, machine.Failed},
		{store.RunRecord{ID: "c", Graph: "h", Labels: map[string]string{"env": "prod"}, Parent: "a", ParentStep: 2}, machine.Completed},
		{store.RunRecord{ID: "d", Graph: "h", Session: "s"}, machine.Paused},
	} {
		r.record.Started = startAt(i)
		journal, err := s.Create(r.record, begun())
		if err != nil {
			t.Fatal(err)
		}
		if err := journal.Note(store.RunSummary{Status: r.status, Updated: startAt(10 + i)}); err != nil {
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
		{store.RunFilter{UpdatedBefore: startAt(12)}, "b a"},
		{store.RunFilter{StartedBy: startAt(2)}, "c b a"},
		{store.RunFilter{StartedBy: startAt(2), Limit: 1}, "c"},
		{store.RunFilter{StartedBy: startAt(-1)}, ""},
		{store.RunFilter{Graph: "' OR 1 = 1 --"}, ""},
	} {
		if list, err := s.List(c.filter); err != nil || ids(list) != c.want {
			t.Errorf("%+v lists %q (%v), want %q", c.filter, ids(list), err, c.want)
		}
	}
}

// listsInOrder creates runs in an order that is not that of their start, two of
// them at the same time.
func listsInOrder(t *testing.T, s store.Store) {
	for i, at := range []int{3, 1, 2, 2, 0} {
		if _, err := s.Create(store.RunRecord{ID: fmt.Sprint(i), Started: startAt(at)}, begun()); err != nil {
			t.Fatal(err)
		}
	}
	create(t, s, "never", begun()) // no start
	if list, err := s.List(store.RunFilter{}); err != nil || ids(list) != "0 3 2 1 4 never" {
		t.Errorf("the order is %q (%v)", ids(list), err)
	}
}

func listsNotes(t *testing.T, s store.Store) {
	record := store.RunRecord{
		ID: "one", Graph: "g", File: "f.yaml", Source: []byte("x"), Labels: map[string]string{"k": "v"},
		Started: startAt(0), Parent: "p", ParentStep: 3,
	}
	journal, err := s.Create(record, begun())
	if err != nil {
		t.Fatal(err)
	}
	line := wantLine(t, s, store.RunSummary{Status: machine.Running, Updated: startAt(0)})
	if line.Owner == "" {
		t.Error("a run that is driven has no owner")
	}
	record.Source = nil
	if line.Started = record.Started; !reflect.DeepEqual(line.RunRecord, record) {
		t.Errorf("the record is %+v, want %+v", line.RunRecord, record)
	}
	// A new status shows at once, other news by the end.
	steps := store.RunSummary{Status: machine.Paused, Reason: "human", Steps: 4, Updated: startAt(1)}
	if err := journal.Note(steps); err != nil {
		t.Fatal(err)
	}
	wantLine(t, s, steps)
	steps.Steps, steps.Updated = 9, startAt(2)
	if err := journal.Note(steps); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if line := wantLine(t, s, steps); line.Owner != "" {
		t.Errorf("a run that nobody drives is driven by %q", line.Owner)
	}
}

// wantLine checks the only line of the list.
func wantLine(t *testing.T, s store.Store, want store.RunSummary) store.RunSummary {
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

func caches(t *testing.T, s store.Store) {
	now := startAt(0)
	value := map[string]any{"n": 1, "f": 1.5, "big": 1<<60 + 1, "list": []any{nil, "<é>"}}
	keep(t, s, store.CacheEntry{Key: "for ever", Value: value})
	keep(t, s, store.CacheEntry{Key: "a while", Value: 1, Expires: now.Add(time.Second)})
	keep(t, s, store.CacheEntry{Key: "replaced", Value: "old", Expires: now.Add(time.Second)})
	keep(t, s, store.CacheEntry{Key: "replaced", Value: "new"})
	keep(t, s, store.CacheEntry{Key: "null", Value: nil})
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
		got, ok, err := s.Cached(c.key, c.at)
		if err != nil || ok != c.ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q at %s is %v, %t (%v), want %v, %t", c.key, c.at, got, ok, err, c.want, c.ok)
		}
	}
	if err := s.Cache(store.CacheEntry{Key: "no text", Value: func() {}}); err == nil {
		t.Error("a function was cached")
	}
}

func keep(t *testing.T, s store.Store, e store.CacheEntry) {
	t.Helper()
	if err := s.Cache(e); err != nil {
		t.Fatal(err)
	}
}

func clearsCache(t *testing.T, s store.Store) {
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
			keep(t, s, store.CacheEntry{Key: key, Graph: graph, Node: node, Value: key})
		}
		n, err := s.ClearCache(c.graph, c.nodes)
		left := slices.DeleteFunc(slices.Clone(all), func(key string) bool {
			_, ok, err := s.Cached(key, startAt(0))
			return err == nil && !ok
		})
		if err != nil || strings.Join(left, " ") != c.left || n != len(all)-len(left) {
			t.Errorf("clearing %q %q clears %d (%v) and leaves %q, want %q", c.graph, c.nodes, n, err, left, c.left)
		}
	}
}
