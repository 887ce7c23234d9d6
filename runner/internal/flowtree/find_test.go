package flowtree

import (
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

func TestFind(t *testing.T) {
	ask := func(node string, element int) machine.Question {
		return machine.Question{Place: machine.Place{Node: node}, Task: machine.TaskID{Element: element}}
	}
	open := []machine.Question{ask("b", 0), ask("a", 1), ask("a", 2)}
	for target, want := range map[string]int{"b": 0, "a": 1, "a[0]": 1, "a[1]": 2, "a[2]": -1, "c": -1} {
		if got := FindQuestion(open, target); got != want {
			t.Errorf("%s: %d, want %d", target, got, want)
		}
	}
}
