// Trying all combinations of regions.

package solve

import (
	"slices"
)

// budget is how many conditions are evaluated for one decision.
const budget = 100_000

// outcome is what was seen of one condition.
type outcome struct {
	yes, no bool // it was true, false
	won     bool // true, with no earlier one true or failed
	lost    bool // true, with an earlier one true
	to      map[int]bool
}

// whole tries all combinations for all conditions; false when there are too many.
func (s *solver) whole(out *Result) bool {
	all := make([]int, len(s.conds))
	for i := range all {
		all[i] = i
	}
	vars := s.variables()
	if !s.affordable(vars, all) {
		return false
	}
	counts, exhaustive := s.enumerate(vars, all)
	out.Exhaustive = exhaustive && len(all) > 0
	for i := range counts {
		counts[i].judge(&out.Verdicts[i], s.problem.All)
	}
	return true
}

// variables are those of all conditions, sorted.
func (s *solver) variables() []int {
	if len(s.uses) == 1 {
		return s.uses[0]
	}
	return unique(slices.Concat(s.uses...))
}

func unique(vars []int) []int {
	slices.Sort(vars)
	return slices.Compact(vars)
}

func (s *solver) affordable(vars, conds []int) bool {
	n := 1
	for _, v := range vars {
		if n *= len(s.vars[v].values); n*max(len(conds), 1) > budget {
			return false
		}
	}
	steps := 0
	for _, i := range conds {
		steps += n * s.sizes[i]
	}
	return s.meter.affords(steps)
}

func (t *outcome) judge(v *Verdict, all bool) {
	v.Always = t.yes && !t.no
	v.Never = t.no && !t.yes
	if !all && t.lost && !t.won {
		v.Shadowed = true
		for i := range t.to {
			v.By = append(v.By, i)
		}
		slices.Sort(v.By)
	}
}

// enumerate evaluates some conditions, in their order, on every combination of the
// variables. exhaustive says that one held or failed each time.
func (s *solver) enumerate(vars, conds []int) (seen []outcome, exhaustive bool) {
	seen = make([]outcome, len(conds))
	at := make([]int, len(s.vars))
	exhaustive = true
	for more := true; more; more = s.advance(vars, at) {
		winner, broken := -1, false
		for k, i := range conds {
			value := s.eval(s.conds[i], at)
			holds, ok := value.(bool)
			t := &seen[k]
			switch {
			case !ok:
				broken = broken || winner < 0
				continue
			case !holds:
				t.no = true
				continue
			}
			t.yes = true
			switch {
			case broken:
			case winner < 0:
				winner, t.won = i, true
			default:
				t.lost = true
				if t.to == nil {
					t.to = map[int]bool{}
				}
				t.to[winner] = true
			}
		}
		if winner < 0 && !broken {
			exhaustive = false
		}
	}
	return seen, exhaustive
}

// advance moves to the next combination of the variables. It returns false when all have
// been seen.
func (s *solver) advance(vars, at []int) bool {
	for k := len(vars) - 1; k >= 0; k-- {
		if at[vars[k]]++; at[vars[k]] < len(s.vars[vars[k]].values) {
			return true
		}
		at[vars[k]] = 0
	}
	return false
}

// alone judges each condition by itself, when all of them together have too many
// combinations.
func (s *solver) alone(out *Result) {
	for i := range s.conds {
		if s.affordable(s.uses[i], []int{i}) {
			seen, _ := s.enumerate(s.uses[i], []int{i})
			seen[0].judge(&out.Verdicts[i], true)
		}
	}
}

// reasons are the bounds of the variables of a condition, each once.
func (s *solver) reasons(i int) []string {
	var out []string
	for _, use := range s.uses[i] {
		v := &s.vars[use]
		why := v.domain.Why
		if why == "" && v.path != nil && s.problem.Why != nil {
			why = s.problem.Why(v.path, v.typ)
		}
		if why != "" && !slices.Contains(out, why) {
			out = append(out, why)
		}
	}
	return out
}
