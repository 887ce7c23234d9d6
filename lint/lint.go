// Package lint checks what a graph means: its expressions against the declared
// state, its data flow, its branches, its limits. It finds problems; it runs
// nothing.
//
// A rule is a value in a file of its own (rule_*.go) with an example of each
// side. What rules share is computed once for each graph (facts.go).
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Options configure Check. The zero value is fine.
type Options struct {
	// Kinds are the node kinds besides the built-in ones.
	Kinds []spec.Kind
	// Load returns the text of another graph file, by its path relative to the
	// folder of the checked one, with slashes. Without it the rules about
	// subgraphs are silent.
	Load func(path string) ([]byte, error)
	// Price is the most that so many tokens of a model, provider/name, can cost in
	// US dollars; Bound tells costs by it. Without it only limits bound them, and the rule
	// about prices is silent.
	Price func(model string, tokens int) (usd float64, known bool)
	// Broken is an error that reading or spec.Check found, nil for none: rules that
	// conclude from what is absent are silent then.
	Broken *spec.Diagnostic
	// Optional checks the rules too that are off by default.
	Optional bool
}

// Check returns what is wrong with a graph that spec.Parse gave, besides what
// Parse and spec.Check say, in no particular order.
func Check(g *spec.Graph, opts Options) spec.Diagnostics {
	_, found := checkGraph(g, opts)
	for _, inner := range g.Graphs {
		_, more := checkGraph(inner, opts)
		found = append(found, more...)
	}
	return found
}

// checkGraph checks one graph of a file; the facts say what that took.
func checkGraph(g *spec.Graph, opts Options) (*facts, spec.Diagnostics) {
	f := newFacts(g, nil, opts)
	var found spec.Diagnostics
	f.bound, found = bind.Check(g, opts.Kinds, f.childType)
	f.shaped = f.WellFormed()
	level := needAll
	switch {
	case !f.shaped:
		level = needNode
	case opts.Broken != nil || found.HasErrors():
		level = needShape
	}
	if level < needAll {
		f.uncheckedPolicies(cmp.Or(opts.Broken, FirstError(found)))
	}
	// After an invalid edge, warnings about the shape of the graph would only repeat that
	// mistake.
	misshapen := slices.ContainsFunc(g.Edges, func(e *spec.Edge) bool { return g.Faulty(e.Span) })
	for _, rules := range ruleLists() {
		for i := range rules {
			if misshapen && rules[i].needs < needAll && rules[i].Severity == spec.Warning {
				continue
			}
			if rules[i].check != nil && rules[i].needs <= level && (opts.Optional || !rules[i].Off) {
				f.rule = &rules[i]
				f.solver.Most = min(maxSteps, f.solver.Spent+maxStepsOfRule)
				rules[i].check(f)
			}
		}
	}
	return f, append(found, f.found...)
}

// FirstError is the first error of some findings; nil when there is none.
func FirstError(found spec.Diagnostics) *spec.Diagnostic {
	for i := range found {
		if found[i].Severity == spec.Error {
			return &found[i]
		}
	}
	return nil
}

// How many steps of the solver a graph, and one of its rules, may take: counted and not
// timed, so that a file has the same findings on every machine.
const (
	maxSteps       = 500_000
	maxStepsOfRule = 250_000
)

// report adds a finding of the rule that is being checked and returns it for
// additions; it is valid until the next report.
func (f *facts) report(span spec.Span, format string, args ...any) *spec.Diagnostic {
	f.found = append(f.found, spec.Diagnostic{
		File: f.graph.File, Rule: f.rule.Name, Severity: f.rule.Severity, Span: span,
		Message: fmt.Sprintf(format, args...),
	})
	return &f.found[len(f.found)-1]
}

// related is another place of the same file.
func (f *facts) related(span spec.Span, format string, args ...any) spec.Related {
	return spec.Related{File: f.graph.File, Span: span, Message: fmt.Sprintf(format, args...)}
}

// pathText is a path as messages print it, shortened in the middle.
func (f *facts) pathText(path []int) string {
	const most = 8
	text := ""
	for i, v := range path {
		switch {
		case len(path) > most && i == most/2:
			text += " → …"
			continue
		case len(path) > most && i > most/2 && i < len(path)-most/2+1:
			continue
		case i > 0:
			text += " → "
		}
		text += f.Name(v)
	}
	return text
}
