// Which nodes can be reached from which, and the joins that are certain to be satisfied
// while their superstep is open.

package machine

// nodeSet is a set of nodes by index.
type nodeSet []uint64

func (set nodeSet) has(node int) bool { return set[node/64]&(1<<(node%64)) != 0 }

// add reports whether the node was not in the set.
func (set nodeSet) add(node int) bool {
	was := set.has(node)
	set[node/64] |= 1 << (node % 64)
	return !was
}

// reachKey names a set of nodes that reach one without passing another.
type reachKey struct{ node, avoid int }

// reaching is the set of nodes from which a node can be reached over at least
// one edge without passing the node avoid. It is computed when a run first
// needs it.
func (p *Plan) reaching(s *State, node, avoid int) nodeSet {
	key := reachKey{node, avoid}
	if set, ok := s.reach[key]; ok {
		return set
	}
	set := make(nodeSet, len(p.nodes)/64+1)
	queue := []int{node}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, source := range p.nodes[at].sources {
			if source != avoid && set.add(source) {
				queue = append(queue, source)
			}
		}
	}
	if s.reach == nil {
		s.reach = map[reachKey]nodeSet{}
	}
	s.reach[key] = set
	return set
}

// MayEnter reports whether a node may still be entered, or run again, from where the
// run stands.
func (s *State) MayEnter(id string) bool {
	to := -1
	for i := range s.plan.nodes {
		if s.plan.nodes[i].id == id {
			to = i
		}
	}
	if to < 0 {
		return false
	}
	sources := s.plan.reaching(s, to, noNode)
	for _, list := range [...][]task{s.tasks, s.next, s.parked} {
		for i := range list {
			at := &list[i]
			if sources.has(at.node) || at.node == to && (at.visit == 0 || s.plan.nodes[to].act == actRun) {
				return true
			}
		}
	}
	for i := range s.barriers {
		if b := &s.barriers[i]; b.node == to || sources.has(b.node) {
			return true
		}
	}
	return false
}

// meeting is the first node that all branches of a fan-out can reach: the one
// with the shortest longest way, then in declaration order. joins asks for
// nodes with a join only. noNode when there is none.
func (p *Plan) meeting(f *fanout, joins bool) int {
	worst := map[int]int{} // node → longest way of the branches so far
	for lane, first := range f.first {
		if first == endNode {
			return noNode
		}
		distance := p.distances(first)
		if lane == 0 {
			worst = distance
			continue
		}
		for node := range worst { //lint:ignore mapiter entries are independent
			d, reached := distance[node]
			if !reached {
				delete(worst, node)
				continue
			}
			worst[node] = max(worst[node], d)
		}
	}
	best := noNode
	for node := range p.nodes {
		d, common := worst[node]
		if common && (!joins || p.nodes[node].join != 0) && (best == noNode || d < worst[best]) {
			best = node
		}
	}
	return best
}

// distances is the number of edges from a node to every node it reaches, itself
// included.
func (p *Plan) distances(from int) map[int]int {
	out := map[int]int{from: 0}
	queue := []int{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, to := range p.nodes[at].targets {
			if _, seen := out[to]; !seen {
				out[to] = out[at] + 1
				queue = append(queue, to)
			}
		}
	}
	return out
}

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
