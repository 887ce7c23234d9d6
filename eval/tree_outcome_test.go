package eval

import (
	"strings"
	"testing"
)

func TestImplied(t *testing.T) {
	scope := NewScope(map[string]Type{"a": Bool(), "b": Bool(), "c": Bool()}, ScopeOptions{})
	for _, tt := range []struct {
		src     string
		outcome bool
		implied string // the implied parts, with a ! before false ones
	}{
		{"a and not b", true, "a !b"},
		{"a and b", false, "!and"},
		{"a or not b", false, "!a b"},
		{"a or b", true, "or"},
		{"not (a or b and c)", true, "!a !and"},
		{"a and b or a and c", true, "or"},
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
		var implied []string
		p.Tree.EachImplied(tt.outcome, func(part *Tree, outcome bool) { implied = append(implied, name(part, outcome)) })
		if got := strings.Join(implied, " "); got != tt.implied {
			t.Errorf("%s is %v: implies %q, want %q", tt.src, tt.outcome, got, tt.implied)
		}
	}
}
