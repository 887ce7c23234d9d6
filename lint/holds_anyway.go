// Conditions that hold by what held and was written on every way to them.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/solve"
)

// holdsAnyway reports whether a condition holds however its node was come to, though the
// node has other edges for when it does not.
func (f *facts) holdsAnyway(d *judgement, k int) bool {
	p, n := d.conditions[k], d.site.node
	others := f.hasOtherWay(n) || k+1 < len(d.conditions) && n.Routing != "all"
	if d.site.failed || !others || !f.askedBefore(p, n.Index) || f.jumps() || !f.stateSpace().complete() {
		return false
	}
	met := false
	for _, s := range f.stateSpace().states {
		if s.at != n.Index {
			continue
		}
		if s.know.mayCome(d, solve.Claim{Tree: p.Tree()}) {
			return false
		}
		met = met || s.know.mayCome(d, solve.Claim{Tree: p.Tree(), Holds: true})
	}
	return met
}

// askedBefore reports whether a condition is over state keys only, and conditions of other
// nodes or constants that are written may tell something of one.
func (f *facts) askedBefore(p *eval.Program, v int) bool {
	told := false
	for _, r := range p.Reads() {
		key := f.graph.Key(r.Path[0])
		if key == nil || key.Once {
			return false
		}
		told = told || f.speaksOf(key.Name.Value, v)
	}
	return told
}

// speaksOf reports whether a condition of a node besides v reads a key, or a node writes
// a constant to it.
func (f *facts) speaksOf(key string, v int) bool {
	if f.spokenOf == nil {
		f.spokenOf = map[string][]int{}
		for i, e := range f.bound.Edges {
			if e.When != nil && f.From[i] >= 0 {
				for _, r := range e.When.Reads() {
					f.spokenOf[r.Path[0]] = append(f.spokenOf[r.Path[0]], f.From[i])
				}
			}
		}
		for w := range f.bound.Nodes {
			b := &f.bound.Nodes[w]
			for _, entry := range slices.Concat(b.Set, b.Writes) {
				if _, constant := scalarsOf(&entry.Value); constant {
					f.spokenOf[entry.Name] = append(f.spokenOf[entry.Name], w)
				}
			}
		}
	}
	return slices.ContainsFunc(f.spokenOf[key], func(w int) bool { return w != v })
}
