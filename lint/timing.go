// When branches arrive: the supersteps from a fan-out to a vertex, least and most.

package lint

import "slices"

// lengths is how many supersteps lie between two vertices. Most is far when
// it is not known: through cycles, people and waits.
type lengths struct{ least, most int }

const far = 1 << 30

func (l lengths) plus(m lengths) lengths {
	return lengths{l.least + m.least, min(l.most+m.most, far)}
}

// exact reports whether there is one length only.
func (l lengths) exact() bool { return l.least == l.most }

// timing holds the lengths of one graph. A vertex stands under its nearest
// child of a branching node (forks.up); rel is the way from there, and arrival
// the way from the branching node to such a child.
type timing struct {
	k            *forks
	rel, arrival []lengths
}

// timing computes the lengths in one pass.
func (k *forks) timing() *timing {
	n := k.graph.Len()
	t := &timing{k: k, rel: make([]lengths, n), arrival: make([]lengths, n)}
	for _, v := range k.order {
		c := k.up[v]
		if c != v {
			t.rel[v] = t.from(v, c)
		} else if v < k.first {
			t.arrival[v] = t.from(v, -1)
		}
		if t.repeats(v) {
			t.rel[v].most = far
		}
	}
	return t
}

// repeats reports whether a cycle leads back to v from what v covers.
func (t *timing) repeats(v int) bool {
	return slices.ContainsFunc(t.k.back.Next(v), func(p int) bool { return t.k.tree.Covers(v, p) })
}

// from combines the ways into v from its cover c, or from the branching node
// above it when c is -1.
func (t *timing) from(v, c int) lengths {
	out := lengths{least: far}
	waits := t.k.waits(v)
	seen, first := false, -1
	for _, p := range t.k.back.Next(v) {
		if !t.k.tree.Reached(p) || t.k.tree.Covers(v, p) {
			continue
		}
		if t.k.place[p] > t.k.place[v] {
			out.most = far // an edge against the order: a cycle of several entrances
			continue
		}
		way := t.way(p, v, c)
		if waits && seen && t.k.sure(p, first) {
			out.least = max(out.least, way.least)
		} else {
			out.least = min(out.least, way.least)
		}
		out.most = max(out.most, way.most)
		if !seen {
			seen, first = true, p
		}
	}
	if !seen {
		return lengths{}
	}
	return out
}

// way is the length of the way to v that comes by the edge from p.
func (t *timing) way(p, v, c int) lengths {
	out := t.offset(p, v, c)
	if p < t.k.first { // the step is taken at the node, not at its arm
		out = out.plus(t.k.stay(p))
	}
	return out
}

// offset is the length from c, or from the parent of v's level, to p.
func (t *timing) offset(p, v, c int) lengths {
	out := t.rel[p]
	stop := t.k.tree.Parent[v]
	for k := t.k.up[p]; k >= 0 && k != c; {
		u := t.k.tree.Parent[k]
		out = out.plus(t.arrival[k])
		if k >= t.k.first {
			out = out.plus(t.k.stay(u))
		}
		if c < 0 && u == stop {
			return out
		}
		out = out.plus(t.rel[u])
		k = t.k.up[u]
	}
	return out
}

// stay is the time that the node p takes: one superstep, or more where it waits.
func (k *forks) stay(p int) lengths {
	switch k.f.graph.Nodes[p].Kind.Value {
	case "human", "wait":
		return lengths{1, far}
	}
	return lengths{1, 1}
}

// sure reports whether p and q are in branches that always both start.
func (k *forks) sure(p, q int) bool {
	at, ok := k.together(p, q)
	return ok && !at.perhaps
}

// waits reports whether v runs when the last of its branches has arrived.
func (k *forks) waits(v int) bool {
	if v >= len(k.f.graph.Nodes) {
		return v == k.f.end
	}
	join := k.f.graph.Nodes[v].Join
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
func (k *forks) unequal(m int, t *timing, most int) []crossing {
	var in []int
	for _, p := range k.back.Next(m) {
		if k.tree.Reached(p) && !k.tree.Covers(m, p) && k.calmInto(p, m) {
			in = append(in, p)
		}
	}
	const pairs = 16
	var out []crossing
	for i := range in {
		for j := range i {
			if i > pairs && j > 0 && j < i-1 {
				continue // among many, the first and the neighbour stand for all
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
func (t *timing) since(fork, p int) lengths {
	out := t.rel[p]
	if p < t.k.first {
		out = out.plus(t.k.stay(p))
	}
	for c := t.k.up[p]; c >= 0; {
		u := t.k.tree.Parent[c]
		out = out.plus(t.arrival[c])
		if c >= t.k.first {
			out = out.plus(t.k.stay(u))
		}
		if u == fork {
			break
		}
		out = out.plus(t.rel[u])
		c = t.k.up[u]
	}
	return out
}

// calmInto reports whether the edge from p, a node or an arm, into m is one
// that a success takes.
func (k *forks) calmInto(p, m int) bool {
	v := p
	if p >= k.first {
		v = k.tree.Parent[p]
	}
	return slices.ContainsFunc(k.flow.groups[v], func(g group) bool {
		return g.kind != onFailure && slices.Contains(g.targets, m)
	})
}

// source is the node that an edge from p, a node or an arm, leaves.
func (k *forks) source(p int) int {
	if p >= k.first {
		return k.tree.Parent[p]
	}
	return p
}
