package runner

import (
	"slices"
	"testing"
)

// An answer for one element takes precedence over one for any element. Each answer is used once.
func TestBookGivesEachAnswerOnce(t *testing.T) {
	b := newAnswerBook(map[string][]string{"a": {"any", "last"}, "a[1]": {"second"}, "p:key": {"named"}})
	for _, c := range []struct {
		target, want string
		given        bool
	}{
		{"a[1]", "second", true},
		{"a[0]", "any", true},
		{"p[3]:key", "named", true},
		{"p:key", "", false},
		{"a[1]", "last", true},
		{"a[1]", "", false},
	} {
		if got, given := b.takeAnswer(c.target); got != c.want || given != c.given {
			t.Errorf("%s: %q, %t; want %q, %t", c.target, got, given, c.want, c.given)
		}
	}
	if left := b.sortedTargets(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	left := newAnswerBook(map[string][]string{"b": {"x"}, "a": {"y"}, "c": nil})
	if got := left.sortedTargets(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("left: %v", got)
	}
}
