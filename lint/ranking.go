// Ranking arguments: which ways around cycles a run can take only so often.
//
// A way is ranked when something that only ever grows, or only shrinks, on all the
// cycles that it lies on does so on each of them, and the way is open only up to some
// value. Ranked ways are taken away, and what is left is asked again, so that an inner
// cycle may set back what ends it.

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/solve"
)

// cycleArc is a way from a node to another of its cycles, by one of its groups.
type cycleArc struct{ from, to, group int }

// ranking looks for the arguments.
type ranking struct {
	f     *facts
	limit []int      // of visits, by node; 0 for none
	arcs  []cycleArc // that are left
	all   []cycleArc
	of    []int // component of each vertex among the arcs
	// trust takes it that what programs count ends what it is asked for.
	trust  bool
	counts [][]int // see trusted
	// writers are the nodes that a run may come to and that write a key, by key.
	writers [][]int
	// why says, in words, what ranks ways from each node.
	why map[int][]string
	// arcsOf are the arcs of each component, writersOf the writers of each key in it.
	arcsOf    map[int][]cycleArc
	writersOf map[moveKey][]int
	// without are the components of the arcs of one when those are gone that a progress
	// names; nil for what was asked of one arc only.
	without map[string]map[int]int
	// passed is the node that avoiding is without, see returns; -1 before.
	passed   int
	avoiding []int
	// out and in are the arcs of arcsOf by their beginnings and ends, made when asked for;
	// seenBy is which of the searches has come to a node last.
	out, in  [][]cycleArc
	seenBy   []int
	searches int
	// movements are those that were asked for since the arcs are what they are.
	movements map[moveKey]*movement
}

// rank takes away all ways that are ranked. ignored is a node whose own limit of
// visits does not count, -1 for none.
func (f *facts) rank(ignored int, trust bool) *ranking {
	if ignored >= 0 && f.visitLimits()[ignored] == 0 {
		ignored = -1 // it has no limit
	}
	name := rankingKey{ignored, trust}
	if f.rankings[name] == nil {
		if f.rankings == nil {
			f.rankings = map[rankingKey]*ranking{}
		}
		f.rankings[name] = f.newRanking(ignored, trust)
	}
	return f.rankings[name]
}

// rankingKey names the parameters of rank.
type rankingKey struct {
	ignored int
	trust   bool
}

func (f *facts) newRanking(ignored int, trust bool) *ranking {
	r := &ranking{f: f, limit: f.visitLimits(), trust: trust, why: map[int][]string{}, writers: make([][]int, len(f.graph.State)), passed: -1}
	for v, access := range f.access() {
		for i := range access.Writes {
			if of := &r.writers[access.Writes[i].Key]; f.flow().Reached[v] && !slices.Contains((*of)[max(0, len(*of)-1):], v) {
				*of = append(*of, v)
			}
		}
	}
	if ignored >= 0 {
		r.limit[ignored] = 0
	}
	w := f.flow()
	for v, groups := range w.Groups {
		for i := range groups {
			for _, t := range groups[i].Targets {
				if w.Cyclic[v] && f.inCycle(v, t) && !f.isDead(&groups[i]) {
					r.arcs = append(r.arcs, cycleArc{v, t, i})
				}
			}
		}
	}
	r.all = r.arcs
	if trust {
		r.counts = f.counters(true)
	}
	for changed := true; changed; {
		r.of, _ = r.left().SCC()
		r.begin()
		kept := slices.DeleteFunc(slices.Clone(r.arcs), r.ranked)
		changed = len(kept) < len(r.arcs)
		r.arcs = kept
	}
	return r
}

// begin looks at the arcs that are left.
func (r *ranking) begin() {
	r.without, r.movements = map[string]map[int]int{}, map[moveKey]*movement{}
	r.out, r.in = nil, nil
	r.arcsOf, r.writersOf = map[int][]cycleArc{}, map[moveKey][]int{}
	for _, a := range r.arcs {
		if r.of[a.from] == r.of[a.to] {
			r.arcsOf[r.of[a.from]] = append(r.arcsOf[r.of[a.from]], a)
		}
	}
	for key, writers := range r.writers {
		for _, v := range writers {
			if r.arcsOf[r.of[v]] == nil {
				continue // it lies on no cycle: most nodes of a large graph
			}
			name := moveKey{key: key, of: r.of[v]}
			r.writersOf[name] = append(r.writersOf[name], v)
		}
	}
}

// left has the arcs that are left.
func (r *ranking) left() *graphalg.Digraph { return r.digraph(r.arcs, nil) }

// digraph has some arcs, but for those that gone names.
func (r *ranking) digraph(arcs []cycleArc, gone func(a cycleArc) bool) *graphalg.Digraph {
	from, to := make([]int, 0, len(arcs)), make([]int, 0, len(arcs))
	for _, a := range arcs {
		if gone == nil || !gone(a) {
			from, to = append(from, a.from), append(to, a.to)
		}
	}
	return graphalg.New(len(r.f.graph.Nodes)+2, from, to)
}

// ranked reports whether a way can be taken only so often, or lies on no cycle.
func (r *ranking) ranked(a cycleArc) bool {
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
	c := &counting{f: r.f}
	if r.trust {
		c.keys = r.counts[r.f.flow().SCC[a.from]]
		if kind == controlflow.ByGoto && n.Goto.IsSet() && c.mentions(r.f.bound.Nodes[a.from].Goto) {
			r.because(a, "goto of "+n.ID.Value+": "+strings.TrimSpace(n.Goto.Value))
			return true
		}
	}
	for _, o := range r.outcomes(a) {
		if r.bounds(o.program.Tree(), o.holds, a) || r.trust && c.mentions(o.program) && c.ends(o.program.Tree(), !o.holds) {
			r.because(a, strings.TrimSpace(o.program.Source()))
			return true
		}
	}
	return false
}

func (r *ranking) because(a cycleArc, what string) { r.why[a.from] = append(r.why[a.from], what) }

// counted reports whether the visit that leads to a way is one that limits count:
// not one that is refused, or skipped.
func (r *ranking) counted(a cycleArc) bool {
	kind := r.f.flow().Groups[a.from][a.group].Kind
	if r.f.graph.Nodes[a.from].OnMaxVisits == "skip" {
		return r.limit[a.from] == 0 || kind != controlflow.ByDefault
	}
	return r.limit[a.from] == 0 || kind != controlflow.OnFailure || r.otherFailures(a)
}

// otherFailures reports whether conditions keep a visit that was refused from a way for
// failures.
func (r *ranking) otherFailures(a cycleArc) bool {
	refused := func(path []string) (any, bool) { return "max_visits", slices.Equal(path, []string{"error", "kind"}) }
	return slices.ContainsFunc(r.outcomes(a), func(o held) bool {
		value, known := solve.Partial(o.program.Tree(), refused)
		return known && value != o.holds
	})
}

// held is the outcome of a condition.
type held struct {
	program *eval.Program
	holds   bool
}

// outcomes are those of the conditions that are tried before a way is taken.
func (r *ranking) outcomes(a cycleArc) []held {
	groups := r.f.flow().Groups[a.from]
	g := &groups[a.group]
	if g.Kind == controlflow.ByGoto || g.Kind == controlflow.ByDefault && !r.counted(a) {
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
			if when := r.f.bound.Edges[e].When; when != nil {
				out = append(out, held{when, false})
			}
		}
	}
	if g.Kind != controlflow.ByGuard && g.Kind != controlflow.OnFailure {
		return out
	}
	var own []held
	for _, e := range g.Edges {
		if when := r.f.bound.Edges[e].When; when != nil && (r.f.To[e] == a.to || !g.Subset) {
			own = append(own, held{when, true})
		}
	}
	if !g.Subset && len(own) > 1 || len(own) == 1 {
		out = append(out, own[0])
	}
	return out
}

// bounds reports whether a condition comes out so only finitely often on its way.
func (r *ranking) bounds(t *eval.Tree, holds bool, a cycleArc) bool {
	switch {
	case t.Op == eval.TreeUnary && t.Name == "not":
		return r.bounds(t.Args[0], !holds, a)
	case t.Op != eval.TreeBinary || len(t.Args) != 2:
		return false
	case t.Name == "and" || t.Name == "or":
		left := r.bounds(t.Args[0], holds, a)
		if left && (t.Name == "and") == holds {
			return true
		}
		right := r.bounds(t.Args[1], holds, a)
		switch {
		case left == right || (t.Name == "and") == holds:
			return right
		case left: // the other part may be excluded on the way
			return r.needs(a, t.Args[1], !holds)
		}
		return r.needs(a, t.Args[0], !holds)
	}
	for i := range 2 {
		op := comparison(t.Name, i == 1, holds)
		if op == "" || !r.fixed(t.Args[1-i], a) {
			continue
		}
		p := r.progressOf(t.Args[i], a)
		if p == nil {
			continue
		}
		leaves := p.leaves(op, t.Args[1-i])
		if (leaves || op == "!=" && p.meets(t.Args[1-i])) && !r.goesRound(a, p) && (leaves || r.everywhere(t, holds, a)) {
			return true
		}
	}
	return false
}

// everywhere reports whether all ways on from a node need that outcome of a condition,
// those too that are taken only so often.
func (r *ranking) everywhere(t *eval.Tree, holds bool, a cycleArc) bool {
	return !slices.ContainsFunc(r.all, func(other cycleArc) bool { return other.from == a.from && !r.needs(other, t, holds) })
}

// needs reports whether a way is taken only where a condition has an outcome.
func (r *ranking) needs(a cycleArc, t *eval.Tree, holds bool) bool {
	t, holds = affirmed(t, holds)
	key := t.Key()
	return slices.ContainsFunc(r.outcomes(a), func(o held) bool {
		asked := false
		o.program.Tree().Implied(o.holds, func(part *eval.Tree, outcome bool) {
			if outcome { // x == true does not hold of null either
				part, outcome = affirmed(part, outcome)
			}
			asked = asked || outcome == holds && part.Key() == key
		})
		return asked
	})
}

// affirmed is a condition without not and comparisons with true and false, and the
// outcome that brings about one of its own.
func affirmed(t *eval.Tree, holds bool) (of *eval.Tree, outcome bool) {
	switch {
	case t.Op == eval.TreeUnary && t.Name == "not":
		return affirmed(t.Args[0], !holds)
	case t.Op == eval.TreeBinary && t.Name == "==" && t.Args[0].Op == eval.TreePath && (t.Args[1].Value == true || t.Args[1].Value == false):
		return t.Args[0], holds == (t.Args[1].Value == true)
	}
	return t, holds
}

// fixed reports whether a value stays the same on the cycles of a way.
func (r *ranking) fixed(t *eval.Tree, a cycleArc) bool {
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
