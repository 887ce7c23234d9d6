package lint_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// checks writes random graphs of branches whose programs may fail on the way to a
// join: what catches them leads elsewhere, back into the branch, or to the join;
// a branch may branch again.
func (m maker) checks() string {
	join := func() string {
		return "join: {wait: " + m.pick("all", "all", "all", "all, on_bypass: continue", "all, on_bypass: fail", "all, on_bypass: drop", "any", "2") + "}"
	}
	var nodes, edges strings.Builder
	write := func() string { return m.pick("k: \"'x'\"", "l: \"'x'\"") }
	read := func(name string) {
		fmt.Fprintf(&nodes, "  %s: {kind: pass, before: {r: len(%s)}}\n", name, m.pick("k", "l"))
	}
	program := 0
	// branch adds a chain of nodes and returns its first and last.
	branch := func(name string, n int) (first, last string) {
		for i := range n {
			node := fmt.Sprintf("%s%d", name, i)
			if program < 2 && m.IntN(3) > 0 {
				program++
				fmt.Fprintf(&nodes, "  %s: {kind: exec, command: [x]%s}\n", node, m.pick("", "", ", max_visits: 2"))
				if m.IntN(4) > 0 {
					fmt.Fprintf(&edges, "  - {from: %s, to: %s, condition: on_failure}\n", node, m.pick("h", "h", "h", "h2", "j", "END", name+"0"))
				}
			} else {
				fmt.Fprintf(&nodes, "  %s: {kind: set, set: {%s}}\n", node, write())
			}
			if last != "" {
				fmt.Fprintf(&edges, "  - {from: %s, to: %s}\n", last, node)
			}
			last = node
		}
		return name + "0", last
	}
	fmt.Fprintf(&nodes, "  s: {kind: pass%s}\n", m.pick("", "", "", ", parallel: {on_failure: continue_others}", ", parallel: {on_failure: wait_all}"))
	fmt.Fprintf(&nodes, "  j: {kind: %s, %s}\n", m.pick("pass", "set, set: {k: \"'y'\"}"), join())
	var firsts []string
	for b := range 2 + m.IntN(2) {
		first, last := branch(fmt.Sprintf("b%d", b), 1+m.IntN(2))
		firsts = append(firsts, first)
		to := "j"
		if b == 0 && m.IntN(3) == 0 {
			one, lastOne := branch("x", 1)
			two, lastTwo := branch("y", 1)
			fmt.Fprintf(&nodes, "  i: {kind: pass, %s}\n", join())
			fmt.Fprintf(&edges, "  - {from: %s, to: [%s, %s]}\n  - {from: [%s, %s], to: i}\n", last, one, two, lastOne, lastTwo)
			last = "i"
			if m.IntN(3) == 0 {
				fmt.Fprintf(&edges, "  - {from: i, to: h, condition: on_failure}\n")
			}
		} else if m.IntN(6) == 0 {
			to = m.pick("END", "h2")
		}
		fmt.Fprintf(&edges, "  - {from: %s, to: %s}\n", last, to)
	}
	fmt.Fprintf(&edges, "  - {from: s, to: [%s]}\n", strings.Join(firsts, ", "))
	fmt.Fprintf(&nodes, "  h: {kind: set, set: {%s}}\n", write())
	read("h2")
	fmt.Fprintf(&edges, "  - {from: h, to: %s}\n", m.pick("END", "END", "h2", "j", "b00"))
	fmt.Fprintf(&edges, "  - {from: h2, to: %s}\n", m.pick("END", "END", "j", "d"))
	if m.IntN(3) == 0 {
		fmt.Fprintf(&edges, "  - {from: j, to: h2, condition: on_failure}\n")
	}
	read("d")
	edges.WriteString("  - {from: j, to: d}\n")
	if m.IntN(4) == 0 {
		edges.WriteString("  - {from: d, to: s, when: visits.d < 2}\n")
	}
	edges.WriteString("  - {from: d, to: END}\n")
	return fmt.Sprintf("graphrun: v1\nname: g\nstart: s\nlimits: {max_steps: 24}\nstate:\n  i: {type: integer, default: 0}\n  ok: {type: boolean, default: false}\n  r: {type: integer, default: 0}\n  k: {type: string}\n  l: {type: string}\npolicies: [POLICY]\nnodes:\n%sedges:\n%s", nodes.String(), edges.String())
}

// named are the nodes of a graph that checks wrote.
func named(text string) []string {
	var out []string
	for line := range strings.Lines(text[strings.Index(text, "nodes:\n"):strings.Index(text, "edges:\n")]) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ": {"); ok {
			out = append(out, name)
		}
	}
	return out
}

// TestSoundOnBypass compares what is said of graphs whose branches fail on the way
// to joins with what their runs do: no claim about a policy is contradicted, no
// bound passed, and nothing is read unwarned before it is written.
func TestSoundOnBypass(t *testing.T) {
	rounds, seed := tries(400)
	m := maker{rand.New(rand.NewPCG(12, seed))}
	var graphs, claims, doubts, missed, kept, bounds, exact, unread, failures int
	for range rounds {
		text := m.checks()
		nodes := named(text)
		node := func() string { return nodes[m.IntN(len(nodes))] }
		policy := ""
		switch m.IntN(6) {
		case 0:
			policy = fmt.Sprintf("{forbid: %s, after: %s}", node(), node())
		case 1:
			policy = fmt.Sprintf("{max_visits: 1, node: %s}", node())
		case 2:
			policy = fmt.Sprintf("{require: %s, before: END}", node())
		default:
			policy = fmt.Sprintf("{require: %s, before: %s}", node(), m.pick("d", "d", "j", "h"))
		}
		// Where everything has a value, no expression ends a run before its policy does.
		valued := strings.NewReplacer("POLICY", policy, "k: {type: string}", "k: {type: string, default: x}", "l: {type: string}", "l: {type: string, default: x}")
		g, ds := spec.Parse("g.yaml", []byte(valued.Replace(text)), spec.Options{})
		if g == nil || append(ds, spec.Check(g)...).HasErrors() {
			continue
		}
		found := lint.Check(g, lint.Options{})
		claim := slices.IndexFunc(found, func(d spec.Diagnostic) bool { return d.Rule == "policy-violated" })
		if slices.ContainsFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Error && d.Rule != "policy-violated" }) {
			continue
		}
		graphs++
		const some = 60
		switch {
		case claim >= 0:
			claims++
			if !m.breaks(t, g) {
				t.Errorf("%s\n%s\nno run does what is claimed: %s", text, policy, found[claim].Message)
			}
		case isDoubted(found):
			doubts++
			if m.runs(t, g, some, func(r *runner.Result) bool { return r.Reason == "policy" }) {
				missed++
			}
		case m.runs(t, g, some, func(r *runner.Result) bool { return r.Reason == "policy" }):
			t.Errorf("%s\n%s\na run breaks the policy, of which nothing is said", text, policy)
		default:
			kept++
		}
		plain, _ := spec.Parse("g.yaml", []byte(strings.Replace(text, "policies: [POLICY]\n", "", 1)), spec.Options{})
		open := openReads(plain, lint.Check(plain, lint.Options{}))
		if len(open) == 0 {
			unread++
		}
		b, ok := lint.Bound(plain, lint.Options{})
		if ok {
			bounds++
		}
		if b.Exact {
			exact++
		}
		m.runs(t, plain, some, func(r *runner.Result) bool {
			steps := float64(r.Steps)
			if r.Status == machine.Completed && (!ok || steps < b.Steps.Min) || ok && steps > b.Steps.Max {
				t.Errorf("%s\na run takes %v steps (%v), claimed from %v to %v", text, steps, r.Path, b.Steps.Min, b.Steps.Max)
				return true
			}
			if r.Error != nil && r.Error.Kind == "expression" {
				failures++
				if !open[r.Error.Node] {
					t.Errorf("%s\n%q fails unwarned: %s\npath %v", text, r.Error.Node, r.Error.Message, r.Path)
					return true
				}
			}
			return false
		})
		if t.Failed() {
			break
		}
	}
	t.Logf("%d graphs: %d violations claimed, %d undecided (%d of them are broken by a run), %d kept; %d bounded, %d of them exactly; %d without a warning of reads, %d runs that failed at one",
		graphs, claims, doubts, missed, kept, bounds, exact, unread, failures)
	if graphs < rounds/4 || claims < graphs/20 || kept < graphs/10 || failures == 0 || unread == 0 {
		t.Error("too little is tried")
	}
}
