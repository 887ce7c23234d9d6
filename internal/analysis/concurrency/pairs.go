// Package concurrency finds the nodes that may run at the same time. It is the
// may-happen-in-parallel analysis of concurrent programs, over pairs of tokens.
package concurrency

import (
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
)

// maxNodes is the most nodes of a graph in which FindPairs follows tokens.
const maxNodes = 1000

// Pairs holds the pairs of vertices at which two tokens of a run may be at once.
type Pairs struct {
	unknown  bool // the graph is too large
	cautious bool // see FindPairs
	size     int
	next     func(int) []int
	// joins marks, for each join, the vertices that can reach it. It is nil at other vertices.
	joins [][]bool
	// forks[p*size+q] is 0, or one more than the fan-out that started p and q if both may run at
	// once. waiting is the same where p is a join that waits for q.
	forks, waiting []int
	todo           [][3]int               // pairs with their fan-out
	noted          map[[3]int]bool        // pairs with a fan-out on a cycle, or with 0 for any other
	again          map[int][]bool         // by fan-out on a cycle: the vertices that it reaches
	within         map[[2]int]map[int]int // by join and fan-out: see runsBefore
	met            []int                  // by join: the fan-out, plus one, of two tokens that became one
}

// Fork returns the fan-out in whose branches two nodes may run at the same time.
func (k *Pairs) Fork(x, y int) (fork int, ok bool) {
	if k.forks == nil {
		return -1, false
	}
	fork = k.forks[x*k.size+y] - 1
	return fork, fork >= 0
}

// MayRunTogether reports whether two nodes may run at the same time.
func (k *Pairs) MayRunTogether(x, y int) bool {
	_, ok := k.Fork(x, y)
	return ok || k.unknown && !k.cautious
}

// Unknown reports whether the graph was too large to follow its tokens.
func (k *Pairs) Unknown() bool { return k.unknown }

// MayMeetAt reports whether two branches may arrive at a join.
func (k *Pairs) MayMeetAt(join int) bool {
	return k.unknown || k.forks != nil && (k.met[join] > 0 || k.forks[join*k.size+join] > 0)
}

// FindPairs follows two tokens from each fan-out. A join releases its token when no other token can
// reach it, and two tokens that meet there become one. If branches start again while a token is still
// between fan-out and join, the join waits for each start separately.
//
// starts reports whether a group can start branches at two of its targets. If starts is nil, answers err
// on the side of yes. Otherwise they err on the side of no: every join waits for the branches that can
// reach it, failures are ignored, and a branch ends where it leads back to its fan-out.
func FindPairs(w *controlflow.Graph, starts func(fork int, g *controlflow.Group, x, y int) bool) *Pairs {
	n := w.End
	switch {
	case w.Anywhere, w.FansOut && n > maxNodes:
		return &Pairs{unknown: true, cautious: starts != nil}
	case !w.FansOut:
		return &Pairs{}
	}
	k := &Pairs{cautious: starts != nil, size: n + 2, next: w.Digraph.Next, joins: make([][]bool, n+2), noted: map[[3]int]bool{}, again: map[int][]bool{}, within: map[[2]int]map[int]int{}, met: make([]int, n+2)}
	if starts != nil {
		k.next = w.NoFailures.Next
	}
	k.forks, k.waiting = make([]int, k.size*k.size), make([]int, k.size*k.size)
	for v, node := range w.Source.Nodes {
		if node.Join != nil && (node.Join.Wait == "all" || starts != nil) || starts != nil && w.Joins[v] {
			k.joins[v] = w.Digraph.Reverse().Reach(v)
		}
	}
	for v, g := range w.AllGroups() {
		if !w.Reached[v] {
			continue
		}
		if len(g.Targets) > 1 && w.Cyclic[v] {
			k.again[v] = w.Digraph.Reach(v)
		}
		for a, x := range g.Targets {
			others := g.Targets[a+1:]
			if g.Subset && g.Kind == controlflow.ByGoto { // which may name a node twice
				others = g.Targets[a:]
			}
			for _, y := range others {
				switch {
				case starts != nil && !starts(v, g, x, y):
				case x == y:
					k.notePair(k.forks, x, y, v+1) // branches don't join where they begin
				default:
					k.addPair(x, y, v+1)
				}
			}
		}
	}
	k.followTokens()
	return k
}

// followTokens moves the tokens until it finds no new pair.
func (k *Pairs) followTokens() {
	for len(k.todo) > 0 {
		at := k.todo[len(k.todo)-1]
		k.todo = k.todo[:len(k.todo)-1]
		p, q, fork := at[0], at[1], at[2]
		if q == fork-1 {
			k.releaseWaiting(q, p)
		}
		if k.forks[p*k.size+q] > 0 { // else p waits
			if p == fork-1 {
				k.releaseWaiting(p, q)
			}
			for _, next := range k.next(p) {
				k.addPair(next, q, fork)
			}
		}
		for _, next := range k.next(q) {
			k.addPair(p, next, fork)
		}
	}
}

// releaseWaiting lets joins run early because a fan-out may start branches while another token is at beside.
func (k *Pairs) releaseWaiting(fork, beside int) {
	reached := k.again[fork]
	if reached == nil {
		return
	}
	for join, reaches := range k.joins {
		if reaches == nil || !reached[join] || join != beside && !reaches[beside] {
			continue
		}
		k.joins[join] = nil
		for q := range k.size {
			from := k.waiting[join*k.size+q]
			if q == join {
				from = max(from, k.met[join])
			}
			if from > 0 {
				k.addPair(join, q, from)
			}
		}
	}
}

// addPair notes that two tokens from a fan-out may be at p and q.
func (k *Pairs) addPair(p, q, fork int) {
	end := k.size - 2
	switch {
	case p == end || q == end || k.cautious && (p == fork-1 || q == fork-1):
	case p == q && k.joins[p] != nil:
		k.met[p] = fork
	case k.joins[p] != nil && k.joins[p][q] && !k.runsBefore(p, q, fork):
		k.notePair(k.waiting, p, q, fork)
	case k.joins[q] != nil && k.joins[q][p]:
		k.notePair(k.waiting, q, p, fork)
	default:
		k.notePair(k.forks, p, q, fork)
		k.forks[q*k.size+p] = k.forks[p*k.size+q]
	}
}

// runsBefore reports whether a join p does not wait for a join q although each can reach the other: the
// fan-out's branches lead from p to q, but from q to p only through the fan-out, where they end.
func (k *Pairs) runsBefore(p, q, fork int) bool {
	if !k.cautious || k.joins[q] == nil || !k.joins[q][p] {
		return false
	}
	reach := func(from, to int) bool {
		at := [2]int{from, fork}
		if k.within[at] == nil {
			k.within[at] = graphalg.Distances(func(v int) []int {
				if v == fork-1 {
					return nil
				}
				return k.next(v)
			}, from)
		}
		_, ok := k.within[at][to]
		return ok
	}
	return reach(p, q) && !reach(q, p)
}

func (k *Pairs) notePair(set []int, p, q, fork int) {
	at, label := p*k.size+q, 0
	if k.again[fork-1] != nil {
		label = fork
	}
	if set[at] == 0 {
		set[at] = fork
	} else if k.noted[[3]int{p, q, label}] {
		return
	}
	k.noted[[3]int{p, q, label}] = true
	k.todo = append(k.todo, [3]int{p, q, fork})
}
