// What policies ask, decided on the graph.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

// policy is one entry of policies: what it asks about, as vertices.
type policy struct {
	index   int       // in Graph.Policies
	at      spec.Text // where findings about it stand
	kind    string    // require, forbid, reach, max_visits, never
	subject int       // the node after the first word; -1 for max_visits and never
	place   int       // the node after the second word
	limit   int       // of max_visits
	never   *eval.Program
}

// policyWords are the first words of policies and the second word of each.
func policyWords() [][2]string {
	return [][2]string{{"require", "before"}, {"forbid", "after"}, {"reach", "from"}, {"max_visits", "node"}, {"never", "at"}}
}

// policies lists the policies whose nodes exist; unknown is called for those
// that don't.
func (f *facts) policies(unknown func(name spec.Text, end bool)) []policy {
	var out []policy
	for i := range f.graph.Policies {
		entry := &f.graph.Policies[i]
		for _, words := range policyWords() {
			first, second := entry.Get(words[0]), entry.Get(words[1])
			if first == nil || second == nil || !first.IsScalar() || second.Kind != spec.String {
				continue
			}
			p := policy{index: i, at: first.Text, kind: words[0], subject: -1, place: f.Vertex(second.Text.Value), never: f.bound.Never[i]}
			ends := words[1] == "before" // END may stand there
			ok := p.place >= 0 && (ends || p.place != f.End)
			if !ok && unknown != nil {
				unknown(second.Text, ends)
			}
			switch words[0] {
			case "max_visits":
				n, isInt := first.Data().(int)
				p.limit, ok = n, ok && isInt && n > 0
			case "never":
			default:
				p.subject = f.Vertex(first.Text.Value)
				ends := words[0] != "require"
				if named := p.subject >= 0 && (ends || p.subject != f.End); !named {
					ok = false
					if unknown != nil {
						unknown(first.Text, ends)
					}
				}
			}
			if ok {
				out = append(out, p)
			}
		}
	}
	return out
}

// wary decides which ways a policy's counter-example may take. Conditions that
// what the policy speaks of may decide are not to be taken for open: the flow
// may be right because of them.
type wary struct {
	f    *facts
	node int // the node that the policy speaks of
	keys map[string]bool
}

// wary collects what a node decides: what it writes, and what is written only
// after it.
func (f *facts) wary(node int) *wary {
	w := &wary{f: f, node: node, keys: map[string]bool{}}
	tree := f.flow().Dominators()
	for v, a := range f.access() {
		if tree.Covers(node, v) {
			for _, x := range a.Writes {
				w.keys[x.Name.Value] = true
			}
		}
	}
	return w
}

// depends reports whether the node may decide a condition.
func (w *wary) depends(p *eval.Program) bool {
	return p != nil && slices.ContainsFunc(p.Reads(), func(r eval.Read) bool {
		switch r.Path[0] {
		case "visits", "nodes", "history", "branches", "inputs":
			return len(r.Path) < 2 || r.Path[1] == w.f.Name(w.node)
		case "step", "last", "visit":
			return true
		}
		return w.keys[r.Path[0]]
	})
}

// open lists the targets that v may lead to, as far as the conditions that the
// policy's node does not decide tell.
func (w *wary) open(v int) []int {
	if v >= len(w.f.graph.Nodes) {
		return nil
	}
	var out []int
	groups := w.f.flow().Groups[v]
	for i := range groups {
		if w.allows(v, &groups[i]) {
			out = append(out, groups[i].Targets...)
		}
	}
	return out
}

// allows reports whether a group of v may be taken for open.
func (w *wary) allows(v int, g *controlflow.Group) bool {
	switch {
	case w.f.isDead(g):
		return false
	case g.Kind == controlflow.ByGoto:
		return !w.depends(w.f.bound.Nodes[v].Goto)
	case g.Kind == controlflow.OnFailure:
		return !w.depends(w.f.bound.Edges[g.Edges[0]].When)
	}
	return !w.cautious(v)
}

// cautious reports whether the policy's node decides a condition at v.
func (w *wary) cautious(v int) bool {
	groups := w.f.flow().Groups[v]
	for i := range groups {
		for _, e := range groups[i].Edges {
			if when := w.f.bound.Edges[e].When; w.depends(when) {
				return true
			}
		}
	}
	return false
}

// isDead reports whether it is proven that a group never fires.
func (f *facts) isDead(g *controlflow.Group) bool {
	if g.Kind == controlflow.ByGoto || g.Kind == controlflow.OnFailure {
		return false
	}
	if f.theDead == nil {
		f.theDead = map[int]bool{}
		for _, d := range f.judgements() {
			f.bury(&d)
		}
	}
	return !slices.ContainsFunc(g.Edges, func(e int) bool { return !f.theDead[e] })
}

// bury notes the edges that never fire by one decision: those whose condition
// never holds before another, and what is left for when none does.
func (f *facts) bury(d *judgement) {
	for i, v := range d.result.Verdicts {
		for _, e := range d.edges[i] {
			f.theDead[e] = v.Never || v.Shadowed
		}
	}
	n := d.site.node
	if d.site.failed || !d.result.Exhaustive || n.OnMaxVisits == "skip" { // what is skipped has no conditions
		return
	}
	for _, g := range f.flow().Groups[n.Index] {
		if g.Kind == controlflow.ByDefault || g.Kind == controlflow.ByDecision {
			for _, e := range g.Edges {
				f.theDead[e] = true
			}
		}
	}
}
