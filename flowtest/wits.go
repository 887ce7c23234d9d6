// Which outputs are worth trying: those that make conditions come out one way or the
// other, found by the solver.

package flowtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// wits finds values for the conditions of a graph and the graphs in it.
type wits struct {
	graph *spec.Graph
	// solved are the solutions for each decision: values by path, per way out.
	solved map[*spec.Graph][]solution
	solver solve.Solver
	// spent is how many conditions the solver has evaluated for the questions before.
	spent int
	// full says that lists which nodes go through with each are filled, too.
	full bool
}

// solution makes an edge of a node fire.
type solution struct {
	node   string
	edge   int
	failed bool // behind a failure
	values []solve.Binding
}

func newWits(g *spec.Graph, full bool) *wits {
	return &wits{graph: g, solved: map[*spec.Graph][]solution{}, full: full}
}

// solutions are those of all decisions of a graph, in the order of its edges.
func (w *wits) solutions(g *spec.Graph) []solution {
	if list, ok := w.solved[g]; ok {
		return list
	}
	list := []solution{}
	for _, n := range g.Nodes {
		for _, failed := range []bool{false, true} {
			list = append(list, w.decision(g, n, failed)...)
		}
		if w.full {
			list = append(list, filled(g, n)...)
		}
	}
	w.solved[g] = list
	return list
}

// filled makes the list that a node goes through with each as long as its schema allows.
func filled(g *spec.Graph, n *spec.Node) []solution {
	name := strings.TrimSpace(n.Each.Value)
	most, bounded := schemaOf(g, name)["maxItems"].(int)
	if !bounded {
		return nil
	}
	long := maps.Clone(schemaOf(g, name))
	long["minItems"] = most
	return []solution{{edge: -1, values: []solve.Binding{{Path: []string{name}, Value: least(long)}}}}
}

// decision solves the guards behind a node: each true with those before it false,
// and all of them false.
func (w *wits) decision(g *spec.Graph, n *spec.Node, failed bool) []solution {
	guards := decisionOf(g, n, failed)
	var out []solution
	var before []string
	for i := range len(guards) + 1 {
		claim := strings.Join(before, " and ")
		edge := -1
		if i < len(guards) {
			edge = guards[i].Index
			own := "(" + guards[i].When.Value + ")"
			claim = strings.Join(append(slices.Clone(before), own), " and ")
			before = append(before, "not "+own)
		}
		if claim == "" {
			continue
		}
		for _, way := range waysOf(guards, i, before, claim) {
			if values, ok := w.solve(g, n, way); ok {
				out = append(out, solution{n.ID.Value, edge, failed, values})
			}
		}
	}
	return out
}

// waysOf are a claim, and what makes it hold in each of the ways that its last
// guard names with or: the solver finds one, which need not be one that a run can
// come to.
func waysOf(guards []*spec.Edge, i int, before []string, claim string) []string {
	out := []string{claim}
	if i == len(guards) {
		return out
	}
	parts := alternatives(guards[i].When.Value)
	if len(parts) == 1 {
		return out
	}
	for _, part := range parts {
		out = append(out, strings.Join(append(slices.Clone(before[:len(before)-1]), "("+part+")"), " and "))
	}
	return out
}

// alternatives splits a condition at each or that stands in no parentheses.
func alternatives(text string) []string {
	var out []string
	depth, from, quote := 0, 0, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], " or "):
			out = append(out, text[from:i])
			from, i = i+4, i+3
		case depth == 0 && strings.HasPrefix(text[i:], "||"):
			out = append(out, text[from:i])
			from, i = i+2, i+1
		}
	}
	return append(out, text[from:])
}

// scopeOf is what a condition behind a node reads, as far as it matters here.
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

// begin lets the solver evaluate so many conditions for the next question.
func (w *wits) begin(most int) {
	w.spent += w.solver.Spent
	w.solver.Most, w.solver.Spent = most, 0
}

// solve finds values with which a claim holds.
func (w *wits) solve(g *spec.Graph, n *spec.Node, claim string) ([]solve.Binding, bool) {
	program, bad := scopeOf(g, n).Compile("not ("+claim+")", eval.Condition)
	if bad != nil {
		return nil, false
	}
	w.begin(400_000)
	result := w.solver.Solve(solve.Problem{
		Conditions: []*eval.Program{program},
		Domain: func(path []string, typ eval.Type) solve.Domain {
			return domainOf(g, n, path, typ)
		},
		Valid: func(path []string, value any) bool {
			doc := docAt(g, n, path)
			if doc == nil {
				return true
			}
			compiled, err := schema.Compile(plainSchema(doc))
			return err != nil || compiled.Check(value) == nil
		},
	})
	return result.Gap, result.Gap != nil
}

// docAt is the schema of the value at a path; nil: none is known.
func docAt(g *spec.Graph, n *spec.Node, path []string) map[string]any {
	var doc map[string]any
	rest := path[1:]
	switch key := g.Key(path[0]); {
	case path[0] == "output":
		doc = n.Output
	case key != nil:
		doc = key.Schema
	}
	for _, name := range rest {
		properties, _ := doc["properties"].(map[string]any)
		doc, _ = properties[name].(map[string]any)
	}
	return doc
}

func domainOf(g *spec.Graph, n *spec.Node, path []string, typ eval.Type) solve.Domain {
	if path[0] == "visits" {
		return solve.Domain{Kind: solve.Int, Min: 1, HasMin: true}
	}
	return domainOfDoc(docAt(g, n, path), typ)
}

// domainOfDoc is what a schema and a type say of a value.
func domainOfDoc(doc map[string]any, typ eval.Type) solve.Domain {
	d := solve.Domain{}
	switch typ.String() {
	case "boolean":
		d.Kind = solve.Bool
	case "integer":
		d.Kind = solve.Int
	case "number":
		d.Kind = solve.Number
	case "string":
		d.Kind = solve.String
	default:
		if doc["type"] == "array" {
			items, _ := doc["items"].(map[string]any)
			d.Kind, d.Element = solve.Other, kindOf(items)
		}
	}
	if list, ok := doc["enum"].([]any); ok {
		d.Values = list
	}
	for name, bound := range map[string]*float64{"minimum": &d.Min, "maximum": &d.Max} {
		switch v := doc[name].(type) {
		case int:
			*bound = float64(v)
		case float64:
			*bound = v
		default:
			continue
		}
		if name == "minimum" {
			d.HasMin = true
		} else {
			d.HasMax = true
		}
	}
	return d
}

// kindOf is what kind of values a schema is about.
func kindOf(doc map[string]any) solve.Kind {
	switch doc["type"] {
	case "boolean":
		return solve.Bool
	case "integer":
		return solve.Int
	case "number":
		return solve.Number
	case "string":
		return solve.String
	case "array", "object":
		return solve.Other
	}
	return solve.Any
}

// whyNot says why no run was found that fires an edge.
func (w *wits) whyNot(edge, tries int) string {
	g := w.graph
	e := g.Edges[edge]
	n := g.Node(e.From.Value)
	if n == nil || !e.When.IsSet() {
		return fmt.Sprintf("none of %d runs comes there", tries)
	}
	if slices.ContainsFunc(w.solutions(g), func(s solution) bool { return s.edge == edge }) {
		return fmt.Sprintf("%s can hold, but none of %d runs makes it so", quoted(e.When.Value), tries)
	}
	program, bad := scopeOf(g, n).Compile(e.When.Value, eval.Condition)
	if bad == nil && !w.solver.Possible([]solve.Claim{{Tree: program.Tree(), Holds: true}}, func(path []string, typ eval.Type) solve.Domain {
		return domainOf(g, n, path, typ)
	}) {
		return quoted(e.When.Value) + " never holds"
	}
	return "no value is known that makes " + quoted(e.When.Value) + " hold while no condition before it does"
}
