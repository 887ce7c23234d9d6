// Joins that are satisfied while their superstep is open.

package machine

// settleEarly stops the siblings that an any or N join downstream makes useless
// once enough tasks that lead straight to it have succeeded.
func (p *Plan) settleEarly(s *State) {
	if !p.hasCountedJoins || s.readyTasks+s.runningTasks == 0 {
		return
	}
	arrivals := map[int][]arrival{}
	for i := range s.tasks {
		t := &s.tasks[i]
		if node := p.straightTo(t); node != noNode {
			arrivals[node] = append(arrivals[node], arrival{at: t.at})
		}
	}
	for node := range p.nodes {
		if len(arrivals[node]) == 0 {
			continue
		}
		for _, b := range s.barriers {
			if b.node == node && b.fan == nil {
				arrivals[node] = append(arrivals[node], b.arrivals...)
			}
		}
		if len(arrivals[node]) < p.nodes[node].joinCount {
			continue
		}
		late := p.onTheWay(s, &barrier{node: node, arrivals: arrivals[node]})
		for i := range s.tasks {
			if t := &s.tasks[i]; late(t.node, t.at) {
				lost := t.lost
				s.cancel(t, "join "+p.nodes[node].id+" has enough branches")
				t.lost = lost // nobody goes on with it
			}
		}
	}
}

// straightTo is the any or N join that a task which succeeded is certain to
// lead to: its only way on. noNode when there is none.
func (p *Plan) straightTo(t *task) int {
	n := &p.nodes[t.node]
	if t.status != succeeded || len(n.conditional)+len(n.decide) > 0 || len(n.plain) != 1 || n.hasEnds || n.gotoExpr != nil {
		return noNode
	}
	to := p.edges[n.plain[0]].to
	if to == endNode || p.nodes[to].join != joinAny && p.nodes[to].join != joinCount {
		return noNode
	}
	return to
}
