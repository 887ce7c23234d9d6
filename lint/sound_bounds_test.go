package lint_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// counted writes random graphs whose loops end by numbers in the state. Several nodes and branches
// reset, change and add these numbers, and compute them from one another. Programs that fail, people,
// delays, limits of visits and joins are in between.
func (m maker) counted(fans bool) string {
	n := 2 + m.IntN(4)
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: g\nstart: n0\nlimits: {max_steps: 60%s}\n", m.pick("", "", "", ", max_visits: 4", ", on_max_steps: return_last"))
	if fans && m.IntN(4) == 0 {
		b.WriteString("parallel: {on_failure: " + m.pick("continue_others", "wait_all") + m.pick("", ", conflict: first_wins", ", join: auto") + "}\n")
	}
	b.WriteString("state:\n  i: {type: integer, minimum: 0, maximum: 3, default: 0}\n  ok: {type: boolean, default: false}\n" +
		"  n: {type: integer, default: 0, minimum: 0}\n  k: {type: integer, default: 4, maximum: 5}\n  s: {type: integer, default: 0, reducer: sum, minimum: 0}\n" +
		"  f: {type: number, default: 0.5, minimum: 0}\n  u: {type: integer}\n  t: {type: integer, default: 0, minimum: 0, reducer: max}\nnodes:\n")
	programs := 0
	for v := range n {
		extra := m.pick("", "", "", "", "", ", max_visits: 2", ", max_visits: 3, on_max_visits: skip")
		if fans && v > 0 && m.IntN(4) == 0 {
			extra += ", join: {wait: " + m.pick("all", "all", "any", "2", "all, on_bypass: fail") + "}"
		}
		if m.IntN(16) == 0 {
			extra += ", each: \"[1, 2]\""
		}
		if m.IntN(20) == 0 {
			extra += ", routing: all"
		}
		switch kind := m.IntN(8); {
		case kind == 0 && programs < 2:
			programs++
			fmt.Fprintf(&b, "  n%d: {kind: exec, command: [x], output: {type: boolean}, writes: %s%s}\n", v, m.pick("[ok]", "{n: n + 1}", "{k: k - 1}", "{s: '1'}", "{n: '0'}", "{n: 'output ? n + 1 : n'}"), extra)
		case kind == 1:
			fmt.Fprintf(&b, "  n%d: {kind: pass%s}\n", v, extra)
		case kind == 2 && m.IntN(3) == 0:
			fmt.Fprintf(&b, "  n%d: %s%s}\n", v, m.pick("{kind: human, prompt: x, timeout: 1s, choices: [true, false], default: false, writes: [ok]", "{kind: wait, for: 1s"), extra)
		default:
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {%s}%s}\n", v, m.moves(), extra)
		}
	}
	b.WriteString("edges:\n")
	for v := range n {
		for range 1 + m.IntN(2) {
			fmt.Fprintf(&b, "  - {from: n%d, to: %s, when: \"%s\"}\n", v, m.target(n), m.limit(n))
		}
		if strings.Contains(b.String(), fmt.Sprintf("n%d: {kind: exec", v)) && m.IntN(2) == 0 {
			fmt.Fprintf(&b, "  - {from: n%d, to: %s, condition: on_failure%s}\n", v, m.target(n), m.pick("", ", when: \""+m.limit(n)+"\""))
		}
		to := m.target(n)
		if m.IntN(2) == 0 {
			to = "END"
		}
		if fans && m.IntN(3) == 0 {
			to = "[" + m.target(n) + ", " + m.target(n) + "]"
		}
		fmt.Fprintf(&b, "  - {from: n%d, to: %s}\n", v, to)
	}
	return b.String()
}

// moves returns the writes of a node.
func (m maker) moves() string {
	one := m.pick("n: n + 1", "n: n + 1", "n: n + 1", "n: n + 2", "n: n - 1", "n: 0", "n: (n + 1) % 3", "n: 'min(n + 1, 2)'", "n: n * 2", "n: i",
		"k: k - 1", "k: k - 1", "k: 'max(k - 1, 0)'", "k: 4", "k: n + 1", "s: 1", "s: 2", "s: -1", "f: f + 0.5", "f: f + 1", "f: f * 2",
		"u: 0", "u: u + 1", "u: 'u ?? 0'", "u: '(u ?? 0) + 1'", "t: n", "t: 2", "i: '(i + 1) % 4'", "i: 'i + 1'", "ok: not ok")
	if m.IntN(4) > 0 {
		return one
	}
	other := m.moves()
	name, _, _ := strings.Cut(one, ":")
	if strings.HasPrefix(other, name+":") || strings.Contains(other, ", "+name+":") {
		return one
	}
	return one + ", " + other
}

// limit returns a condition on numbers in the state.
func (m maker) limit(n int) string {
	compare := m.pick("<", "<", "<=", ">", ">=", "==", "!=")
	switch m.IntN(12) {
	case 0:
		return m.pick("ok", "not ok", "u == None", "u != None", "(u ?? 0) < 3", "n < k", "n + 1 < k", "n >= i", "n * 2 < 5", "f + n < 4", "t < 2", "u < 2")
	case 1:
		return fmt.Sprintf("visits.n%d %s %d", m.IntN(n), compare, 1+m.IntN(3))
	case 2:
		return m.limit(n) + m.pick(" and ", " or ") + m.limit(n)
	case 3:
		return "not (" + m.limit(n) + ")"
	case 4:
		return fmt.Sprintf("f %s %s", compare, m.pick("1", "2.5", "3"))
	case 5, 6:
		return fmt.Sprintf("k %s %d", compare, m.IntN(4))
	case 7:
		return fmt.Sprintf("s %s %d", compare, m.IntN(5))
	case 8:
		return fmt.Sprintf("%d %s n", m.IntN(5), compare)
	}
	return fmt.Sprintf("n %s %s", compare, m.pick("1", "2", "3", "4", "2.5"))
}

// TestSoundOnCountedLoops compares the bounds of graphs whose loops count in the state with the
// costs of their runs, and findings about limits of visits with the runs that break them.
func TestSoundOnCountedLoops(t *testing.T) {
	t.Parallel()
	rounds, seed := tries(40, 300)
	first := seed * 1_000_000
	if one, err := strconv.ParseUint(os.Getenv("GRAPHRUN_SOUND_GRAPH"), 10, 64); err == nil {
		rounds, first = 1, one
	}
	var graphs, ended, attained, kept, broken int
	for round := range rounds {
		number := first + uint64(round)
		m := maker{rand.New(rand.NewPCG(21, number))}
		text := m.counted(number%2 == 1)
		g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if g == nil || append(ds, spec.Check(g)...).HasErrors() {
			continue
		}
		policy := fmt.Sprintf("policies: [{max_visits: %d, node: n%d}]\nnodes:\n", 1+m.IntN(4), m.IntN(len(g.Nodes)))
		watched, ds := spec.Parse("g.yaml", []byte(strings.Replace(text, "nodes:\n", policy, 1)), spec.Options{})
		said := append(append(ds, spec.Check(watched)...), lint.Check(watched, lint.Options{})...)
		sure := !said.HasErrors() && !isDoubted(said)
		plan, _ := machine.Build(watched, nil, nil)
		if plan == nil {
			continue // such as a list for a boolean
		}
		graphs++
		b, ok := bound.Of(g, bound.Options{})
		loops := lint.Loops(g, lint.Options{})
		if b.Steps.Limit == "" && len(loops) > 0 {
			ended++
		}
		most := 0
		if sure {
			kept++
		}
		const tries = 60
		for range tries {
			input := map[string]any{}
			for _, name := range []string{"i", "n", "s", "t", "f", "k", "u"} {
				if m.IntN(3) == 0 {
					input[name] = m.IntN(4)
				}
			}
			r := m.play(t, plan, input)
			if r.reason == "policy" {
				if broken++; sure {
					t.Errorf("graph %d\n%s\n%s is broken with %v, of which nothing is said: %v", number, text, policy, input, r.path)
					break
				}
				continue
			}
			most = max(most, r.steps)
			steps := float64(r.steps)
			if r.status == machine.Completed && (!ok || steps < b.Steps.Min) || ok && steps > b.Steps.Max {
				t.Errorf("graph %d\n%s\na run with %v takes %v steps (%v), claimed from %v to %v", number, text, input, steps, r.path, b.Steps.Min, b.Steps.Max)
				break
			}
		}
		if b.Steps.Limit == "" && len(loops) > 0 && float64(most) == b.Steps.Max {
			attained++
		}
	}
	t.Logf("%d graphs, %d with loops that their bounds show to end, %d of them attained; %d limits of visits proven, %d runs that broke one", graphs, ended, attained, kept, broken)
	if rounds > 1 && (graphs < rounds/3 || ended < graphs/20 || attained < ended/4 || kept < graphs/20 || broken == 0) {
		t.Error("too little is tried")
	}
}
