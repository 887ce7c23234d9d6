// Conditions that hold by what held and was written on every way to them.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// holdsAnyway reports whether a condition holds however its node was come to, though the
// node has other edges for when it does not.
func (f *facts) holdsAnyway(d *judgement, k int) bool {
	p, n := d.conditions[k], d.site.node
	others := f.hasOtherWay(n) || k+1 < len(d.conditions) && n.Routing != "all"
	if d.site.failed || !others || f.jumps() || !f.askedBefore(p, n.Index) || !f.stateSpace().complete() {
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

// askedBefore reports whether a condition is over state keys only, and something tells of
// each on every way to the node. The state space, which answers the question, is too dear
// to be asked about all others.
func (f *facts) askedBefore(p *eval.Program, v int) bool {
	reads := p.Reads()
	return len(reads) > 0 && !slices.ContainsFunc(reads, func(r eval.Read) bool {
		key := f.graph.Key(r.Path[0])
		return key == nil || key.Once || !f.toldOnEveryWay(key.Name.Value, v)
	})
}

// toldOnEveryWay reports whether whoever comes to a node has passed another one that asks
// for a key in a condition or writes a constant to it, and none since that writes what
// nobody knows. The node itself writes before its conditions are asked.
func (f *facts) toldOnEveryWay(key string, v int) bool {
	writers := f.writersOf()[key]
	writes := func(p int) bool {
		return slices.ContainsFunc(writers, func(n *spec.Node) bool { return n.Index == p })
	}
	if writes(v) {
		return f.setsConstant(v, key)
	}
	seen := make([]bool, f.flow().Reverse.Len())
	for queue := []int{v}; len(queue) > 0; {
		at := queue[0]
		queue = queue[1:]
		if at == f.Start() {
			return false
		}
		for _, p := range f.flow().Reverse.Next(at) {
			switch {
			case p >= f.End || seen[p] || p != v && (slices.Contains(f.askers()[key], p) || f.setsConstant(p, key)):
				continue
			case writes(p):
				return false
			}
			seen[p] = true
			queue = append(queue, p)
		}
	}
	return true
}

// setsConstant reports whether a node writes a constant to a key, or one of several.
func (f *facts) setsConstant(v int, key string) bool {
	b := &f.bound.Nodes[v]
	return slices.ContainsFunc(slices.Concat(b.Set, b.Writes), func(entry bind.Field) bool {
		_, constant := scalarsOf(&entry.Value)
		return entry.Name == key && constant
	})
}

// askers are the nodes that ask for a key in a condition, by key.
func (f *facts) askers() map[string][]int {
	if f.theAskers == nil {
		f.theAskers = map[string][]int{}
		for i, e := range f.bound.Edges {
			if e.When != nil && f.From[i] >= 0 {
				for _, r := range e.When.Reads() {
					f.theAskers[r.Path[0]] = append(f.theAskers[r.Path[0]], f.From[i])
				}
			}
		}
	}
	return f.theAskers
}
