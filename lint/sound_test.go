package lint_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// maker writes random graphs of pass and set nodes over a small state.
type maker struct{ *rand.Rand }

func (m maker) pick(from ...string) string { return from[m.IntN(len(from))] }

const limitOfSteps = 14

func (m maker) graph(fans bool) string {
	n := 2 + m.IntN(4)
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: g\nstart: n0\nlimits: {max_steps: %d}\nstate:\n", limitOfSteps)
	b.WriteString("  i: {type: integer, minimum: 0, maximum: 3, required: true}\n  ok: {type: boolean, required: true}\n  c: {type: string, enum: [x, y, z], required: true}\nnodes:\n")
	for v := range n {
		extra := ""
		if m.IntN(5) == 0 {
			extra = fmt.Sprintf(", max_visits: %d%s", 1+m.IntN(3), m.pick("", ", on_max_visits: skip"))
		}
		if fans && v > 0 && m.IntN(4) == 0 {
			extra += m.pick(", join: {wait: all}", ", join: {wait: all}", ", join: {wait: any}", ", join: {wait: 2}")
		}
		if m.IntN(10) == 0 {
			extra += ", each: \"[1, 2]\""
		}
		if m.IntN(3) == 0 {
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {%s}%s}\n", v, m.pick("ok: not ok", "i: (i + 1) % 4", "c: \"c == 'x' ? 'y' : 'x'\""), extra)
			continue
		}
		fmt.Fprintf(&b, "  n%d: {kind: pass%s}\n", v, extra)
	}
	b.WriteString("edges:\n")
	for v := range n {
		m.edges(&b, v, n, fans)
	}
	return b.String()
}

// target is one of n nodes, or END.
func (m maker) target(n int) string {
	if to := m.IntN(n + 1); to < n {
		return fmt.Sprintf("n%d", to)
	}
	return "END"
}

func (m maker) edges(b *strings.Builder, v, n int, fans bool) {
	for range m.IntN(3) {
		fmt.Fprintf(b, "  - {from: n%d, to: %s, when: \"%s\"}\n", v, m.target(n), m.condition(n))
	}
	if m.IntN(4) > 0 {
		to := m.target(n)
		if fans && m.IntN(2) == 0 {
			to = "[" + m.target(n) + ", " + m.target(n) + "]"
		}
		fmt.Fprintf(b, "  - {from: n%d, to: %s}\n", v, to)
	}
}

func (m maker) condition(n int) string {
	compare := m.pick("<", "<=", ">", ">=", "==", "!=")
	switch m.IntN(8) {
	case 0:
		return m.pick("ok", "not ok")
	case 7: // what the solver does not look into
		return m.pick("", "not ") + fmt.Sprintf("any([i, 2], # > %d%s)", m.IntN(4), m.pick("", " and ok"))
	case 1, 2:
		return fmt.Sprintf("i %s %d", compare, m.IntN(4))
	case 3:
		return fmt.Sprintf("c %s '%s'", m.pick("==", "!="), m.pick("x", "y", "z"))
	case 4:
		return fmt.Sprintf("visits.n%d %s %d", m.IntN(n), compare, m.IntN(4))
	case 5:
		return fmt.Sprintf("step %s %d", compare, m.IntN(7))
	}
	return m.condition(n) + m.pick(" and ", " or ") + m.condition(n)
}

// inputs returns all inputs of a graph of maker.
func inputs() []map[string]any {
	var out []map[string]any
	for i := range 4 {
		for _, ok := range []bool{true, false} {
			for _, c := range []string{"x", "y", "z"} {
				out = append(out, map[string]any{"i": i, "ok": ok, "c": c})
			}
		}
	}
	return out
}

// observed holds the results of all runs of a graph.
type observed struct {
	fired     []int // by edge
	stuck     map[string]bool
	least     int // steps of a completed run; -1 without one
	most      int
	completed int
}

func observe(t *testing.T, g *spec.Graph) (observed, bool) {
	t.Helper()
	r, err := runner.New(runner.Config{})
	if err != nil {
		t.Fatal(err)
	}
	flow, err := r.Prepare(g)
	if err != nil {
		return observed{}, false // such as what is not built yet
	}
	out := observed{fired: make([]int, len(g.Edges)), stuck: map[string]bool{}, least: -1}
	for _, in := range inputs() {
		result, err := flow.Run(context.Background(), runner.Options{Input: in})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range result.Edges {
			out.fired[i] += e.Fired
		}
		out.most = max(out.most, result.Steps)
		switch result.Status {
		case machine.Completed:
			out.completed++
			if out.least < 0 || result.Steps < out.least {
				out.least = result.Steps
			}
		case machine.Stuck:
			out.stuck[result.Error.Node] = true
		}
	}
	return out, true
}

// TestSoundOnGraphs runs random graphs on every input and compares the claims
// about them with their runs.
func TestSoundOnGraphs(t *testing.T) {
	t.Parallel()
	rounds, seed := tries(40, 350)
	r := rand.New(rand.NewPCG(9, seed+1))
	m := maker{r}
	var graphs, claims, exact, tight, falls, shown int
	for round := range rounds {
		text := m.graph(round%2 == 1)
		g, found := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if g == nil || append(found, spec.Check(g)...).HasErrors() {
			continue
		}
		seen, ok := observe(t, g)
		if !ok {
			continue
		}
		graphs++
		warned := map[string]bool{}
		for _, d := range lint.Check(g, lint.Options{}) {
			switch d.Rule {
			case "missing-fallback":
				node := string(g.File.Src[d.Span.From:d.Span.To])
				warned[node] = true
				if falls++; strings.Contains(d.Message, " fires when ") && strings.Contains(d.Message, " are false") {
					if shown++; !seen.stuck[node] {
						t.Fatalf("%s\nno run does what is claimed: %s", text, d.Message)
					}
				}
			case "shadowed-edge", "constant-condition":
				claims++
				refute(t, text, g, &seen, &d)
			}
		}
		for node := range seen.stuck {
			if !warned[node] && !mayStick(g, node) {
				t.Fatalf("%s\n%q gets stuck without a warning", text, node)
			}
		}
		b, ok := bound.Of(g, bound.Options{})
		switch {
		case !ok && seen.completed > 0:
			t.Fatalf("%s\nruns complete, but no bounds are given", text)
		case !ok:
			continue
		case seen.least >= 0 && float64(seen.least) < b.Steps.Min, float64(seen.most) > b.Steps.Max:
			t.Fatalf("%s\nsteps from %d to %d, claimed from %v to %v", text, seen.least, seen.most, b.Steps.Min, b.Steps.Max)
		}
		if b.Followed {
			exact++
		}
		if float64(seen.least) == b.Steps.Min && float64(seen.most) == b.Steps.Max {
			tight++
		}
	}
	t.Logf("%d graphs: %d claims about edges; bounds exact in %d, attained in %d; %d nodes that may get stuck, %d of them shown by a run", graphs, claims, exact, tight, falls, shown)
	if graphs < rounds/10 || claims < graphs/10 {
		t.Error("too little is tried")
	}
}

// refute fails the test if an edge contradicts a claim by firing or not firing.
func refute(t *testing.T, text string, g *spec.Graph, seen *observed, d *spec.Diagnostic) {
	t.Helper()
	if part, _, ok := strings.Cut(d.Message, " in this condition is always false"); ok {
		refutePart(t, text, g, seen, d, part)
		return
	}
	dead := d.Rule == "shadowed-edge" || strings.Contains(d.Message, "always false")
	for i, e := range g.Edges {
		guard := e.When.IsSet() && e.When.Span.From <= d.Span.From && d.Span.To <= e.When.Span.To
		if !dead || !guard && e.To.Span != d.Span {
			continue
		}
		if seen.fired[i] > 0 {
			t.Fatalf("%s\nedge %d fired %d times: %s", text, i, seen.fired[i], d.Message)
		}
	}
}

// mayStick reports whether a node can get stuck although its conditions are
// complete: when it is skipped at its visit limit, or waits for more branches
// than arrive.
func mayStick(g *spec.Graph, node string) bool {
	n := g.Node(node)
	return n.OnMaxVisits == "skip" || n.Join != nil && n.Join.Wait != "all"
}

// refutePart fails the test if the edges fire differently without a part of a condition.
func refutePart(t *testing.T, text string, g *spec.Graph, seen *observed, d *spec.Diagnostic, quoted string) {
	t.Helper()
	part, err := strconv.Unquote(quoted)
	condition := text[d.Span.From:d.Span.To]
	if err != nil || !strings.Contains(condition, part) {
		t.Fatalf("%s\nno such part in %q: %s", text, condition, d.Message)
	}
	without := text[:d.Span.From] + strings.Replace(condition, part, "false", 1) + text[d.Span.To:]
	other, found := spec.Parse("g.yaml", []byte(without), spec.Options{})
	if found.HasErrors() {
		return // a constant condition may be an error
	}
	if again, ok := observe(t, other); !ok || !slices.Equal(again.fired, seen.fired) {
		t.Fatalf("%s\nedges fired %v times, without the part %v times: %s", text, seen.fired, again.fired, d.Message)
	}
}
