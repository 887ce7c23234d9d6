// Package lint checks what a graph means: its expressions against the declared state, its
// data flow, its branches, its limits. It finds problems; it runs nothing.
//
// The table of rules is in rules.go, their texts and examples are in rules.md, and their checks in a
// file for each family. facts.go computes the facts that rules share once for each graph.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Options configure Check. The zero value is fine.
type Options struct {
	// Kinds are the node kinds in addition to the built-in ones.
	Kinds []spec.Kind
	// Load returns the text of another graph file, by its path relative to the folder of
	// the checked one, with slashes. Without it the rules about subgraphs are silent.
	Load func(path string) ([]byte, error)
	// Price returns the most that so many tokens of a model, provider/name, can cost in US
	// dollars. Without it only limits bound costs, and the rule about prices is silent.
	Price func(model string, tokens int) (usd float64, known bool)
	// Broken is an error that reading or spec.Check found, or nil. With an error, rules that
	// conclude from what is absent are silent.
	Broken *spec.Diagnostic
	// Optional also checks the rules that are off by default.
	Optional bool
}

// Limits on the steps of the solver for a graph and for one rule. They are counted, not
// timed, so that a file has the same findings on every machine.
const (
	maxSteps       = 500_000
	maxStepsOfRule = 250_000
)

// Check returns the problems of a parsed graph that Parse and spec.Check don't report, unordered.
func Check(g *spec.Graph, opts Options) spec.Diagnostics {
	_, found := checkGraph(g, opts)
	for _, inner := range g.Graphs {
		_, more := checkGraph(inner, opts)
		found = append(found, more...)
	}
	return found
}

// checkGraph checks one graph of a file.
func checkGraph(g *spec.Graph, opts Options) (*facts, spec.Diagnostics) {
	f := newFacts(g, nil, opts)
	var found spec.Diagnostics
	f.bound, found = bind.Bind(g, opts.Kinds, f.childType)
	f.has = needAll
	if because := cmp.Or(opts.Broken, FirstError(found)); because != nil {
		f.has = needShape
		f.reportUnchecked(because)
	}
	if !f.WellFormed() {
		f.has = needNode
	}
	// After an invalid edge, warnings about the shape would only repeat that mistake.
	misshapen := slices.ContainsFunc(g.Edges, func(e *spec.Edge) bool { return g.HasFaultIn(e.Span) })
	for _, r := range allRules() {
		if r.check == nil || r.needs > f.has || r.Off && !opts.Optional || misshapen && r.needs < needAll && r.Severity == spec.Warning {
			continue
		}
		f.rule = &r
		f.solver.Most = min(maxSteps, f.solver.Spent+maxStepsOfRule)
		r.check(f)
	}
	return f, append(found, f.found...)
}

// FirstError returns the first error among findings, or nil.
func FirstError(found spec.Diagnostics) *spec.Diagnostic {
	if i := slices.IndexFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Error }); i >= 0 {
		return &found[i]
	}
	return nil
}

// report adds a finding of the current rule. The result is valid until the next report.
func (f *facts) report(span spec.Span, format string, args ...any) *spec.Diagnostic {
	f.found = append(f.found, spec.Diagnostic{
		File: f.graph.File, Rule: f.rule.Name, Severity: f.rule.Severity, Span: span,
		Message: fmt.Sprintf(format, args...),
	})
	return &f.found[len(f.found)-1]
}

// warn reports a warning of a rule about errors.
func (f *facts) warn(span spec.Span, format string, args ...any) {
	f.report(span, format, args...).Severity = spec.Warning
}

// related describes another position of the same file.
func (f *facts) related(span spec.Span, format string, args ...any) spec.Related {
	return spec.Related{File: f.graph.File, Span: span, Message: fmt.Sprintf(format, args...)}
}

// pathText writes a path for messages, shortened in the middle.
func (f *facts) pathText(path []int) string {
	const most = 8
	names := collect(path, f.Name)
	if len(names) > most {
		names = slices.Concat(names[:most/2], []string{"…"}, names[len(names)-most/2+1:])
	}
	return strings.Join(names, " → ")
}

// collect returns a part of each item of a list.
func collect[T, U any](list []T, part func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = part(item)
	}
	return out
}

// keysOf returns the names of fields, in their order.
func keysOf(fields []spec.Field) []string {
	return collect(fields, func(f spec.Field) string { return f.Key.Value })
}

// valueOf returns the value of a field, or nil.
func valueOf(fields []spec.Field, name string) *spec.Value {
	return (&spec.Value{Fields: fields}).Get(name)
}
