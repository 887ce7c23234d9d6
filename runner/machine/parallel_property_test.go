package machine_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner/machine"
)

// Random graphs under random finishing orders. A case is one run; the seeds are
// fixed, so every machine runs the same cases.

// orders is how many finishing orders each graph is run in.
const orders = 20

// cases is how many runs there are in all: a hundred thousand unless time is short.
func cases() int {
	switch {
	case raceEnabled:
		return 4_000
	case testing.Short():
		return 2_000
	}
	return 100_000
}

// shards is how many goroutines share the cases.
const shards = 4

func forEachGraph(t *testing.T, runs int, do func(t *testing.T, seed uint64, size int)) {
	t.Helper()
	var failures atomic.Int32
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for i := shard; i < runs/orders && failures.Load() == 0; i += shards {
				// small graphs first: what fails there is easier to read
				do(t, uint64(i), 2+i*29/(runs/orders))
				if t.Failed() {
					failures.Add(1)
				}
			}
		})
	}
}

// inOrder runs a graph once; the number of the order decides how long each task
// takes. Order 0 is the one in which the tasks were started.
func (g *generated) inOrder(t *testing.T, order uint64) *sim {
	t.Helper()
	r := rand.New(rand.NewPCG(order, 3))
	s := newSim(t, g.plan, func(id machine.TaskID, _ int) reply {
		var answer reply
		if order > 0 {
			answer.takes = time.Duration(r.IntN(5000)) * time.Millisecond
		}
		if g.breaks[id.Node] || g.flaky[id.Node] && id.Attempt == 1 {
			answer.failure = &machine.Failure{Kind: "failed", Message: "no"}
		}
		return answer
	})
	s.twice, s.stale = order%2 == 1, order%3 == 1
	s.run(machine.RunInfo{}, nil)
	if order%4 == 1 {
		s.replay(order%8 == 1)
	}
	return s
}

func (g *generated) explain(t *testing.T, seed, order uint64) {
	t.Helper()
	if t.Failed() {
		t.Logf("seed %d, order %d or the one before:\n%s", seed, order, g.flow)
	}
}

// same checks that two runs of a calm graph are one and the same.
func (g *generated) same(t *testing.T, first, other *sim) {
	t.Helper()
	if !slices.Equal(first.path, other.path) {
		t.Errorf("another order, another path:\n%v\n%v", first.path, other.path)
	}
	one, two := endOf(first.state), endOf(other.state)
	one.Failure, two.Failure = nil, nil // of several, the one that settled it
	if !reflect.DeepEqual(one, two) {
		t.Errorf("another order, another end:\n%s", cmp.Diff(one, two, cmp.AllowUnexported(machine.Failure{})))
	}
}

// Nested fan-outs, joins and loops: each node runs exactly as often as the
// nesting says, whatever ends first.
func TestPropertyNested(t *testing.T) {
	forEachGraph(t, cases()/2, func(t *testing.T, seed uint64, size int) {
		g := nested(t, seed, size)
		var first *sim
		order := uint64(0)
		defer func() { g.explain(t, seed, order) }()
		for ; order < orders && !t.Failed(); order++ {
			s := g.inOrder(t, order)
			g.checkVisits(t, s)
			if first == nil {
				first = s
			} else if g.calm {
				g.same(t, first, s)
			}
		}
	})
}

func (g *generated) checkVisits(t *testing.T, s *sim) {
	t.Helper()
	if s.state.Status != machine.Completed {
		t.Errorf("status %s: %v", s.state.Status, s.state.Failure)
		return
	}
	if g.degraded && s.state.Quality != machine.Degraded {
		t.Errorf("quality %s though a branch was dropped", s.state.Quality)
	}
	ran, logged := map[string]int{}, map[string]int{}
	for _, node := range s.path {
		ran[node]++
	}
	for _, node := range s.state.Values()["log"].([]any) {
		logged[node.(string)]++
	}
	for node, want := range g.visits {
		if ran[node] != want {
			t.Errorf("%s ran %d times, want %d", node, ran[node], want)
		}
		if logs := strings.Contains(g.flow, "  "+node+": {kind: exec") || strings.Contains(g.flow, "  "+node+": {kind: set, set: {log"); logs &&
			!g.breaks[node] && logged[node] != want {
			t.Errorf("%s wrote %d times, want %d", node, logged[node], want)
		}
	}
	if s.state.Steps != len(s.path) {
		t.Errorf("%d steps, but a path of %d", s.state.Steps, len(s.path))
	}
}

// Any graph at all ends or hits a limit, keeps its books, and can be replayed.
func TestPropertyChaos(t *testing.T) {
	forEachGraph(t, cases()/2, func(t *testing.T, seed uint64, size int) {
		g := chaos(t, seed, size)
		var first *sim
		order := uint64(0)
		defer func() { g.explain(t, seed, order) }()
		for ; order < orders && !t.Failed(); order++ {
			s := g.inOrder(t, order)
			if first == nil {
				first = s
			} else if g.calm {
				g.same(t, first, s)
			}
		}
	})
}
