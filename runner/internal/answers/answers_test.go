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
		return machine.Question{Task: machine.TaskID{Node: node, Element: element}}
	}
	open := []machine.Question{ask("b", 0), ask("a", 1), ask("a", 2)}
	for target, want := range map[string]int{"b": 0, "a": 1, "a[0]": 1, "a[1]": 2, "a[2]": -1, "c": -1} {
		if got := Find(open, target); got != want {
			t.Errorf("%s: %d, want %d", target, got, want)
		}
	}
}

// A question is settled by whoever claims it first. A time that is over while an answer has
// the question is told when that is not taken after all.
func TestClaims(t *testing.T) {
	var c Claims
	over := 0
	tell := func() { over++ }
	c.TimeOver("q", tell)
	if over != 1 || c.Answer("q") {
		t.Errorf("the time is over, told %d times; an answer has it all the same: %t", over, c.Answer("q"))
	}
	if !c.Answer("r") {
		t.Error("nobody has the question, and the answer does not get it")
	}
	c.TimeOver("r", tell)
	if over != 1 {
		t.Error("the time is over that an answer came before")
	}
	c.GiveBack("r")
	if over != 2 || c.Answer("r") {
		t.Errorf("the answer was not taken; the end of the time was told %d times", over-1)
	}
	c.GiveBack("s") // nobody has it
	if !c.Answer("s") {
		t.Error("a question that was given back is held")
	}
}
