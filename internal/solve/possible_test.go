package solve

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/eval"
)

// Each case lists conditions with their outcomes: a leading ! marks one that was false. The
// domains are those of solve_test.go.
func TestPossible(t *testing.T) {
	w := newWorld()
	for _, test := range []struct {
		claims string
		want   bool
	}{
		{"i > 1", true},
		{"i > 4", false},
		{"n > 2; !(n > 1)", false},
		{"n > 1; !(n > 2)", true},
		{"ok; !ok", false},
		{"ok; i > 1 or not ok; !(i > 1)", false},
		{"s == 'x'; s == 'y'", false},
		{"s startsWith 'a'; !(s startsWith 'ab')", true},
		{"s startsWith 'ab'; !(s startsWith 'a')", false},
		{"cat in ['a', 'b']; !(cat == 'a'); !(cat == 'b')", false},
		{"opt == None", true},
		{"s == None", false},
		{"len(list) > 0; !(len(list) > 0)", false},
		{"list == []; len(list) > 0", false},
		{"!(list == []); len(list) > 0", true},
		{"out > 1; x > 2; n == 7", true},
	} {
		var claims []Claim
		for _, text := range strings.Split(test.claims, "; ") {
			rest, negated := strings.CutPrefix(text, "!")
			p, err := w.scope.Compile(rest, eval.Condition)
			if err != nil {
				t.Fatalf("%s: %v", rest, err)
			}
			claims = append(claims, Claim{Tree: p.Tree, Holds: !negated})
		}
		if got := new(Solver).CanHold(claims, w.domain); got != test.want {
			t.Errorf("%s: possible is %v, want %v", test.claims, got, test.want)
		}
	}
}
