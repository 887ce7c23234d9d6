package lint_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// saidOf counts the claims about random graphs, and the events of their runs.
type saidOf struct {
	graphs, claims, doubts, missed, kept, bounds, exact, unread, failures int
}

func (n *saidOf) add(m saidOf) {
	n.graphs += m.graphs
	n.claims += m.claims
	n.doubts += m.doubts
	n.missed += m.missed
	n.kept += m.kept
	n.bounds += m.bounds
	n.exact += m.exact
	n.unread += m.unread
	n.failures += m.failures
}

// TestSoundOnBranches compares claims about graphs of branches, failures, people,
// delays and joins with their runs: no run contradicts a claim about a policy,
// exceeds a bound, or reads a key before it is written without a finding. For reads
// it looks at runs without input for keys that nodes write.
// GRAPHRUN_SOUND_GRAPH is the number of the only graph to try.
func TestSoundOnBranches(t *testing.T) {
	t.Parallel()
	rounds, seed := tries(10, 50)
	first := seed * 1_000_000
	if one, err := strconv.ParseUint(os.Getenv("GRAPHRUN_SOUND_GRAPH"), 10, 64); err == nil {
		rounds, first = 1, one
	}
	const shards = 2
	var all saidOf
	var mu sync.Mutex
	t.Run("", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for i := shard; i < rounds; i += shards {
					n := wideGraph(t, first+uint64(i))
					mu.Lock()
					all.add(n)
					mu.Unlock()
				}
			})
		}
	})
	share := func(n int) string { return fmt.Sprintf("%d (%.1f%%)", n, 100*float64(n)/float64(max(all.graphs, 1))) }
	t.Logf("%d of %d graphs: %s refuted, %s undecided, %d of them broken by a run, %s proven; %d bounded, %d of them exactly; %d without a warning of reads, %d runs that failed at one",
		all.graphs, rounds, share(all.claims), share(all.doubts), all.missed, share(all.kept), all.bounds, all.exact, all.unread, all.failures)
	if rounds > 1 && (all.graphs < rounds/2 || all.claims < all.graphs/20 || all.kept < all.graphs/10 || all.failures == 0 || all.unread == 0) {
		t.Error("too little is tried")
	}
}

// wideGraph tries the graph with a number, if that number makes a graph.
func wideGraph(t *testing.T, number uint64) (n saidOf) {
	m := maker{rand.New(rand.NewPCG(14, number))}
	p := m.newWidePlot()
	text := p.text(p.ask(), true)
	g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
	if g == nil || append(ds, spec.Check(g)...).HasErrors() {
		return n
	}
	found := lint.Check(g, lint.Options{})
	if slices.ContainsFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Error && d.Rule != "policy-violated" }) {
		return n
	}
	n.graphs = 1
	fail := func(text, format string, args ...any) {
		t.Errorf("graph %d\n%s\n%s", number, text, fmt.Sprintf(format, args...))
	}
	const few, some, lots = 20, 200, 20_000
	breaks := func(tries int) bool {
		return m.plays(t, g, tries, func(r *played) bool { return r.reason == "policy" })
	}
	claim := slices.IndexFunc(found, func(d spec.Diagnostic) bool { return d.Rule == "policy-violated" })
	switch {
	case claim >= 0:
		if n.claims = 1; !breaks(lots) {
			fail(text, "no run does what is claimed: %s", found[claim].Message)
		}
	case isDoubted(found):
		if n.doubts = 1; breaks(few) {
			n.missed = 1
		}
	default:
		if n.kept = 1; breaks(some) {
			fail(text, "a run breaks the policy, of which nothing is said")
		}
	}
	n.add(m.wideRuns(t, p.text("", false), some/2, fail))
	return n
}

// wideRuns compares the bounds of a graph, and the findings about reads, with its
// runs.
func (m maker) wideRuns(t *testing.T, text string, tries int, fail func(text, format string, args ...any)) (n saidOf) {
	g, _ := spec.Parse("g.yaml", []byte(text), spec.Options{})
	said := lint.Check(g, lint.Options{})
	open, stuck := openReads(g, said), map[string]bool{}
	for _, d := range said {
		if d.Rule == "missing-fallback" {
			stuck[text[d.Span.From:d.Span.To]] = true
		}
	}
	if len(open) == 0 {
		n.unread = 1
	}
	b, ok := bound.Of(g, bound.Options{})
	if ok {
		n.bounds = 1
	}
	if b.Followed {
		n.exact = 1
	}
	m.plays(t, g, tries, func(r *played) bool {
		steps := float64(r.steps)
		if r.status == machine.Completed && (!ok || steps < b.Steps.Min) || ok && steps > b.Steps.Max {
			fail(text, "a run takes %v steps (%v), claimed from %v to %v", steps, r.path, b.Steps.Min, b.Steps.Max)
			return true
		}
		if r.bare && r.status == machine.Stuck && !stuck[r.failure.Node] && !mayStick(g, r.failure.Node) {
			fail(text, "%q gets stuck unwarned: path %v", r.failure.Node, r.path)
			return true
		}
		if r.failure != nil && r.failure.Kind == "expression" {
			n.failures++
			if r.bare && !open[r.failure.Node] {
				fail(text, "%q fails unwarned: %s\npath %v", r.failure.Node, r.failure.Message, r.path)
				return true
			}
		}
		return false
	})
	return n
}
