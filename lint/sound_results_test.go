package lint_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// guided writes random graphs whose programs yield what a test wants: true,
// false or a failure.
func (m maker) guided(fans bool) string {
	n := 3 + m.IntN(3)
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: g\nstart: n0\nlimits: {max_steps: %d}\nstate:\n", limitOfSteps)
	b.WriteString("  i: {type: integer, minimum: 0, maximum: 3, default: 0}\n  ok: {type: boolean, default: false}\n")
	b.WriteString("policies: [" + m.policy(n) + "]\nnodes:\n")
	programs := 0
	for v := range n {
		extra := ""
		if fans && v > 0 && m.IntN(5) == 0 {
			extra = ", join: {wait: all}"
		}
		switch kind := m.IntN(5); {
		case kind < 2 && programs < 2:
			programs++
			fmt.Fprintf(&b, "  n%d: {kind: exec, command: [x], output: {type: boolean}%s%s}\n", v, m.pick("", ", writes: [ok]", ", writes: {ok: output}", ", writes: {i: \"2\"}"), extra)
		case kind == 3:
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {%s}%s}\n", v, m.pick("ok: true", "ok: false", "ok: not ok", "i: (i + 1) % 4", "i: 1"), extra)
		default:
			fmt.Fprintf(&b, "  n%d: {kind: pass%s}\n", v, extra)
		}
	}
	b.WriteString("edges:\n")
	for v := range n {
		m.guidedEdges(&b, v, n, fans)
	}
	return b.String()
}

func (m maker) guidedEdges(b *strings.Builder, v, n int, fans bool) {
	condition := func() string {
		return m.pick("ok", "not ok", fmt.Sprintf("i < %d", 1+m.IntN(3)), fmt.Sprintf("visits.n%d < %d", m.IntN(n), 1+m.IntN(3)),
			fmt.Sprintf("ok and visits.n%d >= %d", m.IntN(n), 1+m.IntN(2)))
	}
	if strings.Contains(b.String(), fmt.Sprintf("n%d: {kind: exec", v)) {
		for range m.IntN(3) {
			fmt.Fprintf(b, "  - {from: n%d, to: %s, when: \"output == %s\"}\n", v, m.target(n), m.pick("true", "false"))
		}
		for range m.IntN(3) {
			when := ""
			switch m.IntN(4) {
			case 0, 1:
				when = ", when: \"" + condition() + "\""
			case 2:
				when = ", when: \"" + m.ofFailure(v, n) + "\""
			}
			fmt.Fprintf(b, "  - {from: n%d, to: %s, condition: on_failure%s}\n", v, m.target(n), when)
		}
	}
	for range m.IntN(2) {
		fmt.Fprintf(b, "  - {from: n%d, to: %s, when: \"%s\"}\n", v, m.target(n), condition())
	}
	to := m.target(n)
	if fans && m.IntN(3) == 0 {
		to = "[" + m.target(n) + ", " + m.target(n) + "]"
	}
	fmt.Fprintf(b, "  - {from: n%d, to: %s}\n", v, to)
}

// ofFailure returns a condition on the names that an edge can read after a failure.
func (m maker) ofFailure(v, n int) string {
	return m.pick("error.kind == 'exit_status'", "error.kind != 'exit_status'", "error.message == 'as the test wants'",
		"error.message contains 'other'", "error.details.code == 1", "error.details.code == 2", "error.details.code > 1", "error.attempt == 1",
		fmt.Sprintf("error.node == 'n%d'", v), "error.details?.none == nil", "outcome == 'failure'", fmt.Sprintf("node == 'n%d'", v),
		fmt.Sprintf("nodes.n%d.outcome == 'failure'", m.IntN(n)), fmt.Sprintf("nodes.n%d.error?.kind == 'exit_status'", m.IntN(n)),
		fmt.Sprintf("len(history.n%d) > 0", m.IntN(n)), "step > 2", "visit > 1", "last.text == nil", "run.input.i == 1", "state.i == 1",
		"input == true", "output == nil", "goal == ''", "len(inputs) == 1")
}

// breaks reports whether a run of a graph breaks its policy. It tries many runs
// with every input and with random results of programs.
func (m maker) breaks(t *testing.T, g *spec.Graph) bool {
	t.Helper()
	const tries, patience = 3000, 50_000 // for runs that need one outcome for each visit
	broken := func(r *runner.Result) bool { return r.Reason == "policy" }
	return m.runs(t, g, tries, broken) || m.runs(t, g, patience, broken) ||
		m.plays(t, g, patience, func(r *played) bool { return r.reason == "policy" }) // branches differ in the same visit
}

// runs tries runs until one is found.
func (m maker) runs(t *testing.T, g *spec.Graph, tries int, found func(r *runner.Result) bool) bool {
	t.Helper()
	const programs, visits = 2, 8
	var outcomes [programs][visits]int
	order := map[string]int{}
	for _, n := range g.Nodes {
		if n.Kind.Value == "exec" {
			order[n.ID.Value] = len(order)
		}
	}
	program := runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
		switch outcomes[order[task.Node]][min(task.Visit, visits)-1] {
		case 0:
			return true, nil
		case 1:
			return false, nil
		}
		code := outcomes[order[task.Node]][min(task.Visit, visits)-1] - 1
		return nil, &runner.Failure{
			Kind: "exit_status", Message: []string{"as the test wants", "another message"}[code-1], Details: map[string]any{"code": code},
		}
	})
	r, err := runner.New(runner.Config{Kinds: []runner.Kind{{Spec: spec.Kind{Name: "exec"}, Handler: program}}})
	if err != nil {
		t.Fatal(err)
	}
	flow, err := r.Prepare(g)
	if err != nil {
		t.Fatal(err)
	}
	for range tries {
		for i := range outcomes {
			often := m.IntN(4) // of this program: long loops want the same again and again
			for j := range outcomes[i] {
				if outcomes[i][j] = m.IntN(4); m.IntN(2) == 0 {
					outcomes[i][j] = often
				}
			}
		}
		for i := range 4 {
			for _, ok := range []bool{false, true} {
				result, err := flow.Run(context.Background(), runner.Options{Input: map[string]any{"i": i, "ok": ok}})
				if err != nil {
					t.Fatal(err)
				}
				if found(result) {
					return true
				}
			}
		}
	}
	return false
}

// TestSoundOnResults compares the claimed violations of graphs with programs
// with runs for all results of the programs.
func TestSoundOnResults(t *testing.T) {
	t.Parallel()
	rounds, seed := tries(16, 400)
	m := maker{rand.New(rand.NewPCG(6, seed))}
	var graphs, claims, kept int
	for round := range rounds {
		text := m.guided(round%2 == 1)
		if strings.Contains(text, "reach: ") {
			continue // what a failure ends is no matter of reach
		}
		g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if g == nil || append(ds, spec.Check(g)...).HasErrors() {
			continue
		}
		graphs++
		found := lint.Check(g, lint.Options{})
		for _, d := range found {
			if d.Rule != "policy-violated" {
				continue
			}
			claims++
			if !m.breaks(t, g) {
				t.Errorf("%s\nno run does what is claimed: %s", text, d.Message)
			}
		}
		said := func(d spec.Diagnostic) bool { return d.Rule == "policy-violated" || d.Rule == "policy-undecided" }
		const some = 30
		if slices.ContainsFunc(found, said) || found.HasErrors() {
			continue
		}
		if kept++; m.runs(t, g, some, func(r *runner.Result) bool { return r.Reason == "policy" }) {
			t.Errorf("%s\na run breaks the policy, of which nothing is said", text)
		}
	}
	t.Logf("%d graphs, %d claims, %d policies kept", graphs, claims, kept)
	if claims < graphs/10 {
		t.Error("too little is tried")
	}
}

// TestBoundsOnResults compares the bounds of graphs with programs with the costs
// of their runs.
func TestBoundsOnResults(t *testing.T) {
	rounds, seed := tries(20, 300)
	m := maker{rand.New(rand.NewPCG(8, seed))}
	bounded := 0
	for round := range rounds {
		text := m.guided(round%2 == 1)
		policies := strings.Index(text, "policies:")
		text = text[:policies] + text[strings.Index(text, "nodes:\n"):]
		g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if g == nil || append(ds, spec.Check(g)...).HasErrors() {
			continue
		}
		if lint.Check(g, lint.Options{}).HasErrors() {
			continue // nothing runs it
		}
		b, ok := bound.Of(g, bound.Options{})
		const tries = 20
		bad := m.runs(t, g, tries, func(r *runner.Result) bool {
			steps := float64(r.Steps)
			return r.Status == machine.Completed && (!ok || steps < b.Steps.Min) || ok && steps > b.Steps.Max
		})
		if bad {
			t.Errorf("%s\na run takes less than %v or more than %v steps, or completes at all", text, b.Steps.Min, b.Steps.Max)
		}
		if ok {
			bounded++
		}
	}
	t.Logf("%d graphs with bounds", bounded)
	if bounded < rounds/10 {
		t.Error("too little is tried")
	}
}
