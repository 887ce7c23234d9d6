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
	Name string
	// Group is one of RuleGroups, what the rule is about.
	Group    string
	Severity spec.Severity
	// Off says that the rule is checked only when asked for: see Options.Optional.
	Off bool
	// Summary is the meaning in one line, lower case, without a period.
	Summary string
	// Doc explains why it matters and what to do, in sentences.
	Doc string
	// Bad and Good are filled in by Rules: a rule gives one of them, or both.
	Bad, Good string
	// change makes the other example of the one that is given: texts that stand in it, each
	// with what the other has in their place.
	change []string
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

// ruleLists are the rules in the order in which they are checked.
func ruleLists() [][]Rule {
	return [][]Rule{syntaxRules(), structureRules(), expressionRules(), checked()}
}

// RuleNames lists the names of all rules, sorted.
func RuleNames() []string { return namesOf(func(*Rule) bool { return true }) }

// OptionalRules lists the names of the rules that are off by default, sorted.
func OptionalRules() []string { return namesOf(func(r *Rule) bool { return r.Off }) }

// RuleGroups lists the names of the groups of rules, for --rule and for who reads about them.
func RuleGroups() []string {
	return []string{"structure", "expressions", "data", "parallel", "limits", "models", "security", "policies"}
}

// RuleGroup lists the rules of a group; nil when there is none of that name.
func RuleGroup(name string) []string { return namesOf(func(r *Rule) bool { return r.Group == name }) }

// namesOf leaves the examples alone, which every file with silencing comments would pay for.
func namesOf(are func(*Rule) bool) []string {
	var names []string
	for _, rules := range ruleLists() {
		for i := range rules {
			if are(&rules[i]) {
				names = append(names, rules[i].Name)
			}
		}
	}
	slices.Sort(names)
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

// keysOf are the names of some fields, in their order.
func keysOf(fields []spec.Field) []string {
	out := make([]string, len(fields))
	for i := range fields {
		out[i] = fields[i].Key.Value
	}
	return out
}

// What examples begin with, and some that stand for many right flows.
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
	guarded = example + `state:
  n: {type: integer, default: 1}
nodes:
  a: {kind: pass}
  b: {kind: pass}
edges:
  - {from: a, to: b, when: n == 1}
  - {from: a, to: END}
  - {from: b, to: END}
`
	approved = `graphrun: v1
name: release
start: build
policies:
  - {require: approve, before: deploy}
nodes:
  build: {kind: pass}
  approve: {kind: human, prompt: "Ship it?"}
  deploy: {kind: pass}
edges:
  - {from: build, to: approve}
  - {from: approve, to: deploy}
  - {from: deploy, to: END}
`
)
