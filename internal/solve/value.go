// Evaluating formulas on one value of each variable.

package solve

import (
	"cmp"
	"slices"
	"strings"
)

// failed is the value of what fails at run time.
type failed struct{}

// eval is the value of a formula; values are indexes into each variable's values.
func (s *solver) eval(f *formula, at []int) any {
	s.meter.Spent++
	switch f.op {
	case opConst:
		return f.value
	case opVar:
		return s.vars[f.v].values[at[f.v]]
	case opNot:
		if b, ok := s.eval(f.a, at).(bool); ok {
			return !b
		}
		return failed{}
	case opAnd, opOr:
		a, ok := s.eval(f.a, at).(bool)
		if !ok {
			return failed{}
		}
		if a == (f.op == opOr) {
			return a
		}
		if b, ok := s.eval(f.b, at).(bool); ok {
			return b
		}
		return failed{}
	case opChoice:
		c, ok := s.eval(f.a, at).(bool)
		switch {
		case !ok:
			return failed{}
		case c:
			return s.eval(f.b, at)
		}
		return s.eval(f.c, at)
	case opDefault:
		if a := s.eval(f.a, at); a != nil {
			return a
		}
		return s.eval(f.b, at)
	case opCompare:
		return s.compared(f, at)
	case opIn:
		return s.isIn(f, at)
	case opPrefix, opText:
		return s.textual(f, at)
	}
	return failed{}
}

// compared is the truth of a comparison.
func (s *solver) compared(f *formula, at []int) any {
	a, b := s.eval(f.a, at), s.eval(f.b, at)
	if a == (failed{}) || b == (failed{}) {
		return failed{}
	}
	equality := f.name == "==" || f.name == "!="
	if (a == nil || b == nil) && !equality {
		return failed{}
	}
	if f.v < 0 || a == nil || b == nil || s.known(f.a, a) && s.known(f.b, b) {
		return byValue(f.name, a, b)
	}
	order, _ := s.vars[f.v].values[at[f.v]].(float64)
	return ordered(f.name, int(order))
}

// known reports whether a value is the side's very value and not one of many.
func (s *solver) known(f *formula, v any) bool {
	switch v.(type) {
	case vague, other:
		return false
	}
	return f.op != opVar || s.vars[f.v].exact || isText(v)
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

func byValue(name string, a, b any) any {
	switch name {
	case "==":
		return a == b
	case "!=":
		return a != b
	}
	if x, ok := a.(float64); ok {
		if y, ok := b.(float64); ok {
			return ordered(name, cmp.Compare(x, y))
		}
	}
	x, isText := textOf(a)
	y, areTexts := textOf(b)
	if isText && areTexts {
		return ordered(name, cmp.Compare(x, y))
	}
	return failed{}
}

func textOf(v any) (string, bool) {
	if t, ok := v.(vague); ok {
		return string(t), true
	}
	t, ok := v.(string)
	return t, ok
}

func ordered(name string, order int) bool {
	switch name {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func (s *solver) isIn(f *formula, at []int) any {
	a := s.eval(f.a, at)
	if a == (failed{}) {
		return failed{}
	}
	return slices.Contains(f.list, a)
}

// textual is the truth of a text operator; null contains nothing.
func (s *solver) textual(f *formula, at []int) any {
	a := s.eval(f.a, at)
	with, _ := f.value.(string)
	switch a := a.(type) {
	case nil:
		return false
	case vague:
		if f.op == opPrefix {
			return strings.HasPrefix(string(a), with)
		}
		return s.vars[f.v].values[at[f.v]]
	case other:
		if f.name == "contains" {
			return s.vars[f.v].values[at[f.v]] // a list may contain it
		}
	case string:
		switch f.name {
		case "startsWith":
			return strings.HasPrefix(a, with)
		case "endsWith":
			return strings.HasSuffix(a, with)
		case "contains":
			return strings.Contains(a, with)
		}
		return s.vars[f.v].values[at[f.v]]
	}
	return failed{}
}
