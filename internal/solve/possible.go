// Whether several things can hold at once.

package solve

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
)

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
	_, possible := r.Model(claims, Problem{Domain: domain})
	return possible
}

// Model is values for which all claims hold, if some are sure to make them: nothing is
// left to parts that are not understood. It is nil where only that is known that the
// claims can't be refuted, and not possible where they are. Of the problem, Domain and
// Valid count.
func (r *Solver) Model(claims []Claim, p Problem) (values []Binding, possible bool) {
	if !r.affords(1) {
		return nil, true
	}
	s, done := r.take(p)
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
			return nil, true
		}
	}
	if s.empty() || !r.affords(n/max(len(claims), 1)*s.formulas) {
		return nil, true
	}
	clear := s.understood(vars)
	at := make([]int, len(s.vars))
	for more := true; more; more = s.advance(vars, at, false) {
		all := true
		for i, c := range claims {
			if all = s.eval(s.conds[i], at) == any(c.Holds); !all {
				break
			}
		}
		if possible = possible || all; all && !clear {
			return nil, true
		}
		if all {
			if values, ok := s.bound(vars, at); ok {
				return values, true
			}
		}
	}
	return nil, possible
}

// understood reports whether the variables are values at paths, none of them a part of
// another.
func (s *solver) understood(vars []int) bool {
	for _, v := range vars {
		path := s.vars[v].path
		part := func(w int) bool {
			other := s.vars[w].path
			return w != v && len(other) >= len(path) && slices.Equal(other[:len(path)], path)
		}
		if path == nil || slices.ContainsFunc(vars, part) {
			return false
		}
	}
	return true
}

// bound are the values of variables in one combination; not ok when one can't stand at
// its path, or is one of many that are not told apart.
func (s *solver) bound(vars, at []int) (values []Binding, ok bool) {
	values = []Binding{}
	for _, v := range vars {
		value := s.vars[v].values[at[v]]
		if _, many := value.(other); many {
			return nil, false
		}
		b := Binding{s.vars[v].path, plain(value)}
		if s.problem.Valid != nil && !s.problem.Valid(b.Path, b.Value) {
			return nil, false
		}
		values = append(values, b)
	}
	return values, true
}
