// How many branches can meet at a join.

package concurrency

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/graphalg"
)

// many stands for a number of branches that has no bound.
const many = 1 << 20

// Arrivals is how many branches can arrive at the join m for one that passes
// its immediate dominator, at most; alone says that never more than one does.
// The size of the part of the graph between the two is the cost.
func (k *Branches) Arrivals(m int) (most int, alone bool) {
	if a, ok := k.joinCounts[m]; ok {
		return a.most, a.alone
	}
	most, alone = k.countArrivals(m)
	k.joinCounts[m] = joinCount{most, alone}
	return most, alone
}

// joinCount is what arrivals found.
type joinCount struct {
	most  int
	alone bool
}

func (k *Branches) countArrivals(m int) (most int, alone bool) {
	top := k.Dominators.Parent[m]
	for top >= k.first {
		top = k.Dominators.Parent[top]
	}
	if top < 0 {
		return 1, true
	}
	c := &census{k: k, w: k.Flow, m: m, top: top, memo: map[int]int{}}
	if !c.region() {
		return many, false
	}
	most = c.at(top)
	return most, most <= 1 && !k.ManyAt(top)
}

// ManyAt reports whether several branches can pass v in one run of what comes
// before it, because a fan-out above leads to it more than once.
func (k *Branches) ManyAt(v int) bool {
	for v >= 0 {
		if v < len(k.Flow.Source.Nodes) && k.Flow.Source.Nodes[v].HasEnds && !k.Flow.SingleLabel(v) {
			return true // a list of labels may name one node several times
		}
		if v < len(k.Flow.Source.Nodes) && k.Flow.Source.Nodes[v].Join != nil && !k.Flow.Cyclic[v] {
			v = k.Dominators.Parent[v] // however many arrive, one goes on
			continue
		}
		if v < k.first && len(k.back.Next(v)) > 1 {
			if most, alone := k.Arrivals(v); most > 1 || !alone {
				return true
			}
			return false
		}
		v = k.Dominators.Parent[v]
	}
	return false
}

// census follows branches from a vertex to m.
type census struct {
	k      *Branches
	w      *controlflow.Graph
	m, top int
	inside map[int]bool // vertices on ways from top to m
	memo   map[int]int  // by component
}

// region marks what lies on ways to m, going back as far as top. It gives up
// when the regions of all joins together get many times larger than the graph.
func (c *census) region() bool {
	c.inside = map[int]bool{c.m: true, c.top: true}
	todo := []int{c.m}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if c.k.regions++; c.k.regions > 40*len(c.w.Groups)+10_000 {
			return false
		}
		if v == c.top && v != c.m {
			continue
		}
		for _, p := range c.w.Reverse.Next(v) {
			if !c.inside[p] && p != c.m && c.w.Reached[p] {
				c.inside[p] = true
				todo = append(todo, p)
			}
		}
	}
	return true
}

// at is how many of the branches that one at v becomes can arrive at m.
func (c *census) at(v int) int {
	parts := c.parts()
	return c.memo[parts[v]]
}

// parts computes memo for the components of the region, from m upwards, and
// returns the component of each vertex.
func (c *census) parts() map[int]int {
	vertices := make([]int, 0, len(c.inside))
	for v := range c.inside {
		vertices = append(vertices, v)
	}
	slices.Sort(vertices)
	number := make(map[int]int, len(vertices))
	for i, v := range vertices {
		number[v] = i
	}
	of, count := c.components(vertices, number)
	members := make([][]int, count)
	part := make(map[int]int, len(vertices))
	for i, v := range vertices {
		members[of[i]] = append(members[of[i]], v)
		part[v] = of[i]
	}
	for p := range count { // a component's number is greater than those it leads to
		c.memo[p] = c.component(p, members[p], part)
	}
	return part
}

// components numbers the components of the region without the way through m
// and back through top.
func (c *census) components(vertices []int, number map[int]int) (of []int, count int) {
	var from, to []int
	for i, v := range vertices {
		if v == c.m {
			continue
		}
		for _, t := range c.w.Digraph.Next(v) {
			if j, ok := number[t]; ok && t != c.top {
				from, to = append(from, i), append(to, j)
			}
		}
	}
	return graphalg.New(len(vertices), from, to).SCC()
}

func (c *census) component(p int, members []int, part map[int]int) int {
	best := 0
	for _, v := range members {
		if v == c.m {
			return 1
		}
		if n := c.w.Source.Nodes[v]; n.HasEnds && !c.w.SingleLabel(v) {
			return many // a list of labels may start any number of branches
		}
		for i := range c.w.Groups[v] {
			sum, stays := 0, false
			for _, t := range c.w.Groups[v][i].Targets {
				q, ok := part[t]
				switch {
				case !ok || t == c.top && v != c.top:
				case q == p:
					stays = true
				default:
					sum = min(sum+c.memo[q], many)
				}
			}
			if stays && sum > 0 || stays && c.doubles(v, i, p, part) {
				return many
			}
			best = max(best, sum)
		}
	}
	return best
}

// doubles reports whether a group leads to several vertices of its own component.
func (c *census) doubles(v, i, p int, part map[int]int) bool {
	n := 0
	for _, t := range c.w.Groups[v][i].Targets {
		if q, ok := part[t]; ok && q == p && t != c.top {
			n++
		}
	}
	return n > 1
}
