// From expression trees to formulas over variables.

package solve

import (
	"math"
	"slices"
	"strings"

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
	// v is the variable of opVar, or the one that decides where values can't, if
	// it is not -1: the order of the two sides of opCompare (-1, 0, 1), the truth
	// of opText.
	v int
}

// maxExact is the largest whole number up to which floats are exact.
const maxExact = 1 << 53

// condition builds a formula that is true or false.
func (s *solver) condition(t *eval.Tree) *formula {
	switch t.Op {
	case eval.TreeConst:
		return s.formula(formula{op: opConst, value: t.Value})
	case eval.TreePath:
		f := s.path(t)
		s.vars[f.v].bools = true
		return f
	case eval.TreeUnary:
		if t.Name == "not" {
			return s.formula(formula{op: opNot, a: s.condition(t.Args[0])})
		}
	case eval.TreeChoice:
		return s.formula(formula{op: opChoice, a: s.condition(t.Args[0]), b: s.condition(t.Args[1]), c: s.condition(t.Args[2])})
	case eval.TreeBinary:
		return s.binary(t)
	case eval.TreeOther:
		return s.asked(t)
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
		return s.formula(formula{op: kind, a: s.condition(t.Args[0]), b: s.condition(t.Args[1])})
	case "??":
		a, b := s.condition(t.Args[0]), s.condition(t.Args[1])
		s.asksNull(a)
		return s.formula(formula{op: opDefault, a: a, b: b})
	case "==", "!=", "<", "<=", ">", ">=":
		return s.compare(t)
	case "in":
		return s.membership(t)
	case "startsWith", "endsWith", "contains", "matches":
		return s.text(t)
	}
	return s.free(t)
}

// term builds a formula for a value that is compared; nil when the part has a
// form that comparisons can't be reasoned about.
func (s *solver) term(t *eval.Tree) *formula {
	switch t.Op {
	case eval.TreeConst:
		if v, ok := scalar(t.Value); ok {
			return s.formula(formula{op: opConst, value: v})
		}
		return nil
	case eval.TreePath:
		return s.path(t)
	case eval.TreeChoice:
		a, b := s.term(t.Args[1]), s.term(t.Args[2])
		if a == nil || b == nil {
			return nil
		}
		return s.formula(formula{op: opChoice, a: s.condition(t.Args[0]), b: a, c: b})
	case eval.TreeBinary:
		if t.Name == "??" {
			a, b := s.term(t.Args[0]), s.term(t.Args[1])
			if a == nil || b == nil {
				return nil
			}
			s.asksNull(a)
			return s.formula(formula{op: opDefault, a: a, b: b})
		}
	case eval.TreeList:
		return nil
	case eval.TreeOther:
		if strings.HasPrefix(t.Name, "count(") {
			return s.count(t)
		}
	}
	return s.variable(s.variableOf(t.Key(), s.computed(t)))
}

// computed is what is known of a value that is not looked into.
func (s *solver) computed(t *eval.Tree) Domain {
	switch {
	case t.Op == eval.TreeCall && t.Name == "len":
		return s.length(t)
	case t.Op == eval.TreeBinary && t.Name == "%":
		return s.remainder(t)
	case t.Op == eval.TreeBinary && (t.Name == "+" || t.Name == "-" || t.Name == "*"):
		if d, ok := s.interval(t); ok {
			return d
		}
	}
	return Domain{Null: true}
}

// length bounds len(a).
func (s *solver) length(t *eval.Tree) Domain {
	out := Domain{Kind: Int, HasMin: true}
	if len(t.Args) == 1 && t.Args[0].Op == eval.TreePath {
		d := s.problem.Domain(t.Args[0].Path, t.Args[0].Type)
		out.Min, out.Max, out.HasMax = float64(d.MinLen), float64(d.MaxLen), d.MaxLen > 0
	}
	return out
}

// Interval bounds the number that an expression comes to, given what is known of what it
// reads; false when nothing is known.
func Interval(t *eval.Tree, domain func(path []string, typ eval.Type) Domain) (Domain, bool) {
	s := solver{problem: Problem{Domain: domain}}
	return s.interval(t)
}

// interval bounds sums, differences and products of numbers whose bounds are known.
func (s *solver) interval(t *eval.Tree) (Domain, bool) {
	switch {
	case t.Op == eval.TreeConst:
		switch n := t.Value.(type) {
		case int:
			return Domain{Kind: Int, Min: float64(n), Max: float64(n), HasMin: true, HasMax: true}, n <= maxExact && n >= -maxExact
		case float64:
			return Domain{Kind: Number, Min: n, Max: n, HasMin: true, HasMax: true}, math.Abs(n) <= maxExact
		}
		return Domain{}, false
	case t.Op == eval.TreePath:
		d := s.problem.Domain(t.Path, t.Type)
		return Domain{Kind: d.Kind, Min: d.Min, Max: d.Max, HasMin: d.HasMin, HasMax: d.HasMax}, d.Kind == Int || d.Kind == Number
	case t.Op != eval.TreeBinary || len(t.Args) != 2:
		return Domain{}, false
	}
	a, isA := s.interval(t.Args[0])
	b, isB := s.interval(t.Args[1])
	if !isA || !isB {
		return Domain{}, false
	}
	out := Domain{Kind: max(a.Kind, b.Kind)}
	if t.Name == "-" {
		b = Domain{Min: -b.Max, Max: -b.Min, HasMin: b.HasMax, HasMax: b.HasMin}
	}
	switch t.Name {
	case "+", "-":
		out.Min, out.HasMin = a.Min+b.Min, a.HasMin && b.HasMin
		out.Max, out.HasMax = a.Max+b.Max, a.HasMax && b.HasMax
	case "*":
		if a.HasMin && a.HasMax && b.HasMin && b.HasMax {
			corners := []float64{a.Min * b.Min, a.Min * b.Max, a.Max * b.Min, a.Max * b.Max}
			out.Min, out.Max, out.HasMin, out.HasMax = slices.Min(corners), slices.Max(corners), true, true
		}
	default:
		return Domain{}, false
	}
	exact := math.Abs(out.Min) <= maxExact && math.Abs(out.Max) <= maxExact
	return out, exact && (out.HasMin || out.HasMax)
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
	f := s.formula(formula{op: opCompare, name: t.Name, a: a, b: b, v: -1})
	var l, r [few]*formula
	left, right := a.leaves(l[:0]), b.leaves(r[:0])
	for _, l := range left {
		for _, r := range right {
			s.cut(l, r, t.Name)
			s.cut(r, l, t.Name)
			if l.op == opVar && r.op == opVar && (len(left) > 1 || len(right) > 1) {
				return s.free(t)
			}
		}
	}
	if needsOrder(f, left, right) {
		s.order(f, t)
	}
	return f
}

// needsOrder reports whether values alone may not decide the comparison.
func needsOrder(f *formula, left, right []*formula) bool {
	if f.a.op == opVar && f.b.op == opVar {
		return f.a.v != f.b.v
	}
	// The order of texts has no regions of its own.
	if f.name == "==" || f.name == "!=" {
		return false
	}
	text := func(l *formula) bool {
		_, isText := l.value.(string)
		return l.op == opConst && isText
	}
	return slices.ContainsFunc(left, text) || slices.ContainsFunc(right, text)
}

// order gives the comparison the variable that says how its sides relate.
func (s *solver) order(f *formula, t *eval.Tree) {
	l, r := t.Args[0].Key(), t.Args[1].Key()
	if l > r {
		l, r = r, l
		f.a, f.b, f.name = f.b, f.a, mirrored(f.name)
	}
	f.v = s.variableOf("order "+l+" "+r, Domain{Values: []any{-1, 0, 1}})
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
func (f *formula) leaves(out []*formula) []*formula {
	switch f.op {
	case opChoice:
		return f.c.leaves(f.b.leaves(out))
	case opDefault:
		return f.b.leaves(f.a.leaves(out))
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
	for _, l := range f.leaves(nil) {
		if l.op == opVar {
			s.vars[l.v].asksNull = true
		}
	}
}

// membership builds `a in [constants]`; any other list is not looked into.
func (s *solver) membership(t *eval.Tree) *formula {
	if t.Args[1].Op != eval.TreeList {
		return s.asked(t)
	}
	f := s.formula(formula{op: opIn, list: make([]any, 0, len(t.Args[1].Args))})
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
	for _, l := range f.a.leaves(nil) {
		for _, v := range f.list {
			s.cut(l, &formula{op: opConst, value: v}, "in")
		}
	}
	return f
}

// text builds startsWith and the other operators on text with a constant.
func (s *solver) text(t *eval.Tree) *formula {
	with, ok := t.Args[1].Value.(string)
	if !ok {
		return s.free(t)
	}
	f := s.formula(formula{op: opText, name: t.Name, value: with, v: -1})
	if f.a = s.term(t.Args[0]); f.a == nil {
		return s.free(t)
	}
	if t.Name == "startsWith" {
		f.op = opPrefix
		for _, l := range f.a.leaves(nil) {
			if l.op == opVar {
				s.vars[l.v].prefixes = append(s.vars[l.v].prefixes, with)
			}
		}
		return f
	}
	for _, l := range f.a.leaves(nil) {
		if l.op == opVar {
			s.vars[l.v].textual = true
			s.vars[l.v].parts = append(s.vars[l.v].parts, exampleOf(t.Name, with))
		}
	}
	f.v = s.variableOf("free "+t.Key(), Domain{Kind: Bool})
	return f
}
