// The names of the rules, for --rule and its completion.

package cli

import (
	"slices"

	"github.com/graphrun/graphrun/lint"
)

// ruleNames lists the rules of the language, sorted.
func ruleNames() []string { return lint.RuleNames() }

// ruleChoices are the words --rule takes.
func ruleChoices() []string {
	var out []string
	for _, name := range append(ruleNames(), lint.RuleGroups()...) {
		out = append(out, "-"+name, "+"+name)
	}
	return out
}

func contains(sorted []string, s string) bool {
	_, ok := slices.BinarySearch(sorted, s)
	return ok
}
