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
func (r *Solver) Possible(claims []Claim, domain func(path []string, typ eval.Type) Domain) bool {
	if !r.affords(1) {
		return true
	}
	s, done := r.take(Problem{Domain: domain})
	defer done()
	for _, c := range claims {
		s.measure(c.Tree)
	}
	for _, c := range claims {
		s.take(c.Tree)
	}
	s.divide()
	vars := s.variables()
	n := max(len(claims), 1)
	for _, v := range vars {
		if n *= len(s.vars[v].values); n > claimBudget {
			return true
		}
	}
	if s.empty() || !r.affords(n/max(len(claims), 1)*s.formulas) {
		return true
	}
	at := make([]int, len(s.vars))
	for more := true; more; more = s.advance(vars, at) {
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
