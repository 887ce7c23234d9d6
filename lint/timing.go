// When branches arrive: the supersteps from a fan-out to a vertex, least and most.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

// lengths is how many supersteps lie between two vertices. open counts the
// parts of the way that have no greatest length: cycles, people and waits.
type lengths struct{ least, most, open int }

func (l lengths) plus(m lengths) lengths {
	return lengths{l.least + m.least, l.most + m.most, l.open + m.open}
}

// minus takes away the beginning of a way.
func (l lengths) minus(m lengths) lengths {
	return lengths{l.least - m.least, l.most - m.most, l.open - m.open}
}

// or is the length of one of two ways.
func (l lengths) or(m lengths) lengths {
	return lengths{min(l.least, m.least), max(l.most, m.most), max(l.open, m.open)}
}

// exact reports whether there is one length only.
func (l lengths) exact() bool { return l.open == 0 && l.least == l.most }

// timing holds for each vertex the length of the way to it from the start that
// visits each of its covers once. Differences of two of them along the tree
// are lengths; those of others mean nothing.
type timing struct {
	k   *forks
	pos []lengths
}

// timing computes the lengths in one pass, once.
func (k *forks) timing() *timing {
	if k.times != nil {
		return k.times
	}
	t := &timing{k: k, pos: make([]lengths, k.graph.Len())}
	for _, v := range k.order {
		t.pos[v] = t.into(v)
		if t.repeats(v) {
			t.pos[v].open++
		}
	}
	k.times = t
	return t
}

// repeats reports whether a cycle leads back to v from what v covers.
func (t *timing) repeats(v int) bool {
	return slices.ContainsFunc(t.k.back.Next(v), func(p int) bool { return t.k.tree.Covers(v, p) })
}

// into combines the ways into v.
func (t *timing) into(v int) lengths {
	var out lengths
	waits, first := t.k.waits(v), -1
	for _, p := range t.k.back.Next(v) {
		if !t.k.tree.Reached(p) || t.k.tree.Covers(v, p) {
			continue
		}
		if t.k.place[p] > t.k.place[v] {
			out.open++ // an edge against the order: a cycle of several entrances
			continue
		}
		way := t.end(p)
		switch {
		case first < 0:
			first, way.open = p, way.open+out.open
			out = way
		case waits && t.k.sure(p, first):
			least := max(out.least, way.least)
			out = out.or(way)
			out.least = least
		default:
			out = out.or(way)
		}
	}
	return out
}

// end is the position behind p: a node takes its time, an arm has it in its own.
func (t *timing) end(p int) lengths {
	if p < t.k.first {
		return t.pos[p].plus(t.k.stay(p))
	}
	return t.pos[p]
}

// sure reports whether p and q are in branches that always both start.
func (k *forks) sure(p, q int) bool {
	at, ok := k.together(p, q)
	return ok && !at.perhaps
}

// stay is the time that the node p takes: one superstep, or more where it waits.
func (k *forks) stay(p int) lengths {
	n := k.flow.Source.Nodes[p]
	switch n.Kind.Value {
	case "human", "wait":
		return lengths{1, 1, 1}
	case "set", "pass", "fail", "agent":
		return lengths{1, 1, 0}
	}
	if blocks := n.RetryBlocks(k.flow.Source); blocks != nil && spec.Attempts(blocks) > 1 {
		return lengths{1, 1, 1} // others go on while it waits to be tried again
	}
	return lengths{1, 1, 0}
}

// waits reports whether v runs when the last of its branches has arrived.
func (k *forks) waits(v int) bool {
	if v >= len(k.flow.Source.Nodes) {
		return v == k.flow.End
	}
	join := k.flow.Source.Nodes[v].Join
	return join != nil && join.Wait == "all"
}

// crossing is a pair of edges by which two branches reach one vertex.
type crossing struct {
	left, right         int // where the edges come from: nodes or arms
	at                  parting
	leftTime, rightTime lengths
}

// unequal lists at most the given number of crossings at m whose two branches
// may arrive in different supersteps. Ways that failures take don't count.
func (k *forks) unequal(m, most int) []crossing {
	t := k.timing()
	var in []int
	for _, p := range k.back.Next(m) {
		if k.tree.Reached(p) && !k.tree.Covers(m, p) && k.calmInto(p, m) {
			in = append(in, p)
		}
	}
	const pairs = 16
	var out []crossing
	for i := range in {
		for j := 0; j < i; j++ {
			if i > pairs && j == 1 {
				j = i - 1 // among many, the first and the neighbour stand for all
			}
			at, ok := k.together(in[j], in[i])
			if !ok {
				continue
			}
			l, r := t.since(at.node, in[j]), t.since(at.node, in[i])
			if l.exact() && r.exact() && l == r {
				continue
			}
			if out = append(out, crossing{in[j], in[i], at, l, r}); len(out) == most {
				return out
			}
		}
	}
	return out
}

// since is the length of the way from a branching node through p, to what
// follows it.
func (t *timing) since(fork, p int) lengths { return t.end(p).minus(t.pos[fork]) }

// calmInto reports whether the edge from p, a node or an arm, into m is one
// that a success takes.
func (k *forks) calmInto(p, m int) bool {
	v := p
	if p >= k.first {
		v = k.tree.Parent[p]
	}
	return slices.ContainsFunc(k.flow.Groups[v], func(g controlflow.Group) bool {
		return g.Kind != controlflow.OnFailure && slices.Contains(g.Targets, m)
	})
}

// source is the node that an edge from p, a node or an arm, leaves.
func (k *forks) source(p int) int {
	if p >= k.first {
		return k.tree.Parent[p]
	}
	return p
}
