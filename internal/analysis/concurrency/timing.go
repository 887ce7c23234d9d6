// When branches arrive: the supersteps from a fan-out to a vertex, least and most.

package concurrency

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

// Lengths is how many supersteps lie between two vertices. open counts the
// parts of the way that have no greatest length: cycles, people and waits.
type Lengths struct{ Least, Most, Open int }

func (l Lengths) plus(m Lengths) Lengths {
	return Lengths{l.Least + m.Least, l.Most + m.Most, l.Open + m.Open}
}

// minus takes away the beginning of a way.
func (l Lengths) minus(m Lengths) Lengths {
	return Lengths{l.Least - m.Least, l.Most - m.Most, l.Open - m.Open}
}

// or is the length of one of two ways.
func (l Lengths) or(m Lengths) Lengths {
	return Lengths{min(l.Least, m.Least), max(l.Most, m.Most), max(l.Open, m.Open)}
}

// Exact reports whether there is one length only.
func (l Lengths) Exact() bool { return l.Open == 0 && l.Least == l.Most }

// timing holds for each vertex the length of the way to it from the start that
// visits each of its covers once. Differences of two of them along the tree
// are lengths; those of others mean nothing.
type timing struct {
	k   *Branches
	pos []Lengths
}

// timing computes the lengths in one pass, once.
func (k *Branches) timing() *timing {
	if k.times != nil {
		return k.times
	}
	t := &timing{k: k, pos: make([]Lengths, k.Split.Len())}
	for _, v := range k.Order {
		t.pos[v] = t.into(v)
		if t.repeats(v) {
			t.pos[v].Open++
		}
	}
	k.times = t
	return t
}

// repeats reports whether a cycle leads back to v from what v covers.
func (t *timing) repeats(v int) bool {
	return slices.ContainsFunc(t.k.back.Next(v), func(p int) bool { return t.k.Dominators.Covers(v, p) })
}

// into combines the ways into v.
func (t *timing) into(v int) Lengths {
	var out Lengths
	waits, first := t.k.Waits(v), -1
	for _, p := range t.k.back.Next(v) {
		if !t.k.Dominators.Reached(p) || t.k.Dominators.Covers(v, p) {
			continue
		}
		if t.k.place[p] > t.k.place[v] {
			out.Open++ // an edge against the order: a cycle of several entrances
			continue
		}
		way := t.end(p)
		switch {
		case first < 0:
			first, way.Open = p, way.Open+out.Open
			out = way
		case waits && t.k.sure(p, first):
			least := max(out.Least, way.Least)
			out = out.or(way)
			out.Least = least
		default:
			out = out.or(way)
		}
	}
	return out
}

// end is the position behind p: a node takes its time, an arm has it in its own.
func (t *timing) end(p int) Lengths {
	if p < t.k.first {
		return t.pos[p].plus(t.k.Stay(p))
	}
	return t.pos[p]
}

// sure reports whether p and q are in branches that always both start.
func (k *Branches) sure(p, q int) bool {
	at, ok := k.Together(p, q)
	return ok && !at.Optional
}

// Stay is the time that the node p takes: one superstep, or more where it waits.
func (k *Branches) Stay(p int) Lengths {
	n := k.Flow.Source.Nodes[p]
	switch n.Kind.Value {
	case "human", "wait":
		return Lengths{1, 1, 1}
	case "set", "pass", "fail", "agent":
		return Lengths{1, 1, 0}
	}
	if blocks := n.RetryBlocks(k.Flow.Source); blocks != nil && spec.Attempts(blocks) > 1 {
		return Lengths{1, 1, 1} // others go on while it waits to be tried again
	}
	return Lengths{1, 1, 0}
}

// Waits reports whether v runs when the last of its branches has arrived.
func (k *Branches) Waits(v int) bool {
	if v >= len(k.Flow.Source.Nodes) {
		return v == k.Flow.End
	}
	join := k.Flow.Source.Nodes[v].Join
	return join != nil && (join.Wait == "all" || join.Wait == "N" && join.Count == k.started())
}

// started is how many branches there can be, where only one node starts any, once; 0 for
// more.
func (k *Branches) started() int {
	arms := 0
	for v, groups := range k.Flow.Groups {
		for i := range groups {
			if g := &groups[i]; len(g.Targets) > 1 || g.Subset {
				if arms > 0 || g.Subset || k.Flow.Cyclic[v] {
					return 0
				}
				arms = len(g.Targets)
			}
		}
	}
	return arms
}

// Crossing is a pair of edges by which two branches reach one vertex.
type Crossing struct {
	Left, Right         int // where the edges come from: nodes or arms
	At                  Parting
	LeftTime, RightTime Lengths
}

// Unequal lists at most the given number of crossings at m whose two branches
// may arrive in different supersteps. Ways that failures take don't count.
func (k *Branches) Unequal(m, most int) []Crossing {
	t := k.timing()
	var in []int
	for _, p := range k.back.Next(m) {
		if k.Dominators.Reached(p) && !k.Dominators.Covers(m, p) && k.calmInto(p, m) {
			in = append(in, p)
		}
	}
	const pairs = 16
	var out []Crossing
	for i := range in {
		for j := 0; j < i; j++ {
			if i > pairs && j == 1 {
				j = i - 1 // among many, the first and the neighbour stand for all
			}
			at, ok := k.Together(in[j], in[i])
			if !ok {
				continue
			}
			l, r := t.since(at.Node, in[j]), t.since(at.Node, in[i])
			if l.Exact() && r.Exact() && l == r {
				continue
			}
			if out = append(out, Crossing{in[j], in[i], at, l, r}); len(out) == most {
				return out
			}
		}
	}
	return out
}

// since is the length of the way from a branching node through p, to what
// follows it.
func (t *timing) since(fork, p int) Lengths { return t.end(p).minus(t.pos[fork]) }

// calmInto reports whether the edge from p, a node or an arm, into m is one
// that a success takes.
func (k *Branches) calmInto(p, m int) bool {
	v := p
	if p >= k.first {
		v = k.Dominators.Parent[p]
	}
	return slices.ContainsFunc(k.Flow.Groups[v], func(g controlflow.Group) bool {
		return g.Kind != controlflow.OnFailure && slices.Contains(g.Targets, m)
	})
}

// Source is the node that an edge from p, a node or an arm, leaves.
func (k *Branches) Source(p int) int {
	if p >= k.first {
		return k.Dominators.Parent[p]
	}
	return p
}
