// From expression trees to formulas over variables.

package solve

import (
	"math"
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// op is what a formula does. The zero value is unset.
type op int

const (
	opConst   op = iota + 1
	opVar        // the value of a variable
	opNot        // of a
	opAnd        // of a and b
	opOr         // of a and b
	opChoice     // a ? b : c
	opDefault    // a ?? b
	opCompare    // a name b, by value or by the order variable
	opIn         // a in list
	opPrefix     // a startsWith value
	opText       // a name value, for other text operators, by value or by variable
)

// formula is a condition, or a term in it.
type formula struct {
	op      op
	name    string
	a, b, c *formula
	value   any
	list    []any
	// v is the variable of opVar, or the one that decides where values can't:
	// the order of the two sides of opCompare (-1, 0, 1), the truth of opText.
	v int
	// uses are the variables of the formula, sorted.
	uses []int
}

// maxExact is the largest whole number up to which floats are exact.
const maxExact = 1 << 53

type solver struct {
	problem Problem
	conds   []*formula
	vars    []variable
	index   map[string]int
	work    int // condition evaluations that piecewise may still spend
}

// variableOf finds or makes the variable of that key.
func (s *solver) variableOf(key string, fresh func() variable) int {
	if i, ok := s.index[key]; ok {
		return i
	}
	s.index[key] = len(s.vars)
	s.vars = append(s.vars, fresh())
	return len(s.vars) - 1
}

// free is a formula that may be true or false whatever else holds.
func (s *solver) free(t *eval.Tree) *formula {
	return s.use(&formula{op: opVar, v: s.variableOf("free "+t.Key(), func() variable {
		return variable{domain: Domain{Kind: Bool}}
	})})
}

func (s *solver) use(f *formula) *formula {
	switch f.op {
	case opVar:
		f.uses = []int{f.v}
		return f
	case opCompare, opText:
		if f.v >= 0 {
			f.uses = []int{f.v}
		}
	}
	for _, sub := range []*formula{f.a, f.b, f.c} {
		if sub != nil {
			f.uses = append(f.uses, sub.uses...)
		}
	}
	slices.Sort(f.uses)
	f.uses = slices.Compact(f.uses)
	return f
}

// condition builds a formula that is true or false.
func (s *solver) condition(t *eval.Tree) *formula {
	switch t.Op {
	case eval.TreeConst:
		return &formula{op: opConst, value: t.Value}
	case eval.TreePath:
		f := s.path(t)
		s.vars[f.v].bools = true
		return f
	case eval.TreeUnary:
		if t.Name == "not" {
			return s.use(&formula{op: opNot, a: s.condition(t.Args[0])})
		}
	case eval.TreeChoice:
		return s.use(&formula{op: opChoice, a: s.condition(t.Args[0]), b: s.condition(t.Args[1]), c: s.condition(t.Args[2])})
	case eval.TreeBinary:
		return s.binary(t)
	}
	return s.free(t)
}

func (s *solver) binary(t *eval.Tree) *formula {
	switch t.Name {
	case "and", "or":
		kind := opAnd
		if t.Name == "or" {
			kind = opOr
		}
		return s.use(&formula{op: kind, a: s.condition(t.Args[0]), b: s.condition(t.Args[1])})
	case "??":
		a, b := s.condition(t.Args[0]), s.condition(t.Args[1])
		s.asksNull(a)
		return s.use(&formula{op: opDefault, a: a, b: b})
	case "==", "!=", "<", "<=", ">", ">=":
		return s.compare(t)
	case "in":
		return s.membership(t)
	case "startsWith", "endsWith", "contains", "matches":
		return s.text(t)
	}
	return s.free(t)
}

// path is the variable of a path.
func (s *solver) path(t *eval.Tree) *formula {
	return s.use(&formula{op: opVar, v: s.variableOf(t.Key(), func() variable {
		return variable{path: t.Path, domain: s.problem.Domain(t.Path, t.Type)}
	})})
}

// term builds a formula for a value that is compared; nil when the part has a
// form that comparisons can't be reasoned about.
func (s *solver) term(t *eval.Tree) *formula {
	switch t.Op {
	case eval.TreeConst:
		if v, ok := scalar(t.Value); ok {
			return &formula{op: opConst, value: v}
		}
		return nil
	case eval.TreePath:
		return s.path(t)
	case eval.TreeChoice:
		a, b := s.term(t.Args[1]), s.term(t.Args[2])
		if a == nil || b == nil {
			return nil
		}
		return s.use(&formula{op: opChoice, a: s.condition(t.Args[0]), b: a, c: b})
	case eval.TreeBinary:
		if t.Name == "??" {
			a, b := s.term(t.Args[0]), s.term(t.Args[1])
			if a == nil || b == nil {
				return nil
			}
			s.asksNull(a)
			return s.use(&formula{op: opDefault, a: a, b: b})
		}
	case eval.TreeList:
		return nil
	}
	return s.use(&formula{op: opVar, v: s.variableOf(t.Key(), func() variable {
		return variable{domain: s.computed(t)}
	})})
}

// computed is what is known of a value that is not looked into.
func (s *solver) computed(t *eval.Tree) Domain {
	switch {
	case t.Op == eval.TreeCall && t.Name == "len":
		return Domain{Kind: Int, HasMin: true}
	case t.Op == eval.TreeBinary && t.Name == "%":
		return s.remainder(t)
	}
	return Domain{Null: true}
}

// remainder bounds a % k: it has the sign of a.
func (s *solver) remainder(t *eval.Tree) Domain {
	k, ok := t.Args[1].Value.(int)
	if !ok || k == 0 {
		return Domain{Kind: Int}
	}
	most := math.Abs(float64(k)) - 1
	out := Domain{Kind: Int, Min: -most, Max: most, HasMin: true, HasMax: true}
	if t.Args[0].Op == eval.TreePath {
		if d := s.problem.Domain(t.Args[0].Path, t.Args[0].Type); d.HasMin && d.Min >= 0 {
			out.Min = 0
		}
	}
	return out
}

// scalar brings a constant into the form of values: numbers are float64.
func scalar(v any) (any, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), v <= maxExact && v >= -maxExact
	case float64:
		return v, math.Abs(v) <= maxExact
	}
	return v, true
}

// compare builds a comparison.
func (s *solver) compare(t *eval.Tree) *formula {
	a, b := s.term(t.Args[0]), s.term(t.Args[1])
	if a == nil || b == nil {
		return s.free(t)
	}
	f := &formula{op: opCompare, name: t.Name, a: a, b: b, v: -1}
	left, right := s.leaves(a, nil), s.leaves(b, nil)
	for _, l := range left {
		for _, r := range right {
			s.cut(l, r, t.Name)
			s.cut(r, l, t.Name)
			if l.op == opVar && r.op == opVar && (len(left) > 1 || len(right) > 1) {
				return s.free(t)
			}
		}
	}
	if needsOrder(f, s) {
		s.order(f, t)
	}
	return s.use(f)
}

// needsOrder reports whether values alone may not decide the comparison.
func needsOrder(f *formula, s *solver) bool {
	if f.a.op == opVar && f.b.op == opVar {
		return f.a.v != f.b.v
	}
	// The order of texts has no regions of its own.
	if f.name == "==" || f.name == "!=" {
		return false
	}
	return slices.ContainsFunc(append(s.leaves(f.a, nil), s.leaves(f.b, nil)...), func(l *formula) bool {
		_, isText := l.value.(string)
		return l.op == opConst && isText
	})
}

// order gives the comparison the variable that says how its sides relate.
func (s *solver) order(f *formula, t *eval.Tree) {
	l, r := t.Args[0].Key(), t.Args[1].Key()
	if l > r {
		l, r = r, l
		f.a, f.b, f.name = f.b, f.a, mirrored(f.name)
	}
	f.v = s.variableOf("order "+l+" "+r, func() variable {
		return variable{domain: Domain{Values: []any{-1, 0, 1}}}
	})
}

func mirrored(name string) string {
	switch name {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return name
}

// leaves are the variables and constants that a term may have the value of.
func (s *solver) leaves(f *formula, out []*formula) []*formula {
	switch f.op {
	case opChoice:
		return s.leaves(f.c, s.leaves(f.b, out))
	case opDefault:
		return s.leaves(f.b, s.leaves(f.a, out))
	}
	return append(out, f)
}

// cut tells a variable a constant that it is compared with.
func (s *solver) cut(f, with *formula, name string) {
	if f.op != opVar || with.op != opConst {
		return
	}
	v := &s.vars[f.v]
	switch c := with.value.(type) {
	case float64:
		v.numbers = append(v.numbers, c)
	case string:
		v.texts = append(v.texts, c)
	case bool:
		v.bools = true
	case nil:
		v.asksNull = v.asksNull || name == "==" || name == "!=" || name == "in"
	}
}

func (s *solver) asksNull(f *formula) {
	for _, l := range s.leaves(f, nil) {
		if l.op == opVar {
			s.vars[l.v].asksNull = true
		}
	}
}

// membership builds `a in [constants]`; any other list is not looked into.
func (s *solver) membership(t *eval.Tree) *formula {
	if t.Args[1].Op != eval.TreeList {
		return s.free(t)
	}
	f := &formula{op: opIn, list: []any{}}
	for _, item := range t.Args[1].Args {
		v, ok := scalar(item.Value)
		if item.Op != eval.TreeConst || !ok {
			return s.free(t)
		}
		f.list = append(f.list, v)
	}
	if f.a = s.term(t.Args[0]); f.a == nil {
		return s.free(t)
	}
	for _, l := range s.leaves(f.a, nil) {
		for _, v := range f.list {
			s.cut(l, &formula{op: opConst, value: v}, "in")
		}
	}
	return s.use(f)
}

// text builds startsWith and the other operators on text with a constant.
func (s *solver) text(t *eval.Tree) *formula {
	with, ok := t.Args[1].Value.(string)
	if !ok {
		return s.free(t)
	}
	f := &formula{op: opText, name: t.Name, value: with, v: -1}
	if f.a = s.term(t.Args[0]); f.a == nil {
		return s.free(t)
	}
	if t.Name == "startsWith" {
		f.op = opPrefix
		for _, l := range s.leaves(f.a, nil) {
			if l.op == opVar {
				s.vars[l.v].prefixes = append(s.vars[l.v].prefixes, with)
			}
		}
		return s.use(f)
	}
	for _, l := range s.leaves(f.a, nil) {
		if l.op == opVar {
			s.vars[l.v].textual = true
		}
	}
	f.v = s.variableOf("free "+t.Key(), func() variable { return variable{domain: Domain{Kind: Bool}} })
	return s.use(f)
}
