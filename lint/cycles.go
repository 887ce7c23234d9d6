// unbounded-cycle: which ways around cycles something bounds. That is a limit of visits, a
// person who is asked, time that passes under a limit, or a condition over something that
// all nodes of the cycle move in one direction.

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/spec"
)

func cycleRules() []Rule {
	return []Rule{
		{
			Name: "unbounded-cycle", Group: "limits", Severity: spec.Warning, needs: needAll,
			Summary: "nothing but max_steps ends a cycle",
			Doc: "A loop that a model's verdict, a program's result or nothing at all decides may go round until max_steps stops the run. " +
				"Bound it on every way around: a guard on the visits of a node on it, on step, or on a counter or a list that all of it only moves towards the guard's limit; a person who is asked on the way, unless a default answers that goes round again; a wait node together with limits.timeout. " +
				"max_visits bounds a node, too, but what it refuses leaves by the failure edges, and what it skips by the edges without a condition: these must not lead round. What programs count is trusted. A cycle is reported only if a run was found that goes round it eight times.",
			Bad: startAt("write") + `models: {default: openai/gpt-6-luna}
limits: {timeout: 10m}
state:
  draft: {type: string, default: ""}
  verdict: {type: string, default: ""}
nodes:
  write: {kind: llm, prompt: "Write about tea.", writes: [draft]}
  judge: {kind: llm, prompt: "OK or BAD? {{ draft }}", writes: [verdict]}
edges:
  - {from: write, to: judge}
  - {from: judge, to: write, when: "verdict startsWith 'BAD'"}
  - {from: judge, to: END}
`,
			change: []string{"'BAD'", "'BAD' and visits.write < 3"},
			check:  checkUnboundedCycle,
		},
	}
}

func checkUnboundedCycle(f *facts) {
	for _, c := range f.freeCycles() {
		if c.endless != nil {
			f.report(f.graph.Nodes[c.first].ID.Span, "nothing is sure to end the cycle %s before max_steps (%d); give it a guard that counts, such as visits.%s < 5",
				f.pathText(c.endless), f.graph.Limits.MaxSteps, f.Name(c.first))
		}
	}
}

// freeCycle is nodes that lead back to themselves without anything that counts.
type freeCycle struct {
	first   int   // of its nodes, in the order of the file
	endless []int // a cycle of them that a run repeated, or nil
}

// freeCycles returns those that the start reaches.
func (f *facts) freeCycles() []freeCycle {
	r := f.openCycles(-1, true)
	if len(r.arcs) == 0 {
		return nil
	}
	free := r.left()
	of, size := free.SCC()
	seen := make([]bool, size)
	var out []freeCycle
	for v := range f.graph.Nodes {
		if !f.flow().Reached[v] || seen[of[v]] {
			continue
		}
		seen[of[v]] = true
		if cycle := cycleThrough(free, v); cycle != nil {
			if !f.goesRound(cycle) {
				cycle = nil
			}
			out = append(out, freeCycle{v, cycle})
		}
	}
	return out
}

const (
	rounds         = 8 // that a run has to go round a cycle before it is called unbounded
	limitlessSteps = 10_000
)

// goesRound reports whether a run was found that repeats a cycle that many times.
func (f *facts) goesRound(cycle []int) bool {
	if i := slices.IndexFunc(cycle, func(v int) bool { return f.graph.Nodes[v].VisitLimit(f.graph) == 0 }); i > 0 {
		cycle = append(cycle[i:len(cycle)-1:len(cycle)-1], cycle[:i+1]...) // refused visits don't count
	}
	v, t := cycle[0], f.limitless()
	return t.plan != nil && explore.Explore(explore.Question{
		Model: t.model, Plan: t.plan, Watch: -1, Guide: f.pathTo(v), Round: cycle[1 : len(cycle)-1], More: v,
		Visits: map[int]int{v: rounds + 1}, Budget: &f.showing, Most: maxShown / 2,
		Found: func(r *explore.Run) bool { return r.Visits(v) > rounds },
	}).Found
}

// cycleArc is a way from a node to another of its cycles, by one of its groups.
type cycleArc struct{ from, to, group int }

// cycles holds the ways around cycles that nothing bounds. Bounded ways are taken away and
// the rest is looked at again, so that an inner cycle may reset what ends it.
type cycles struct {
	f        *facts
	trust    bool
	limit    []int             // of visits, by node; 0 for none
	counters []map[string]bool // by component of the graph: keys that are trusted to end
	arcs     []cycleArc
	of       []int              // component of each vertex among the arcs
	out      map[int][]cycleArc // arcs inside of components, by their beginnings
	why      map[int][]string   // in words, what bounds ways from each node
}

// cyclesKey names the parameters of openCycles.
type cyclesKey struct {
	ignored int
	trust   bool
}

// openCycles returns the cycles that nothing bounds. It ignores max_visits of one node,
// unless that is -1, and may trust that counters of programs end.
func (f *facts) openCycles(ignored int, trust bool) *cycles {
	limit := f.visitLimits()
	if ignored >= 0 && limit[ignored] == 0 {
		ignored = -1
	}
	key := cyclesKey{ignored, trust}
	if known := f.known[key]; known != nil {
		return known
	}
	w := f.flow()
	r := &cycles{f: f, trust: trust, limit: limit, counters: make([]map[string]bool, len(w.SCC)), why: map[int][]string{}}
	if ignored >= 0 {
		limit[ignored] = 0
	}
	if trust {
		r.counters = f.counters()
	}
	for v, groups := range w.Groups {
		for i := range groups {
			for _, t := range groups[i].Targets {
				if w.Cyclic[v] && f.sharesCycle(v, t) && !f.isDead(&groups[i]) {
					r.arcs = append(r.arcs, cycleArc{v, t, i})
				}
			}
		}
	}
	for changed := true; changed; {
		r.of, _ = r.left().SCC()
		r.out = map[int][]cycleArc{}
		for _, a := range r.arcs {
			if r.of[a.from] == r.of[a.to] {
				r.out[a.from] = append(r.out[a.from], a)
			}
		}
		kept := slices.DeleteFunc(slices.Clone(r.arcs), r.isBounded)
		changed = len(kept) < len(r.arcs)
		r.arcs = kept
	}
	f.known[key] = r
	return r
}

// left returns the arcs that are not bounded.
func (r *cycles) left() *graphalg.Digraph {
	from, to := make([]int, len(r.arcs)), make([]int, len(r.arcs))
	for i, a := range r.arcs {
		from[i], to[i] = a.from, a.to
	}
	return graphalg.New(len(r.f.graph.Nodes)+2, from, to)
}

// isBounded reports whether a way can be taken only so often, or lies on no cycle.
func (r *cycles) isBounded(a cycleArc) bool {
	if r.of[a.from] != r.of[a.to] {
		return true
	}
	n, kind := r.f.graph.Nodes[a.from], r.f.flow().Groups[a.from][a.group].Kind
	because := func(why string) bool {
		r.why[a.from] = append(r.why[a.from], why)
		return true
	}
	switch {
	case r.isCounted(a) && n.MaxVisits > 0 && r.limit[a.from] > 0:
		return because(fmt.Sprintf("max_visits %d of %s", n.MaxVisits, n.ID.Value))
	case r.isCounted(a) && r.limit[a.from] > 0:
		return true
	case n.Kind.Value == "human" && (n.Timeout == 0 || n.Field("default") == nil || r.f.defaultLeaves(n)):
		return because("the person asked at " + n.ID.Value)
	case n.Kind.Value == "wait" && r.f.graph.Limits.Timeout > 0:
		return because("limits.timeout, by the time that passes at " + n.ID.Value)
	case kind == controlflow.ByGoto && n.Goto.IsSet() && r.trusts(r.f.bound.Nodes[a.from].Goto, a):
		return because("goto of " + n.ID.Value + ": " + strings.TrimSpace(n.Goto.Value))
	}
	for _, o := range r.f.outcomes(a, r.limit) {
		if r.ends(o.program.Tree(), o.holds, a, r.trusts(o.program, a)) {
			return because(strings.TrimSpace(o.program.Source()))
		}
	}
	return false
}

// trusts reports whether a program reads a trusted counter of the cycles of a way.
func (r *cycles) trusts(p *eval.Program, a cycleArc) bool {
	return p != nil && slices.ContainsFunc(p.Reads(), func(read eval.Read) bool {
		return r.counters[r.f.flow().SCC[a.from]][read.Path[0]]
	})
}

// isCounted reports whether limits count the visit before a way: it is not refused or skipped.
func (r *cycles) isCounted(a cycleArc) bool { return r.f.isCounted(a, r.limit) }

func (f *facts) isCounted(a cycleArc, limit []int) bool {
	uncounted := controlflow.OnFailure
	if f.graph.Nodes[a.from].OnMaxVisits == "skip" {
		uncounted = controlflow.ByDefault
	}
	return limit[a.from] == 0 || f.flow().Groups[a.from][a.group].Kind != uncounted
}

// held is the outcome of a condition.
type held struct {
	program *eval.Program
	holds   bool
}

// outcomes returns the outcomes of the conditions that are tried before a way is taken.
func (f *facts) outcomes(a cycleArc, limit []int) []held {
	groups := f.flow().Groups[a.from]
	g := &groups[a.group]
	if g.Kind == controlflow.ByGoto || g.Kind == controlflow.ByDefault && !f.isCounted(a, limit) {
		return nil
	}
	var out, own []held
	tried := controlflow.ByGuard
	if g.Kind == controlflow.OnFailure {
		tried = controlflow.OnFailure
	}
	for i := range groups[:a.group] {
		if groups[i].Kind != tried || groups[i].Subset && g.Subset {
			continue
		}
		for _, e := range groups[i].Edges {
			if when := f.bound.Edges[e].When; when != nil {
				out = append(out, held{when, false})
			}
		}
	}
	if g.Kind != tried {
		return out
	}
	for _, e := range g.Edges {
		if when := f.bound.Edges[e].When; when != nil && (f.To[e] == a.to || !g.Subset) {
			own = append(own, held{when, true})
		}
	}
	if len(own) == 1 || len(own) > 1 && !g.Subset {
		out = append(out, own[0])
	}
	return out
}

// ends reports whether a condition has an outcome on a way only finitely often. If it is
// trusted, so has each part of it that reads a trusted counter.
func (r *cycles) ends(t *eval.Tree, holds bool, a cycleArc, trusted bool) bool {
	switch {
	case t.Op == eval.TreeUnary && t.Name == "not":
		return r.ends(t.Args[0], !holds, a, trusted)
	case t.Op == eval.TreeBinary && (t.Name == "and" || t.Name == "or"):
		left, right := r.ends(t.Args[0], holds, a, trusted), r.ends(t.Args[1], holds, a, trusted)
		if (t.Name == "and") == holds {
			return left || right
		}
		return left && right
	}
	counted := false
	t.Each(func(part *eval.Tree) {
		counted = counted || trusted && (part.Op == eval.TreeOther || part.Op == eval.TreePath && r.counters[r.f.flow().SCC[a.from]][part.Path[0]])
	})
	if counted || t.Op != eval.TreeBinary || len(t.Args) != 2 {
		return counted
	}
	for i := range 2 {
		op := t.Name
		if i == 1 {
			op = mirrored[op]
		}
		if !holds {
			op = opposite[op]
		}
		if opposite[op] == "" || !r.isFixed(t.Args[1-i], a) {
			continue
		}
		p := r.progressOf(t.Args[i], t.Args[1-i], a)
		if p != nil && (op == "==" || op[0] == '<' && p.up || op[0] == '>' && !p.up || op == "!=" && r.trust) && !r.avoids(a, p) {
			return true
		}
	}
	return false
}

// mirrored maps comparisons to those with their sides swapped, opposite to their negation.
var (
	mirrored = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
	opposite = map[string]string{"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}
)

// avoids reports whether a way lies on a cycle without progress.
func (r *cycles) avoids(a cycleArc, p *progress) bool {
	if p.made(a) {
		return false
	}
	seen := map[int]bool{a.to: true}
	for todo := []int{a.to}; len(todo) > 0; todo = todo[1:] {
		if todo[0] == a.from {
			return true
		}
		for _, b := range r.out[todo[0]] {
			if !seen[b.to] && !p.made(b) {
				seen[b.to] = true
				todo = append(todo, b.to)
			}
		}
	}
	return false
}

// isFixed reports whether a value stays the same on the cycles of a way.
func (r *cycles) isFixed(t *eval.Tree, a cycleArc) bool {
	out := true
	t.Each(func(p *eval.Tree) {
		switch p.Op {
		case eval.TreeOther:
			out = false
		case eval.TreePath:
			key, declared := r.f.keyOf[p.Path[0]]
			out = out && declared && !slices.ContainsFunc(r.f.writersOf()[r.f.graph.State[key].Name.Value], r.isBeside(a))
		}
	})
	return out
}

// isBeside returns whether a node may run between two times that a way is taken: on its
// cycles, or in a branch beside them.
func (r *cycles) isBeside(a cycleArc) func(n *spec.Node) bool {
	return func(n *spec.Node) bool {
		return r.of[n.Index] == r.of[a.from] || r.f.inParallel(n.Index, a.from)
	}
}

// defaultLeaves reports whether the answer for an absent person leads out of the cycles of
// a node: no edge that stays on them fires then.
func (f *facts) defaultLeaves(n *spec.Node) bool {
	answer := n.Field("default").Data()
	env := map[string]any{"output": answer}
	if len(n.Writes.Keys) == 1 {
		env[n.Writes.Keys[0].Value] = answer
	}
	var vm eval.VM
	return !slices.ContainsFunc(f.edgesOut()[n.Index], func(i int) bool {
		if !f.sharesCycle(n.Index, f.To[i]) || f.graph.Edges[i].Condition == "on_failure" {
			return false
		}
		when := f.bound.Edges[i].When
		if when == nil || slices.ContainsFunc(when.Reads(), func(r eval.Read) bool { _, known := env[r.Path[0]]; return !known }) {
			return true
		}
		stays, err := vm.Test(when, env)
		return err != nil || stays
	})
}

// sharesCycle reports whether t is on a cycle through v.
func (f *facts) sharesCycle(v, t int) bool {
	w := f.flow()
	return t < len(f.graph.Nodes) && w.SCC[t] == w.SCC[v]
}

// visitLimits returns the limits of visits by node; 0 for none.
func (f *facts) visitLimits() []int {
	out := make([]int, len(f.graph.Nodes))
	for v, n := range f.graph.Nodes {
		out[v] = n.VisitLimit(f.graph)
	}
	return out
}
