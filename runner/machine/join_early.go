// Joins that are satisfied while their superstep is open.

package machine

// settleEarly stops the siblings that an any or N join downstream makes useless
// once enough tasks have ended that are certain to lead to it.
func (p *Plan) settleEarly(s *State) {
	if !p.hasCountedJoins || s.readyTasks+s.runningTasks == 0 {
		return
	}
	arrivals := map[int][]arrival{}
	for i := range s.tasks {
		t := &s.tasks[i]
		for _, e := range p.certain(t) {
			if node := p.edges[e].to; node != endNode && p.nodes[node].counts() {
				arrivals[node] = append(arrivals[node], arrival{at: t.at})
			}
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
		b := &barrier{node: node, arrivals: arrivals[node]}
		late := p.onTheWay(s, b)
		for i := range s.tasks {
			if t := &s.tasks[i]; (t.status == ready || t.status == running) && late(t.node, t.at) {
				lost := t.lost
				s.cancel(t, "join "+p.nodes[node].id+" has enough branches")
				t.lost = lost // nobody goes on with it
				b.outran(t.at)
			}
		}
	}
}

// counts reports whether the node is an any or N join.
func (n *node) counts() bool { return n.join == joinAny || n.join == joinCount }

// certain lists the edges that are certain to fire after a task that has ended:
// whatever the state is that routing will see.
func (p *Plan) certain(t *task) []int {
	n := &p.nodes[t.node]
	switch {
	case t.status == failed && len(n.failWhen) == 0 && len(n.failPlain) > 0:
		return n.failPlain
	case t.status == failed && len(n.failWhen) == 0:
		return n.always
	case t.status == succeeded && (t.skipped || len(n.conditional)+len(n.decide) == 0 && !n.hasEnds && n.gotoExpr == nil):
		return n.plain
	}
	return nil
}
