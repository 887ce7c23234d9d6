// Compiling conditions to functions of the values of their variables.

package solve

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// formula evaluates a part of a condition on the values that its variables have now.
type formula func() any

// failed is the value of a part whose evaluation fails.
type failed struct{}

// compiler builds the formulas of one decision.
type compiler struct {
	solver *Solver
	domain func(path []string, typ eval.Type) Domain
	vars   map[string]*variable // by key; equal keys have equal values
	cond   condition            // being built
}

// variable returns the variable of a key, and notes that the condition depends on it.
func (c *compiler) variable(key string, domain func() Domain) *variable {
	v := c.vars[key]
	if v == nil {
		v = &variable{domain: domain()}
		c.vars[key] = v
	}
	if !slices.Contains(c.cond.vars, v) {
		c.cond.vars = append(c.cond.vars, v)
	}
	return v
}

// readVariable returns a term that has the value of a variable.
func (c *compiler) readVariable(key string, domain func() Domain) term {
	v := c.variable(key, domain)
	return term{eval: v.value, leaves: []leaf{{v: v}}}
}

// compileUnknown returns a term that may be true or false independent of other terms.
func (c *compiler) compileUnknown(t *eval.Tree) term {
	return c.readVariable("free "+t.Key(), func() Domain { return Domain{Kind: Bool} })
}

// compilePart compiles a part of a condition.
func (c *compiler) compilePart(t *eval.Tree) term {
	c.cond.size++
	switch t.Op {
	case eval.TreeConst:
		v, ok := toScalar(t.Value)
		return term{func() any { return v }, []leaf{{value: v}}, !ok}
	case eval.TreePath:
		return c.readVariable(t.Key(), func() Domain { return c.domain(t.Path, t.Type) })
	case eval.TreeUnary:
		if t.Name == "not" {
			a := c.compilePart(t.Args[0])
			return term{eval: func() any {
				if b, ok := a.eval().(bool); ok {
					return !b
				}
				return failed{}
			}}
		}
	case eval.TreeChoice:
		which, a, b := c.compilePart(t.Args[0]), c.compilePart(t.Args[1]), c.compilePart(t.Args[2])
		return eitherTerm(a, b, evalChoice(which.eval, a.eval, b.eval))
	case eval.TreeBinary:
		switch t.Name {
		case "and", "or":
			return term{eval: evalConnective(t.Name == "or", c.compilePart(t.Args[0]).eval, c.compilePart(t.Args[1]).eval)}
		case "??":
			a, b := c.compilePart(t.Args[0]), c.compilePart(t.Args[1])
			return eitherTerm(a, b, func() any {
				if x := a.eval(); x != nil {
					return x
				}
				return b.eval()
			})
		case "==", "!=", "<", "<=", ">", ">=":
			return c.compileComparison(t)
		case "in":
			if t.Args[1].Op == eval.TreeList {
				return c.compileMembership(t)
			}
		case "startsWith":
			return c.compilePrefix(t)
		}
	}
	out := c.readVariable(t.Key(), func() Domain { return c.computedDomain(t) })
	out.isOpaque = t.Op == eval.TreeList
	if t.Op == eval.TreeCall && t.Name == "len" && len(t.Args) == 1 && t.Args[0].Op == eval.TreeBinary {
		list, length := c.compilePart(t.Args[0]), out.eval
		isEmpty := func() any { return list.eval() == any("") }
		out.eval = evalChoice(isEmpty, func() any { return 0. }, length)
	}
	return out
}

// evalConnective returns the `and` of two conditions, or their `or`.
func evalConnective(or bool, a, b formula) formula {
	return func() any {
		switch x := a(); {
		case x == any(or):
			return or
		case x != any(!or):
			return failed{}
		}
		if y, ok := b().(bool); ok {
			return y
		}
		return failed{}
	}
}

func evalChoice(which, a, b formula) formula {
	return func() any {
		switch which() {
		case true:
			return a()
		case false:
			return b()
		}
		return failed{}
	}
}

// term is a compiled part of a condition.
type term struct {
	eval   formula
	leaves []leaf // the values that it may have; none for a truth
	// isOpaque says that comparisons can't reason about it.
	isOpaque bool
}

// leaf is a variable, or a constant if v is nil.
type leaf struct {
	v     *variable
	value any
}

// eitherTerm returns a term that has the value of one of two others.
func eitherTerm(a, b term, eval formula) term {
	return term{eval, slices.Concat(a.leaves, b.leaves), a.isOpaque || b.isOpaque}
}

// isKnown reports whether a region of a term is a single value.
func (t *term) isKnown(region any) bool {
	switch region.(type) {
	case vague, other:
		return false
	case string:
		return true
	}
	return len(t.leaves) != 1 || t.leaves[0].v == nil || t.leaves[0].v.isListed()
}

// computedDomain returns the domain of a computed value.
func (c *compiler) computedDomain(t *eval.Tree) Domain {
	switch {
	case t.Type.String() == "boolean":
		return Domain{Kind: Bool}
	case t.Op == eval.TreeCall && t.Name == "len":
		out := Domain{Kind: Int, HasMin: true}
		if len(t.Args) == 1 && t.Args[0].Op == eval.TreePath {
			d := c.domain(t.Args[0].Path, t.Args[0].Type)
			out.Min, out.Max, out.HasMax = float64(d.MinLen), float64(d.MaxLen), d.MaxLen > 0
		}
		return out
	case t.Op == eval.TreeBinary && t.Name == "%": // it has the sign of the left side
		k, ok := t.Args[1].Value.(int)
		if !ok || k == 0 {
			return Domain{Kind: Int}
		}
		most := math.Abs(float64(k)) - 1
		out := Domain{Kind: Int, Min: -most, Max: most, HasMin: true, HasMax: true}
		if d, ok := Interval(t.Args[0], c.domain); ok && d.HasMin && d.Min >= 0 {
			out.Min = 0
		}
		return out
	}
	if d, ok := Interval(t, c.domain); ok && t.Op == eval.TreeBinary {
		return d
	}
	return Domain{Null: true}
}

// compileComparison compiles a comparison, with a variable for the order of its sides if necessary.
func (c *compiler) compileComparison(t *eval.Tree) term {
	equality := t.Name == "==" || t.Name == "!="
	if equality && c.isList(t.Args[0]) && t.Args[1].Op == eval.TreeList && len(t.Args[1].Args) == 0 {
		length := &eval.Tree{Op: eval.TreeCall, Name: "len", Args: t.Args[:1], Type: eval.Int()}
		t = &eval.Tree{Op: t.Op, Name: t.Name, Type: t.Type, Args: []*eval.Tree{length, {Op: eval.TreeConst, Value: 0, Type: eval.Int()}}}
	}
	a, b := c.compilePart(t.Args[0]), c.compilePart(t.Args[1])
	if a.isOpaque || b.isOpaque {
		return c.compileUnknown(t)
	}
	needsOrder := false
	for _, l := range a.leaves {
		for _, r := range b.leaves {
			l.cutAt(r.v, r.value)
			r.cutAt(l.v, l.value)
			if l.v != nil && r.v != nil && len(a.leaves)+len(b.leaves) > 2 {
				return c.compileUnknown(t)
			}
			_, isText := l.value.(string)
			_, areTexts := r.value.(string)
			needsOrder = needsOrder || !equality && (isText || areTexts) || l.v != nil && r.v != nil && l.v != r.v
		}
	}
	var order *variable
	sign := 1.
	if needsOrder {
		l, r := t.Args[0].Key(), t.Args[1].Key()
		if l > r {
			l, r, sign = r, l, -1
		}
		order = c.variable("order "+l+" "+r, func() Domain { return Domain{Values: []any{-1, 0, 1}} })
	}
	return term{eval: func() any {
		x, y := a.eval(), b.eval()
		switch {
		case x == failed{} || y == failed{} || (x == nil || y == nil) && !equality:
			return failed{}
		case order == nil || x == nil || y == nil || a.isKnown(x) && b.isKnown(y):
			return compareValues(t.Name, x, y)
		}
		return holdsForOrder(t.Name, int(sign*order.value().(float64)))
	}}
}

// isList reports whether a part is a variable that always holds a list.
func (c *compiler) isList(t *eval.Tree) bool {
	return t.Op == eval.TreePath && t.Type.IsList() && !c.domain(t.Path, t.Type).Null
}

// cutAt divides the regions of a variable at a constant that it is compared with.
func (l leaf) cutAt(with *variable, constant any) {
	if l.v == nil || with != nil {
		return
	}
	switch constant := constant.(type) {
	case float64:
		l.v.numbers = append(l.v.numbers, constant)
	case string:
		l.v.texts = append(l.v.texts, constant)
	}
}

// compareValues compares two values.
func compareValues(name string, a, b any) any {
	switch name {
	case "==":
		return a == b
	case "!=":
		return a != b
	}
	x, isNumber := a.(float64)
	y, areNumbers := b.(float64)
	s, isText := textOf(a)
	t, areTexts := textOf(b)
	switch {
	case isNumber && areNumbers:
		return holdsForOrder(name, cmp.Compare(x, y))
	case isText && areTexts:
		return holdsForOrder(name, cmp.Compare(s, t))
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

// holdsForOrder returns the outcome of a comparison for the order of its sides.
func holdsForOrder(name string, order int) bool {
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

// compileMembership compiles `a in [constants]`. Lists of other values are not looked into.
func (c *compiler) compileMembership(t *eval.Tree) term {
	a := c.compilePart(t.Args[0])
	list := make([]any, len(t.Args[1].Args))
	for i, item := range t.Args[1].Args {
		v, ok := toScalar(item.Value)
		if item.Op != eval.TreeConst || !ok || a.isOpaque {
			return c.compileUnknown(t)
		}
		list[i] = v
		for _, l := range a.leaves {
			l.cutAt(nil, v)
		}
	}
	return term{eval: func() any {
		x := a.eval()
		if x == any(failed{}) {
			return x
		}
		return slices.Contains(list, x)
	}}
}

// compilePrefix compiles the comparison of a text with a constant prefix. Null has none.
func (c *compiler) compilePrefix(t *eval.Tree) term {
	prefix, ok := t.Args[1].Value.(string)
	a := c.compilePart(t.Args[0])
	if !ok || a.isOpaque {
		return c.compileUnknown(t)
	}
	for _, l := range a.leaves {
		if l.v != nil {
			l.v.prefixes = append(l.v.prefixes, prefix)
		}
	}
	return term{eval: func() any {
		x := a.eval()
		if text, ok := textOf(x); ok {
			return strings.HasPrefix(text, prefix)
		} else if x == nil {
			return false
		}
		return failed{}
	}}
}
