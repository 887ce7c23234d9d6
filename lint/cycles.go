// Cycles: which ways around them something bounds. That is a limit of visits, a person who is
// asked, time that passes under a limit, or a condition over something that all nodes of the
// cycle move in one direction.

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// cycleArc is a way from a node to another of its cycles, by one of its groups.
type cycleArc struct{ from, to, group int }

// cycles are the ways around cycles that nothing bounds. Bounded ways are taken away and
// what is left is asked again, so that an inner cycle may reset what ends it.
type cycles struct {
	f     *facts
	limit []int // of visits, by node; 0: none
	// trust assumes that what programs count comes to an end.
	trust  bool
	counts []map[string]bool // by component of the graph, see counters
	arcs   []cycleArc
	of     []int              // component of each vertex among the arcs
	out    map[int][]cycleArc // arcs inside of components, by their beginnings
	// why says, in words, what bounds ways from each node.
	why map[int][]string
}

// cyclesKey names the parameters of openCycles.
type cyclesKey struct {
	ignored int
	trust   bool
}

// openCycles returns the cycles that nothing bounds. ignored is a node whose max_visits is
// ignored, or -1.
func (f *facts) openCycles(ignored int, trust bool) *cycles {
	if ignored >= 0 && f.visitLimits()[ignored] == 0 {
		ignored = -1 // it has no limit
	}
	key := cyclesKey{ignored, trust}
	if known := f.cycles[key]; known != nil {
		return known
	}
	r := &cycles{f: f, limit: f.visitLimits(), trust: trust, why: map[int][]string{}}
	if ignored >= 0 {
		r.limit[ignored] = 0
	}
	if trust {
		r.counts = f.counters()
	}
	w := f.flow()
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
		kept := slices.DeleteFunc(slices.Clone(r.arcs), r.bounded)
		changed = len(kept) < len(r.arcs)
		r.arcs = kept
	}
	if f.cycles == nil {
		f.cycles = map[cyclesKey]*cycles{}
	}
	f.cycles[key] = r
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

// bounded reports whether a way can be taken only so often, or lies on no cycle.
func (r *cycles) bounded(a cycleArc) bool {
	if r.of[a.from] != r.of[a.to] {
		return true
	}
	n, kind := r.f.graph.Nodes[a.from], r.f.flow().Groups[a.from][a.group].Kind
	if r.counted(a) && r.limit[a.from] > 0 {
		if n.MaxVisits > 0 {
			r.because(a, fmt.Sprintf("max_visits %d of %s", n.MaxVisits, n.ID.Value))
		}
		return true
	}
	if what := r.f.passesTime(n); what != "" {
		r.because(a, what)
		return true
	}
	if kind == controlflow.ByGoto && n.Goto.IsSet() && r.trusts(r.f.bound.Nodes[a.from].Goto, a) {
		r.because(a, "goto of "+n.ID.Value+": "+strings.TrimSpace(n.Goto.Value))
		return true
	}
	for _, o := range r.f.outcomes(a, r.limit) {
		if r.ends(o.program.Tree(), o.holds, a, r.trusts(o.program, a)) {
			r.because(a, strings.TrimSpace(o.program.Source()))
			return true
		}
	}
	return false
}

// trusts reports whether a program reads what programs count on the cycles of a way.
func (r *cycles) trusts(p *eval.Program, a cycleArc) bool {
	return r.trust && p != nil && slices.ContainsFunc(p.Reads(), func(read eval.Read) bool {
		return r.counts[r.f.flow().SCC[a.from]][read.Path[0]]
	})
}

func (r *cycles) because(a cycleArc, what string) { r.why[a.from] = append(r.why[a.from], what) }

// counted reports whether the visit that leads to a way is one that limits count:
// not one that is refused, or skipped.
func (r *cycles) counted(a cycleArc) bool {
	kind := r.f.flow().Groups[a.from][a.group].Kind
	if r.f.graph.Nodes[a.from].OnMaxVisits == "skip" {
		return r.limit[a.from] == 0 || kind != controlflow.ByDefault
	}
	return r.limit[a.from] == 0 || kind != controlflow.OnFailure || r.otherFailures(a)
}

// otherFailures reports whether conditions keep a visit that was refused from a way for
// failures.
func (r *cycles) otherFailures(a cycleArc) bool {
	return slices.ContainsFunc(r.f.outcomes(a, r.limit), func(o held) bool {
		value, known := solve.Partial(o.program.Tree(), refusal)
		return known && value != o.holds
	})
}

// held is the outcome of a condition.
type held struct {
	program *eval.Program
	holds   bool
}

// outcomes returns those of the conditions that are tried before a way is taken.
func (f *facts) outcomes(a cycleArc, limit []int) []held {
	groups := f.flow().Groups[a.from]
	g := &groups[a.group]
	if g.Kind == controlflow.ByGoto || g.Kind == controlflow.ByDefault && !(&cycles{f: f, limit: limit}).counted(a) {
		return nil
	}
	out := make([]held, 0, a.group+1)
	tried := controlflow.ByGuard
	if g.Kind == controlflow.OnFailure {
		tried = controlflow.OnFailure
	}
	for i := range groups {
		if i >= a.group {
			break
		}
		if groups[i].Kind != tried || groups[i].Subset && g.Subset {
			continue
		}
		for _, e := range groups[i].Edges {
			if when := f.bound.Edges[e].When; when != nil {
				out = append(out, held{when, false})
			}
		}
	}
	if g.Kind != controlflow.ByGuard && g.Kind != controlflow.OnFailure {
		return out
	}
	var own []held
	for _, e := range g.Edges {
		if when := f.bound.Edges[e].When; when != nil && (f.To[e] == a.to || !g.Subset) {
			own = append(own, held{when, true})
		}
	}
	if !g.Subset && len(own) > 1 || len(own) == 1 {
		out = append(out, own[0])
	}
	return out
}

// ends reports whether a condition has an outcome on a way only finitely often. If it is
// trusted, so has each part of it that reads what programs count.
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
		counted = counted || trusted && (part.Op == eval.TreeOther || part.Op == eval.TreePath && r.counts[r.f.flow().SCC[a.from]][part.Path[0]])
	})
	if counted || t.Op != eval.TreeBinary || len(t.Args) != 2 {
		return counted
	}
	for i := range 2 {
		op := comparison(t.Name, i == 1, holds)
		if op == "" || !r.fixed(t.Args[1-i], a) {
			continue
		}
		if p := r.progressOf(t.Args[i], a); p != nil && (p.leaves(op, t.Args[1-i]) || r.trust && op == "!=" && p.edge == nil) && !r.avoids(a, p) {
			return true
		}
	}
	return false
}

// avoids reports whether a way lies on a cycle on which something makes no progress.
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

// fixed reports whether a value stays the same on the cycles of a way.
func (r *cycles) fixed(t *eval.Tree, a cycleArc) bool {
	out := true
	t.Each(func(p *eval.Tree) {
		switch p.Op {
		case eval.TreeOther:
			out = false
		case eval.TreePath:
			key, declared := r.f.keyOf[p.Path[0]]
			out = out && declared && !slices.ContainsFunc(r.f.writersOf()[r.f.graph.State[key].Name.Value], r.beside(a))
		}
	})
	return out
}

// passesTime says why a cycle can't go round for ever through a node: a person is
// asked there who has all the time there is, or time passes of which the run has only
// so much; "" when neither is so.
func (f *facts) passesTime(n *spec.Node) string {
	switch {
	case n.Kind.Value == "human" && (n.Timeout == 0 || n.Field("default") == nil || f.defaultLeaves(n)):
		return "the person asked at " + n.ID.Value
	case n.Kind.Value == "wait" && f.graph.Limits.Timeout > 0:
		return "limits.timeout, by the time that passes at " + n.ID.Value
	}
	return ""
}

// defaultLeaves reports whether the answer for an absent person leads out of the cycles
// of a node: no edge that stays on them fires then.
func (f *facts) defaultLeaves(n *spec.Node) bool {
	answer := n.Field("default").Data()
	env := map[string]any{"output": answer}
	if len(n.Writes.Keys) == 1 {
		env[n.Writes.Keys[0].Value] = answer
	}
	var vm eval.VM
	for i, e := range f.graph.Edges {
		if e.From.Value != n.ID.Value || !f.sharesCycle(n.Index, f.flow().To[i]) || e.Condition == "on_failure" {
			continue
		}
		when := f.bound.Edges[i].When
		if when == nil || slices.ContainsFunc(when.Reads(), func(r eval.Read) bool { _, known := env[r.Path[0]]; return !known }) {
			return false
		}
		if stays, err := vm.Test(when, env); err != nil || stays {
			return false
		}
	}
	return true
}

// sharesCycle reports whether t is on a cycle through v.
func (f *facts) sharesCycle(v, t int) bool {
	w := f.flow()
	return t < len(f.graph.Nodes) && w.SCC[t] == w.SCC[v]
}

// visitLimits returns the limits of visits by node; 0: none.
func (f *facts) visitLimits() []int {
	out := make([]int, len(f.graph.Nodes))
	for v, n := range f.graph.Nodes {
		out[v] = n.VisitLimit(f.graph)
	}
	return out
}
