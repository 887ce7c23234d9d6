package referencetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/referencetest"
)

// A resume continues as if there had been no pause, and repeats nothing that finished before a
// cancellation (§5).
func TestResumeEqualsUninterrupted(t *testing.T) {
	broken := referencetest.BrokenWeights()
	broken.Quorum = 0
	deep := referencetest.DeepWeights()
	deep.Timeouts, deep.Limits, deep.Breakpoints = 0, 0, 10
	for name, w := range map[string]referencetest.Weights{"settled": referencetest.UntimedWeights(), "deep": deep, "branchy": referencetest.BranchyWeights(), "broken": broken} {
		counted, paused, cancelled := 0, 0, 0
		for seed := range uint64(countGraphs(t, 80)) {
			text, world := referencetest.RandomGraph(seed, w)
			_, want := run(t, text, world, referencetest.Options{})
			if want.Timed || want.Status == "paused" || want.Took == 0 {
				continue
			}
			counted++
			for i := range 3 {
				at := max(1, want.Took*time.Duration(2*i+1)/6)
				r, got := run(t, text, world, referencetest.Options{PauseAt: at})
				for got.Status == "paused" {
					paused++
					got = r.Resume(world, referencetest.Options{PauseAt: at})
				}
				if diff := describeDifference(want, got, true); diff != "" {
					t.Fatalf("%s %d: paused at %v:\n%s\n%s", name, seed, at, diff, text)
				}
				r, got = run(t, text, world, referencetest.Options{CancelAt: at})
				for range 50 {
					if got.Status != "cancelled" {
						break
					}
					cancelled++
					got = r.Resume(world, referencetest.Options{CancelAt: at * 2})
					at *= 2
				}
				if diff := describeDifference(want, got, true); diff != "" {
					t.Fatalf("%s %d: cancelled at %v:\n%s\n%s", name, seed, at, diff, text)
				}
			}
		}
		t.Logf("%s: %d graphs, %d pauses, %d cancellations", name, counted, paused, cancelled)
	}
}

// repairedWorld is a world in which each failing step fails until the run is resumed.
type repairedWorld struct {
	*referencetest.Chance
	lives int
}

func (w *repairedWorld) Attempt(s referencetest.StepID, n int) (referencetest.Outcome, time.Duration) {
	sound := *w.Chance
	sound.Failing = 0
	out, takes := sound.Attempt(s, n)
	if w.lives == 0 {
		if failing, _ := w.Chance.Attempt(s, n); failing.Error != nil {
			return failing, takes
		}
	}
	return out, takes
}

// Without failure edges, retries and policies, a failed run that is resumed in a world without failures
// ends as if nothing had failed.
func TestResumeAfterFailure(t *testing.T) {
	w := referencetest.DeepWeights()
	w.FailureEdges, w.Retry, w.Policies, w.Limits, w.Timeouts, w.Quorum, w.Fail, w.MaxVisits, w.Human = 0, 0, 0, 0, 0, 0, 0, 0, 0
	resumed := 0
	for seed := range uint64(countGraphs(t, 200)) {
		text, world := referencetest.RandomGraph(seed, w)
		text = strings.ReplaceAll(text, ", condition: always", "") // such an edge also fires after a failure
		sound := &repairedWorld{world, 1}
		_, want := run(t, text, sound, referencetest.Options{})
		broken := &repairedWorld{world, 0}
		r, got := run(t, text, broken, referencetest.Options{})
		if want.Status != "completed" || got.Status != "failed" {
			continue
		}
		resumed++
		got = r.Resume(sound, referencetest.Options{})
		if diff := describeDifference(want, got, true); diff != "" {
			t.Fatalf("%d:\n%s\n%s", seed, diff, text)
		}
	}
	if resumed == 0 {
		t.Error("no run was resumed")
	}
	t.Logf("%d runs resumed", resumed)
}

func TestResumeOfCases(t *testing.T) {
	for _, test := range []struct {
		c      referencetest.Case
		first  string // the status before the resume
		second referencetest.Want
	}{
		{
			referencetest.Case{Edges: "a > b\nb > END", Do: map[string]referencetest.Act{"b": {Fails: "tool"}}},
			"failed",
			referencetest.Want{Path: "a b", Log: "a b", Steps: 2, Quality: "clean"},
		},
		{
			referencetest.Case{Top: "limits: {max_steps: 2}", Edges: "a > b\nb > c\nc > END"},
			"limit",
			referencetest.Want{Path: "a b c", Log: "a b c", Steps: 3},
		},
		{
			referencetest.Case{Top: "parallel: {on_failure: continue_others}", Edges: "a > b c\nb > d\nc > d\nd > END", Do: map[string]referencetest.Act{"b": {Fails: "tool"}, "c": {Fails: "tool"}}},
			"failed",
			referencetest.Want{Path: "a b c d", Log: "a b d", Quality: "degraded"},
		},
		{
			referencetest.Case{Top: "pause_before: [b]", Edges: "a > b\nb > END"},
			"paused",
			referencetest.Want{Path: "a b", Took: time.Second},
		},
		{
			referencetest.Case{Top: "finally: z", Nodes: "z: {kind: set, set: {log: \"'z'\"}}", Edges: "a > b\nb > END", Do: map[string]referencetest.Act{"b": {Fails: "tool"}}},
			"failed",
			referencetest.Want{Path: "a b", Log: "a b z", Steps: 2},
		},
		{
			referencetest.Case{Nodes: "x: {kind: exec, command: [x], each: '[1, 2]', writes: [log]}", Edges: "x > END", Do: map[string]referencetest.Act{"x[0]": {Fails: "tool", Takes: 2 * time.Second}}},
			"failed",
			referencetest.Want{Path: "x", Steps: 1, Took: time.Second},
		},
	} {
		r, got := run(t, test.c.FileText(), test.c, referencetest.Options{})
		if got.Status != test.first {
			t.Errorf("%s: it ended %s", test.c.FileText(), got.Status)
			continue
		}
		sound := test.c
		sound.Do = map[string]referencetest.Act{"c": test.c.Do["c"]}
		got = r.Resume(sound, referencetest.Options{})
		if diff := describeMismatch(test.second, got); diff != "" {
			t.Errorf("%s\n%s", diff, test.c.FileText())
		}
	}
}

func TestCasesCanFail(t *testing.T) {
	c := referencetest.Case{Edges: "a > b\nb > END"}
	_, got := run(t, c.FileText(), c, referencetest.Options{})
	for _, want := range []referencetest.Want{
		{Status: "failed"},
		{Quality: "degraded"},
		{Reason: "x"},
		{Path: "a"},
		{Log: "b a"},
		{Steps: 3},
		{Took: 1},
		{State: map[string]any{"n": 1}},
		{Output: 1},
		{Error: "tool"},
		{Pending: "a"},
		{Saw: map[string]string{"b.step": "3"}},
	} {
		if describeMismatch(want, got) == "" {
			t.Error(fmt.Sprintf("%+v", want), "is not compared")
		}
	}
}
