// The state keys, results and programs that decide how the runs of a graph go.

package explore

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Model holds the facts about a graph that all searches share.
type Model struct {
	graph *spec.Graph
	bound *bind.Graph
	all   []*dataflow.Use   // those with a program
	own   [][]*dataflow.Use // by node
	asked []string
	// counts holds the state keys that decide how runs go, members the paths that programs read in
	// them.
	counts  map[string]bool
	members map[string][][]string
	// decisive are the conditions, and the programs that compute such keys. copies are programs
	// that write a result to a key as it is. computed are the programs that compute a key.
	decisive, copies map[*eval.Program]bool
	computed         map[string][]*eval.Program
	// computes holds, by node, the keys it writes, and whether it computes them.
	computes []map[string]bool
	// steps says that conditions read the number of the step, past that they read past results.
	steps, past bool
	visits      map[int]int // see Question.Visits
	gaps        []string
	mayFail     []bool               // by node: the run can continue after its failure
	ranks       bool                 // the order in which tasks end matters
	failures    [][]*machine.Failure // by node, the failures to try
	sources     []source
	inputs      []part
}

// NewModel prepares a graph. never is nil, or the condition of a policy after the node with the index
// at. asked are state keys that a question reads.
func NewModel(flow *controlflow.Graph, bound *bind.Graph, uses *dataflow.Uses, never *eval.Program, at int, asked ...string) *Model {
	g, n := flow.Source, len(flow.Source.Nodes)
	m := &Model{
		graph: g, bound: bound, own: make([][]*dataflow.Use, n), asked: asked,
		counts: map[string]bool{}, members: map[string][][]string{}, decisive: map[*eval.Program]bool{}, copies: map[*eval.Program]bool{},
		computed: map[string][]*eval.Program{}, computes: make([]map[string]bool, n), visits: map[int]int{},
		mayFail: make([]bool, n), failures: make([][]*machine.Failure, n), sources: make([]source, n),
	}
	for i := range uses.All {
		if uses.All[i].Program != nil {
			m.all = append(m.all, &uses.All[i])
		}
	}
	if never != nil {
		m.all = append(m.all, &dataflow.Use{Node: at, Edge: 0, Field: "never", Program: never})
	}
	for _, e := range m.all {
		if e.Node >= 0 {
			m.own[e.Node] = append(m.own[e.Node], e)
		}
		if target := m.findTarget(e); target != "" {
			m.computed[target] = append(m.computed[target], e.Program)
		}
	}
	for v, n := range g.Nodes { // an each decides how many results there are
		for _, e := range m.own[v] {
			if e.Field == "each" {
				for _, key := range n.Writes.Keys {
					m.computed[key.Value] = append(m.computed[key.Value], e.Program)
				}
				for _, w := range n.Writes.Exprs {
					m.computed[w.Name.Value] = append(m.computed[w.Name.Value], e.Program)
				}
			}
		}
	}
	m.findCaught(flow)
	m.findDecisive()
	for v, n := range g.Nodes {
		if limit := n.VisitLimit(g); limit > 0 {
			m.visits[v] = max(m.visits[v], limit)
		}
		m.sources[v] = m.findSource(v)
		m.findFailures(v)
	}
	m.findInputs()
	return m
}

// findCaught finds the nodes after whose failures a run can continue.
func (m *Model) findCaught(flow *controlflow.Graph) {
	for v, n := range m.graph.Nodes {
		m.ranks = m.ranks || n.Join != nil && n.Join.Wait != "all"
		switch how := controlflow.ParallelOf(m.graph, v).OnFailure; {
		case how == "" || how == "fail_all":
		case controlflow.Fans(flow.Groups[v]):
			m.ranks = true
			for node, reached := range flow.Digraph.Reach(v)[:len(m.mayFail)] {
				m.mayFail[node] = m.mayFail[node] || reached
			}
		default:
			m.mayFail[v] = m.mayFail[v] || n.Each.IsSet()
		}
	}
	for _, e := range m.graph.Edges {
		if e.Condition == "on_failure" || e.Condition == "always" {
			m.mayFail[m.graph.Node(e.From.Value).Index] = true
		}
	}
	if slices.ContainsFunc(m.graph.Nodes, func(n *spec.Node) bool { return n.Final }) {
		m.mayFail = slices.Repeat([]bool{true}, len(m.mayFail))
	}
}

// decides reports whether a program decides where runs go, directly or by failing.
func (m *Model) decides(e *dataflow.Use) bool {
	switch e.Field {
	case "when", "goto", "each", "never":
		return true
	case "transform", "set", "writes", "before":
		return m.mayFail[e.Node]
	}
	readsElement := false // it fails if the list is too short
	e.Program.Tree.Each(func(t *eval.Tree) {
		readsElement = readsElement || t.Op == eval.TreePath && slices.ContainsFunc(t.Path, isElement)
	})
	return readsElement
}

// findDecisive finds the programs and the state keys that decide how runs go.
func (m *Model) findDecisive() {
	todo := []*eval.Program{}
	count := func(name string) {
		if m.counts[name] {
			return
		}
		m.counts[name] = true
		todo = append(todo, m.computed[name]...)
		if p := m.bound.Keys[m.findKey(name)].Reducer; p != nil {
			todo = append(todo, p)
		}
	}
	for _, name := range m.asked {
		m.members[name] = [][]string{nil}
		count(name)
	}
	for _, e := range m.all {
		if e.Node >= 0 && m.decides(e) {
			todo = append(todo, e.Program)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		p := todo[0]
		if m.decisive[p] {
			continue
		}
		m.decisive[p] = true
		for _, read := range p.Reads {
			name := read.Path[0]
			if m.graph.Key(name) == nil {
				m.noteContext(read.Path, p)
				continue
			}
			m.members[name] = append(m.members[name], read.Path[1:])
			count(name)
		}
	}
}

func (m *Model) findKey(name string) int {
	return slices.IndexFunc(m.graph.State, func(k *spec.StateKey) bool { return k.Name.Value == name })
}

// findTarget returns the state key that a program computes, or "".
func (m *Model) findTarget(e *dataflow.Use) string {
	if e.Node < 0 {
		return ""
	}
	b := &m.bound.Nodes[e.Node]
	switch e.Field {
	case "set":
		if e.Order < len(b.Set) {
			return b.Set[e.Order].Name
		}
	case "writes":
		for i := range b.Writes {
			if b.Writes[i].Value.Program == e.Program {
				return b.Writes[i].Name
			}
		}
	}
	return ""
}

// noteContext records that a condition reads a name that is no state key.
func (m *Model) noteContext(path []string, p *eval.Program) {
	unknown := false
	switch path[0] {
	case "error": // messages and details are not explored
		unknown = len(path) < 2 || !slices.Contains([]string{"kind", "node", "attempt"}, path[1])
	case "output", "outcome", "node", "visit", "item", "index", "accumulator", "current", "update":
	case "visits":
		most := findGreatest(p.Tree) + 2
		for _, n := range m.graph.Nodes {
			if len(path) < 2 || n.ID.Value == path[1] {
				m.visits[n.Index] = max(m.visits[n.Index], most)
			}
		}
	case "step":
		m.steps = true
	case "branches":
		m.past = true
		unknown = strings.Contains(errorOnly.Get().ReplaceAllString(p.Source, ""), "branches")
	default:
		m.past, unknown = true, true
	}
	if unknown {
		m.gaps = append(m.gaps, describeRunTimeGap(p.Source))
	}
}

// errorOnly matches a comparison of the error of a branch with null.
var errorOnly = lazyregexp.New(`branches\s*(\[[^\]]*\]|\.\w+)\s*\.\s*error\s*(!=|==)\s*(nil|null|None)`)

// findGreatest returns the greatest whole number in a condition, which bounds the visits that matter.
func findGreatest(t *eval.Tree) int {
	n := 0
	t.Each(func(t *eval.Tree) {
		if v, ok := t.Value.(int); ok && v < 1_000_000 {
			n = max(n, v)
		}
	})
	return n
}
