// Which nodes a rehearsed execution names as its next (GraphSpec §6).

package lint

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// chosen takes the ways that the goto of a node may name: the one that its
// expression comes to, or, when it reads nothing but the result of what the node
// calls, each that the result may be.
func (r *rehearsal) chosen(s *scene, t *standing, groups []controlflow.Group, goOn func(*scene, *controlflow.Group, []int)) {
	p := r.f.bound.Nodes[t.node].Goto
	if p == nil || p.Type().IsList() {
		r.gap(fmt.Sprintf("where %q leads is known at run time only", r.f.Name(t.node)))
		return
	}
	take := func(s *scene, allowed func(label string) bool) {
		for _, end := range r.f.graph.Nodes[t.node].Ends {
			if !allowed(end.Label.Value) {
				continue
			}
			v := r.f.Vertex(end.Target.Value)
			i := slices.IndexFunc(groups, func(g controlflow.Group) bool {
				return g.Kind == controlflow.ByGoto && !g.Subset && slices.Equal(g.Targets, []int{v})
			})
			if i >= 0 {
				goOn(s.clone(), &groups[i], nil)
			}
		}
	}
	if !r.immediate(t.node) && !slices.ContainsFunc(p.Reads(), func(read eval.Read) bool { return read.Path[0] != "output" }) {
		take(s, r.mayYield(t.node, p))
		return
	}
	r.eval(s, p, t, nil, func(s *scene, value any, ok bool) {
		label, is := value.(string)
		if !ok || !is {
			r.gap(fmt.Sprintf("where %q leads is known at run time only", r.f.Name(t.node)))
		}
		if ok && is {
			take(s, func(other string) bool { return other == label })
		}
	})
}

// mayYield tells which texts a part of a node's output may be, as far as that is
// declared; none for what is computed from it.
func (r *rehearsal) mayYield(v int, p *eval.Program) func(label string) bool {
	tree := p.Tree()
	if tree.Op != eval.TreePath {
		r.gap(fmt.Sprintf("where %q leads is known at run time only", r.f.Name(v)))
		return func(string) bool { return false }
	}
	d, known := outputDomain(r.f.graph.Nodes[v], tree.Path[1:])
	return func(label string) bool {
		return !known || d.Values == nil || slices.Contains(d.Values, any(label))
	}
}
