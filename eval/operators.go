// Unary and binary operators.

package eval

import "github.com/expr-lang/expr/ast"

// operator is a row of the table of binary operators: check finds the type of the
// result, and reports operands that never fit.
type operator struct {
	check func(c *checker, t, l, r *Tree)
	run   operation // nil for and, or and ??, which may not need both operands
	// small is run where a value is no text, list or object: it costs nothing.
	small func(a, b any) any
}

var operators = map[string]operator{
	"==":         {(*checker).equality, equalValues, func(a, b any) any { return isEqual(a, b) }},
	"!=":         {(*checker).equality, unequalValues, func(a, b any) any { return !isEqual(a, b) }},
	"<":          ordering("<", func(n int) bool { return n < 0 }),
	"<=":         ordering("<=", func(n int) bool { return n <= 0 }),
	">":          ordering(">", func(n int) bool { return n > 0 }),
	">=":         ordering(">=", func(n int) bool { return n >= 0 }),
	"and":        {(*checker).logic, nil, nil},
	"or":         {(*checker).logic, nil, nil},
	"??":         {(*checker).fallback, nil, nil},
	"+":          {(*checker).addition, add, addNumbers},
	"-":          {(*checker).arithmetic, nil, subtract},
	"*":          {(*checker).arithmetic, nil, multiply},
	"/":          {(*checker).arithmetic, nil, divide},
	"%":          {(*checker).arithmetic, nil, modulo},
	"**":         {(*checker).arithmetic, nil, power},
	"..":         {(*checker).arithmetic, makeRange, nil},
	"in":         {(*checker).membership, isMember, nil},
	"contains":   {(*checker).textual, containsValue, nil},
	"startsWith": {(*checker).textual, startsWith, nil},
	"endsWith":   {(*checker).textual, endsWith, nil},
	"matches":    {(*checker).textual, matchValue, nil},
}

// operatorName is the one spelling of an operator.
func operatorName(op string) string {
	switch op {
	case "&&":
		return "and"
	case "||":
		return "or"
	case "!":
		return "not"
	case "^":
		return "**"
	}
	return op
}

func (c *checker) unary(n *ast.UnaryNode, from int) *Tree {
	o := c.value(n.Node)
	t := &Tree{Op: TreeUnary, Name: operatorName(n.Operator), Args: []*Tree{o}, Type: o.Type, operands: []*Tree{o}}
	t.from, t.to = o.from, o.to // of x not in y, where the sign comes later
	if from < o.from {
		t.from = from
		_, t.to = c.src.outer(o.from, o.to)
	}
	if t.Name == "not" {
		c.mustBeBool(o)
		t.Type = Bool()
		holds := o.boolean(t)
		t.eval = func(f *frame) any { return holds(f) != true }
		return t
	}
	if !o.may(kindFloat) {
		return c.fail(RuleType, o.from, o.to, "%s needs a number, this is %s", n.Operator, article(o.Type))
	}
	if o.Op == TreeConst && o.Value != nil {
		v := o.Value
		if t.Name == "-" {
			v = negate(v)
		}
		return constantPart(v, t.from, t.to)
	}
	if t.Name == "-" {
		t.eval = t.operate(func(args ...any) (any, uint) { return negate(args[0]), 0 }, o.eval)
	} else {
		t.eval = t.operateFree(addNumbers, constantPart(0, t.from, t.to).eval, o.eval)
	}
	return t
}

func (c *checker) binary(n *ast.BinaryNode, opFrom, opTo int) *Tree {
	// A chain such as a and b and c leans to the left; it is no nesting.
	c.nest--
	l := c.value(n.Left)
	c.nest++
	r := c.value(n.Right)
	t := &Tree{Op: TreeBinary, Name: operatorName(n.Operator), Args: []*Tree{l, r}, Type: Bool(), operands: []*Tree{l, r}}
	t.from, t.to = c.span(l, r)
	op, ok := operators[t.Name]
	if !ok {
		return c.fail(RuleSyntax, opFrom, opTo, "operator %q is not part of the language", n.Operator)
	}
	op.check(c, t, l, r)
	switch {
	case c.err != nil:
		return unknown(t.from, t.to)
	case t.eval != nil:
	case op.run == nil || op.small != nil && (l.isSmall(t.Name) || r.isSmall(t.Name)):
		t.eval = t.operateFree(op.small, l.eval, r.eval)
	default:
		t.eval = c.charged(t, op.run, l.eval, r.eval)
	}
	return t
}

func (c *checker) equality(t, l, r *Tree) {
	if !comparable(l.Type, r.Type) {
		c.fail(RuleType, t.from, t.to, "%s is %s and %s is %s: they are never equal",
			c.quote(l), article(l.Type), c.quote(r), article(r.Type))
	}
}

// comparable reports whether values of the two types can be equal.
func comparable(a, b Type) bool {
	return a.kind == kindAny || b.kind == kindAny || a.kind == kindNull || b.kind == kindNull ||
		a.isNumber() && b.isNumber() || a.kind == b.kind
}

func (c *checker) ordering(t, l, r *Tree) {
	numbers := l.may(kindFloat) && r.may(kindFloat)
	texts := l.may(kindString) && r.may(kindString)
	if !numbers && !texts {
		c.fail(RuleType, t.from, t.to, "%s compares two numbers or two strings, these are %s and %s", t.Name, article(l.Type), article(r.Type))
	}
}

func (c *checker) logic(t, l, r *Tree) {
	if !c.mustBeBool(l) || !c.mustBeBool(r) {
		return
	}
	left, right, decides := l.boolean(t), r.eval, t.Name == "or"
	if r.Type.kind == kindAny {
		right = r.boolean(r)
	}
	t.eval = func(f *frame) any {
		if out := left(f); out == decides {
			return out
		}
		return right(f)
	}
}

func (c *checker) fallback(t, l, r *Tree) {
	t.Type = Either(l.Type, r.Type)
	t.eval = func(f *frame) any {
		if out := l.eval(f); out != nil {
			return out
		}
		return r.eval(f)
	}
}

func (c *checker) arithmetic(t, l, r *Tree) {
	for _, o := range t.Args {
		if !o.may(kindFloat) {
			c.fail(RuleType, o.from, o.to, "%s needs numbers, this is %s", t.Name, article(o.Type))
			return
		}
	}
	switch t.Name {
	case "..":
		t.Type = List(Int())
	case "%":
		t.Type = Int()
	case "/":
		t.Type = Float()
	case "**":
		t.Type = Float()
		if l.Type.kind == kindInt && r.Type.kind == kindInt {
			t.Type = Any() // whole unless the exponent is negative
		}
	default:
		t.Type = numberType(l.Type, r.Type)
	}
}

func (c *checker) addition(t, l, r *Tree) {
	numbers := l.may(kindFloat) && r.may(kindFloat)
	texts := l.may(kindString) && r.may(kindString)
	switch {
	case !numbers && !texts:
		c.fail(RuleType, t.from, t.to, "+ adds two numbers or two strings, these are %s and %s%s",
			article(l.Type), article(r.Type), additionHint(l.Type, r.Type))
	case l.Type.isNumber() || r.Type.isNumber():
		t.Type = numberType(l.Type, r.Type)
	case !numbers:
		t.Type = String()
	default:
		t.Type = Any()
	}
}

func additionHint(l, r Type) string {
	switch {
	case l.kind == kindString || r.kind == kindString:
		return "; write string(x) to make a string"
	case l.kind == kindList || r.kind == kindList:
		return "; write concat(a, b) to join lists"
	}
	return ""
}

func numberType(l, r Type) Type {
	if l.kind == kindInt && r.kind == kindInt {
		return Int()
	}
	return Float()
}

func (c *checker) membership(t, l, r *Tree) {
	switch {
	case !r.may(kindList, kindObject, kindString, kindNull):
		c.fail(RuleType, r.from, r.to, "in looks into a list, an object or a string, this is %s", article(r.Type))
	case r.Type.kind == kindList && !comparable(l.Type, r.Type.Elem()):
		c.fail(RuleType, t.from, t.to, "%s is %s and this is a %s: it is never in it", c.quote(l), article(l.Type), r.Type)
	case (r.Type.kind == kindObject || r.Type.kind == kindString) && !l.may(kindString):
		c.fail(RuleType, l.from, l.to, "only a string can be in %s, this is %s", article(r.Type), article(l.Type))
	}
}

// textual operators read null as "no": what is not there contains nothing.
func (c *checker) textual(t, l, r *Tree) {
	if !l.may(kindString, kindNull) && (t.Name != "contains" || !l.may(kindList)) {
		c.fail(RuleType, l.from, l.to, "%s needs a string, this is %s", t.Name, article(l.Type))
		return
	}
	if !r.may(kindString) && (t.Name != "contains" || l.Type.kind == kindString) {
		c.fail(RuleType, r.from, r.to, "%s needs a string, this is %s", t.Name, article(r.Type))
		return
	}
	text, isText := r.Value.(string)
	if t.Name != "matches" || r.Op != TreeConst || !isText {
		return
	}
	p, err := newPattern(text)
	if err != nil {
		c.fail(RuleSyntax, r.from, r.to, "%v", err)
		return
	}
	t.eval = c.charged(t, matchValue, l.eval, func(*frame) any { return p })
}
