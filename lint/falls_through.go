// Whether a node can be come to with values that none of its conditions is for, after
// what held and was written on the way there.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/solve"
)

// maxPlaces is how many states of the state space are followed for it.
const maxPlaces = 2_000

// fallsThrough asks on every way to a node whether all of its conditions may be false
// there. It gives the values with which a run comes to that, nil where it is not proven
// that one does.
func (f *facts) fallsThrough(d *judgement) (values []solve.Binding, may bool) {
	if f.jumps() || !f.stateSpace().complete() {
		return nil, true
	}
	for i := range f.stateSpace().states {
		s := &f.stateSpace().states[i]
		if s.at != d.site.node.Index {
			continue
		}
		model, possible := s.know.withoutAll(d)
		if may = may || possible; model != nil {
			return model, true
		}
	}
	return nil, may
}

// happensAt reports whether a run is sure to come to a node with a state for which a
// claim over one key holds there.
func (f *facts) happensAt(v int, c solve.Claim) bool {
	if f.jumps() || !f.stateSpace().complete() {
		return false
	}
	for i := range f.stateSpace().states {
		s := &f.stateSpace().states[i]
		if s.at != v || s.know.unsure {
			continue
		}
		there := s.know.clone()
		if there.possible(claim{Claim: c, roots: c.Tree.Args[0].Path[:1]}) && !there.unsure && !there.vague[c.Tree.Args[0].Path[0]] {
			return true
		}
	}
	return false
}

// complete follows all ways, if they are not too many.
func (g *stateSpace) complete() bool {
	for i := 0; i < len(g.states); i++ {
		if g.next(i); g.cut || i >= maxPlaces {
			return false
		}
	}
	return true
}

// jumps reports whether a run may come to a node although no edge fires that leads there:
// when joins fail, or all branches before them.
func (f *facts) jumps() bool {
	for v, n := range f.graph.Nodes {
		if f.failsBypassed(n) || f.flow().FansOut && controlflow.FailurePolicy(f.graph, v) == "wait_all" {
			return true
		}
	}
	return f.joinsAlone()
}

// withoutAll are values with which no condition of a decision holds, after a visit for
// which this is known before; nil where none are sure to be. Not possible when it is
// proven that there are none.
func (k *knowledge) withoutAll(d *judgement) (values []solve.Binding, possible bool) {
	after := k.clone()
	if after.run(d.site.node.Index); after.counts.refused || after.bad {
		return nil, false
	}
	after.leave(d.site.node.Index)
	at := d.site
	domain := func(path []string, typ eval.Type) solve.Domain {
		_, counted := after.counted(path)
		if _, known := after.values[path[0]]; counted || known {
			return after.domain(path, typ)
		}
		out := at.domain(path, typ)
		if key := k.f.graph.Key(path[0]); key != nil && len(path) == 1 && after.filled[path[0]] {
			out.Null = domain.AllowsNull(key.Schema)
		}
		return out
	}
	var claims []solve.Claim
	var roots []string
	for _, p := range d.conditions {
		claims = append(claims, solve.Claim{Tree: p.Tree()})
		for _, r := range p.Reads() {
			roots = append(roots, r.Path[0])
		}
	}
	for i := range after.claims {
		c := &after.claims[i]
		if slices.ContainsFunc(c.roots, func(name string) bool { return k.f.graph.Key(name).Once }) {
			continue
		}
		claims = append(claims, c.Claim)
		if !slices.ContainsFunc(c.roots, func(name string) bool { return slices.Contains(roots, name) }) {
			claims = claims[:len(claims)-1] // of nothing that is asked
		}
	}
	values, possible = k.f.solver.Model(claims, solve.Problem{Domain: domain, Valid: at.valid})
	if after.unsure {
		values = nil
	}
	return asked(values, roots), possible
}

// asked are the values of some roots.
func asked(values []solve.Binding, roots []string) []solve.Binding {
	return slices.DeleteFunc(values, func(b solve.Binding) bool { return !slices.Contains(roots, b.Path[0]) })
}
