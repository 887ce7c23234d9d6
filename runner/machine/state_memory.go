// What a run remembers of the nodes it has visited and the edges it took.

package machine

import (
	"maps"
	"slices"
)

// nodeState is what a run remembers of a node.
type nodeState struct {
	visits int
}

// memory counts visits and taken edges. Its cost follows the nodes that a run
// visits, not those of the graph: counts come in pages, made when first needed.
type memory struct {
	nodes []*nodePage
	edges []*edgePage
	// partial is what interrupted nodes had produced, by node; nil: nothing.
	partial map[int]any
	// reason is why nodes ended as they did in their last visit, by node, where
	// they said; nil: none did.
	reason map[int]string
	// succeeded counts the visits that ended well of nodes that policies require,
	// by node; nil: none did.
	succeeded map[int]int
}

// pageSize is how many nodes or edges share a page: a page is to cost less
// than the shortest run.
const pageSize = 128

type (
	nodePage [pageSize]nodeState
	edgePage [pageSize]int32
)

func newMemory(p *Plan) memory {
	pages := func(n int) int { return (n + pageSize - 1) / pageSize }
	return memory{nodes: make([]*nodePage, pages(len(p.nodes))), edges: make([]*edgePage, pages(len(p.edges)))}
}

// of returns the state of a node.
func (m *memory) of(node int) *nodeState {
	page := m.nodes[node/pageSize]
	if page == nil {
		page = new(nodePage)
		m.nodes[node/pageSize] = page
	}
	return &page[node%pageSize]
}

// take counts an edge that fired.
func (m *memory) take(edge int) {
	page := m.edges[edge/pageSize]
	if page == nil {
		page = new(edgePage)
		m.edges[edge/pageSize] = page
	}
	page[edge%pageSize]++
}

// keepPartial keeps what an interrupted node had produced.
func (m *memory) keepPartial(node int, value any) {
	if m.partial == nil {
		m.partial = map[int]any{}
	}
	m.partial[node] = value
}

// succeed counts visits of a node that ended well.
func (m *memory) succeed(node, visits int) {
	if m.succeeded == nil {
		m.succeeded = map[int]int{}
	}
	m.succeeded[node] += visits
}

// keepReason keeps why a node ended as it did; "" forgets it.
func (m *memory) keepReason(node int, reason string) {
	switch {
	case reason == "":
		delete(m.reason, node)
		return
	case m.reason == nil:
		m.reason = map[int]string{}
	}
	m.reason[node] = reason
}

// reasonOf is the reason as expressions see it.
func (m *memory) reasonOf(node int) any {
	if reason, said := m.reason[node]; said {
		return reason
	}
	return nil
}

// ReasonOf returns why a node, by its index, ended as it did in its last visit;
// "" when it did not say.
func (s *State) ReasonOf(node int) string { return s.memory.reason[node] }

// Visits returns how often a node has run.
func (s *State) Visits(node int) int {
	if page := s.memory.nodes[node/pageSize]; page != nil {
		return page[node%pageSize].visits
	}
	return 0
}

// FiredEdges returns how often edges have fired, by index; those that never
// fired are absent.
func (s *State) FiredEdges() map[int]int {
	out := make(map[int]int, 8)
	s.Fired().each(func(edge, count int) { out[edge] = count })
	return out
}

// EdgeCounts says how often each edge of a run fired. The zero value counts none.
type EdgeCounts struct{ pages []*edgePage }

// Fired returns how often edges have fired so far.
func (s *State) Fired() EdgeCounts {
	pages := make([]*edgePage, len(s.memory.edges))
	for i, page := range s.memory.edges {
		if page != nil {
			snapshot := *page
			pages[i] = &snapshot
		}
	}
	return EdgeCounts{pages}
}

// Of returns how often an edge, given by its index, has fired.
func (c EdgeCounts) Of(edge int) int {
	if at := edge / pageSize; at < len(c.pages) && c.pages[at] != nil {
		return int(c.pages[at][edge%pageSize])
	}
	return 0
}

func (c EdgeCounts) each(f func(edge, count int)) {
	for i, page := range c.pages {
		if page == nil {
			continue
		}
		for at, count := range page {
			if count > 0 {
				f(i*pageSize+at, int(count))
			}
		}
	}
}

// Partial returns what interrupted nodes had produced, by node id; nil when
// there is nothing.
func (s *State) Partial() map[string]any {
	if s.memory.partial == nil {
		return nil
	}
	out := make(map[string]any, len(s.memory.partial))
	for node, value := range s.memory.partial { //lint:ignore mapiter the result is a map
		out[s.plan.nodes[node].id] = value
	}
	return out
}

// savedPartial is what an interrupted node had produced.
type savedPartial struct {
	Node  int `json:"node"`
	Value any `json:"value"`
}

// savedReason is why a node ended as it did.
type savedReason struct {
	Node   int    `json:"node"`
	Reason string `json:"reason"`
}

func (k *saver) saveMemory(out *savedState, m *memory) {
	for i, page := range m.nodes {
		if page == nil {
			continue
		}
		for at := range page {
			if n := page[at].visits; n > 0 {
				out.NodeCounts = append(out.NodeCounts, [2]int{i*pageSize + at, n})
			}
		}
	}
	EdgeCounts{m.edges}.each(func(edge, count int) {
		out.EdgeCounts = append(out.EdgeCounts, [2]int{edge, count})
	})
	for _, node := range slices.Sorted(maps.Keys(m.partial)) {
		out.Partial = append(out.Partial, savedPartial{node, k.pack(m.partial[node])})
	}
	for _, node := range slices.Sorted(maps.Keys(m.succeeded)) {
		out.Succeeded = append(out.Succeeded, [2]int{node, m.succeeded[node]})
	}
	for _, node := range slices.Sorted(maps.Keys(m.reason)) {
		out.Reasons = append(out.Reasons, savedReason{node, m.reason[node]})
	}
}

func (r *restorer) restoreMemory(in *savedState) {
	m := &r.state.memory
	for _, count := range in.NodeCounts {
		if r.within("node", count[0], len(r.plan.nodes)) {
			m.of(count[0]).visits = count[1]
		}
	}
	for _, count := range in.EdgeCounts {
		if r.within("edge", count[0], len(r.plan.edges)) {
			m.take(count[0])
			m.edges[count[0]/pageSize][count[0]%pageSize] = int32(count[1])
		}
	}
	for _, partial := range in.Partial {
		if r.within("node", partial.Node, len(r.plan.nodes)) {
			m.keepPartial(partial.Node, r.unpack(partial.Value))
		}
	}
	for _, count := range in.Succeeded {
		if r.within("node", count[0], len(r.plan.nodes)) {
			m.succeed(count[0], count[1])
		}
	}
	for _, reason := range in.Reasons {
		if r.within("node", reason.Node, len(r.plan.nodes)) {
			m.keepReason(reason.Node, reason.Reason)
		}
	}
}
