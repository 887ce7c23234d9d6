// Which nodes may be at work at the same time: the may-happen-in-parallel analysis of
// concurrent programs, over pairs of tokens.

package concurrency

import "github.com/graphrun/graphrun/internal/analysis/controlflow"

// mostParallel is how many nodes a graph may have for pairs to be followed; in a larger
// one with branches any two are taken to be.
const mostParallel = 300

// Pairs holds the pairs of vertices at which two tokens of a run may be.
type Pairs struct {
	any   bool // of all is said yes
	size  int
	joins [][]bool // by vertex: who can reach a join of all; nil for other vertices
	// live are the pairs that may run side by side, waiting those of which the first
	// waits at a join for the second, both as p*size+q.
	live, waiting []bool
	todo          [][2]int
	// again are the fan-outs on cycles, with what they reach; met says of joins whether
	// two tokens came to them that became one.
	again map[int][]bool
	met   []bool
}

// Together reports whether two nodes may be at work at the same time, in different
// branches. It errs on the side of yes.
func (k *Pairs) Together(x, y int) bool {
	return k.any || k.live != nil && k.live[x*k.size+y]
}

// NewPairs follows two tokens from each fan-out on. A join of all branches lets its
// token on when no other one can reach it any more; two that meet there become one. But
// where branches are started again beside one that is still to come, or waits, the join
// waits for those of each time apart.
func NewPairs(w *controlflow.Graph) *Pairs {
	n := w.End
	switch {
	case w.Anywhere, w.FansOut && n > mostParallel:
		return &Pairs{any: true}
	case !w.FansOut:
		return &Pairs{}
	}
	k := &Pairs{size: n + 2, joins: make([][]bool, n+2), again: map[int][]bool{}, met: make([]bool, n+2)}
	k.live, k.waiting = make([]bool, k.size*k.size), make([]bool, k.size*k.size)
	for v, node := range w.Source.Nodes {
		if node.Join != nil && node.Join.Wait == "all" {
			k.joins[v] = w.Reverse.Reach(v)
		}
	}
	for v, groups := range w.Groups {
		if !w.Reached[v] {
			continue
		}
		for i := range groups {
			if len(groups[i].Targets) > 1 && w.Cyclic[v] {
				k.again[v] = w.Digraph.Reach(v)
			}
			for a, x := range groups[i].Targets {
				for _, y := range groups[i].Targets[a+1:] {
					k.add(x, y)
				}
			}
		}
	}
	for len(k.todo) > 0 {
		at := k.todo[len(k.todo)-1]
		k.todo = k.todo[:len(k.todo)-1]
		p, q := at[0], at[1]
		k.apart(p, q)
		k.apart(q, p)
		if k.live[p*k.size+q] { // else it waits
			for _, next := range w.Digraph.Next(p) {
				k.add(next, q)
			}
		}
		for _, next := range w.Digraph.Next(q) {
			k.add(p, next)
		}
	}
	return k
}

// apart takes in that branches may be started at a node beside a token at another vertex.
func (k *Pairs) apart(fork, beside int) {
	reached := k.again[fork]
	if reached == nil {
		return
	}
	for join, comes := range k.joins {
		if comes == nil || !reached[join] || join != beside && !comes[beside] {
			continue
		}
		k.joins[join] = nil
		for q := range k.size {
			if k.waiting[join*k.size+q] || q == join && k.met[join] {
				k.add(join, q)
			}
		}
	}
}

// add notes that two tokens may have come to p and q.
func (k *Pairs) add(p, q int) {
	end := k.size - 2
	if p == end || q == end {
		return
	}
	if p == q && k.joins[p] != nil {
		k.met[p] = true
		return
	}
	switch {
	case k.joins[p] != nil && k.joins[p][q]:
		k.note(k.waiting, p, q)
	case k.joins[q] != nil && k.joins[q][p]:
		k.note(k.waiting, q, p)
	default:
		if !k.live[q*k.size+p] {
			k.live[q*k.size+p] = true
			k.note(k.live, p, q)
		}
	}
}

func (k *Pairs) note(set []bool, p, q int) {
	if at := p*k.size + q; !set[at] {
		set[at] = true
		k.todo = append(k.todo, [2]int{p, q})
	}
}
