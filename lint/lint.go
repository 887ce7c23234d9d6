// Package lint checks what a graph means: its expressions against the declared state, its
// data flow, its branches, its limits. It finds problems; it runs nothing.
//
// Rules stand in a file for each family, each with an example of both sides. The facts that
// rules share are computed once for each graph (facts.go).
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
	// Kinds are the node kinds besides the built-in ones.
	Kinds []spec.Kind
	// Load returns the text of another graph file, by its path relative to the folder of
	// the checked one, with slashes. Without it the rules about subgraphs are silent.
	Load func(path string) ([]byte, error)
	// Price returns the most that so many tokens of a model, provider/name, can cost in US
	// dollars. Without it only limits bound costs, and the rule about prices is silent.
	Price func(model string, tokens int) (usd float64, known bool)
	// Broken is an error that reading or spec.Check found, or nil. Rules that conclude from
	// what is absent are silent then.
	Broken *spec.Diagnostic
	// Optional also checks the rules that are off by default.
	Optional bool
}

// Rule is one check with its documentation. The examples are complete graph files: a test
// checks that Bad raises the rule and that Good raises nothing.
type Rule struct {
	// Name is the slug that findings carry and that flags and comments use.
	Name string
	// Group is one of RuleGroups.
	Group    string
	Severity spec.Severity
	// Off says that only Options.Optional checks the rule.
	Off bool
	// Summary is the meaning in one line, lower case, without a period.
	Summary string
	// Doc explains why it matters and what to do, in sentences.
	Doc string
	// Bad and Good are filled in by Rules: a rule gives one of them, or both.
	Bad, Good string
	// change makes the other example of the given one: pairs of old and new texts.
	change []string
	// Files are the other files that the examples refer to, by path.
	Files map[string]string

	needs need
	// check reports findings. Rules without it are checked when the file is read, by
	// spec.Check, or by the compiler of expressions.
	check func(*facts)
}

// need says what a rule draws conclusions from. On a graph that lacks it the rule is silent,
// since its findings might only be a consequence.
type need int

const (
	needNode  need = iota // single nodes: good on any graph
	needShape             // all nodes and edges
	needAll               // every expression too
)

// Limits on the steps of the solver for a graph and for one rule. They are counted, not
// timed, so that a file has the same findings on every machine.
const (
	maxSteps       = 500_000
	maxStepsOfRule = 250_000
)

// Check returns the problems of a parsed graph, besides those that Parse and spec.Check
// report, in no particular order.
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
	f.bound, found = bind.Check(g, opts.Kinds, f.childType)
	f.shaped = f.WellFormed()
	level := needAll
	switch {
	case !f.shaped:
		level = needNode
	case opts.Broken != nil || found.HasErrors():
		level = needShape
	}
	if f.correct = level == needAll; !f.correct {
		f.uncheckedPolicies(cmp.Or(opts.Broken, FirstError(found)))
	}
	// After an invalid edge, warnings about the shape would only repeat that mistake.
	misshapen := slices.ContainsFunc(g.Edges, func(e *spec.Edge) bool { return g.Faulty(e.Span) })
	for _, r := range allRules() {
		if r.check == nil || r.needs > level || r.Off && !opts.Optional || misshapen && r.needs < needAll && r.Severity == spec.Warning {
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
	for i := range found {
		if found[i].Severity == spec.Error {
			return &found[i]
		}
	}
	return nil
}

// report adds a finding of the rule that is being checked. The result is valid until the
// next report.
func (f *facts) report(span spec.Span, format string, args ...any) *spec.Diagnostic {
	f.found = append(f.found, spec.Diagnostic{
		File: f.graph.File, Rule: f.rule.Name, Severity: f.rule.Severity, Span: span,
		Message: fmt.Sprintf(format, args...),
	})
	return &f.found[len(f.found)-1]
}

// warn reports what fails in some runs only.
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
	var names []string
	for i, v := range path {
		switch {
		case len(path) <= most || i < most/2 || i > len(path)-most/2:
			names = append(names, f.Name(v))
		case i == most/2:
			names = append(names, "…")
		}
	}
	return strings.Join(names, " → ")
}

// allRules lists the rules in the order in which they are checked.
func allRules() []Rule {
	return slices.Concat(
		structureRules(), conditionRules(), readRules(), unusedRules(), parallelRules(), cycleRules(), limitRules(), policyRules(),
		securityRules(), modelRules(), graphRules(),
	)
}

// Rules lists every rule, sorted by name. Each call builds a new list.
func Rules() []Rule {
	all := allRules()
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	for i := range all {
		switch r := &all[i]; "" {
		case r.Good:
			r.Good = strings.NewReplacer(r.change...).Replace(r.Bad)
		case r.Bad:
			r.Bad = strings.NewReplacer(r.change...).Replace(r.Good)
		}
	}
	return all
}

// RuleNames lists the names of all rules, sorted.
func RuleNames() []string { return selectNames(func(*Rule) bool { return true }) }

// OptionalRules lists the names of the rules that are off by default, sorted.
func OptionalRules() []string { return selectNames(func(r *Rule) bool { return r.Off }) }

// RuleGroups lists the names of the groups of rules.
func RuleGroups() []string {
	return []string{"structure", "expressions", "data", "parallel", "limits", "models", "security", "policies"}
}

// RuleGroup lists the rules of a group, or nil.
func RuleGroup(name string) []string {
	return selectNames(func(r *Rule) bool { return r.Group == name })
}

func selectNames(match func(*Rule) bool) []string {
	var names []string
	for _, r := range allRules() {
		if match(&r) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}

// FindRule returns the rule of that name.
func FindRule(name string) (rule Rule, ok bool) {
	all := Rules()
	if i := slices.IndexFunc(all, func(r Rule) bool { return r.Name == name }); i >= 0 {
		return all[i], true
	}
	return Rule{}, false
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

// startAt returns the head of an example.
func startAt(node string) string { return "graphrun: v1\nname: example\nstart: " + node + "\n" }

// singleNode returns an example with one node that leads to END, and its keys before nodes.
func singleNode(node, keys, config string) string {
	return startAt(node) + keys + "nodes:\n  " + node + ": " + config + "\nedges: [{from: " + node + ", to: END}]\n"
}

// passNodes writes nodes that do nothing.
func passNodes(names ...string) string {
	return "nodes:\n  " + strings.Join(names, ": {kind: pass}\n  ") + ": {kind: pass}\n"
}

// edges writes the edges of an example.
func edges(list ...string) string {
	return "edges:\n  - {" + strings.Join(list, "}\n  - {") + "}\n"
}

// Parts of examples.
var (
	oneNode  = singleNode("a", "", "{kind: pass}")
	example  = startAt("a")
	twoNodes = example + passNodes("a", "b") + edges("from: a, to: b", "from: b, to: END")
	scored   = startAt("score") + "state:\n  n: {type: integer, required: true}\n" + passNodes("score", "high", "low")
	guarded  = example + "state:\n  n: {type: integer, default: 1}\n" + passNodes("a", "b") + edges("from: a, to: b, when: n == 1", "from: a, to: END", "from: b, to: END")
	approved = `graphrun: v1
name: release
start: build
policies:
  - {require: approve, before: deploy}
nodes:
  build: {kind: pass}
  approve: {kind: human, prompt: "Ship it?"}
  deploy: {kind: pass}
` + edges("from: build, to: approve", "from: approve, to: deploy", "from: deploy, to: END")
)
