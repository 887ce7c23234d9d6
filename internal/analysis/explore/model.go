// What of a graph decides how its runs go: which keys conditions read, which parts of
// results they come from, and which values are worth trying.

package explore

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Model is what is known of a graph before its runs are tried.
type Model struct {
	graph *spec.Graph
	bound *bind.Graph
	// counts says which state keys decide, directly or by others, how runs go.
	counts map[string]bool
	// members are the paths in them that do, by key.
	members map[string][][]string
	// steps says that the number of the step does, past that what nodes came to before.
	steps, past bool
	visits      map[int]int // see Question.Visits
	gaps        []string
	// reads are the keys that a node needs to run, readsAfter those that decide what
	// follows it, besides the conditions of its edges: guards are tried after a success,
	// catches after a failure, in this order.
	reads, readsAfter [][]string
	guards, catches   [][]condition
	writes            [][]written
	sources           []source
	mayFail           []bool
	kinds             [][]*machine.Failure
	inputs            []input
	ranks             bool
	all               []dataflow.Use
	own               [][]*dataflow.Use // by node
	uses              *dataflow.Uses
	computed          map[string][]*eval.Program // what computes the values of a state key
}

// condition is that of an edge, and the state keys that it reads.
type condition struct {
	edge  int
	reads []string
}

// written is a state key that a node writes, and which part of its result; byGraph for
// what the graph itself computes, computed for what it makes of a result.
type written struct {
	key  string
	part int
}

const (
	byGraph  = -1
	computed = -2
)

// source is what a node yields.
type source struct {
	base    any
	parts   []part
	outputs [][]any // see combinations; nil before it is asked for
}

// part is a part of a result that something reads.
type part struct {
	path    []string
	keys    []string // that take it as it is
	into    []string // that take what is computed of it
	source  string
	options []any
	partial bool
	// counts says that something depends on it, now that it is read at once.
	counts, now bool
}

// input is a state key as the caller of a run may set it.
type input struct {
	name, source     string
	counts, optional bool
	options          []any
	partial          bool
	has              bool
	value            any
}

// NewModel looks at a graph. Never is the condition of a policy that is asked about,
// after the node of that index; nil for none. Asked are state keys whose values are.
func NewModel(g *spec.Graph, bound *bind.Graph, uses *dataflow.Uses, never *eval.Program, at int, asked ...string) *Model {
	n := len(g.Nodes)
	m := &Model{
		graph: g, bound: bound, counts: map[string]bool{}, members: map[string][][]string{}, visits: map[int]int{}, all: uses.All, own: make([][]*dataflow.Use, n),
		reads: make([][]string, n), readsAfter: make([][]string, n), writes: make([][]written, n), sources: make([]source, n),
		guards: make([][]condition, n), catches: make([][]condition, n), mayFail: make([]bool, n), kinds: make([][]*machine.Failure, n), uses: uses,
	}
	if never != nil {
		m.all = append(slices.Clip(uses.All), dataflow.Use{Node: at, Edge: 0, Field: "never", Program: never})
	}
	for i := range m.all {
		if e := &m.all[i]; e.Node >= 0 && e.Program != nil {
			m.own[e.Node] = append(m.own[e.Node], e)
		}
	}
	m.failing()
	m.relevant(asked)
	m.flows()
	for v := range g.Nodes {
		m.sources[v] = m.source(v)
	}
	m.readSets()
	m.begin()
	return m
}

// failing finds the nodes whose failures lead on.
func (m *Model) failing() {
	catches := make([]bool, len(m.graph.Nodes))
	tolerant, finals := controlflow.Tolerates(m.graph), false
	m.ranks = m.ranks || tolerant
	for _, n := range m.graph.Nodes {
		m.ranks = m.ranks || n.Join != nil && n.Join.Wait != "all"
		finals = finals || n.Final
	}
	for _, e := range m.graph.Edges {
		if e.Condition == "on_failure" || e.Condition == "always" {
			catches[m.graph.Node(e.From.Value).Index] = true
		}
	}
	for v := range m.mayFail {
		m.mayFail[v] = catches[v] || tolerant || finals
	}
}

// decides reports whether a program decides where runs go, or whether they fail where
// that leads on.
func (m *Model) decides(e *dataflow.Use) bool {
	switch e.Field {
	case "when", "goto", "each", "never":
		return true
	case "emit", "transform", "set", "writes":
		return m.mayFail[e.Node] && e.Field != "emit"
	}
	return e.Field == "before" && m.mayFail[e.Node]
}

// relevant finds the state keys that decide, and notes what else conditions read.
func (m *Model) relevant(asked []string) {
	todo := []*eval.Program{}
	for _, name := range asked {
		m.members[name] = [][]string{nil}
		todo = m.count(name, todo)
	}
	for i := range m.all {
		if e := &m.all[i]; e.Node >= 0 && e.Program != nil && m.decides(e) {
			todo = append(todo, e.Program)
		}
	}
	done := map[*eval.Program]bool{}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		if done[p] {
			continue
		}
		done[p] = true
		numbers := sync.OnceValue(func() int { return most(p.Tree()) })
		for _, read := range p.Reads() {
			name := read.Path[0]
			if m.graph.Key(name) == nil {
				m.note(read.Path, p, numbers)
				continue
			}
			m.members[name] = append(m.members[name], read.Path[1:])
			todo = m.count(name, todo)
		}
	}
}

// count notes that a state key decides, and adds what computes its values to a list.
func (m *Model) count(name string, todo []*eval.Program) []*eval.Program {
	if m.counts[name] {
		return todo
	}
	m.counts[name] = true
	if m.computed == nil {
		m.computed = map[string][]*eval.Program{}
		for i := range m.all {
			if e := &m.all[i]; e.Program != nil && e.Node >= 0 {
				target := m.target(e)
				m.computed[target] = append(m.computed[target], e.Program)
			}
		}
	}
	todo = append(todo, m.computed[name]...)
	if i := slices.IndexFunc(m.graph.State, func(k *spec.StateKey) bool { return k.Name.Value == name }); m.bound.Keys[i].Reducer != nil {
		todo = append(todo, m.bound.Keys[i].Reducer)
	}
	return todo
}

// target is the state key that an expression's value is written to; "" for none.
func (m *Model) target(e *dataflow.Use) string {
	b := &m.bound.Nodes[e.Node]
	switch e.Field {
	case "set":
		if e.Order < len(b.Set) {
			return b.Set[e.Order].Name
		}
	case "writes":
		for i := range b.Writes {
			if b.Writes[i].Value.Program() == e.Program {
				return b.Writes[i].Name
			}
		}
	}
	return ""
}

// note takes in that a condition reads something besides state keys; most is the greatest
// number in it.
func (m *Model) note(path []string, p *eval.Program, most func() int) {
	switch path[0] {
	case "error": // explored failures have no real message or details
		if len(path) < 2 || !slices.Contains([]string{"kind", "node", "attempt"}, path[1]) {
			m.gaps = append(m.gaps, strconv.Quote(p.Source())+" is known at run time only")
		}
	case "output", "outcome", "node", "visit", "item", "index", "accumulator", "current", "update":
	case "visits":
		asked := m.graph.Nodes
		if len(path) >= 2 {
			if asked = nil; m.graph.Node(path[1]) != nil {
				asked = []*spec.Node{m.graph.Node(path[1])}
			}
		}
		for _, n := range asked {
			m.visits[n.Index] = max(m.visits[n.Index], most()+2)
		}
	case "step":
		m.steps = true
	case "branches":
		m.past = true
		if !tellsErrors(p) {
			m.gaps = append(m.gaps, strconv.Quote(p.Source())+" is known at run time only")
		}
	default:
		m.past = true
		m.gaps = append(m.gaps, strconv.Quote(p.Source())+" is known at run time only")
	}
}

// errorOnly finds what a program asks of branches besides whether they failed.
var errorOnly = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`branches\s*(\[[^\]]*\]|\.\w+)\s*\.\s*error\s*(!=|==)\s*(nil|null|None)`)
})

// tellsErrors reports whether a program asks of branches only whether they failed.
func tellsErrors(p *eval.Program) bool {
	return !strings.Contains(errorOnly().ReplaceAllString(p.Source(), ""), "branches")
}

// most is the greatest whole number in a condition: more visits than it counts to are
// all the same.
func most(t *eval.Tree) int {
	n := 0
	t.Each(func(t *eval.Tree) {
		if v, ok := t.Value.(int); ok && v < 1_000_000 {
			n = max(n, v)
		}
	})
	return n
}

// flows notes the limits of visits, which count too.
func (m *Model) flows() {
	for v, n := range m.graph.Nodes {
		if limit := n.VisitLimit(m.graph); limit > 0 {
			m.visits[v] = max(m.visits[v], limit)
		}
	}
}

// readSets finds which keys are read where.
func (m *Model) readSets() {
	for v := range m.graph.Nodes {
		for _, e := range m.own[v] {
			switch e.Field {
			case "when":
				c := condition{edge: e.Edge, reads: m.deciding(nil, e.Program)}
				if m.graph.Edges[e.Edge].Condition == "on_failure" {
					m.catches[v] = append(m.catches[v], c)
				} else {
					m.guards[v] = append(m.guards[v], c)
				}
			case "goto", "never":
				m.readsAfter[v] = m.deciding(m.readsAfter[v], e.Program)
			case "set", "each", "before":
				m.reads[v] = m.deciding(m.reads[v], e.Program)
			case "writes":
				if m.counts[m.target(e)] || m.mayFail[v] {
					m.reads[v] = m.deciding(m.reads[v], e.Program)
				}
			}
		}
		for _, list := range [...][]condition{m.guards[v], m.catches[v]} {
			slices.SortStableFunc(list, func(a, b condition) int {
				return cmp.Compare(m.graph.Edges[b.edge].Priority, m.graph.Edges[a.edge].Priority)
			})
		}
		for _, w := range m.writes[v] {
			if !dataflow.Replaces(m.graph.Key(w.key)) && m.counts[w.key] && !slices.Contains(m.reads[v], w.key) {
				m.reads[v] = append(m.reads[v], w.key)
			}
		}
	}
}

// understood is the tree of a program that tells all that it reads; nil for none.
func understood(p *eval.Program) *eval.Tree {
	tree, known := p.Tree(), true
	tree.Each(func(t *eval.Tree) { known = known && t.Op != eval.TreeOther })
	if !known {
		return nil
	}
	return tree
}

// deciding adds to a list the keys that a program reads and that decide how runs go.
func (m *Model) deciding(list []string, p *eval.Program) []string {
	for _, read := range p.Reads() {
		if m.counts[read.Path[0]] && !slices.Contains(list, read.Path[0]) {
			list = append(list, read.Path[0])
		}
	}
	return list
}
