// Unary and binary operators.

package eval

import (
	"cmp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// operator is a row of the table of binary operators. check reports operands that never fit.
type operator struct {
	check  func(c *checker, t, l, r *Tree)
	result resultType
	run    binaryOperation // nil for and, or and ??, which may not need both operands
}

var operators = map[string]operator{
	"==":         {(*checker).checkEquality, fixedType(Bool()), isEqual},
	"!=":         {(*checker).checkEquality, fixedType(Bool()), notEqual},
	"<":          newComparison("<", func(n int) bool { return n < 0 }),
	"<=":         newComparison("<=", func(n int) bool { return n <= 0 }),
	">":          newComparison(">", func(n int) bool { return n > 0 }),
	">=":         newComparison(">=", func(n int) bool { return n >= 0 }),
	"and":        {(*checker).checkLogic, fixedType(Bool()), nil},
	"or":         {(*checker).checkLogic, fixedType(Bool()), nil},
	"??":         {(*checker).checkFallback, eitherType, nil},
	"+":          {(*checker).checkAddition, sumType, addValues},
	"-":          {(*checker).checkArithmetic, numberType, subtract},
	"*":          {(*checker).checkArithmetic, numberType, multiply},
	"/":          {(*checker).checkArithmetic, fixedType(Float()), divide},
	"%":          {(*checker).checkArithmetic, fixedType(Int()), modulo},
	"**":         {(*checker).checkArithmetic, powerType, raisePower},
	"..":         {(*checker).checkArithmetic, fixedType(List(Int())), makeRange},
	"in":         {(*checker).checkMembership, fixedType(Bool()), isMember},
	"contains":   {(*checker).checkTextOperator, fixedType(Bool()), containsValue},
	"startsWith": {(*checker).checkTextOperator, fixedType(Bool()), newAffixTest("startsWith", strings.HasPrefix)},
	"endsWith":   {(*checker).checkTextOperator, fixedType(Bool()), newAffixTest("endsWith", strings.HasSuffix)},
	"matches":    {(*checker).checkTextOperator, fixedType(Bool()), matchValue},
}

// signs maps the unary operators on numbers to operations on zero and the number.
var signs = map[string]binaryOperation{"+": addNumbers, "-": negate}

// spellings maps other spellings of operators to their names.
var spellings = map[string]string{"&&": "and", "||": "or", "!": "not", "^": "**"}

func (c *checker) checkUnary(n *ast.UnaryNode, from int) *Tree {
	o := c.checkValue(n.Node)
	t := &Tree{Op: TreeUnary, Name: cmp.Or(spellings[n.Operator], n.Operator), Args: []*Tree{o}, Type: o.Type, operands: []*Tree{o}}
	t.from, t.to = o.from, o.to // in x not in y, the operator follows the operand
	if from < o.from {
		t.from = from
		_, t.to = c.src.addParentheses(o.from, o.to)
	}
	if t.Name == "not" {
		t.Type = Bool()
		holds := o.requireCondition()
		t.eval = func(f *frame) any { return holds(f) != true }
		return t
	}
	o.requireKinds(n.Operator+" needs a number", kindFloat)
	t.eval = t.applyOperator(signs[t.Name], constantPart(0, 0, 0).eval, o.eval)
	if o.Op == TreeConst && o.Value != nil {
		return constantPart(signs[t.Name](nil, 0, o.Value), t.from, t.to)
	}
	return t
}

func (c *checker) checkBinary(n *ast.BinaryNode, opFrom, opTo int) *Tree {
	// A chain such as a and b and c nests on the left only, which does not count as nesting.
	c.nest--
	l := c.checkValue(n.Left)
	c.nest++
	r := c.checkValue(n.Right)
	t := &Tree{Op: TreeBinary, Name: cmp.Or(spellings[n.Operator], n.Operator), Args: []*Tree{l, r}, operands: []*Tree{l, r}}
	t.from, t.to = c.findSpan(l, r)
	op, ok := operators[t.Name]
	if !ok {
		panic(errorAt(RuleSyntax, opFrom, opTo, "operator %q is not part of the language", n.Operator))
	}
	op.check(c, t, l, r)
	t.Type = op.result(l.Type, r.Type)
	if t.eval == nil {
		t.eval = t.applyOperator(op.run, l.eval, r.eval)
	}
	return t
}

func (c *checker) checkEquality(t, l, r *Tree) {
	if !canBeEqual(l.Type, r.Type) {
		panic(errorAt(RuleType, t.from, t.to, "%s is %s and %s is %s: they are never equal",
			c.quoteSource(l), l.Type.WithArticle(), c.quoteSource(r), r.Type.WithArticle()))
	}
}

// canBeEqual reports whether values of the two types can be equal.
func canBeEqual(a, b Type) bool {
	return a.kind == kindAny || b.kind == kindAny || a.kind == kindNull || b.kind == kindNull ||
		a.isNumber() && b.isNumber() || a.kind == b.kind
}

func (c *checker) checkOrdering(t, l, r *Tree) { requireNumbersOrTexts(t, l, r, "%s compares", "") }

// requireNumbersOrTexts panics if two operands can be neither two numbers nor two strings.
func requireNumbersOrTexts(t, l, r *Tree, verb, hint string) {
	if !(l.canBe(kindFloat) && r.canBe(kindFloat) || l.canBe(kindString) && r.canBe(kindString)) {
		panic(errorAt(RuleType, t.from, t.to, verb+" two numbers or two strings, these are %s and %s%s", t.Name, l.Type.WithArticle(), r.Type.WithArticle(), hint))
	}
}

func (c *checker) checkLogic(t, l, r *Tree) {
	left, right, decides := l.requireCondition(), r.requireCondition(), t.Name == "or"
	if !r.Type.IsAny() { // null stays null
		right = r.eval
	}
	t.eval = func(f *frame) any {
		if out := left(f); out == decides {
			return out
		}
		return right(f)
	}
}

func (c *checker) checkFallback(t, l, r *Tree) {
	t.eval = func(f *frame) any {
		if out := l.eval(f); out != nil {
			return out
		}
		return r.eval(f)
	}
}

func (c *checker) checkArithmetic(t, l, r *Tree) {
	l.requireKinds(t.Name+" needs numbers", kindFloat)
	r.requireKinds(t.Name+" needs numbers", kindFloat)
}

func (c *checker) checkAddition(t, l, r *Tree) {
	hint := ""
	switch {
	case l.Type.kind == kindString || r.Type.kind == kindString:
		hint = "; write string(x) to make a string"
	case l.Type.kind == kindList || r.Type.kind == kindList:
		hint = "; write concat(a, b) to join lists"
	}
	requireNumbersOrTexts(t, l, r, "%s adds", hint)
}

func eitherType(args ...Type) Type { return Either(args[0], args[1]) }

// sumType returns the type of a + b.
func sumType(args ...Type) Type {
	switch l, r := args[0], args[1]; {
	case l.isNumber() || r.isNumber():
		return numberType(l, r)
	case l.IsAny() && r.IsAny():
		return Any()
	}
	return String()
}

// numberType returns the type of a result that is whole if all arguments are.
func numberType(args ...Type) Type {
	if slices.ContainsFunc(args, func(t Type) bool { return t.kind != kindInt }) {
		return Float()
	}
	return Int()
}

// powerType returns the type of a ** b, which is whole unless the exponent is negative.
func powerType(args ...Type) Type {
	if numberType(args...).kind == kindInt {
		return Any()
	}
	return Float()
}

func (c *checker) checkMembership(t, l, r *Tree) {
	r.requireKinds("in looks into a list, an object or a string", kindList, kindObject, kindString, kindNull)
	switch r.Type.kind {
	case kindObject, kindString:
		l.requireKinds("only a string can be in "+r.Type.WithArticle(), kindString)
	case kindList:
		if !canBeEqual(l.Type, r.Type.Elem()) {
			panic(errorAt(RuleType, t.from, t.to, "%s is %s and this is a %s: it is never in it", c.quoteSource(l), l.Type.WithArticle(), r.Type))
		}
	}
}

// checkTextOperator checks contains, startsWith, endsWith and matches. The left side may be null.
func (c *checker) checkTextOperator(t, l, r *Tree) {
	if t.Name != "contains" || !l.canBe(kindList) {
		l.requireKinds(t.Name+" needs a string", kindString, kindNull)
	}
	if t.Name != "contains" || l.Type.kind == kindString {
		r.requireKinds(t.Name+" needs a string", kindString)
	}
	if text, isConstant := r.Value.(string); isConstant && t.Name == "matches" {
		p, err := newPattern(text)
		if err != nil {
			panic(errorAt(RuleSyntax, r.from, r.to, "%v", err))
		}
		t.eval = t.applyOperator(matchValue, l.eval, func(*frame) any { return p })
	}
}
