package lint

import (
	"slices"
	"testing"
)

// Every rule is in one group.
func TestGroups(t *testing.T) {
	var all []string
	for _, name := range RuleGroups() {
		rules := RuleGroup(name)
		if slices.Contains(RuleNames(), name) || !slices.IsSorted(rules) || len(rules) == 0 {
			t.Errorf("%s: %v", name, rules)
		}
		all = append(all, rules...)
	}
	slices.Sort(all)
	if want := RuleNames(); !slices.Equal(all, want) {
		t.Errorf("groups have %v, rules are %v", all, want)
	}
	if RuleGroup("nothing") != nil {
		t.Error("a group that there is not has rules")
	}
}
