// Dominators: which vertices every path to a vertex passes.

package graphalg

import "slices"

// Tree is the dominator tree of the part of a graph that a root reaches.
type Tree struct {
	// Parent is the immediate dominator of each vertex: the last vertex that every path from
	// the root passes before it. -1 for the root and for vertices that it doesn't reach.
	Parent []int
	// Order lists the vertices that the root reaches in reverse postorder.
	Order []int

	place     []int // in Order; -1 for a vertex that is not reached
	pre, last []int // preorder number of a vertex in the tree, and the last one below it
}

// Dominators computes the dominator tree from root by the algorithm of Cooper, Harvey and
// Kennedy (2001): parents climb to their common ancestor until none changes.
func (g *Digraph) Dominators(root int) *Tree {
	n := g.Len()
	t := &Tree{Parent: slices.Repeat([]int{-1}, n), Order: g.reversePostorder(root), place: slices.Repeat([]int{-1}, n)}
	for i, v := range t.Order {
		t.place[v] = i
	}
	back := g.Reverse()
	t.Parent[root] = root
	for changed := true; changed; {
		changed = false
		for _, v := range t.Order[1:] {
			parent := -1
			for _, p := range back.Next(v) {
				if t.Parent[p] < 0 || parent == root {
					continue
				}
				if parent < 0 {
					parent = p
				}
				parent = t.Common(parent, p)
			}
			if parent != t.Parent[v] {
				t.Parent[v], changed = parent, true
			}
		}
	}
	t.Parent[root] = -1
	t.numberVertices()
	return t
}

// reversePostorder returns the vertices that root reaches in reverse postorder.
func (g *Digraph) reversePostorder(root int) []int {
	type open struct{ v, next int }
	seen := make([]bool, g.Len())
	seen[root] = true
	var out []int
	for stack := []open{{root, 0}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		next := g.Next(top.v)
		if top.next == len(next) {
			out = append(out, top.v)
			stack = stack[:len(stack)-1]
			continue
		}
		to := next[top.next]
		top.next++
		if !seen[to] {
			seen[to] = true
			stack = append(stack, open{to, 0})
		}
	}
	slices.Reverse(out)
	return out
}

// numberVertices numbers the tree so that Covers takes constant time.
func (t *Tree) numberVertices() {
	n := len(t.Parent)
	size, next := make([]int, n), make([]int, n) // next is the first free number below a vertex
	t.pre, t.last = slices.Repeat([]int{-1}, n), make([]int, n)
	for _, v := range slices.Backward(t.Order) {
		size[v]++
		if p := t.Parent[v]; p >= 0 {
			size[p] += size[v]
		}
	}
	for _, v := range t.Order {
		at := 0
		if p := t.Parent[v]; p >= 0 {
			at = next[p]
			next[p] += size[v]
		}
		t.pre[v], t.last[v], next[v] = at, at+size[v]-1, at+1
	}
}

// Covers reports whether the root reaches w, and every path to it passes v, which may be w.
func (t *Tree) Covers(v, w int) bool {
	return t.pre[v] >= 0 && t.pre[w] >= t.pre[v] && t.pre[w] <= t.last[v]
}

// Common returns the last vertex that every path to v or w passes. The root must reach both.
func (t *Tree) Common(v, w int) int {
	for v != w {
		if t.place[v] > t.place[w] {
			v = t.Parent[v]
		} else {
			w = t.Parent[w]
		}
	}
	return v
}
