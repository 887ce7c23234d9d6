// Package solve reasons about the conditions of one decision: which of them
// can hold, which are always taken by earlier ones, and whether all of them
// can be false at once.
//
// Each value that the conditions read is a variable. The constants that it is
// compared with cut its domain into finitely many regions inside which no
// condition changes, so one value of each region stands for all, and trying all
// combinations of regions is a proof. Parts that are not understood are
// variables of their own, free to be anything: a proof over them holds for
// whatever they are. What is only found possible is never claimed before the
// conditions have been evaluated on actual values.
package solve

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// Kind is what values a variable has. The zero value is any.
type Kind int

// The kinds of variables. Other is for lists, objects and null.
const (
	Any Kind = iota
	Bool
	Int
	Number
	String
	Other
)

// Domain is what is known of a variable.
type Domain struct {
	Kind Kind
	// Values, when not nil, are all its values: nil, bool, int, float64, string.
	Values []any
	// Min and Max bound a number; HasMin and HasMax say that they do.
	Min, Max       float64
	HasMin, HasMax bool
	// MinLen and MaxLen bound the length of a list, the first that of a text too; 0 for no
	// bound.
	MinLen, MaxLen int
	// Null says that it may be null although its kind is another.
	Null bool
	// Element is the kind of the elements of a list, as far as it is known.
	Element Kind
	// Why puts a bound into words, for reasons: "step is at least 4 here".
	Why string
}

// Problem is one decision.
type Problem struct {
	// Conditions stand in the order in which they are tried; the first that
	// holds wins.
	Conditions []*eval.Program
	// Domain says what is known of the value at a path of the environment.
	Domain func(path []string, typ eval.Type) Domain
	// Why, when set, puts into words what is known of the value at a path, where
	// its domain does not say it.
	Why func(path []string, typ eval.Type) string
	// Valid, when set, refuses values that can't stand at a path.
	Valid func(path []string, value any) bool
	// All says that every condition that holds wins, not just the first.
	All bool
}

// Verdict is what is proven of one condition.
type Verdict struct {
	// Always and Never: whenever the condition is tried and has a value, it is
	// true, or false. Both are false when neither is proven.
	Always, Never bool
	// Shadowed: it can hold, but whenever it does an earlier one holds too.
	// By lists those that are enough for it.
	Shadowed bool
	By       []int
	// Reasons are the bounds of variables that the proof used.
	Reasons []string
}

// Binding gives a variable a value.
type Binding struct {
	Path  []string
	Value any
}

// Result is what was found out about a decision.
type Result struct {
	Verdicts []Verdict
	// Exhaustive: some condition always holds, or its evaluation fails.
	Exhaustive bool
	// Partial: the decision was too big to try all combinations.
	Partial bool
}

// Name is how messages call a path: a dotted name, with brackets where a name
// has a hyphen.
func (b Binding) Name() string { return PathName(b.Path) }

// PathName writes a path as an expression does.
func PathName(path []string) string {
	var out strings.Builder
	for i, part := range path {
		switch {
		case strings.HasPrefix(part, "["):
			out.WriteString(part)
		case i == 0:
			out.WriteString(part)
		case strings.Contains(part, "-"):
			out.WriteString(`["` + part + `"]`)
		default:
			out.WriteString("." + part)
		}
	}
	return out.String()
}

// Solver decides problems one after the other, with the memory of those before.
// The zero value is ready. It is for one goroutine at a time.
type Solver struct {
	// Most is how many steps may be taken in all, 0 for any number: parts of conditions
	// that are looked at or evaluated. What is left over then stays undecided, whatever
	// the time it would take.
	Most int
	// Spent is how many were.
	Spent int

	room solver
	busy bool // while a problem is decided, of which Domain may ask another
}

// Solve decides what it can about a problem. The same problem always gives the
// same result.
func (r *Solver) Solve(p Problem) Result {
	if !r.affords(1) {
		return Result{Verdicts: make([]Verdict, len(p.Conditions)), Partial: true}
	}
	s, done := r.take(p)
	defer done()
	for _, c := range p.Conditions {
		s.measure(c.Tree())
	}
	for _, c := range p.Conditions {
		s.take(c.Tree())
	}
	s.divide()
	return s.solve()
}

// take returns a solver that nothing else uses until done is called.
func (r *Solver) take(p Problem) (s *solver, done func()) {
	if r.busy {
		return &solver{problem: p, meter: r}, func() {}
	}
	r.busy = true
	r.room.reset(p)
	r.room.meter = r
	return &r.room, r.release
}

func (r *Solver) release() { r.busy = false }

// affords reports whether n more steps are left.
func (r *Solver) affords(n int) bool { return r.Most == 0 || n <= r.Most-r.Spent }

func (s *solver) solve() Result {
	out := Result{Verdicts: make([]Verdict, len(s.conds))}
	if s.empty() {
		return out
	}
	if !s.whole(&out) {
		out.Partial = true
		s.alone(&out)
	}
	for i := range out.Verdicts {
		if v := &out.Verdicts[i]; v.Always || v.Never {
			v.Reasons = s.reasons(i)
		}
	}
	return out
}

// empty reports whether a variable has no value at all: the decision is never
// come to, and nothing is said of it.
func (s *solver) empty() bool {
	return slices.ContainsFunc(s.vars, func(v variable) bool { return len(v.values) == 0 })
}

// divide fills in the regions of all variables.
func (s *solver) divide() {
	for i := range s.vars {
		s.vars[i].divide()
	}
}
