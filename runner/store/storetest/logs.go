// Logs of runs.

package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/store"
)

// testLogs checks that logs are separate by run and in order, that dropped chunks are deleted, and that
// a log is deleted with its run.
func testLogs(t *testing.T, s store.Store) {
	one, two := createRun(t, s, "one", firstEvent()), createRun(t, s, "two", firstEvent())
	chunk := func(i int) store.LogChunk {
		return store.LogChunk{
			Time: startTime(i), Node: "a", Place: "a[1]", Visit: 2, Attempt: 3, Source: "tool", Stream: "stderr", Call: 4, Offset: 5,
			Text: fmt.Sprintf("%d\x00\xff\n", i), End: i == 3,
		}
	}
	add := func(run string, first int64, chunks []store.LogChunk, drop ...int64) {
		t.Helper()
		if got, err := s.AppendLog(run, chunks, drop); err != nil || got != first {
			t.Errorf("the first of run %s has the number %d, %v, want %d", run, got, err, first)
		}
	}
	add("one", 1, []store.LogChunk{chunk(1), chunk(2)})
	add("two", 1, []store.LogChunk{chunk(9)})
	add("one", 3, []store.LogChunk{chunk(3), chunk(4)}, 2)
	add("one", 5, nil, 4, 77)
	for _, c := range []struct {
		run   string
		after int64
		most  int
		want  string
	}{
		{"one", 0, 10, "1 3"}, {"one", 1, 10, "3"}, {"one", 2, 10, "3"}, {"one", 3, 10, ""}, {"one", 0, 1, "1"}, {"two", 0, 10, "1"},
	} {
		chunks, err := s.Log(c.run, c.after, c.most)
		var seqs []string
		for i := range chunks {
			seqs = append(seqs, fmt.Sprint(chunks[i].Seq))
			want := chunk(int(chunks[i].Seq))
			if c.run == "two" {
				want = chunk(9)
			}
			want.Seq = chunks[i].Seq
			if got := chunks[i]; !got.Time.Equal(want.Time) {
				t.Errorf("said at %s, want %s", got.Time, want.Time)
			} else if got.Time = want.Time; got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		if err != nil || strings.Join(seqs, " ") != c.want {
			t.Errorf("%+v: %q, %v", c, seqs, err)
		}
	}
	for _, journal := range []store.Journal{one, two} {
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete("one"); err != nil {
		t.Fatal(err)
	}
	_, readErr := s.Log("one", 0, 1)
	_, addErr := s.AppendLog("one", []store.LogChunk{chunk(1)}, nil)
	if !errors.Is(readErr, store.ErrNoRun) || !errors.Is(addErr, store.ErrNoRun) {
		t.Errorf("of a run that is gone: %v, %v", readErr, addErr)
	}
	if chunks, err := s.Log("two", 0, 9); err != nil || len(chunks) != 1 {
		t.Errorf("the other run has %d chunks, %v", len(chunks), err)
	}
	createRun(t, s, "one", firstEvent())
	if chunks, err := s.Log("one", 0, 9); err != nil || len(chunks) != 0 {
		t.Errorf("a new run has %d chunks, %v", len(chunks), err)
	}
}
