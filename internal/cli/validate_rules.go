// The names of the rules, for --rule and its completion.

package cli

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/suggest"
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

// didYouMean is the end of a message about an unknown name; "" when nothing is near.
func didYouMean(name string, known []string) string {
	if near := suggest.New(known).Closest(name); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
