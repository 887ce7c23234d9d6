package referencetest_test

import (
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/internal/referencetest"
)

// countGraphs returns how many random graphs a test runs: most or a quarter of it, or GRAPHRUN_REFERENCE_GRAPHS
// if it is set.
func countGraphs(t *testing.T, most int) int {
	if text := os.Getenv("GRAPHRUN_REFERENCE_GRAPHS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return most / longtest.Choose(4, 1)
}

func run(t *testing.T, text string, w referencetest.World, o referencetest.Options) (*referencetest.Run, referencetest.Result) {
	t.Helper()
	f, err := referencetest.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r, got := referencetest.Start(f, nil, w, o)
	return r, got
}

// describeDifference describes how two results differ in what the language promises.
func describeDifference(a, b referencetest.Result, views bool) string {
	var out []string
	add := func(what string, x, y any) {
		if !reflect.DeepEqual(x, y) {
			out = append(out, fmt.Sprintf("%s:\n  %v\n  %v", what, x, y))
		}
	}
	add("status", a.Status+" "+a.Quality, b.Status+" "+b.Quality)
	add("path", a.Path, b.Path)
	add("state", a.State, b.State)
	add("output", a.Output, b.Output)
	add("visits", a.Visits, b.Visits)
	add("fired", a.Fired, b.Fired)
	if views && out == nil {
		for i := range a.Log {
			add("view of "+a.Log[i].Node, a.Log[i].View, b.Log[i].View)
		}
	}
	return strings.Join(out, "\n")
}

// A result depends on the outputs of nodes, not on their durations (§5 Determinism).
func TestTimingDecidesNothing(t *testing.T) {
	broken := referencetest.BrokenWeights()
	broken.Quorum = 0
	for name, w := range map[string]referencetest.Weights{"settled": referencetest.UntimedWeights(), "branchy": referencetest.BranchyWeights(), "broken": broken} {
		counted, statuses := 0, map[string]int{}
		for seed := range uint64(countGraphs(t, 150)) {
			text, world := referencetest.RandomGraph(seed, w)
			_, want := run(t, text, world, referencetest.Options{})
			statuses[want.Status+" "+want.Reason]++
			if want.Timed {
				continue
			}
			counted++
			for timing := range uint64(4) {
				world.Timing = timing + 1
				_, got := run(t, text, world, referencetest.Options{})
				if got.Timed {
					t.Errorf("%s %d: timing %d is timed, 0 is not", name, seed, timing+1)
				}
				if diff := describeDifference(want, got, true); diff != "" {
					t.Fatalf("%s %d: timing %d:\n%s\n%s", name, seed, timing+1, diff, text)
				}
			}
		}
		t.Logf("%s: %d graphs compared, %v", name, counted, statuses)
	}
}

// All weights produce graphs that parse and runs that end.
func TestRandomGraphsRun(t *testing.T) {
	for name, w := range map[string]referencetest.Weights{"mixed": referencetest.MixedWeights(), "deep": referencetest.DeepWeights(), "broken": referencetest.BrokenWeights()} {
		statuses := map[string]int{}
		for seed := range uint64(countGraphs(t, 150)) {
			text, world := referencetest.RandomGraph(seed, w)
			world.Absent = int(seed % 3 * 10)
			func() {
				defer func() {
					if caught := recover(); caught != nil {
						t.Errorf("%s %d: %v\n%s", name, seed, caught, text)
						panic(caught)
					}
				}()
				_, got := run(t, text, world, referencetest.Options{})
				statuses[got.Status+" "+got.Reason]++
				places := map[string]bool{}
				for _, l := range got.Log {
					place := fmt.Sprint(l.Rank, l.Order)
					if places[place] {
						t.Errorf("%s %d: two steps stand at %s\n%s", name, seed, place, text)
					}
					places[place] = true
				}
			}()
		}
		t.Logf("%s: %v", name, statuses)
	}
}

func TestShrink(t *testing.T) {
	text, _ := referencetest.RandomGraph(3, referencetest.MixedWeights())
	small := referencetest.Shrink(text, func(text string) bool {
		f, err := referencetest.Parse(text)
		return err == nil && len(f.Graph.Nodes) > 0 && len(f.Graph.Edges) > 1
	})
	if n := strings.Count(small, "\n"); n > 9 {
		t.Errorf("%d lines are left:\n%s", n, small)
	}
}
