// unbounded-cycle: which cycles nothing bounds. A bound is a limit of visits, a person who
// answers, time that passes under a limit, or a condition over a value that all nodes of the
// cycle move in one direction.

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
		if c.isEndless {
			f.report(f.graph.Nodes[c.path[0]].ID.Span, "nothing is sure to end the cycle %s before max_steps (%d); give it a guard that counts, such as visits.%s < 5",
				f.pathText(c.path), f.graph.Limits.MaxSteps, f.Name(c.path[0]))
		}
	}
}

// freeCycle is a cycle that nothing bounds.
type freeCycle struct {
	path      []int // begins and ends with its first node in the order of the file
	isEndless bool  // a run was found that repeats it
}

// freeCycles returns one for each set of nodes that the start reaches and that nothing
// bounds, in the order of the file.
func (f *facts) freeCycles() []freeCycle {
	free := f.openCycles(-1, true).left()
	of, size := free.SCC()
	seen := make([]bool, size)
	var out []freeCycle
	for v := range f.graph.Nodes {
		if !f.flow().Reached[v] || seen[of[v]] {
			continue
		}
		seen[of[v]] = true
		if path := cycleThrough(free, v); path != nil {
			out = append(out, freeCycle{path, f.repeats(path)})
		}
	}
	return out
}

const (
	rounds         = 8 // that a run has to go round a cycle before it is called unbounded
	limitlessSteps = 10_000
)

// repeats reports whether a run was found that goes round a cycle that many times.
func (f *facts) repeats(cycle []int) bool {
	if i := slices.IndexFunc(cycle, func(v int) bool { return f.graph.Nodes[v].VisitLimit(f.graph) == 0 }); i > 0 {
		cycle = slices.Concat(cycle[i:len(cycle)-1], cycle[:i+1]) // refused visits don't count
	}
	v, t := cycle[0], f.limitless()
	return t.plan != nil && explore.Explore(explore.Question{
		Model: t.model, Plan: t.plan, Watch: -1, Guide: f.pathTo(v), Round: cycle[1 : len(cycle)-1], More: v,
		Visits: map[int]int{v: rounds + 1}, Budget: &f.showing, Most: maxShown / 2,
		Found: func(r *explore.Run) bool { return r.Visits(v) > rounds },
	}).Found
}

// cycleArc leads from a node to another node of a common cycle, by one of its groups.
type cycleArc struct{ from, to, group int }

// cycles holds the arcs of cycles that nothing bounds.
type cycles struct {
	f       *facts
	ignored int  // the node whose visits no limit counts, or -1
	trust   bool // that counters of programs end
	arcs    []cycleArc
	of      []int              // component of each vertex among the arcs
	out     map[int][]cycleArc // arcs inside of components, by their beginnings
	why     map[int][]string   // by node: what bounds its arcs, in words
}

// openCycles returns the cycles that nothing bounds. It ignores max_visits of one node,
// unless that is -1, and may trust that counters of programs end. It removes bounded arcs
// until no other is found, because an inner cycle may reset what ends it.
func (f *facts) openCycles(ignored int, trust bool) *cycles {
	r := &cycles{f: f, ignored: ignored, trust: trust, why: map[int][]string{}}
	for v, groups := range f.flow().Groups {
		for i := range groups {
			for _, t := range groups[i].Targets {
				if f.flow().Cyclic[v] && f.sharesCycle(v, t) && !f.isDead(&groups[i]) {
					r.arcs = append(r.arcs, cycleArc{v, t, i})
				}
			}
		}
	}
	for before := -1; before != len(r.arcs); {
		before = len(r.arcs)
		r.of, _ = r.left().SCC()
		r.out = map[int][]cycleArc{}
		for _, a := range r.arcs {
			if r.of[a.from] == r.of[a.to] {
				r.out[a.from] = append(r.out[a.from], a)
			}
		}
		var open []cycleArc
		for _, a := range r.arcs {
			why, bounded := r.bound(a)
			if why != "" {
				r.why[a.from] = append(r.why[a.from], why)
			}
			if !bounded {
				open = append(open, a)
			}
		}
		r.arcs = open
	}
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

// bound reports whether a run can follow an arc only so often, and why, in words or "".
func (r *cycles) bound(a cycleArc) (why string, bounded bool) {
	n, f := r.f.graph.Nodes[a.from], r.f
	switch {
	case r.of[a.from] != r.of[a.to]:
		return "", true
	case r.limit(a.from) > 0 && r.isCounted(a):
		if n.MaxVisits > 0 {
			why = fmt.Sprintf("max_visits %d of %s", n.MaxVisits, n.ID.Value)
		}
		return why, true
	case n.Kind.Value == "human" && (n.Timeout == 0 || n.Field("default") == nil || f.defaultLeaves(n)):
		return "the person asked at " + n.ID.Value, true
	case n.Kind.Value == "wait" && f.graph.Limits.Timeout > 0:
		return "limits.timeout, by the time that passes at " + n.ID.Value, true
	case r.kind(a) == controlflow.ByGoto && n.Goto.IsSet() && r.readsCounter(f.bound.Nodes[a.from].Goto, a):
		return "goto of " + n.ID.Value + ": " + strings.TrimSpace(n.Goto.Value), true
	}
	for _, o := range f.outcomes(a.from, a.group, a.to) {
		if r.ends(o.program.Tree(), o.holds, a, r.readsCounter(o.program, a)) {
			return strings.TrimSpace(o.program.Source()), true
		}
	}
	return "", false
}

// limit returns the limit of a node's visits; 0 for none.
func (r *cycles) limit(v int) int {
	if v == r.ignored {
		return 0
	}
	return r.f.graph.Nodes[v].VisitLimit(r.f.graph)
}

// kind returns the kind of the group of an arc.
func (r *cycles) kind(a cycleArc) controlflow.Kind { return r.f.flow().Groups[a.from][a.group].Kind }

// isCounted reports whether limits count the visit before an arc: it is not refused or skipped.
func (r *cycles) isCounted(a cycleArc) bool {
	return r.limit(a.from) == 0 || r.kind(a) != uncounted(r.f.graph.Nodes[a.from])
}

// uncounted returns the kind of the groups that fire when the visits of a node are used up.
func uncounted(n *spec.Node) controlflow.Kind {
	if n.OnMaxVisits == "skip" {
		return controlflow.ByDefault
	}
	return controlflow.OnFailure
}

// held is the outcome of a condition.
type held struct {
	program *eval.Program
	holds   bool
}

// outcomes returns how the conditions came out if a group of a node leads to a vertex.
func (f *facts) outcomes(v, group, to int) (out []held) {
	groups, n := f.flow().Groups[v], f.graph.Nodes[v]
	g := &groups[group]
	isSkip := g.Kind == controlflow.ByDefault && uncounted(n) == g.Kind && n.VisitLimit(f.graph) > 0
	if g.Kind == controlflow.ByGoto || isSkip {
		return nil
	}
	tried := controlflow.ByGuard
	if g.Kind == controlflow.OnFailure {
		tried = g.Kind
	}
	for i := range groups[:group+1] {
		if groups[i].Kind != tried || i < group && groups[i].Subset && g.Subset {
			continue
		}
		var own []held
		for _, e := range groups[i].Edges {
			if when := f.bound.Edges[e].When; when != nil && (i < group || f.To[e] == to || !g.Subset) {
				own = append(own, held{when, i == group})
			}
		}
		if i == group && len(own) > 1 && g.Subset {
			own = nil // either of them may have led there
		}
		out = append(out, own...)
	}
	return out
}

// ends reports whether a condition has an outcome at an arc only finitely often. Trusted says
// that it reads a counter of programs: parts that can't be analysed are trusted to end, too.
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
		counted = counted || trusted && part.Op == eval.TreeOther || part.Op == eval.TreePath && r.mayCount(part.Path[0], a)
	})
	if counted || t.Op != eval.TreeBinary || len(t.Args) != 2 {
		return counted
	}
	for i, op := range []string{t.Name, mirrored[t.Name]} {
		if !holds {
			op = opposite[op]
		}
		if opposite[op] == "" || !r.isFixed(t.Args[1-i], a) {
			continue
		}
		p := r.progressOf(t.Args[i], a)
		if p != nil && (op == "==" || op[0] == '<' && p.up || op[0] == '>' && !p.up || op == "!=" && r.trust) && p.passes(op, t.Args[1-i]) && !r.avoids(a, p) {
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

// avoids reports whether an arc lies on a cycle without progress.
func (r *cycles) avoids(a cycleArc, p *progress) bool {
	next := func(v int) (out []int) {
		for _, b := range r.out[v] {
			if !p.made(b) {
				out = append(out, b.to)
			}
		}
		return out
	}
	return !p.made(a) && graphalg.Path(next, a.to, a.from) != nil
}

// isFixed reports whether a value stays the same on the cycles of an arc.
func (r *cycles) isFixed(t *eval.Tree, a cycleArc) bool {
	fixed := true
	t.Each(func(p *eval.Tree) {
		switch p.Op {
		case eval.TreeOther:
			fixed = false
		case eval.TreePath:
			key := r.f.graph.Key(p.Path[0])
			fixed = fixed && key != nil && !slices.ContainsFunc(r.f.writersBeside(a.from, key.Name.Value), r.isBeside(a))
		}
	})
	return fixed
}

// isBeside returns a predicate: may a node run on the cycles of an arc, or in a branch
// beside them?
func (r *cycles) isBeside(a cycleArc) func(n *spec.Node) bool {
	return func(n *spec.Node) bool {
		return r.of[n.Index] == r.of[a.from] || r.f.inParallel(n.Index, a.from)
	}
}

// loopKey is a strongly connected component and a state key that its nodes write.
type loopKey struct {
	component int
	name      string
}

// findLooped groups the writers of state keys by component.
func (f *facts) findLooped() map[loopKey][]*spec.Node {
	out := map[loopKey][]*spec.Node{}
	for name, nodes := range f.writersOf() { //lint:ignore mapiter each by itself
		for _, n := range nodes {
			at := loopKey{f.flow().SCC[n.Index], name}
			out[at] = append(out[at], n)
		}
	}
	return out
}

// writersBeside returns the nodes that may write a key on the cycles of a node, and in a graph
// with branches all others, too.
func (f *facts) writersBeside(v int, name string) []*spec.Node {
	if f.flow().FansOut {
		return f.writersOf()[name]
	}
	return f.looped()[loopKey{f.flow().SCC[v], name}]
}

// readsCounter reports whether a program reads a state key that programs may count with.
func (r *cycles) readsCounter(p *eval.Program, a cycleArc) bool {
	return p != nil && slices.ContainsFunc(p.Reads(), func(read eval.Read) bool { return r.mayCount(read.Path[0], a) })
}

// mayCount reports whether a state key is trusted to count on the cycles of an arc: a program
// writes it there.
func (r *cycles) mayCount(name string, a cycleArc) bool {
	f := r.f
	key, declared := f.keyOf[name]
	return r.trust && declared && slices.ContainsFunc(f.writersBeside(a.from, name), func(n *spec.Node) bool {
		return f.sharesCycle(a.from, n.Index) && f.counts(n, key)
	})
}

// defaultLeaves reports whether the answer for an absent person leads out of the cycles of
// a node: no edge that stays on them fires then.
func (f *facts) defaultLeaves(n *spec.Node) bool {
	answer := n.Field("default").Data()
	env := map[string]any{"output": answer}
	if len(n.Writes.Keys) == 1 {
		env[n.Writes.Keys[0].Value] = answer
	}
	isUnknown := func(r eval.Read) bool { _, known := env[r.Path[0]]; return !known }
	return !slices.ContainsFunc(f.edgesOut()[n.Index], func(i int) bool {
		when := f.bound.Edges[i].When
		switch {
		case !f.sharesCycle(n.Index, f.To[i]) || f.graph.Edges[i].Condition == "on_failure":
			return false
		case when == nil || slices.ContainsFunc(when.Reads(), isUnknown):
			return true
		}
		stays, err := new(eval.VM).Test(when, env)
		return err != nil || stays
	})
}

// sharesCycle reports whether t is on a cycle through v.
func (f *facts) sharesCycle(v, t int) bool {
	w := f.flow()
	return t < len(f.graph.Nodes) && w.SCC[t] == w.SCC[v]
}
