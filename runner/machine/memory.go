// What a run remembers of the nodes it has visited.

package machine

// nodeState is what a run remembers of a node.
type nodeState struct {
	visits  int
	partial any
	fired   []int // per outgoing edge
}

// memory holds the visited nodes of a run. Its cost follows the nodes that a
// run visits, not those of the graph: a table serves small graphs, a map large
// ones, and the states come from blocks that grow.
type memory struct {
	table  []*nodeState
	sparse map[int]*nodeState
	states []nodeState
	counts []int
	block  int
}

// tableLimit is the number of nodes up to which a table is cheaper than a map,
// also for the shortest run.
const tableLimit = 1024

func newMemory(p *Plan) memory {
	if len(p.nodes) <= tableLimit {
		return memory{table: make([]*nodeState, len(p.nodes))}
	}
	return memory{sparse: map[int]*nodeState{}}
}

// get returns the state of a node, nil when it was never visited.
func (m *memory) get(node int) *nodeState {
	if m.table != nil {
		return m.table[node]
	}
	return m.sparse[node]
}

// of returns the state of a node, made on its first visit.
func (m *memory) of(p *Plan, node int) *nodeState {
	if ns := m.get(node); ns != nil {
		return ns
	}
	if len(m.states) == 0 {
		m.block = min(max(4, 2*m.block), 256)
		m.states = make([]nodeState, min(m.block, len(p.nodes)))
	}
	ns := &m.states[0]
	m.states = m.states[1:]
	ns.fired = m.counters(len(p.nodes[node].out))
	if m.table != nil {
		m.table[node] = ns
	} else {
		m.sparse[node] = ns
	}
	return ns
}

// counters carves n zeros out of a block.
func (m *memory) counters(n int) []int {
	if n > len(m.counts) {
		m.counts = make([]int, max(n, 2*m.block))
	}
	out := m.counts[:n:n]
	m.counts = m.counts[n:]
	return out
}

// each calls f for every visited node, in no order.
func (m *memory) each(f func(node int, ns *nodeState)) {
	for node, ns := range m.table {
		if ns != nil {
			f(node, ns)
		}
	}
	for node, ns := range m.sparse { //lint:ignore mapiter callers build maps
		f(node, ns)
	}
}

// Visits returns how often a node has run.
func (s *State) Visits(node int) int {
	if ns := s.memory.get(node); ns != nil {
		return ns.visits
	}
	return 0
}

// FiredEdges returns how often edges have fired, by index; those that never
// fired are absent.
func (s *State) FiredEdges() map[int]int {
	out := make(map[int]int, 8)
	s.memory.each(func(node int, ns *nodeState) {
		for slot, count := range ns.fired {
			if count > 0 {
				out[s.plan.nodes[node].out[slot]] = count
			}
		}
	})
	return out
}

// Partial returns what interrupted nodes had produced, by node id; nil when
// there is nothing.
func (s *State) Partial() map[string]any {
	var out map[string]any
	s.memory.each(func(node int, ns *nodeState) {
		if ns.partial == nil {
			return
		}
		if out == nil {
			out = map[string]any{}
		}
		out[s.plan.nodes[node].id] = ns.partial
	})
	return out
}
