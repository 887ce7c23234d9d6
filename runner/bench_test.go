package runner_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// Cost of a step. Every benchmark runs the engine and a hand-written loop in
// turn, in the same process, and reports the median of the ratios: absolute
// times of a shared machine say little.

// cycleFlow returns a flow of two nodes that count to limit, with a condition and a write per
// step. ballast is the number of further state keys.
func cycleFlow(limit, ballast int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: cycle\nstart: a\nlimits: {max_steps: %d}\nstate:\n  n: {type: integer, default: 0}\n", limit+1)
	for i := range ballast {
		fmt.Fprintf(&b, "  k%d: {type: integer, default: %d}\n", i, i)
	}
	fmt.Fprintf(&b, "nodes: {a: {kind: set, set: {n: n + 1}}, b: {kind: set, set: {n: n + 1}}}\nedges:\n")
	fmt.Fprintf(&b, "  - {from: a, to: b, when: n < %d}\n  - {from: a, to: END}\n", limit)
	fmt.Fprintf(&b, "  - {from: b, to: a, when: n < %d}\n  - {from: b, to: END}\n", limit)
	return b.String()
}

// loop is the lower bound for cycleFlow: it evaluates the same compiled expressions for the same
// state key.
type loop struct {
	set, when *eval.Program
	env       map[string]any
	vm        eval.VM
}

func newLoop(tb testing.TB, limit, ballast int) *loop {
	tb.Helper()
	scope := eval.NewScope(map[string]eval.Type{"n": eval.Int()}, eval.ScopeOptions{})
	set, err := scope.Compile("n + 1", eval.Value)
	if err != nil {
		tb.Fatal(err.Message)
	}
	when, err := scope.Compile(fmt.Sprintf("n < %d", limit), eval.Condition)
	if err != nil {
		tb.Fatal(err.Message)
	}
	env := map[string]any{}
	for i := range ballast {
		env[fmt.Sprintf("k%d", i)] = i
	}
	return &loop{set: set, when: when, env: env}
}

func (l *loop) run(tb testing.TB) {
	l.env["n"] = 0
	for {
		v, err := l.vm.Eval(l.set, l.env)
		if err != nil {
			tb.Fatal(err)
		}
		l.env["n"] = v
		more, err := l.vm.Test(l.when, l.env)
		if err != nil {
			tb.Fatal(err)
		}
		if !more {
			return
		}
	}
}

func prepareBench(tb testing.TB, flow string) *runner.Flow {
	tb.Helper()
	g, found := spec.Parse("bench.yaml", []byte(flow), spec.Options{})
	if found.HasErrors() {
		tb.Fatalf("%s: %s", found[0].Rule, found[0].Message)
	}
	r, err := runner.New(runner.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	f, err := r.Prepare(g)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func mustRun(tb testing.TB, f *runner.Flow, opts runner.Options, steps int) {
	result, err := f.Run(context.Background(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	if result.Status != "completed" || result.Steps != steps {
		tb.Fatalf("status %s after %d steps, want %d (%v)", result.Status, result.Steps, steps, result.Error)
	}
}

// compareTimes runs base and candidate in turn. It reports the median ratios of their times (wall
// clock and processor) and the candidate's cost per step.
func compareTimes(b *testing.B, steps int, base, candidate func()) {
	b.Helper()
	const rounds = 16 // long enough for the resolution of the processor clock
	base()
	candidate()
	var wall, cpu, perStep []float64
	var before, after runtime.MemStats
	var mallocs uint64
	sample := func(f func()) (time.Duration, time.Duration) {
		t, c := time.Now(), cpuTime()
		for range rounds {
			f()
		}
		return time.Since(t), cpuTime() - c
	}
	for b.Loop() {
		baseWall, baseCPU := sample(base)
		runtime.ReadMemStats(&before)
		candWall, candCPU := sample(candidate)
		runtime.ReadMemStats(&after)
		mallocs += after.Mallocs - before.Mallocs
		wall = append(wall, float64(candWall)/float64(baseWall))
		cpu = append(cpu, float64(candCPU)/float64(baseCPU))
		perStep = append(perStep, float64(candCPU)/float64(steps*rounds))
	}
	report := func(values []float64, unit string) {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
	report(wall, "ratio")
	report(cpu, "cpu-ratio")
	report(perStep, "cpu-ns/step")
	b.ReportMetric(float64(mallocs)/float64(len(wall)*steps*rounds), "allocs/step")
}

func BenchmarkCycle(b *testing.B) {
	const steps = 1000
	f := prepareBench(b, cycleFlow(steps, 0))
	l := newLoop(b, steps, 0)
	base := func() { l.run(b) }
	b.Run("no-sink", func(b *testing.B) {
		compareTimes(b, steps, base, func() { mustRun(b, f, runner.Options{}, steps) })
	})
	b.Run("jsonl", func(b *testing.B) {
		sink := runner.NewJSONSink(bufio.NewWriterSize(io.Discard, 64<<10)) // as the command line does
		compareTimes(b, steps, base, func() { mustRun(b, f, runner.Options{Sink: sink, RunID: "bench"}, steps) })
	})
}

// The cost per step does not depend on the number of state keys, the size of the state, the length
// of the run or the size of the graph. Each ratio compares the large case to the small one.
func BenchmarkFlat(b *testing.B) {
	const steps = 1000
	pair := func(name string, many int, small, large *runner.Flow, smallOpts, largeOpts runner.Options) {
		b.Run(name, func(b *testing.B) {
			compareTimes(b, steps*many,
				func() {
					for range many {
						mustRun(b, small, smallOpts, steps)
					}
				},
				func() { mustRun(b, large, largeOpts, steps*many) })
		})
	}
	ten := prepareBench(b, cycleFlow(steps, 10))
	pair("keys-10-to-1000", 1, ten, prepareBench(b, cycleFlow(steps, 1000)), runner.Options{}, runner.Options{})
	pair("run-1000-to-1000000", 1000, ten, prepareBench(b, cycleFlow(1_000_000, 10)), runner.Options{}, runner.Options{})
	withText := strings.Replace(cycleFlow(steps, 10), "state:\n", "state:\n  text: {type: string}\n", 1)
	text := prepareBench(b, withText)
	small := runner.Options{Input: map[string]any{"text": strings.Repeat("x", 1<<10)}}
	for _, size := range []int{100 << 10, 10 << 20} {
		large := runner.Options{Input: map[string]any{"text": strings.Repeat("x", size)}}
		pair(fmt.Sprintf("state-1KiB-to-%dKiB", size>>10), 1, text, text, small, large)
	}
}

// chainFlow returns a flow with a chain of nodes. Only the first `walked` of them run before END.
func chainFlow(nodes, walked int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: chain\nstart: n0\nlimits: {max_steps: %d}\nstate: {n: {type: integer, default: 0}}\nnodes:\n", nodes+1)
	for i := range nodes {
		fmt.Fprintf(&b, "  n%d: {kind: set, set: {n: n + 1}}\n", i)
	}
	b.WriteString("edges:\n")
	for i := range nodes {
		fmt.Fprintf(&b, "  - {from: n%d, to: END, when: n >= %d}\n", i, walked)
		if i < nodes-1 {
			fmt.Fprintf(&b, "  - {from: n%d, to: n%d}\n", i, i+1)
		}
	}
	return b.String()
}

func BenchmarkChain(b *testing.B) {
	const steps = 1000
	f := prepareBench(b, chainFlow(steps, steps))
	l := newLoop(b, steps, 0)
	compareTimes(b, steps, func() { l.run(b) }, func() { mustRun(b, f, runner.Options{}, steps) })
}

// A run of five steps costs the same in a graph of 10,000 nodes as in one of 10.
func BenchmarkGraphSize(b *testing.B) {
	const steps, runs = 5, 200
	small, large := prepareBench(b, chainFlow(10, steps)), prepareBench(b, chainFlow(10_000, steps))
	many := func(f *runner.Flow) func() {
		return func() {
			for range runs {
				mustRun(b, f, runner.Options{}, steps)
			}
		}
	}
	compareTimes(b, steps*runs, many(small), many(large))
}
