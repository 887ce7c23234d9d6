// Mutation: whether tests notice that a flow has changed.

package flowtest

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// Mutation reports how many changes of a flow its tests notice.
type Mutation struct {
	// Mutants counts the changes that can be noticed, Killed those that a case notices.
	Mutants int `json:"mutants"`
	Killed  int `json:"killed"`
	// Equivalent counts changes that no input can show, as far as the solver knows. They
	// are not in Mutants.
	Equivalent int `json:"equivalent"`
	// Score is the share of killed mutants, from 0 to 100; without mutants it is 100.
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
	equal bool // no input can show the change
}

// Mutate changes the flows of test files one place at a time, and runs their tests on each
// change. Files of one flow count together.
func Mutate(cfg Config, files []*File) (*Mutation, error) {
	out := &Mutation{Survivors: []Survivor{}}
	cfg.FailFast = true
	done := map[string]bool{}
	for _, f := range files {
		if done[f.Flow] {
			continue
		}
		done[f.Flow] = true
		var own []*File
		for _, other := range files {
			if other.Flow == f.Flow {
				own = append(own, other)
			}
		}
		for _, m := range mutants(f.Graph) {
			if m.equal {
				out.Equivalent++
				continue
			}
			killed, valid, err := noticed(cfg, own, m.graph)
			switch {
			case err != nil:
				return nil, err
			case !valid:
				continue // nobody could have written it
			}
			out.Mutants++
			if killed {
				out.Killed++
				continue
			}
			out.Survivors = append(out.Survivors, Survivor{f.Flow, f.Graph.File.Position(m.at.From).Line, m.what})
		}
	}
	out.Score = 100
	if out.Mutants > 0 {
		out.Score = math.Floor(1000*float64(out.Killed)/float64(out.Mutants)) / 10
	}
	return out, nil
}

// noticed runs the tests of a flow on a change of it.
func noticed(cfg Config, files []*File, g *spec.Graph) (killed, valid bool, err error) {
	var changed []*File
	for _, f := range files {
		again, found, err := parseFor(cfg, f.Name, f.src.Src, g)
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

// mutants lists the changes of a graph, in the order of the file.
func mutants(g *spec.Graph) []mutant {
	var out []mutant
	names := EdgeNames(g)
	for i, e := range g.Edges {
		if e.When.IsSet() {
			out = append(out, guardMutants(g, i, names[i])...)
		}
		if e.Decl >= 0 {
			dropped := *e
			dropped.Condition, dropped.When = "conditional", spec.Text{Value: "false", Span: e.Span}
			if e.Condition == "on_failure" {
				dropped.Condition = e.Condition
			}
			dropped.Fallback = false
			out = append(out, mutant{at: e.Span, what: "the edge " + names[i] + " is dropped", graph: withEdges(g, map[int]*spec.Edge{i: &dropped}), equal: never(g, e)})
		}
		if j := nextOf(g, i); j >= 0 {
			out = append(out, pairMutants(g, i, j, names)...)
		}
	}
	out = append(out, limitMutants(g)...)
	slices.SortStableFunc(out, func(a, b mutant) int { return a.at.From - b.at.From })
	return out
}

// withEdges returns a graph with some edges replaced, by index.
func withEdges(g *spec.Graph, with map[int]*spec.Edge) *spec.Graph {
	out := *g
	out.Edges = slices.Clone(g.Edges)
	for i, e := range with {
		out.Edges[i] = e
	}
	return &out
}

// guardMutants negates a condition, and moves its numbers by one.
func guardMutants(g *spec.Graph, i int, name string) []mutant {
	e := g.Edges[i]
	changes := append([]string{"not (" + e.When.Value + ")"}, moved(e.When.Value)...)
	var out []mutant
	for _, text := range changes {
		own := *e
		own.When.Value = text
		out = append(out, mutant{
			at: e.When.Span, what: "the condition of " + name + " is " + text,
			graph: withEdges(g, map[int]*spec.Edge{i: &own}), equal: sameGuard(g, e, text),
		})
	}
	return out
}

// never reports whether the condition of an edge provably never holds.
func never(g *spec.Graph, e *spec.Edge) bool {
	return e.When.IsSet() && impossible(g, e, e.When.Value)
}

// impossible reports whether a claim after an edge's node provably never holds.
func impossible(g *spec.Graph, e *spec.Edge, claim string) bool {
	n := g.Node(e.From.Value)
	if n == nil {
		return false
	}
	program, bad := scopeOf(g, n).Compile(claim, eval.Condition)
	if bad != nil {
		return false
	}
	var solver solve.Solver
	return !solver.Possible([]solve.Claim{{Tree: program.Tree(), Holds: true}}, func(path []string, typ eval.Type) solve.Domain {
		return domainOf(g, n, path, typ)
	})
}

// sameGuard reports whether two conditions are provably equal.
func sameGuard(g *spec.Graph, e *spec.Edge, text string) bool {
	return impossible(g, e, "("+e.When.Value+") and not ("+text+")") && impossible(g, e, "not ("+e.When.Value+") and ("+text+")")
}

// token matches texts, names and numbers of a condition.
var token = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_][\w.]*|\.?\d[\w.]*`)

// moved returns a condition with each of its whole numbers one more, and one less.
func moved(text string) []string {
	var out []string
	for _, at := range token.FindAllStringIndex(text, -1) {
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

// nextOf returns the next edge of the same node, or -1.
func nextOf(g *spec.Graph, i int) int {
	for j := i + 1; j < len(g.Edges); j++ {
		if g.Edges[j].From.Value == g.Edges[i].From.Value {
			return j
		}
	}
	return -1
}

// pairMutants swaps the targets of two edges of a node, and the order of two conditions.
func pairMutants(g *spec.Graph, i, j int, names []string) []mutant {
	a, b := *g.Edges[i], *g.Edges[j]
	if a.Decl < 0 || b.Decl < 0 {
		return nil
	}
	var out []mutant
	fans := !a.When.IsSet() && !b.When.IsSet() && a.Condition == b.Condition // both fire: a swap is none
	if a.To.Value != b.To.Value && !fans {
		first, second := a, b
		first.To, second.To = b.To, a.To
		out = append(out, mutant{at: a.Span, what: "the targets of " + names[i] + " and " + names[j] + " are swapped", graph: withEdges(g, map[int]*spec.Edge{i: &first, j: &second})})
	}
	if a.When.IsSet() && b.When.IsSet() && a.Condition == b.Condition {
		first, second := a, b
		first.Priority, second.Priority = b.Priority, a.Priority
		if a.Priority == b.Priority {
			second.Priority++
		}
		out = append(out, mutant{
			at: a.Span, what: names[j] + " is tried before " + names[i], graph: withEdges(g, map[int]*spec.Edge{i: &first, j: &second}),
			equal: exclusive(g, &a, &b),
		})
	}
	return out
}

// exclusive reports whether two conditions of a node provably never hold at once, so that
// their order does not matter.
func exclusive(g *spec.Graph, a, b *spec.Edge) bool {
	return impossible(g, a, "("+a.When.Value+") and ("+b.When.Value+")")
}

// scopeOf returns the scope of a node's conditions, with the types that schemas declare.
func scopeOf(g *spec.Graph, n *spec.Node) *eval.Scope {
	names := map[string]eval.Type{
		"output": eval.Any(), "outcome": eval.String(), "error": eval.Any(), "input": eval.Any(), "inputs": eval.Any(),
		"visits": eval.Any(), "history": eval.Any(), "nodes": eval.Any(), "node": eval.String(), "visit": eval.Int(), "step": eval.Int(),
		"goal": eval.String(), "last": eval.Any(), "run": eval.Any(), "branches": eval.Any(), "item": eval.Any(), "index": eval.Any(),
	}
	for _, key := range g.State {
		names[key.Name.Value] = eval.FromSchema(key.Schema)
	}
	alias := map[string][]string{}
	if properties, ok := n.Output["properties"].(map[string]any); ok {
		names["output"] = eval.FromSchema(n.Output)
		for name := range properties {
			if names[name].IsAny() {
				alias[name] = []string{"output", name}
			}
		}
	}
	return eval.NewScope(names, eval.ScopeOptions{Roots: []string{"state"}, Open: true, Alias: alias})
}

// domainOf returns the domain of a value that a node's condition reads.
func domainOf(g *spec.Graph, n *spec.Node, path []string, typ eval.Type) solve.Domain {
	key := g.Key(path[0])
	switch {
	case path[0] == "visits":
		return solve.Domain{Kind: solve.Int, Min: 1, HasMin: true}
	case path[0] == "output" && n.Output != nil:
		return domain.OfSchema(n.Output, "output", path[1:], typ)
	case key != nil:
		return domain.OfSchema(key.Schema, path[0], path[1:], typ)
	}
	return domain.OfType(typ)
}
