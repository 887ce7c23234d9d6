package lint_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// assignments writes random graphs whose nodes write and read keys that have
// no value at first, over loops, branches and joins.
func assignments(m maker) string {
	n := 3 + m.IntN(5)
	var b strings.Builder
	b.WriteString("graphrun: v1\nname: g\nstart: n0\nlimits: {max_steps: 14}\nstate:\n  i: {type: integer, minimum: 0, maximum: 3, required: true}\n  ok: {type: boolean, required: true}\n  r: {type: string, default: \"\"}\n  k: {type: string}\n  l: {type: string}\nnodes:\n")
	for v := range n {
		extra := ""
		if v > 0 && m.IntN(4) == 0 {
			extra = m.pick(", join: {wait: all}", ", join: {wait: all}", ", join: {wait: any}")
		}
		switch m.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "  n%d: {kind: set, set: {%s: \"'x'\"}%s}\n", v, m.pick("k", "l"), extra)
		case 1:
			fmt.Fprintf(&b, "  n%d: {kind: pass, before: {r: len(%s)}%s}\n", v, m.pick("k", "l"), extra)
		default:
			fmt.Fprintf(&b, "  n%d: {kind: pass%s}\n", v, extra)
		}
	}
	b.WriteString("edges:\n")
	for v := range n {
		m.edges(&b, v, n, true)
	}
	return strings.ReplaceAll(b.String(), "c == '", "string(i) == '")
}

// TestSoundAssignment runs random graphs on every input: a node that fails
// because a key has no value must have a finding, and so must a node that
// never runs or runs out of steps.
func TestSoundAssignment(t *testing.T) {
	t.Parallel()
	rounds, seed := tries(66, 200)
	m := maker{rand.New(rand.NewPCG(4, seed-5))}
	var graphs, failures, warned, silent, shown int
	for range rounds {
		text := strings.ReplaceAll(assignments(m), "c != '", "string(i) != '")
		g, found := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if append(found, spec.Check(g)...).HasErrors() {
			continue
		}
		found = lint.Check(g, lint.Options{})
		if found.HasErrors() {
			continue
		}
		r, err := runner.New(runner.Config{})
		if err != nil {
			t.Fatal(err)
		}
		flow, err := r.Prepare(g)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		graphs++
		open := openReads(g, found)
		warned += len(open)
		claimed := claimedReads(g, found)
		shown += len(claimed)
		for _, given := range []map[string]any{{}, {"k": "x"}, {"l": "x"}} {
			if len(given) > 0 && len(claimed) == 0 {
				continue
			}
			for i := range 8 {
				in := maps.Clone(given)
				in["i"], in["ok"] = i%4, i < 4
				result, err := flow.Run(context.Background(), runner.Options{Input: in})
				if err != nil {
					t.Fatal(err)
				}
				if result.Error == nil || result.Error.Kind != "expression" {
					continue
				}
				failures++
				delete(claimed, result.Error.Node)
				if !open[result.Error.Node] {
					t.Fatalf("%s\n%v: %q fails unwarned: %s\npath %v", text, in, result.Error.Node, result.Error.Message, result.Path)
				}
			}
		}
		for node, message := range claimed {
			t.Errorf("%s\nno run fails at %q as is claimed: %s", text, node, message)
		}
		if len(open) == 0 {
			silent++
		}
	}
	t.Logf("%d graphs, %d of them without a warning; %d nodes warned of, %d of them shown by a run, %d failed runs", graphs, silent, warned, shown, failures)
	if graphs < rounds/10 || failures < graphs/10 || silent < graphs/10 {
		t.Error("too little is tried")
	}
}

// claimedReads returns the nodes where findings claim that a run reads a variable before it is
// written.
func claimedReads(g *spec.Graph, found spec.Diagnostics) map[string]string {
	out := map[string]string{}
	for _, d := range found {
		for _, n := range g.Nodes {
			if d.Rule == "read-before-write" && strings.Contains(d.Message, " is not ") && n.Span.From <= d.Span.From && d.Span.To <= n.Span.To {
				out[n.ID.Value] = d.Message
			}
		}
	}
	return out
}

// openReads returns the nodes with findings about reads.
func openReads(g *spec.Graph, found spec.Diagnostics) map[string]bool {
	out := map[string]bool{}
	for _, d := range found {
		if d.Rule != "read-before-write" && d.Rule != "parallel-conflict" {
			continue
		}
		for _, n := range g.Nodes {
			if n.Span.From <= d.Span.From && d.Span.To <= n.Span.To {
				out[n.ID.Value] = true
			}
		}
	}
	return out
}
