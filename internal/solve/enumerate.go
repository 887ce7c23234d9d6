// Trying all combinations of regions.

package solve

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
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
	for more := true; more; more = s.advance(vars, at, false) {
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

// advance moves to the next combination of the variables, or of their natural
// values; false when all have been seen.
func (s *solver) advance(vars, at []int, natural bool) bool {
	for k := len(vars) - 1; k >= 0; k-- {
		v := &s.vars[vars[k]]
		n := len(v.values)
		if natural {
			n = v.natural
		}
		if at[vars[k]]++; at[vars[k]] < n {
			return true
		}
		at[vars[k]] = 0
	}
	return false
}

// piecewise proves what it can from few conditions at a time, when all of them
// together have too many combinations.
func (s *solver) piecewise(out *Result) {
	s.work = 2 * budget
	if s.alone == nil {
		s.alone = &solver{}
	}
	one := s.alone
	one.meter = s.meter
	for i, c := range s.problem.Conditions {
		// Alone, a condition has few regions.
		one.reset(Problem{Conditions: []*eval.Program{c}, Domain: s.problem.Domain})
		one.take(c.Tree())
		one.divide()
		if uses := one.uses[0]; one.affordable(uses, []int{0}) {
			seen, _ := one.enumerate(uses, []int{0})
			seen[0].judge(&out.Verdicts[i], true)
		}
	}
	for _, group := range s.groups() {
		vars := []int{}
		for _, i := range group {
			vars = append(vars, s.uses[i]...)
		}
		vars = unique(vars)
		if s.spend(vars, group) {
			seen, exhaustive := s.enumerate(vars, group)
			out.Exhaustive = out.Exhaustive || exhaustive
			for k, i := range group {
				seen[k].judge(&out.Verdicts[i], s.problem.All)
			}
		}
	}
	if !s.problem.All {
		s.pairs(out)
	}
}

// spend takes the price of trying all combinations off what is left of work.
func (s *solver) spend(vars, conds []int) bool {
	if s.work <= 0 || !s.affordable(vars, conds) {
		return false
	}
	n := len(conds)
	for _, v := range vars {
		n *= len(s.vars[v].values)
	}
	s.work -= n
	return s.work > 0
}

// groups are the conditions that share variables, directly or not, with one
// another; those of a group that is too big are left to pairs.
func (s *solver) groups() [][]int {
	owner := make([]int, len(s.vars))
	parent := make([]int, len(s.conds))
	for i := range owner {
		owner[i] = -1
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i, uses := range s.uses {
		parent[i] = i
		for _, v := range uses {
			if owner[v] < 0 {
				owner[v] = i
			}
			if a, b := root(owner[v]), root(i); a != b {
				parent[max(a, b)] = min(a, b)
			}
		}
	}
	place := map[int]int{}
	var out [][]int
	for i := range s.conds {
		r := root(i)
		if _, ok := place[r]; !ok {
			place[r] = len(out)
			out = append(out, nil)
		}
		out[place[r]] = append(out[place[r]], i)
	}
	return out
}

// pairs finds conditions that a single earlier one shadows: the same one, or
// one that shares a variable.
func (s *solver) pairs(out *Result) {
	byKey, byVar := map[string]int{}, map[int][]int{}
	for j, uses := range s.uses {
		v := &out.Verdicts[j]
		key := s.problem.Conditions[j].Source()
		if first, ok := byKey[key]; !ok {
			byKey[key] = j
		} else if !v.Never {
			v.Shadowed, v.By = true, []int{first}
		}
		for _, use := range uses {
			for _, i := range byVar[use] {
				if s.work <= 0 || v.Shadowed || v.Never {
					break
				}
				s.pair(i, j, v)
			}
			byVar[use] = append(byVar[use], j)
		}
	}
}

func (s *solver) pair(i, j int, v *Verdict) {
	vars := unique(slices.Concat(s.uses[i], s.uses[j]))
	if !s.spend(vars, []int{i, j}) {
		return
	}
	seen, _ := s.enumerate(vars, []int{i, j})
	if t := &seen[1]; t.lost && !t.won {
		v.Shadowed, v.By = true, []int{i}
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
