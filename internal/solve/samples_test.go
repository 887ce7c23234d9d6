package solve

import (
	"testing"

	"github.com/graphrun/graphrun/eval"
)

// Values are found for what is asked about lists, texts and sums.
func TestWitnessesInParts(t *testing.T) {
	w := newWorld()
	for _, text := range []string{
		"any(list, # == 'yes')", "all(list, # == 'yes') and len(list) > 0", "count(list, # endsWith ' no') >= 2",
		"'a' in list and not ('b' in list)", "'a' in list and 'b' in list", "len(list) > 3", "len(list) == 0", "none(list, # in ['a', 'b']) and len(list) == 1",
		"any(list, .price > 10)", "any(list, #.name == 'x' and #.size > 3)", "count(list, # > 4) == 2", "not (none(list, # in ['x', 'y']))",
		"len(s) > 4", "lower(s) == 'abc'", "last(split(lower(s), ' ')) endsWith '?'", "any(split(s, ' '), # in ['down', 'lost'])",
		"n + 1 > 400", "7 - 2 == n + 2", "n + 1 - 5 >= 3 and n < 9", "x + 0.25 + 0.25 >= 2.5", "1 + n == 3 and n != 3", "len(out) > 2", "sum(list) > 6", "first(list) == 'go'",
		"s matches '^[0-9]{3}-(ab|c)+$'", "s startsWith 'fix' and s endsWith '!'", "s contains 'x y'", "count(list, # == 'x') > 1 and len(list) == 3",
	} {
		c, err := w.scope.Compile("not ("+text+")", eval.Condition)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := new(Solver).Solve(Problem{Conditions: []*eval.Program{c}, Domain: w.domain}); !got.Found {
			t.Errorf("%s: no values are found", text)
		}
	}
	for _, text := range []string{"n + 1 > n + 3 - 1 and n + 1 < 3 and n > 1", "i + 1 > 5", "n - 1 > 3 and n < 5", "count(list, # == 'x') >= 2 and len(list) < 2", "count(list, # == 'x') < 0", "'x' in list and len(list) == 0", "len(list) < 1 and any(list, # == 'a')", "not all(list, # == 'a') and len(list) == 0"} {
		if got := solveTexts(t, text); !got.Verdicts[0].Never {
			t.Errorf("%s: it is not proven that it never holds", text)
		}
	}
}
