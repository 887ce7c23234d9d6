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
	if d.site.failed || !others || f.jumps() || !f.askedBefore(p, n.Index) || !f.stateSpace().complete() {
		return false
	}
	met := false
	for _, s := range f.stateSpace().states {
		if s.at != n.Index {
			continue
		}
		after := s.know.after(n.Index)
		if after == nil {
			continue
		}
		if after.mayCome(d.site, solve.Claim{Tree: p.Tree()}) {
			return false
		}
		met = met || after.mayCome(d.site, solve.Claim{Tree: p.Tree(), Holds: true})
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

// What a node tells of a key.
const (
	asks        = 1 << iota // in a condition, after it has written
	setConstant             // or one of several
	setUnknown
	answered // it is known what toldOnEveryWay says
	told     // and it is true
)

// toldOnEveryWay reports whether whoever comes to a node has passed another one that asks
// for a key in a condition or writes a constant to it, and none since that writes what
// nobody knows. The node itself writes before its conditions are asked.
func (f *facts) toldOnEveryWay(key string, v int) bool {
	tells := f.tellersOf(key)
	if tells[v]&answered != 0 {
		return tells[v]&told != 0
	}
	tells[v] |= answered // which other conditions of the node ask, too
	if f.toldBefore(tells, v) {
		tells[v] |= told
		return true
	}
	return false
}

// toldBefore is toldOnEveryWay, found out by going back from the node, given what each
// node tells of the key.
func (f *facts) toldBefore(tells []byte, v int) bool {
	if tells[v]&(setConstant|setUnknown) != 0 {
		return tells[v]&setUnknown == 0
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
			case p >= f.End || seen[p] || p != v && tells[p]&(asks|setConstant) != 0:
				continue
			case tells[p]&setUnknown != 0:
				return false
			}
			seen[p] = true
			queue = append(queue, p)
		}
	}
	return true
}

// tellersOf says of every node what it tells of a key.
func (f *facts) tellersOf(key string) []byte {
	if f.tellers == nil {
		f.tellers = map[string][]byte{}
	}
	if tells, known := f.tellers[key]; known {
		return tells
	}
	tells := make([]byte, f.End)
	for i, e := range f.bound.Edges {
		if e.When != nil && f.From[i] >= 0 && slices.ContainsFunc(e.When.Reads(), func(r eval.Read) bool { return r.Path[0] == key }) {
			tells[f.From[i]] |= asks
		}
	}
	for _, n := range f.writersOf()[key] {
		tells[n.Index] |= setUnknown
		if value := f.boundWrite(n.Index, key); value != nil {
			if _, constant := scalarsOf(value); constant {
				tells[n.Index] ^= setUnknown | setConstant
			}
		}
	}
	f.tellers[key] = tells
	return tells
}
