package machine_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/internal/referencetest"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// graphRange returns the range of seeds to test. GRAPHRUN_REFERENCE_GRAPHS overrides it.
func graphRange(t *testing.T, most int) (from, to int) {
	if text := os.Getenv("GRAPHRUN_REFERENCE_GRAPHS"); text != "" {
		low, high, ok := strings.Cut(text, "-")
		n, err := strconv.Atoi(high)
		if !ok {
			n, err = strconv.Atoi(low)
			low = "0"
		}
		if err != nil {
			t.Fatal(err)
		}
		from, _ = strconv.Atoi(low)
		return from, n
	}
	return 0, most
}

func weights() map[string]referencetest.Weights {
	return map[string]referencetest.Weights{
		"mixed": referencetest.MixedWeights(), "settled": referencetest.UntimedWeights(), "deep": referencetest.DeepWeights(),
		"branchy": referencetest.BranchyWeights(), "broken": referencetest.BrokenWeights(),
	}
}

// The machine agrees with the reference on random graphs, with any timing where the
// contract promises it.
func TestAgreesWithReference(t *testing.T) {
	only := os.Getenv("GRAPHRUN_REFERENCE_WEIGHTS")
	for name, w := range weights() {
		if only != "" && only != name {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compared, timed, bad := 0, 0, 0
			from, to := graphRange(t, longtest.Choose(12, 100))
			for seed := uint64(from); seed < uint64(to); seed++ {
				text, world := referencetest.RandomGraph(seed, w)
				for timing := range uint64(5) {
					world.Timing = timing * 7
					want := runReference(t, text, world)
					if want.Timed {
						timed++
						continue
					}
					compared++
					if diff := describeDifference(want, simulate(t, text, world, seed)); diff != "" {
						bad++
						t.Errorf("%s %d timing %d:\n%s\n%s", name, seed, timing, diff, text)
						break
					}
				}
				if bad > 3 {
					t.FailNow()
				}
			}
			t.Logf("%d runs compared, %d decided by time", compared, timed)
		})
	}
}

func runReference(t *testing.T, text string, world referencetest.World) referencetest.Result {
	t.Helper()
	f, err := referencetest.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	_, got := referencetest.Start(f, nil, world, referencetest.Options{})
	return got
}

func simulate(t *testing.T, text string, world referencetest.World, seed uint64) referencetest.Result {
	t.Helper()
	defer func() {
		if caught := recover(); caught != nil {
			t.Errorf("%d: %v\n%s", seed, caught, text)
			panic(caught)
		}
	}()
	return start(t, compile(t, text), nil, world, referencetest.Options{}).result()
}

// The machine gives the known results of the cases.
func TestCases(t *testing.T) {
	for _, c := range referencetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			want := func() referencetest.Result {
				f, err := referencetest.Parse(c.FileText())
				if err != nil {
					t.Fatal(err)
				}
				_, got := referencetest.Start(f, nil, c, c.Options)
				return got
			}()
			got := start(t, compile(t, c.FileText()), nil, c, c.Options).result()
			diff := describeDifference(want, got)
			if want.Reason != got.Reason && c.Want.Reason != "" {
				diff += fmt.Sprintf("\nreason: %s, %s", want.Reason, got.Reason)
			}
			if c.Want.Took != 0 && want.Took != got.Took && !strings.Contains(c.FileText(), "retry") {
				diff += fmt.Sprintf("\ntook: %s, %s", want.Took, got.Took)
			}
			if diff != "" {
				t.Errorf("%s\n%s\n%s", c.Says, diff, c.FileText())
			}
		})
	}
}

// GRAPHRUN_REFERENCE_SHRINK is "weights seed timing" of a graph on which machine and reference
// differ. The test makes it smaller and prints it.
func TestShrink(t *testing.T) {
	var name string
	var seed, timing uint64
	if n, _ := fmt.Sscan(os.Getenv("GRAPHRUN_REFERENCE_SHRINK"), &name, &seed, &timing); n != 3 {
		t.Skip("GRAPHRUN_REFERENCE_SHRINK names no graph")
	}
	text, world := referencetest.RandomGraph(seed, weights()[name])
	world.Timing = timing * 7
	var first referencetest.Result
	var kinds []string // fields that differ; a smaller graph must show the same
	check := func(text string) (diff string) {
		defer func() {
			if recover() != nil { // the reference can't run it
				diff = ""
			}
		}()
		f, err := referencetest.Parse(text)
		if g, _ := spec.Parse("flow.yaml", []byte(text), spec.Options{}); err != nil || spec.Check(g).HasErrors() {
			return ""
		}
		_, want := referencetest.Start(f, nil, world, referencetest.Options{})
		if want.Timed || first.Status != "" && want.Status != first.Status {
			return ""
		}
		diff = describeDifference(want, start(t, compile(t, text), nil, world, referencetest.Options{}).result())
		found := regexp.MustCompile(`(?m)^\w+:`).FindAllString(diff, -1)
		if first.Status != "" && !slices.Equal(found, kinds) {
			return ""
		}
		first, kinds = want, found
		return diff
	}
	small := referencetest.Shrink(text, func(text string) bool { return check(text) != "" })
	f, _ := referencetest.Parse(small)
	_, want := referencetest.Start(f, nil, world, referencetest.Options{})
	t.Logf("%s\n%s\n%s", small, check(small), want.String())
}

// The result does not depend on pauses, on cancellations that are resumed, or on snapshots before
// every event.
func TestResumeEqualsUninterrupted(t *testing.T) {
	only := os.Getenv("GRAPHRUN_REFERENCE_WEIGHTS")
	for name, w := range weights() {
		if only != "" && only != name {
			continue
		}
		w.Timeouts, w.Limits, w.Quorum = 0, 0, 0 // a pause may change what a clock decides
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paused, cancelled, bad := 0, 0, 0
			from, to := graphRange(t, longtest.Choose(10, 60))
			for seed := uint64(from); seed < uint64(to) && bad < 3; seed++ {
				text, world := referencetest.RandomGraph(seed, w)
				if runReference(t, text, world).Timed {
					continue
				}
				plan := compile(t, text)
				want := start(t, plan, nil, world, referencetest.Options{})
				if !want.state.HasEnded() || want.now == 0 {
					continue
				}
				fail := func(what string, at time.Duration, diff string) {
					bad++
					t.Errorf("%s %d: %s at %v:\n%s\n%s", name, seed, what, at, diff, text)
				}
				for i := range 3 {
					at := max(1, time.Duration(want.now)*time.Duration(2*i+1)/6)
					got := &sim{t: t, plan: plan, state: plan.NewState(), world: world, opts: referencetest.Options{PauseAt: at}, snapshots: i == 0}
					got.apply(machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r"}})
					got.loop()
					for got.state.Status == machine.Paused {
						paused++
						got.resume(world, referencetest.Options{PauseAt: at})
					}
					if diff := describeDifference(want.result(), got.result()); diff != "" {
						fail("paused", at, diff)
						break
					}
					got = start(t, plan, nil, world, referencetest.Options{CancelAt: at})
					for cut := at; got.state.Status == machine.Cancelled; cut *= 2 {
						cancelled++
						got.resume(world, referencetest.Options{CancelAt: cut * 2})
					}
					if diff := describeDifference(want.result(), got.result()); diff != "" {
						fail("cancelled", at, diff)
						break
					}
				}
			}
			t.Logf("%d pauses, %d cancellations", paused, cancelled)
		})
	}
}
