package lint_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// loops writes random graphs of loops with counters that may or may not end them.
func (m maker) loops() string {
	n := 2 + m.IntN(4)
	var b strings.Builder
	b.WriteString("graphrun: v1\nname: g\nstart: n0\nlimits: {max_steps: 500}\nstate:\n  i: {type: integer, default: 0}\n  ok: {type: boolean, default: false}\n  n: {type: integer, default: 0}\n  k: {type: integer, default: 4}\n  s: {type: integer, default: 0, reducer: sum}\n  q: {type: array, items: {type: integer}, default: [1, 2, 3]}\nnodes:\n")
	for v := range n {
		extra := m.pick("", "", "", "", ", max_visits: 2", ", max_visits: 3, on_max_visits: skip")
		switch m.IntN(6) {
		case 0:
			fmt.Fprintf(&b, "  n%d: {kind: exec, command: [x], output: {type: boolean}, writes: [ok]%s}\n", v, extra)
		case 1:
			fmt.Fprintf(&b, "  n%d: {kind: pass%s}\n", v, extra)
		case 2:
			fmt.Fprintf(&b, "  n%d: {kind: human, prompt: x, timeout: 1s, choices: [true, false], default: false, writes: [ok]%s}\n", v, extra)
		default:
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {%s}%s}\n", v, m.pick("n: n + 1", "n: n + 1", "n: n + 2", "n: n - 1", "n: 0", "n: (n + 1) % 3", "n: 'min(n + 1, 2)'", "n: n * 2",
				"k: k - 1", "k: k - 1", "k: 'max(k - 1, 0)'", "k: 4", "s: 1", "s: -1", "q: 'q[1:]'", "q: 'concat(q, [1])'", "ok: not ok", "ok: n > 2"), extra)
		}
	}
	b.WriteString("edges:\n")
	guard := func() string {
		one := func() string {
			compare := m.pick("<", "<=", ">", ">=", "==", "!=")
			switch m.IntN(8) {
			case 0:
				return m.pick("ok", "not ok")
			case 1:
				return fmt.Sprintf("%s %s %d", m.pick("visits", "visits", "visits")+fmt.Sprintf(".n%d", m.IntN(n)), compare, 1+m.IntN(3))
			case 2:
				return fmt.Sprintf("len(q) %s %d", compare, m.IntN(3))
			case 3:
				return fmt.Sprintf("s %s %d", compare, m.IntN(4)-1)
			case 4:
				return fmt.Sprintf("%d %s n", m.IntN(4), compare)
			case 5:
				return fmt.Sprintf("k %s %d", compare, m.IntN(4))
			}
			return fmt.Sprintf("n %s %d", compare, m.IntN(4))
		}
		switch m.IntN(5) {
		case 0:
			return one() + m.pick(" and ", " or ") + one()
		case 1:
			return "not (" + one() + ")"
		}
		return one()
	}
	for v := range n {
		for range 1 + m.IntN(2) {
			fmt.Fprintf(&b, "  - {from: n%d, to: %s, when: \"%s\"}\n", v, m.target(n), guard())
		}
		if strings.Contains(b.String(), fmt.Sprintf("n%d: {kind: exec", v)) && m.IntN(2) == 0 {
			fmt.Fprintf(&b, "  - {from: n%d, to: %s, condition: on_failure%s}\n", v, m.target(n), m.pick("", ", when: \""+guard()+"\""))
		}
		to := m.target(n)
		if m.IntN(2) == 0 {
			to = "END"
		}
		fmt.Fprintf(&b, "  - {from: n%d, to: %s}\n", v, to)
	}
	return b.String()
}

// TestSoundOnLoops compares claims about loops with their runs: no loop that is
// claimed to be bounded repeats until the limit of steps.
func TestSoundOnLoops(t *testing.T) {
	t.Parallel()
	rounds, seed := tries(50, 1200)
	m := maker{rand.New(rand.NewPCG(16, seed))}
	var graphs, bounded, undecided, endless, ran int
	for range rounds {
		text := m.loops()
		g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if g == nil || append(ds, spec.Check(g)...).HasErrors() {
			continue
		}
		_, ok := bound.Of(g, bound.Options{})
		loops := lint.Loops(g, lint.Options{})
		if !ok || len(loops) == 0 {
			continue
		}
		graphs++
		sure, goesOn := true, false
		for _, l := range loops {
			sure = sure && l.Endless == nil && len(l.Undecided) == 0
			goesOn = goesOn || l.Endless != nil
		}
		reaches := m.plays(t, g, 25, func(r *played) bool { return r.reason == "max_steps" })
		switch {
		case sure:
			if bounded++; reaches {
				t.Errorf("%s\na run goes on until the limit: %+v", text, loops)
			}
		case goesOn:
			if endless++; reaches {
				ran++
			}
		default:
			undecided++
		}
	}
	t.Logf("%d graphs with loops: %d bounded, %d undecided, %d not bounded, %d of them shown by a run", graphs, bounded, undecided, endless, ran)
	if graphs < rounds/4 || bounded < graphs/20 || ran < endless/10 {
		t.Error("too little is tried")
	}
}
