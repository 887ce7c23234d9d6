// Package solve finds which conditions of a decision can hold, which are always beaten by earlier
// ones, and whether all can be false at once.
//
// Each value that conditions read is a variable. The constants that conditions compare it with cut
// its domain into finitely many regions in which no condition changes. Trying one value of each
// region in all combinations is a proof. Parts that it can't analyse are variables of any value.
package solve

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// Problem is one decision.
type Problem struct {
	// Conditions are tried in this order; the first that holds wins.
	Conditions []*eval.Tree
	// Domain returns the domain of a path of the environment.
	Domain func(path []string, typ eval.Type) Domain
	// All says that every condition that holds wins, not just the first.
	All bool
}

// Verdict holds what the solver has proven of one condition.
type Verdict struct {
	// Always and Never say that the condition is true, or false, whenever it has a value.
	Always, Never bool
	// Shadowed says that it can hold only when an earlier one holds, too: one of By.
	Shadowed bool
	By       []int
	// Reasons are the distinct bounds of variables that prove Always or Never.
	Reasons []string
}

// Result holds the verdicts of a decision.
type Result struct {
	Verdicts []Verdict
	// Exhaustive says that some condition always holds, or its evaluation fails.
	Exhaustive bool
}

// Claim is a condition with its outcome.
type Claim struct {
	Tree  *eval.Tree
	Holds bool
}

// Solver decides problems within a budget. The zero value has no limit.
type Solver struct {
	// Most bounds the steps of all problems, 0 for any number. Others stay undecided.
	Most int
	// Spent is the number of steps so far: parts of conditions compiled or evaluated.
	Spent int
}

// maxEvaluated bounds how often conditions are evaluated for one decision.
const maxEvaluated = 100_000

// Solve returns what it can prove about a problem.
func (r *Solver) Solve(p Problem) Result {
	out := Result{Verdicts: make([]Verdict, len(p.Conditions))}
	conds, ok := r.compileConditions(p.Conditions, p.Domain)
	if !ok {
		return out
	}
	seen, exhaustive := r.tryCombinations(conds)
	out.Exhaustive = exhaustive && len(conds) > 0
	for i := range conds {
		v := &out.Verdicts[i]
		o := outcome{}
		if seen != nil {
			o = seen[i]
			v.Shadowed, v.By = !p.All && o.lost && !o.won, o.by
		} else if alone, _ := r.tryCombinations(conds[i : i+1]); alone != nil {
			o = alone[0]
		}
		v.Always, v.Never = o.yes && !o.no, o.no && !o.yes
		if v.Always || v.Never {
			for _, of := range conds[i].vars {
				if why := of.domain.Why; why != "" && !slices.Contains(v.Reasons, why) {
					v.Reasons = append(v.Reasons, why)
				}
			}
		}
	}
	return out
}

// CanHold reports whether all claims can hold, without an error, for the same values.
func (r *Solver) CanHold(claims []Claim, domain func(path []string, typ eval.Type) Domain) bool {
	all := &eval.Tree{Op: eval.TreeConst, Value: true}
	for _, c := range claims {
		side := c.Tree
		if !c.Holds {
			side = &eval.Tree{Op: eval.TreeUnary, Name: "not", Args: []*eval.Tree{side}}
		}
		all = &eval.Tree{Op: eval.TreeBinary, Name: "and", Args: []*eval.Tree{all, side}}
	}
	conds, ok := r.compileConditions([]*eval.Tree{all}, domain)
	if !ok {
		return true
	}
	seen, _ := r.tryCombinations(conds)
	return seen == nil || seen[0].yes
}

// condition is a compiled condition.
type condition struct {
	eval formula
	vars []*variable
	size int // number of its parts
}

// compileConditions prepares conditions. ok is false if the budget is spent, or if a variable
// has no value at all, so that the decision is never reached.
func (r *Solver) compileConditions(trees []*eval.Tree, domain func([]string, eval.Type) Domain) (conds []condition, ok bool) {
	const build = 4 // compiling a part takes as long as evaluating it that often
	s := &compiler{solver: r, domain: domain, vars: map[string]*variable{}}
	for _, t := range trees {
		if r.Most > 0 && r.Spent >= r.Most {
			return nil, false
		}
		s.cond = condition{}
		s.cond.eval = s.compilePart(t).eval
		r.Spent += build * s.cond.size
		conds = append(conds, s.cond)
	}
	for _, v := range s.vars { //lint:ignore mapiter each variable for itself
		if v.values = v.listRegions(); len(v.values) == 0 {
			return nil, false
		}
	}
	return conds, true
}

// outcome records the results of one condition.
type outcome struct {
	yes, no bool  // it was true, false
	won     bool  // true, with no earlier one true or failed
	lost    bool  // true, with an earlier one true
	by      []int // these earlier ones, sorted
}

// tryCombinations evaluates conditions in their order on every combination of their variables. It
// returns nil if there are too many. exhaustive says that one held or failed each time.
func (r *Solver) tryCombinations(conds []condition) (seen []outcome, exhaustive bool) {
	var vars []*variable
	n, size := max(len(conds), 1), 0
	for _, c := range conds {
		size += c.size
		for _, v := range c.vars {
			if slices.Contains(vars, v) {
				continue
			}
			vars, v.at = append(vars, v), 0
			if n *= len(v.values); n > maxEvaluated {
				return nil, false
			}
		}
	}
	if r.Most > 0 && n/max(len(conds), 1)*size > r.Most-r.Spent {
		return nil, false
	}
	seen, exhaustive = make([]outcome, len(conds)), true
	for more := true; more; more = nextCombination(vars) {
		r.Spent += size
		exhaustive = recordOutcomes(conds, seen) && exhaustive
		if len(conds) == 1 && seen[0].yes && seen[0].no {
			break // more would not change anything
		}
	}
	return seen, exhaustive
}

// recordOutcomes records the outcomes for one combination of values, and whether one held or failed.
func recordOutcomes(conds []condition, seen []outcome) bool {
	winner, broken := -1, false
	for i := range conds {
		holds, ok := conds[i].eval().(bool)
		o := &seen[i]
		switch {
		case !ok:
			broken = broken || winner < 0
		case !holds:
			o.no = true
		case broken:
			o.yes = true
		case winner < 0:
			o.yes, o.won, winner = true, true, i
		default:
			o.yes, o.lost = true, true
			if at, known := slices.BinarySearch(o.by, winner); !known {
				o.by = slices.Insert(o.by, at, winner)
			}
		}
	}
	return winner >= 0 || broken
}

// nextCombination moves to the next combination of values, unless all have been seen.
func nextCombination(vars []*variable) bool {
	for _, v := range vars {
		if v.at++; v.at < len(v.values) {
			return true
		}
		v.at = 0
	}
	return false
}
