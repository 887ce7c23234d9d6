package runner_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/graphrun/graphrun/runner"
)

// fanOutByHand is the cheapest fan-out in plain Go: a goroutine per branch, a WaitGroup, and
// a map into which the results are merged in order.
func fanOutByHand(names []string) map[string]any {
	outputs := make([]any, len(names))
	var wg sync.WaitGroup
	for i := range names {
		wg.Add(1)
		go func() {
			defer wg.Done()
			outputs[i] = map[string]any{}
		}()
	}
	wg.Wait()
	merged := make(map[string]any, len(names))
	for i, name := range names {
		merged[name] = outputs[i]
	}
	return merged
}

func branchNames(branches int) []string {
	names := make([]string, branches)
	for i := range names {
		names[i] = fmt.Sprintf("b%d", i)
	}
	return names
}

// wideFlow returns a flow with a fan-out to pass nodes, and a join.
func wideFlow(b *testing.B, branches int) *runner.Flow {
	b.Helper()
	return prepareBench(b, "graphrun: v1\nname: fan\nstart: a\n"+fanFlow("", branches, func(int) string { return "kind: pass" }))
}

func mustRunFan(b *testing.B, f *runner.Flow, branches int) {
	mustRun(b, f, runner.Options{}, branches+2)
}

// BenchmarkFanOut compares a fan-out and its join with plain Go. The cpu-ratio must be at most 2.5.
func BenchmarkFanOut(b *testing.B) {
	for _, branches := range []int{100, 10_000} {
		b.Run(fmt.Sprint(branches), func(b *testing.B) {
			f, names := wideFlow(b, branches), branchNames(branches)
			times := max(1, 1000/branches)
			compareTimes(b, branches*times,
				func() {
					for range times {
						runtime.KeepAlive(fanOutByHand(names))
					}
				},
				func() {
					for range times {
						mustRunFan(b, f, branches)
					}
				})
		})
	}
}

// A branch costs the same among 10,000 as among 100: the cpu-ratio must be at most 1.5.
func BenchmarkFanOutGrowth(b *testing.B) {
	const small, large = 100, 10_000
	few, many := wideFlow(b, small), wideFlow(b, large)
	compareTimes(b, large,
		func() {
			for range large / small {
				mustRunFan(b, few, small)
			}
		},
		func() { mustRunFan(b, many, large) })
}

// BenchmarkRace measures a loop around a race of two branches.
func BenchmarkRace(b *testing.B) {
	const rounds = 50
	text := fmt.Sprintf(`graphrun: v1
name: race
start: a
limits: {max_steps: 100000}
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: n + 1}}, b: {kind: pass}, c: {kind: pass}, j: {kind: pass, join: {wait: any}}}
edges: [{from: a, to: [b, c]}, {from: [b, c], to: j}, {from: j, to: a, when: n < %d}, {from: j, to: END}]
`, rounds)
	f := prepareBench(b, text)
	compareTimes(b, 4*rounds,
		func() {
			for range rounds {
				runtime.KeepAlive(fanOutByHand([]string{"b", "c"}))
			}
		},
		func() { mustRun(b, f, runner.Options{}, 4*rounds) })
}

// BenchmarkFanOutToChain compares a fan-out and its join with the same steps in a chain.
// internal/cli measures whole commands.
func BenchmarkFanOutToChain(b *testing.B) {
	const branches = 100
	f, line := wideFlow(b, branches), prepareBench(b, passFlow(branches+2))
	compareTimes(b, branches+2, func() { mustRun(b, line, runner.Options{}, branches+2) }, func() { mustRunFan(b, f, branches) })
}

// passFlow returns a flow with a chain of pass nodes.
func passFlow(nodes int) string {
	var list, edges strings.Builder
	for i := range nodes {
		fmt.Fprintf(&list, "  n%d: {kind: pass}\n", i)
		to := "END"
		if i < nodes-1 {
			to = fmt.Sprintf("n%d", i+1)
		}
		fmt.Fprintf(&edges, "  - {from: n%d, to: %s}\n", i, to)
	}
	return fmt.Sprintf("graphrun: v1\nname: line\nstart: n0\nlimits: {max_steps: %d}\nnodes:\n%sedges:\n%s", nodes, list.String(), edges.String())
}

// A branch costs the same with a state of 10 MB as with a small one.
func BenchmarkFanOutState(b *testing.B) {
	const branches = 100
	text := "graphrun: v1\nname: fan\nstart: a\nstate: {big: {type: array}, n: {type: integer, default: 0, reducer: sum}}\n" +
		fanFlow("", branches, func(int) string { return "kind: set, set: {n: len(big)}" })
	f := prepareBench(b, text)
	run := func(items int) func() {
		big := make([]any, items)
		for i := range big {
			big[i] = "0123456789abcdef"
		}
		return func() { mustRun(b, f, runner.Options{Input: map[string]any{"big": big}}, branches+2) }
	}
	compareTimes(b, branches, run(10), run(500_000))
}
