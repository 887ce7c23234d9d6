package solve

import (
	"testing"

	"github.com/graphrun/graphrun/eval"
)

// numbers compiles an expression over numbers.
func numbers(t *testing.T, src string) *eval.Program {
	t.Helper()
	scope := eval.NewScope(map[string]eval.Type{"a": eval.Int(), "b": eval.Int(), "step": eval.Int()}, eval.ScopeOptions{})
	p, err := scope.Compile(src, eval.Condition)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The solver claims nothing about a value that has an empty domain.
func TestNoValues(t *testing.T) {
	nowhere := func([]string, eval.Type) Domain { return Domain{Kind: Int, Min: 3, HasMin: true, Max: 2, HasMax: true} }
	p := numbers(t, "step > 900")
	var s Solver
	got := s.Solve(Problem{Conditions: []*eval.Tree{p.Tree}, Domain: nowhere})
	if v := got.Verdicts[0]; v.Always || v.Never || v.Shadowed || got.Exhaustive {
		t.Errorf("got %+v", got)
	}
	if !s.CanHold([]Claim{{p.Tree, true}}, nowhere) {
		t.Error("impossible is claimed")
	}
}

// With the budget spent, the solver no longer decides what it decided before.
func TestMost(t *testing.T) {
	ints := func([]string, eval.Type) Domain { return Domain{Kind: Int} }
	problem := Problem{Conditions: []*eval.Tree{numbers(t, "a > 1 and a < b").Tree, numbers(t, "a < 1 and a > 1").Tree}, Domain: ints}
	free := Solver{}
	if got := free.Solve(problem); !got.Verdicts[1].Never || free.Spent == 0 {
		t.Fatalf("got %+v after %d evaluations", got, free.Spent)
	}
	bound := Solver{Most: 2 * free.Spent}
	if got := bound.Solve(problem); !got.Verdicts[1].Never {
		t.Errorf("got %+v", got)
	}
	spent := bound.Spent
	bound.Most = spent
	if got := bound.Solve(problem); got.Verdicts[1].Never || bound.Spent > spent {
		t.Errorf("got %+v after %d evaluations more", got, bound.Spent-spent)
	}
}
