// Mutation testing of flows.

package flowtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// Mutation reports how many changes of a flow its tests notice.
type Mutation struct {
	// Mutants counts the changes that a case could notice, Killed the changes that a case notices.
	Mutants int `json:"mutants"`
	Killed  int `json:"killed"`
	// Equivalent counts changes that the solver knows to have no effect. Mutants excludes them.
	Equivalent int `json:"equivalent"`
	// Score is the share of killed mutants, from 0 to 100. It is 100 if there are none.
	Score     float64    `json:"score"`
	Survivors []Survivor `json:"survivors"`
}

// Survivor is a change that no case notices.
type Survivor struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// What describes the change.
	What string `json:"what"`
}

// mutant is a flow with one change.
type mutant struct {
	at    spec.Span
	what  string
	graph *spec.Graph
	equal bool // the change is known to have no effect
}

// Mutate makes one change at a time to the flows of test files, and runs their tests on each
// change. It counts the files of one flow together.
func Mutate(cfg Config, files []*File) (*Mutation, error) {
	out := &Mutation{Survivors: []Survivor{}}
	cfg.FailFast = true
	byFlow := map[string][]*File{}
	for _, f := range files {
		byFlow[f.Flow] = append(byFlow[f.Flow], f)
	}
	for _, f := range files {
		own := byFlow[f.Flow]
		if own[0] != f {
			continue // another file has done this flow
		}
		for _, m := range listMutants(&cfg, f.Graph) {
			if m.equal {
				out.Equivalent++
				continue
			}
			killed, valid, err := testMutant(cfg, own, m.graph)
			if err != nil {
				return nil, err
			} else if !valid {
				continue
			}
			if out.Mutants++; killed {
				out.Killed++
			} else {
				out.Survivors = append(out.Survivors, Survivor{f.Flow, f.Graph.File.Position(m.at.From).Line, m.what})
			}
		}
	}
	out.Score = Covered[Survivor]{Covered: out.Killed, Total: out.Mutants}.Percent()
	return out, nil
}

// testMutant runs the tests of a flow on a changed graph.
func testMutant(cfg Config, files []*File, g *spec.Graph) (killed, valid bool, err error) {
	cfg.Check = func(string, []byte) (*spec.Graph, spec.Diagnostics) { return g, nil }
	var changed []*File
	for _, f := range files {
		again, found, err := Parse(cfg, f.Name, f.src.Src)
		if err != nil {
			return false, false, err
		}
		if found.HasErrors() || again == nil {
			return false, false, nil
		}
		changed = append(changed, again)
	}
	return Run(cfg, changed).Failed > 0, true, nil
}

// mutator collects the mutants of a graph.
type mutator struct {
	guards
	cfg     *Config
	names   []string // of the edges
	mutants []mutant
}

// listMutants lists the changes of a graph, in the order of the file.
func listMutants(cfg *Config, g *spec.Graph) []mutant {
	m := &mutator{guards: newGuards(cfg, g), cfg: cfg, names: EdgeNames(g)}
	for i, e := range g.Edges {
		if e.When.IsSet() {
			m.mutateGuard(i)
		}
		if e.Decl >= 0 {
			dropped := *e
			dropped.Condition, dropped.When = "conditional", spec.Text{Value: "false", Span: e.Span}
			if e.Condition == "on_failure" {
				dropped.Condition = e.Condition
			}
			dropped.Fallback = false
			m.addMutant(e.Span, "the edge "+m.names[i]+" is dropped", m.replaceEdges(map[int]*spec.Edge{i: &dropped}), m.neverHolds(i))
		}
		next := slices.IndexFunc(g.Edges[i+1:], func(other *spec.Edge) bool { return other.From.Value == e.From.Value })
		if next >= 0 {
			m.mutatePair(i, i+1+next)
		}
	}
	m.mutateLimits()
	slices.SortStableFunc(m.mutants, func(a, b mutant) int { return a.at.From - b.at.From })
	return m.mutants
}

func (m *mutator) addMutant(at spec.Span, what string, g *spec.Graph, equal bool) {
	m.mutants = append(m.mutants, mutant{at, what, g, equal})
}

// replaceEdges returns the graph with some edges replaced, by index.
func (m *mutator) replaceEdges(with map[int]*spec.Edge) *spec.Graph {
	out := *m.graph
	out.Edges = slices.Clone(out.Edges)
	for i, e := range with {
		out.Edges[i] = e
	}
	return &out
}

// mutateGuard negates a condition, and shifts each of its numbers by one.
func (m *mutator) mutateGuard(i int) {
	e := m.graph.Edges[i]
	for _, text := range append([]string{"not (" + e.When.Value + ")"}, shiftNumbers(e.When.Value)...) {
		own := *e
		own.When.Value = text
		changed := m.replaceEdges(map[int]*spec.Edge{i: &own})
		m.addMutant(e.When.Span, "the condition of "+m.names[i]+" is "+text, changed, m.isEquivalent(i, newGuards(m.cfg, changed)))
	}
}

// guards answers questions about the conditions of a graph.
type guards struct {
	graph *spec.Graph
	bound *bind.Graph
}

func newGuards(cfg *Config, g *spec.Graph) guards {
	bound, _ := bind.Bind(g, specKinds(cfg.Kinds), nil)
	return guards{g, bound}
}

// newClaim returns the claim that the condition of an edge holds, or does not.
func (w guards) newClaim(edge int, holds bool) solve.Claim {
	tree := &eval.Tree{Op: eval.TreeOther, Name: w.graph.Edges[edge].When.Value} // it may not compile
	if when := w.bound.Edges[edge].When; when != nil {
		tree = when.Tree
	}
	return solve.Claim{Tree: tree, Holds: holds}
}

// areExclusive reports whether claims after the node of an edge never hold together.
func (w guards) areExclusive(edge int, claims ...solve.Claim) bool {
	n := w.graph.Node(w.graph.Edges[edge].From.Value)
	return n != nil && !new(solve.Solver).CanHold(claims, func(path []string, typ eval.Type) solve.Domain {
		key := w.graph.Key(path[0])
		switch {
		case path[0] == "visits":
			return solve.Domain{Kind: solve.Int, Min: 1, HasMin: true}
		case path[0] == "output" && n.Output != nil:
			return domain.OfSchema(n.Output, "output", path[1:], typ)
		case key != nil:
			return domain.OfSchema(key.Schema, path[0], path[1:], typ)
		}
		return domain.OfType(typ)
	})
}

// neverHolds reports whether the condition of an edge is known to be always false.
func (w guards) neverHolds(edge int) bool {
	return w.graph.Edges[edge].When.IsSet() && w.areExclusive(edge, w.newClaim(edge, true))
}

// isEquivalent reports whether the condition of an edge means the same in another graph.
func (w guards) isEquivalent(edge int, other guards) bool {
	return w.areExclusive(edge, w.newClaim(edge, true), other.newClaim(edge, false)) && w.areExclusive(edge, w.newClaim(edge, false), other.newClaim(edge, true))
}

// token matches texts, names and numbers of a condition.
var token = lazyregexp.New(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_][\w.]*|\.?\d[\w.]*`)

// shiftNumbers returns copies of a condition in which one whole number is one more or less.
func shiftNumbers(text string) []string {
	var out []string
	for _, at := range token.Get().FindAllStringIndex(text, -1) {
		n, err := strconv.Atoi(text[at[0]:at[1]])
		if err != nil {
			continue
		}
		for _, other := range []int{n + 1, n - 1} {
			number := strconv.Itoa(other)
			if other < 0 && strings.HasSuffix(strings.TrimSpace(text[:at[0]]), "-") {
				number = "(" + number + ")"
			}
			out = append(out, text[:at[0]]+number+text[at[1]:])
		}
	}
	return out
}

// mutatePair swaps the targets of two edges of a node, and the order of two conditions.
func (m *mutator) mutatePair(i, j int) {
	a, b := *m.graph.Edges[i], *m.graph.Edges[j]
	if a.Decl < 0 || b.Decl < 0 {
		return
	}
	bothFire := !a.When.IsSet() && !b.When.IsSet() && a.Condition == b.Condition // both fire, so a swap has no effect
	if a.To.Value != b.To.Value && !bothFire {
		first, second := a, b
		first.To, second.To = b.To, a.To
		m.addMutant(a.Span, "the targets of "+m.names[i]+" and "+m.names[j]+" are swapped", m.replaceEdges(map[int]*spec.Edge{i: &first, j: &second}), false)
	}
	if a.When.IsSet() && b.When.IsSet() && a.Condition == b.Condition {
		first, second := a, b
		first.Priority, second.Priority = b.Priority, a.Priority
		if a.Priority == b.Priority {
			second.Priority++
		}
		isOrderFree := m.areExclusive(i, m.newClaim(i, true), m.newClaim(j, true))
		m.addMutant(a.Span, m.names[j]+" is tried before "+m.names[i], m.replaceEdges(map[int]*spec.Edge{i: &first, j: &second}), isOrderFree)
	}
}

// limitSite is a number or a duration in a graph that limits its runs.
type limitSite struct {
	at     spec.Span
	name   string
	number *int           // to shift by one
	time   *time.Duration // to drop
}

func listLimits(g *spec.Graph) []limitSite {
	l := &g.Limits
	at := func(key string) spec.Span { return writtenSpan(l.ValueOf(key), l.Span) }
	out := []limitSite{
		{at: at("max_steps"), name: "limits.max_steps", number: &l.MaxSteps},
		{at: at("timeout"), name: "limits.timeout", time: &l.Timeout},
		{at: at("step_timeout"), name: "limits.step_timeout", time: &l.StepTimeout},
		{at: at("node_timeout"), name: "limits.node_timeout", time: &l.NodeTimeout},
		{at: g.Parallel.Span, name: "parallel.branch_timeout", time: &g.Parallel.BranchTimeout},
		{at: at("max_visits"), name: "limits.max_visits", number: &l.MaxVisits},
	}
	attempts := func(of string, blocks []spec.Retry) {
		for i := range blocks {
			out = append(out, limitSite{at: blocks[i].Span, name: "max_attempts of " + of, number: &blocks[i].MaxAttempts})
		}
	}
	attempts("the graph", g.Retry)
	for _, n := range g.Nodes {
		out = append(out, limitSite{at: writtenSpan(n.ValueOf("max_visits"), n.Span), name: "max_visits of " + n.ID.Value, number: &n.MaxVisits})
		attempts(n.ID.Value, n.Retry)
		out = append(out, limitSite{at: writtenSpan(n.ValueOf("timeout"), n.Span), name: "the timeout of " + n.ID.Value, time: &n.Timeout})
		if n.Parallel != nil {
			out = append(out, limitSite{at: n.Parallel.Span, name: "the branch_timeout of " + n.ID.Value, time: &n.Parallel.BranchTimeout})
		}
	}
	return out
}

// writtenSpan returns the span of a value in the file, or whole for nil.
func writtenSpan(v *spec.Value, whole spec.Span) spec.Span {
	if v == nil {
		return whole
	}
	return v.Span
}

func (m *mutator) mutateLimits() {
	g := m.graph
	for i, s := range listLimits(g) {
		if s.time != nil && *s.time > 0 {
			own := copyLimits(g)
			*listLimits(own)[i].time = 0
			m.addMutant(s.at, s.name+" is dropped", own, false)
		}
		isSteps := s.number == &g.Limits.MaxSteps
		if s.number == nil || isSteps && s.at == g.Limits.Span { // it is the default
			continue
		}
		for _, n := range []int{*s.number - 1, *s.number + 1} {
			if *s.number == 0 || n == 0 { // not set, or invalid
				continue
			}
			own := copyLimits(g)
			*listLimits(own)[i].number = n
			equal := isSteps && boundSteps(g, g.Limits.MaxSteps+2) <= min(g.Limits.MaxSteps, n)
			m.addMutant(s.at, fmt.Sprintf("%s is %d", s.name, n), own, equal)
		}
	}
}

// copyLimits returns a copy of a graph with limits of its own.
func copyLimits(g *spec.Graph) *spec.Graph {
	nodes := map[string]*spec.Node{}
	for _, n := range g.Nodes {
		own := *n
		own.Retry = slices.Clone(n.Retry)
		if n.Parallel != nil {
			parallel := *n.Parallel
			own.Parallel = &parallel
		}
		nodes[n.ID.Value] = &own
	}
	out := *g.WithNodes(nodes)
	out.Retry = slices.Clone(g.Retry)
	return &out
}

// boundSteps bounds the steps of any run of a graph. The result is at most limit.
func boundSteps(g *spec.Graph, limit int) int {
	free := *g
	free.Limits.MaxSteps = limit
	if b, ok := bound.Of(&free, bound.Options{Load: spec.NewLoader(g.File.Name)}); ok && b.Steps.Max < float64(limit) {
		return int(b.Steps.Max)
	}
	return limit
}
