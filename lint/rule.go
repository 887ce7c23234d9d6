// What a rule is, and the list of all of them.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// Rule is one check: what it is called, what it means, and an example of each
// side. The examples are complete graph files: a test holds that Bad raises
// the rule and that Good raises nothing.
type Rule struct {
	// Name is the slug that findings carry and that flags and comments use.
	Name     string
	Severity spec.Severity
	// Off says that the rule is checked only when asked for: see Options.Optional.
	Off bool
	// Summary is the meaning in one line, lower case, without a period.
	Summary string
	// Doc explains why it matters and what to do, in sentences.
	Doc       string
	Bad, Good string
	// Files are the other files that the examples refer to, by path.
	Files map[string]string

	// needs says how much of the graph must be there for the rule to judge.
	needs need
	// check reports what it finds; nil for rules whose findings come from
	// reading the file, from spec.Check or from compiling the expressions.
	check func(*facts)
}

// need says what a rule draws conclusions from. On a graph that lacks it the
// rule stays silent, since what it would say might only be a consequence.
type need int

const (
	needNode  need = iota // single nodes: good on any graph
	needShape             // all nodes and edges
	needAll               // every expression too
)

// Rules lists every rule, sorted by name. Each call builds a new list.
func Rules() []Rule {
	all := slices.Concat(ruleLists()...)
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// ruleLists are the rules in the order in which they are checked.
func ruleLists() [][]Rule {
	return [][]Rule{syntaxRules(), structureRules(), expressionRules(), checked()}
}

// RuleNames lists the names of all rules, sorted.
func RuleNames() []string {
	rules := Rules()
	names := make([]string, len(rules))
	for i := range rules {
		names[i] = rules[i].Name
	}
	return names
}

// OptionalRules lists the names of the rules that are off by default, sorted.
func OptionalRules() []string {
	var names []string
	for _, r := range Rules() {
		if r.Off {
			names = append(names, r.Name)
		}
	}
	return names
}

// FindRule returns the rule of that name.
func FindRule(name string) (rule Rule, ok bool) {
	for _, r := range Rules() {
		if r.Name == name {
			return r, true
		}
	}
	return Rule{}, false
}

// What examples begin with, and two that stand for many right flows.
const (
	example = `graphrun: v1
name: example
start: a
`
	oneNode = example + `nodes:
  a: {kind: pass}
edges:
  - {from: a, to: END}
`
	twoNodes = example + `nodes:
  a: {kind: pass}
  b: {kind: pass}
edges:
  - {from: a, to: b}
  - {from: b, to: END}
`
)
