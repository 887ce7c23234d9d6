package runner_test
import ("testing";"github.com/graphrun/graphrun/runner";"io";"bufio")
type nop struct{}
func (nop) Event(*runner.Event) error { return nil }
func BenchmarkTmp(b *testing.B) {
	const steps = 1000
	f := prepare(b, cycle(steps, 0))
	l := newLoop(b, steps, 0)
	base := func() { l.run(b) }
	b.Run("nop", func(b *testing.B) {
		compare(b, steps, base, func() { mustRun(b, f, runner.Options{Sink: nop{}, RunID: "bench"}, steps) })
	})
	b.Run("jsonl", func(b *testing.B) {
		sink := runner.NewJSONSink(bufio.NewWriter(io.Discard))
		compare(b, steps, base, func() { mustRun(b, f, runner.Options{Sink: sink, RunID: "bench"}, steps) })
	})
	b.Run("none", func(b *testing.B) {
		compare(b, steps, base, func() { mustRun(b, f, runner.Options{RunID: "bench"}, steps) })
	})
}
