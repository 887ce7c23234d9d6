// Whether several things can hold at once.

package solve

import "github.com/graphrun/graphrun/eval"

// Claim is a condition with the outcome that it had, or is asked about.
type Claim struct {
	Tree  *eval.Tree
	Holds bool
}

// claimBudget is how many evaluations one question may take.
const claimBudget = 20_000

// Possible reports whether all claims can hold for the same values. It is false
// only when that is proven impossible: no values make each condition come out,
// without an error, as claimed.
func Possible(claims []Claim, domain func(path []string, typ eval.Type) Domain) bool {
	s := &solver{problem: Problem{Domain: domain}, index: map[string]int{}}
	vars := []int{}
	for _, c := range claims {
		f := s.condition(c.Tree)
		s.conds = append(s.conds, f)
		vars = append(vars, f.uses...)
	}
	for i := range s.vars {
		s.vars[i].divide()
	}
	vars = unique(vars)
	n := max(len(claims), 1)
	for _, v := range vars {
		if n *= len(s.vars[v].values); n > claimBudget {
			return true
		}
	}
	at := make([]int, len(s.vars))
	for more := true; more; more = s.advance(vars, at, false) {
		all := true
		for i, c := range claims {
			if all = s.eval(s.conds[i], at) == any(c.Holds); !all {
				break
			}
		}
		if all {
			return true
		}
	}
	return false
}
