package lint

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/spec"
)

// tangle writes a random graph that is hard on every analysis: guards over many
// keys, counters and steps, fan-outs, joins, failures, loops and policies.
func tangle(r *rand.Rand, n int) string {
	var b strings.Builder
	node := func() string { return fmt.Sprintf("n%d", r.IntN(n)) }
	target := func() string {
		if r.IntN(6) == 0 {
			return "END"
		}
		return node()
	}
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	term := func() string {
		return pick("i0", "i1", "i2", "i3", "sum", "len(l0)", "len(l1)", "step", "visits."+node(), "nodes."+node()+".visits", "len(history."+node()+")", fmt.Sprint(r.IntN(12)))
	}
	var guard func(deep int) string
	guard = func(deep int) string {
		switch {
		case deep > 0 && r.IntN(2) == 0:
			return "(" + guard(deep-1) + pick(" and ", " or ") + guard(deep-1) + ")"
		case r.IntN(4) == 0:
			return pick("ok", "not ok", "i3 == null", "t startsWith 'a'", "c == 'x'", "c in ['x', 'y']", "t matches 'x.*'")
		}
		return term() + pick(" < ", " <= ", " > ", " >= ", " == ", " != ") + term()
	}
	fmt.Fprintf(&b, "graphrun: v1\nname: g\nstart: n0\nlimits: {max_steps: %d}\nparallel: {on_failure: %s}\n", 2+r.IntN(60), pick("fail_all", "continue_others", "wait_all"))
	b.WriteString("state:\n  i0: {type: integer, default: 0}\n  i1: {type: integer, required: true}\n  i2: {type: integer, minimum: 0, maximum: 9, default: 5}\n  i3: {type: [integer, \"null\"]}\n  sum: {type: integer, reducer: sum, default: 0}\n  l0: {type: array, reducer: append, default: []}\n  l1: {type: array, default: []}\n  ok: {type: boolean, required: true}\n  c: {type: string, enum: [x, y, z], required: true}\n  t: {type: string}\npolicies:\n")
	for range r.IntN(12) {
		fmt.Fprintf(&b, "  - %s\n", pick(
			fmt.Sprintf("{require: %s, before: %s}", node(), node()), fmt.Sprintf("{forbid: %s, after: %s}", node(), node()),
			fmt.Sprintf("{max_visits: %d, node: %s}", 1+r.IntN(5), node()), fmt.Sprintf("{reach: END, from: %s}", node()),
			fmt.Sprintf("{never: \"%s\", at: %s}", guard(1), node())))
	}
	b.WriteString("  - {max_visits: 3, node: n0}\nnodes:\n")
	for v := range n {
		extra := pick("", "", "", ", join: {wait: all}", ", join: {wait: any}", ", join: {wait: 2}", ", max_visits: 5", ", routing: all")
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {%s: \"%s\"}%s}\n", v, pick("i0", "i2", "sum", "i3"), term(), extra)
		case 1:
			fmt.Fprintf(&b, "  n%d: {kind: exec, command: [x], timeout: 1s, writes: [%s]%s}\n", v, pick("i1", "ok", "c", "t", "l0"), extra)
		case 2:
			fmt.Fprintf(&b, "  n%d: {kind: %s%s}\n", v, pick("pass", "wait, for: 1s", "human, prompt: x, writes: [ok]"), extra)
		default:
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {ok: \"%s\", l1: \"l1 + [1]\"}%s}\n", v, guard(0), extra)
		}
	}
	b.WriteString("edges:\n")
	for v := range n {
		for range r.IntN(4) {
			fmt.Fprintf(&b, "  - {from: n%d, to: %s, when: \"%s\"}\n", v, target(), guard(2))
		}
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "  - {from: n%d, to: [%s, %s, %s, %s]}\n", v, target(), target(), target(), target())
		case 1:
			fmt.Fprintf(&b, "  - {from: n%d, to: %s, condition: on_failure}\n", v, target())
		}
		fmt.Fprintf(&b, "  - {from: n%d, to: n%d}\n", v, min(v+1, n-1))
	}
	fmt.Fprintf(&b, "  - {from: n%d, to: END}\n", n-1)
	return b.String()
}

// mostSteps bounds the analyses of a graph of up to 100 nodes, in steps of about a microsecond. They
// take 100 ms of a processor, plus the time that grows with the graph.
const mostSteps = 100_000

// stepsOf returns the steps of about a microsecond that the analyses took, by kind. Analyses without
// a budget may take any number.
func stepsOf(f *facts) map[string]int {
	const evaluations, pondered = 30, 20 // in a microsecond
	g := f.graph
	steps := map[string]int{
		"conditions": f.solver.Spent / evaluations,
		"policies":   len(g.Policies) * (len(g.Nodes) + len(g.Edges)) / pondered,
		"runs":       newFacts(g, nil, f.opts).policyEvents - f.policyEvents,
		"runs shown": maxRuleEvents - f.ruleEvents,
	}
	all := 0
	for _, n := range steps {
		all += n
	}
	steps["all"] = all
	return steps
}

// No analysis exceeds its budget, which is counted in steps and not in seconds: any file of up to
// 100 nodes is checked at once.
func TestBudget(t *testing.T) {
	graphs := longtest.Choose(6, 60)
	if os.Getenv("GRAPHRUN_SOUND_ROUNDS") != "" {
		graphs = 3000
	}
	r := rand.New(rand.NewPCG(3, 14))
	worst, checked := map[string]int{}, 0
	try := func(text string) {
		g, found := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if g == nil || append(found, spec.Check(g)...).HasErrors() {
			return
		}
		checked++
		f, _ := checkGraph(g, Options{})
		for what, n := range stepsOf(f) {
			worst[what] = max(worst[what], n)
		}
	}
	for i := range graphs {
		try(tangle(r, []int{3, 5, 8, 20, 50, 100}[i%6]))
	}
	for _, name := range slices.Sorted(maps.Keys(hardShapes())) {
		for _, seed := range []uint64{0, 5}[:longtest.Choose(1, 2)] {
			s := &shape{Rand: rand.New(rand.NewPCG(1, seed)), nodes: longtest.Choose(20, 100), many: 8}
			hardShapes()[name](s)
			try(s.b.String())
		}
	}
	t.Logf("%d graphs: at most %v steps", checked, worst)
	if worst["all"] > mostSteps {
		t.Errorf("a graph takes %d steps, want at most %d", worst["all"], mostSteps)
	}
	if checked < graphs/4 {
		t.Errorf("only %d graphs are tried", checked)
	}
}
