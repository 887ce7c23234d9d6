// Reachability along edges, and where branches meet (§7).

package machine

import "slices"

type reachKey struct {
	plan      *Plan
	to, avoid int
}

// canReach reports whether a path of at least one edge avoids a third node.
func (sc *Scope) canReach(from, to, avoid int) bool {
	s, key := sc.state, reachKey{sc.plan, to, avoid}
	set, ok := s.reach[key]
	if !ok {
		set = sc.plan.nodesLeadingTo(to, func(node int) bool { return node == avoid })
		s.reach = withEntry(s.reach, key, set)
	}
	return from >= 0 && set[from]
}

// nodesLeadingTo marks the nodes from which a path leads to a node and passes no stop.
func (p *Plan) nodesLeadingTo(to int, stops func(node int) bool) []bool {
	out := make([]bool, len(p.nodes))
	if to == endNode {
		to = len(p.nodes)
	}
	todo := []int{to}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range p.sources[at] {
			if !out[from] && !stops(from) {
				todo = append(todo, from)
			}
			out[from] = true
		}
	}
	return out
}

// findImplicitJoin returns the first node that all branches reach without failure edges, or
// noNode. A node with a `join` is no implicit one.
func (sc *Scope) findImplicitJoin(source int, targets []int) int {
	p := sc.plan
	begin := slices.DeleteFunc(slices.Clone(targets), func(to int) bool { return to == endNode })
	if len(begin) < 2 || p.nodes[source].parallel.Join != "auto" {
		return noNode
	}
	if at := p.findFirstMeeting(begin, source); at != noNode && !p.nodes[at].joins && !slices.Contains(begin, source) {
		return at
	}
	return noNode
}

// findFirstMeeting returns the first node that all ways reach without failure edges and without
// passing source, or noNode.
func (p *Plan) findFirstMeeting(begin []int, source int) int {
	// By node: from how many it was reached, the last of them, and the most edges to it.
	reached, last, most := make([]int, len(p.nodes)), make([]int, len(p.nodes)), make([]int, len(p.nodes))
	var level, next, all []int
	visit := func(node, from, edges int) {
		if last[node] == from {
			return
		}
		last[node], most[node] = from, max(most[node], edges)
		if reached[node]++; reached[node] == len(begin) && node != source {
			all = append(all, node)
		}
		if node != source {
			next = append(next, node)
		}
	}
	for i, from := range begin {
		visit(from, i+1, 0)
		for edges := 1; len(next) > 0; edges++ {
			level, next = next, level[:0]
			for _, node := range level {
				for _, to := range p.nodes[node].sound {
					visit(to, i+1, edges)
				}
			}
		}
	}
	slices.Sort(all)
	best := noNode
	for _, i := range all {
		if best == noNode || most[i] < most[best] || most[i] == most[best] && p.nodes[i].joins && !p.nodes[best].joins {
			best = i
		}
	}
	return best
}
