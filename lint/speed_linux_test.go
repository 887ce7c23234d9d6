package lint

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/spec"
)

// processor returns the processor time of this thread.
func processor() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if syscall.Getrusage(thread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// FuzzTime checks graphs of up to 100 nodes that are hard on the analyses. Each analysis
// has a budget in steps. All of them together take at most the steps of 100 ms, even on
// a busy machine. Work that counts no steps shows in the processor time, whose limit is
// many times higher because of the race detector.
func FuzzTime(f *testing.F) {
	names := slices.Sorted(maps.Keys(hardShapes()))
	const largest = 100
	for i := range names {
		f.Add(uint8(i), uint8(6+4*(i%4)), uint8(2), uint64(i))
	}
	f.Add(uint8(slices.Index(names, "joins")), uint8(longtest.Choose(16, largest-4)), uint8(0), uint64(5)) // branches bypass joins in loops
	f.Fuzz(func(t *testing.T, which, nodes, policies uint8, seed uint64) {
		name := names[int(which)%len(names)]
		s := &shape{Rand: rand.New(rand.NewPCG(1, seed)), nodes: 4 + int(nodes)%(largest-3), many: 1 + int(policies)%largest}
		hardShapes()[name](s)
		g, found := spec.Parse("g.yaml", []byte(s.b.String()), spec.Options{})
		found = append(found, spec.Check(g)...)
		if g == nil || len(g.Nodes) == 0 {
			return
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		start := processor()
		facts, _ := checkGraph(g, Options{Broken: FirstError(found)})
		const most = 5 * time.Second
		took, steps := processor()-start, stepsOf(facts)
		if t.Logf("%s of %d nodes: %v, %v steps", name, s.nodes, took, steps); took > most || steps["all"] > mostSteps {
			t.Errorf("too much for\n%s", s.b.String())
		}
	})
}
