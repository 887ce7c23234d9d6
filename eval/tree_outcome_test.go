package eval

import (
	"slices"
	"strings"
	"testing"
)

func TestOutcomes(t *testing.T) {
	scope := NewScope(map[string]Type{"a": Bool(), "b": Bool(), "c": Bool()}, ScopeOptions{})
	for _, tt := range []struct {
		src     string
		outcome bool
		implied string // with a ! before what is false
		entails string // of a and b, and their opposites, what follows
	}{
		{"a and not b", true, "a !b", "a !b"},
		{"a and b", false, "!and", ""},
		{"a or not b", false, "!a b", "!a b"},
		{"a or b", true, "or", ""},
		{"not (a or b and c)", true, "!a !and", "!a"},
		{"a and b or a and c", true, "or", "a"},
	} {
		p, err := scope.Compile(tt.src, Condition)
		if err != nil {
			t.Fatal(err)
		}
		name := func(t *Tree, outcome bool) string {
			word := t.Name
			if t.Op == TreePath {
				word = t.Path[0]
			}
			if !outcome {
				return "!" + word
			}
			return word
		}
		var implied, entails []string
		p.Tree().Implied(tt.outcome, func(part *Tree, outcome bool) { implied = append(implied, name(part, outcome)) })
		for _, want := range []string{"a", "!a", "b", "!b"} {
			if p.Tree().Entails(tt.outcome, func(part *Tree, outcome bool) bool { return name(part, outcome) == want }) {
				entails = append(entails, want)
			}
		}
		slices.Sort(entails)
		want := strings.Fields(tt.entails)
		slices.Sort(want)
		if got := strings.Join(implied, " "); got != tt.implied || !slices.Equal(entails, want) {
			t.Errorf("%s is %v: implies %q, want %q; entails %q, want %q", tt.src, tt.outcome, got, tt.implied, entails, want)
		}
	}
}
