package answers

import (
	"slices"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// An answer for the very element goes before one for any element; each is taken once.
func TestBookGivesEachAnswerOnce(t *testing.T) {
	b := NewBook(map[string][]string{"a": {"any", "last"}, "a[1]": {"second"}, "p:key": {"named"}})
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
		if got, given := b.Take(c.target); got != c.want || given != c.given {
			t.Errorf("%s: %q, %t; want %q, %t", c.target, got, given, c.want, c.given)
		}
	}
	if left := b.Left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	left := NewBook(map[string][]string{"b": {"x"}, "a": {"y"}, "c": nil})
	if got := left.Left(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("left: %v", got)
	}
}

func TestFind(t *testing.T) {
	ask := func(node string, element int) machine.Question {
		return machine.Question{Place: machine.Place{Node: node}, Task: machine.TaskID{Element: element}}
	}
	open := []machine.Question{ask("b", 0), ask("a", 1), ask("a", 2)}
	for target, want := range map[string]int{"b": 0, "a": 1, "a[0]": 1, "a[1]": 2, "a[2]": -1, "c": -1} {
		if got := Find(open, target); got != want {
			t.Errorf("%s: %d, want %d", target, got, want)
		}
	}
}
