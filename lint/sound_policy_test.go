package lint_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// policy returns a random policy about the nodes of a graph of maker.
func (m maker) policy(n int) string {
	node := func() string { return fmt.Sprintf("n%d", m.IntN(n)) }
	switch m.IntN(8) {
	case 7:
		if m.IntN(2) == 0 {
			return fmt.Sprintf("{require: %s, before: END}", node())
		}
		return fmt.Sprintf("{forbid: END, after: %s}", node())
	case 0, 1:
		if a, b := node(), node(); a != b {
			return fmt.Sprintf("{require: %s, before: %s}", a, b)
		}
		return m.policy(n)
	case 2:
		return fmt.Sprintf("{forbid: %s, after: %s}", node(), node())
	case 3:
		return fmt.Sprintf("{max_visits: %d, node: %s}", 1+m.IntN(3), node())
	case 4:
		return fmt.Sprintf("{reach: END, from: %s}", node())
	case 5:
		return fmt.Sprintf("{reach: %s, from: %s}", node(), node())
	}
	return fmt.Sprintf("{never: \"%s\", at: %s}", m.condition(n), node())
}

// outcome says how all runs of a graph relate to its policy.
type outcome struct {
	// broken says that the policy has ended a run or, for reach END, that a run continued
	// after the node and did not complete.
	broken bool
	// reached says, for reach, that a run got from the first node to the second.
	reached bool
}

// outcomes runs a graph on every input.
func outcomes(t *testing.T, g *spec.Graph, fans bool) (out outcome, ok bool) {
	t.Helper()
	r, err := runner.New(runner.Config{})
	if err != nil {
		t.Fatal(err)
	}
	flow, err := r.Prepare(g)
	if err != nil {
		return outcome{}, false
	}
	reach, from := g.Policies[0].Get("reach"), g.Policies[0].Get("from")
	for _, in := range inputs() {
		result, err := flow.Run(context.Background(), runner.Options{Input: in})
		if err != nil {
			t.Fatal(err)
		}
		out.broken = out.broken || result.Reason == "policy"
		if reach == nil {
			continue
		}
		path := result.Path
		if result.Status == machine.Completed {
			path = append(slices.Clone(path), "END")
		}
		at := slices.Index(path, from.Text.Value)
		if at < 0 {
			continue
		}
		arrives := slices.Contains(path[at+1:], reach.Text.Value)
		out.reached = out.reached || arrives && !fans // a sibling is not on the way
		out.broken = out.broken || !arrives
	}
	return out, true
}

// TestSoundOnPolicies compares verdicts on policies with all runs: a claimed
// violation happens in some run. It logs the number of undecided policies.
func TestSoundOnPolicies(t *testing.T) {
	t.Parallel()
	rounds, seed := tries(70, 700)
	m := maker{rand.New(rand.NewPCG(4, seed))}
	var graphs, found, doubts, missed, kept, reaches int
	for round := range rounds {
		text := m.graph(round%2 == 1)
		n := strings.Count(text, "kind: ")
		text = strings.Replace(text, "nodes:\n", "policies: ["+m.policy(n)+"]\nnodes:\n", 1)
		g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if g == nil || append(ds, spec.Check(g)...).HasErrors() {
			continue
		}
		said, ok := outcomes(t, g, strings.Contains(text, "to: ["))
		if !ok {
			continue
		}
		graphs++
		claim := ""
		findings := lint.Check(g, lint.Options{})
		for _, d := range findings {
			if d.Rule == "policy-violated" {
				claim = d.Message
			}
		}
		if slices.ContainsFunc(findings, func(d spec.Diagnostic) bool { return d.Rule == "join-never-fires" }) {
			continue // a branch that ends there completes a run that does not reach END
		}
		never := strings.Contains(claim, "can't be reached from")
		switch {
		case never && said.reached, claim != "" && !never && !said.broken:
			t.Errorf("%s\nno run does what is claimed: %s", text, claim)
		case strings.Contains(text, "reach: "):
			reaches++
		case claim != "":
			found++
		case isDoubted(findings):
			doubts++
			if said.broken {
				missed++
			}
		case said.broken:
			t.Errorf("%s\na run breaks the policy, of which nothing is said", text)
		default:
			kept++
		}
	}
	t.Logf("%d graphs: %d violations found, %d policies undecided, %d of them broken by a run (%d%% of all that are), %d kept, %d claims about reach checked",
		graphs, found, doubts, missed, 100*missed/max(found+missed, 1), kept, reaches)
	if found < graphs/5 || kept < graphs/10 || reaches < graphs/10 {
		t.Error("too little is tried")
	}
}

// isDoubted reports whether a finding calls a policy undecided.
func isDoubted(found spec.Diagnostics) bool {
	return slices.ContainsFunc(found, func(d spec.Diagnostic) bool { return d.Rule == "policy-undecided" })
}

// tries returns how many random graphs a test makes, short or a third of n, and their seed.
// GRAPHRUN_SOUND_ROUNDS=10 makes ten times n graphs from another seed.
func tries(short, n int) (rounds int, seed uint64) {
	if times, err := strconv.Atoi(os.Getenv("GRAPHRUN_SOUND_ROUNDS")); err == nil && times > 0 {
		return n * times, uint64(1000 + times)
	}
	return longtest.Choose(short, n/3), 7
}
