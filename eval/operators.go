// Unary and binary operators: types, and which of them stay native.

package eval

import (
	"math"

	"github.com/expr-lang/expr/ast"
)

// unbounded is the bound of an integer that nothing is known of; native
// additions may go up to nativeLimit without wrapping around.
const (
	unbounded   = math.MaxFloat64
	nativeLimit = 1 << 63
)

func (c *checker) unary(n *ast.UnaryNode, from int) operand {
	o := c.value(n.Node)
	_, to := c.src.outer(o.from, o.to)
	from = min(from, o.from) // of x not in y, the sign comes later
	out := operand{node: c.blank, typ: o.typ, from: from, to: to, bound: o.bound}
	switch n.Operator {
	case "!", "not":
		c.mustBeBool(&o)
		out.typ, out.bound = Bool(), 0
		c.site(from, to, "not", &o)
		out.node = c.not(o.node, from, to)
		return out
	}
	if !o.may(kindFloat) {
		return c.fail(RuleType, o.from, o.to, "%s needs a number, this is %s", n.Operator, article(o.typ))
	}
	switch lit := o.node.(type) {
	case *ast.IntegerNode:
		if n.Operator == "-" {
			return c.literal(&ast.IntegerNode{Value: -lit.Value}, from, to)
		}
		return c.literal(&ast.IntegerNode{Value: lit.Value}, from, to)
	case *ast.FloatNode:
		if n.Operator == "-" {
			return c.literal(&ast.FloatNode{Value: -lit.Value}, from, to)
		}
	}
	c.site(from, to, n.Operator, &o)
	if n.Operator == "-" && o.bound <= maxInt {
		out.node = c.at(&ast.UnaryNode{Operator: "-", Node: o.node}, from, to)
		return out
	}
	out.bound = maxInt
	fn := subtract
	if n.Operator == "+" {
		fn = addNumbers
	}
	out.node = c.callFast(fn, from, to, c.at(&ast.IntegerNode{}, from, to), o.node)
	return out
}

func (c *checker) binary(n *ast.BinaryNode, opFrom, opTo int) operand {
	// A chain such as a and b and c leans to the left; it is no nesting.
	c.nest--
	l := c.value(n.Left)
	c.nest++
	r := c.value(n.Right)
	from, to := c.span(&l, &r)
	o := operand{from: from, to: to, typ: Bool()}
	c.site(from, to, n.Operator, &l, &r)
	switch n.Operator {
	case "==", "!=":
		c.equality(&o, n.Operator, &l, &r)
	case "<", "<=", ">", ">=":
		c.ordering(&o, n.Operator, &l, &r)
	case "and", "&&", "or", "||":
		c.logic(&o, n.Operator, &l, &r)
	case "+", "-", "*", "/", "%", "**", "^":
		c.arithmetic(&o, n.Operator, &l, &r)
	case "in":
		c.membership(&o, &l, &r)
	case "contains", "startsWith", "endsWith", "matches":
		c.textual(&o, n.Operator, &l, &r)
	case "..":
		c.numbers("..", &l, &r)
		o.typ, o.bound = List(Int()), max(l.bound, r.bound)
		o.node = c.callCharged(makeRange, from, to, l.node, r.node)
	case "??":
		o.typ, o.bound = join(l.typ, r.typ), max(l.bound, r.bound)
		o.node = c.native("??", &o, &l, &r)
	default:
		return c.fail(RuleSyntax, opFrom, opTo, "operator %q is not part of the language", n.Operator)
	}
	if o.node == nil {
		return c.unknown(from, to)
	}
	return o
}

// equality stays native between scalars; lists, objects and unknown values are
// compared deeply by the canonical form of their numbers.
func (c *checker) equality(o *operand, op string, l, r *operand) {
	if !comparable(l.typ, r.typ) {
		c.fail(RuleType, o.from, o.to, "%s is %s and %s is %s: they are never equal",
			c.quote(l), article(l.typ), c.quote(r), article(r.typ))
		return
	}
	if l.isLiteral() || r.isLiteral() || isSmall(l.typ) && isSmall(r.typ) {
		o.node = c.native(op, o, l, r)
		return
	}
	o.node = c.callCharged(equalValues, o.from, o.to, l.node, r.node)
	if op == "!=" {
		o.node = c.not(o.node, o.from, o.to)
	}
}

// comparable reports whether values of the two types can be equal.
func comparable(a, b Type) bool {
	return a.kind == kindAny || b.kind == kindAny || a.kind == kindNull || b.kind == kindNull ||
		a.isNumber() && b.isNumber() || a.kind == b.kind
}

// isSmall reports whether comparing two such values costs the same always.
func isSmall(t Type) bool { return t.isNumber() || t.kind == kindBool || t.kind == kindNull }

func (c *checker) ordering(o *operand, op string, l, r *operand) {
	numbers := l.may(kindFloat) && r.may(kindFloat)
	texts := l.may(kindString) && r.may(kindString)
	if !numbers && !texts {
		c.fail(RuleType, o.from, o.to, "%s compares two numbers or two strings, these are %s and %s", op, article(l.typ), article(r.typ))
		return
	}
	if l.isLiteral() || r.isLiteral() || l.isNumber() || r.isNumber() {
		o.node = c.native(op, o, l, r)
		return
	}
	o.node = c.callCharged(orderings(op), o.from, o.to, l.node, r.node)
}

func (c *checker) logic(o *operand, op string, l, r *operand) {
	if !c.mustBeBool(l) || !c.mustBeBool(r) {
		return
	}
	if r.typ.kind == kindAny {
		// The library leaves the right side as it is; two negations check it.
		c.site(r.from, r.to, "not", r)
		r.node = c.not(c.not(r.node, r.from, r.to), r.from, r.to)
	}
	o.node = c.native(op, o, l, r)
}

// numbers checks that both operands may be numbers.
func (c *checker) numbers(op string, l, r *operand) bool {
	for _, o := range [...]*operand{l, r} {
		if !o.may(kindFloat) {
			c.fail(RuleType, o.from, o.to, "%s needs numbers, this is %s", op, article(o.typ))
			return false
		}
	}
	return true
}

func (c *checker) arithmetic(o *operand, op string, l, r *operand) {
	switch op {
	case "+":
		c.addition(o, l, r)
		return
	case "^":
		op = "**"
	}
	if !c.numbers(op, l, r) {
		return
	}
	o.typ, o.bound = numberType(l.typ, r.typ), maxInt
	switch op {
	case "-":
		if sum := l.bound + r.bound; sum < nativeLimit {
			o.node, o.bound = c.native("-", o, l, r), sum
			return
		}
		o.node = c.callFast(subtract, o.from, o.to, l.node, r.node)
	case "*":
		o.node = c.callFast(multiply, o.from, o.to, l.node, r.node)
	case "/":
		o.typ = Float()
		o.node = c.callFast(divide, o.from, o.to, l.node, r.node)
	case "%":
		o.typ = Int()
		o.node = c.callFast(modulo, o.from, o.to, l.node, r.node)
	case "**":
		o.typ = Float()
		if l.typ.kind == kindInt && r.typ.kind == kindInt {
			o.typ = Any() // whole unless the exponent is negative
		}
		o.node = c.callFast(power, o.from, o.to, l.node, r.node)
	}
}

// addition stays native for numbers that can't overflow: that is the counter
// of every loop. All else is checked, and text is charged for.
func (c *checker) addition(o *operand, l, r *operand) {
	numbers := l.may(kindFloat) && r.may(kindFloat)
	texts := l.may(kindString) && r.may(kindString)
	switch {
	case !numbers && !texts:
		c.fail(RuleType, o.from, o.to, "+ adds two numbers or two strings, these are %s and %s%s",
			article(l.typ), article(r.typ), additionHint(l.typ, r.typ))
		return
	case l.isNumber() || r.isNumber():
		o.typ, o.bound = numberType(l.typ, r.typ), maxInt
		if sum := l.bound + r.bound; sum < nativeLimit {
			o.node, o.bound = c.native("+", o, l, r), sum
			return
		}
		o.node = c.callFast(addNumbers, o.from, o.to, l.node, r.node)
		return
	case !numbers:
		o.typ = String()
	default:
		o.typ = Any()
	}
	o.bound = maxInt
	o.node = c.callCharged(add, o.from, o.to, l.node, r.node)
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

func (c *checker) membership(o *operand, l, r *operand) {
	if !r.may(kindList, kindObject, kindString, kindNull) {
		c.fail(RuleType, r.from, r.to, "in looks into a list, an object or a string, this is %s", article(r.typ))
		return
	}
	switch r.typ.kind {
	case kindList:
		if !comparable(l.typ, r.typ.item()) {
			c.fail(RuleType, o.from, o.to, "%s is %s and this is a %s: it is never in it",
				c.quote(l), article(l.typ), r.typ)
			return
		}
	case kindObject, kindString:
		if !l.may(kindString) {
			c.fail(RuleType, l.from, l.to, "only a string can be in %s, this is %s", article(r.typ), article(l.typ))
			return
		}
	}
	if values, ok := constantList(r.node); ok {
		right := c.at(&ast.ConstantNode{Value: values}, r.from, r.to)
		o.node = c.at(&ast.BinaryNode{Operator: "in", Left: l.node, Right: right}, o.from, o.to)
		return
	}
	o.node = c.callCharged(inValue, o.from, o.to, l.node, r.node)
}

// constantList is the value of a list of scalars written in the source.
func constantList(n ast.Node) ([]any, bool) {
	array, ok := n.(*ast.ArrayNode)
	if !ok {
		return nil, false
	}
	values := make([]any, len(array.Nodes))
	for i, e := range array.Nodes {
		switch e := e.(type) {
		case *ast.IntegerNode:
			values[i] = e.Value
		case *ast.FloatNode:
			values[i] = e.Value
		case *ast.StringNode:
			values[i] = e.Value
		case *ast.BoolNode:
			values[i] = e.Value
		case *ast.NilNode:
		default:
			return nil, false
		}
	}
	return values, true
}

// textual operators read null as "no": what is not there contains nothing.
func (c *checker) textual(o *operand, op string, l, r *operand) {
	if !l.may(kindString, kindNull) && (op != "contains" || !l.may(kindList)) {
		c.fail(RuleType, l.from, l.to, "%s needs a string, this is %s", op, article(l.typ))
		return
	}
	if !r.may(kindString) && (op != "contains" || l.typ.kind == kindString) {
		c.fail(RuleType, r.from, r.to, "%s needs a string, this is %s", op, article(r.typ))
		return
	}
	switch op {
	case "matches":
		c.matching(o, l, r)
	case "contains":
		o.node = c.callCharged(containsValue, o.from, o.to, l.node, r.node)
	case "startsWith", "endsWith":
		if _, ok := r.node.(*ast.StringNode); ok {
			o.node = c.native(op, o, l, r)
			return
		}
		fn := startsWith
		if op == "endsWith" {
			fn = endsWith
		}
		o.node = c.callCharged(fn, o.from, o.to, l.node, r.node)
	}
}

func (c *checker) matching(o *operand, l, r *operand) {
	pattern, ok := r.node.(*ast.StringNode)
	if !ok {
		o.node = c.callCharged(matchDynamic, o.from, o.to, l.node, r.node)
		return
	}
	p, err := newPattern(pattern.Value)
	if err != nil {
		c.fail(RuleSyntax, r.from, r.to, "%v", err)
		return
	}
	o.node = c.callCharged(p.match, o.from, o.to, l.node, r.node)
}
