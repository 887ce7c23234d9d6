package lint_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// policy is a random policy over the nodes of a graph of maker.
func (m maker) policy(n int) string {
	node := func() string { return fmt.Sprintf("n%d", m.IntN(n)) }
	switch m.IntN(5) {
	case 0, 1:
		if a, b := node(), node(); a != b {
			return fmt.Sprintf("{require: %s, before: %s}", a, b)
		}
		return m.policy(n)
	case 2:
		return fmt.Sprintf("{forbid: %s, after: %s}", node(), node())
	case 3:
		return fmt.Sprintf("{max_visits: %d, node: %s}", 1+m.IntN(3), node())
	}
	return fmt.Sprintf("{never: \"%s\", at: %s}", m.condition(n), node())
}

// breaks reports whether some run of a graph ends because of its policy.
func breaks(t *testing.T, g *spec.Graph) (broken, ok bool) {
	t.Helper()
	r, err := runner.New(runner.Config{})
	if err != nil {
		t.Fatal(err)
	}
	flow, err := r.Prepare(g)
	if err != nil {
		return false, false
	}
	for _, in := range inputs() {
		result, err := flow.Run(context.Background(), runner.Options{Input: in})
		if err != nil {
			t.Fatal(err)
		}
		if result.Reason == "policy" {
			return true, true
		}
	}
	return false, true
}

// TestSoundOnPolicies compares what is said of policies with all runs: a
// violation that is claimed happens; how many are left to the run is logged.
func TestSoundOnPolicies(t *testing.T) {
	rounds := 2000
	m := maker{rand.New(rand.NewPCG(4, 7))}
	var graphs, found, missed, kept, wrong int
	for round := range rounds {
		text := m.graph(round%2 == 1)
		n := strings.Count(text, "kind: ")
		text = strings.Replace(text, "nodes:\n", "policies: ["+m.policy(n)+"]\nnodes:\n", 1)
		g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if g == nil || append(ds, spec.Check(g)...).HasErrors() {
			continue
		}
		broken, ok := breaks(t, g)
		if !ok {
			continue
		}
		graphs++
		claim, apart := "", false
		for _, d := range lint.Check(g, lint.Options{}) {
			if d.Rule == "policy-violated" {
				claim = d.Message
			}
			apart = apart || d.Rule == "join-never-fires"
		}
		switch {
		case apart: // what waits at such a join is another matter
		case broken && claim != "":
			found++
		case broken:
			missed++
		case claim != "":
			wrong++
			// A path doesn't tell what a join waits for, nor what sums come to, and
			// the run takes a sibling that has started for one that has run.
			if !strings.Contains(text, "join:") && !strings.Contains(text, "% 4") && !strings.Contains(text, "to: [") {
				t.Errorf("%s\nno run does what is claimed: %s", text, claim)
			}
		default:
			kept++
		}
	}
	t.Logf("%d graphs: %d violations found, %d left to the run, %d policies kept, %d claims that joins, sums or siblings refute", graphs, found, missed, kept, wrong)
	if found < graphs/10 || kept < graphs/10 || wrong > found/10 {
		t.Error("too little is tried, or too much is claimed")
	}
}
