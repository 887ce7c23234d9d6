// Calls of functions and predicates.

package eval

import "github.com/expr-lang/expr/ast"

// checkCall checks name(args…); from and to mark the name.
func (c *checker) checkCall(name string, args []ast.Node, from, to int) *Tree {
	end := c.src.closingEnd(to)
	if p, ok := predicates[name]; ok {
		return c.checkPredicate(p, name, args, from, to, end)
	}
	f, ok := functions[name]
	if !ok {
		return c.rejectFunction(name, from, to)
	}
	if len(args) < f.min || len(args) > f.max {
		panic(errorAt(RuleType, from, end, "%s takes %s, found %d", name, f.arity(), len(args)))
	}
	if name == "get" {
		return c.checkGet(args, from, end)
	}
	t := &Tree{Op: TreeCall, Name: name, from: from, to: end}
	values, types := make([]evaluator, len(args)), make([]Type, len(args))
	for i, a := range args {
		v := c.checkValue(a)
		t.Args, values[i], types[i] = append(t.Args, v), v.eval, v.Type
		if want := f.allowedKinds(i); want != nil {
			v.require(name+" needs "+describeKinds(want)+" here", want...)
		}
	}
	t.from = c.callStart(from, t.Args[0])
	t.operands, t.Type, t.eval = t.Args, f.result(types...), t.applyOperation(f.withKindCheck(name), values...)
	c.cost += costCall
	return t
}

// callStart returns the start of a call whose name is at from. list | first() starts at list.
func (c *checker) callStart(from int, first *Tree) int {
	if first.from < from {
		from, _ = c.src.withParentheses(first.from, first.to)
	}
	return from
}

// checkGet reads a member that may be missing: get(x, key).
func (c *checker) checkGet(args []ast.Node, from, to int) *Tree {
	base, key := c.checkExpr(args[0]), c.checkValue(args[1])
	name, _ := key.Value.(string)
	typ, _, _ := base.Type.Field(name)
	if base.Type.kind == kindList {
		typ = c.memberType(base, key)
	}
	t := &Tree{Op: TreeCall, Name: "get", Args: []*Tree{base, key}, Type: typ, from: from, to: to}
	t.ref = base.ref.member(base, key).withoutName()
	t.eval = t.applyOperation(getValue, base.eval, key.eval)
	c.cost += costCall
	return t
}

// checkPredicate checks name(list, predicate, extra). The parser has checked the number of
// arguments, at least one.
func (c *checker) checkPredicate(p predicate, name string, args []ast.Node, from, to, end int) *Tree {
	if len(c.around) >= maxPredicates {
		panic(errorAt(RuleSyntax, from, to, "predicates are nested deeper than %d levels", maxPredicates))
	}
	list := c.checkValue(args[0])
	t := &Tree{from: c.callStart(from, list), to: end, operands: []*Tree{list}}
	list.require(name+" needs a list", kindList)
	if len(args) == 1 {
		t.Op, t.Name, t.Args = TreeCall, name, []*Tree{list}
	}
	price, element := 1, list.Type.Elem()
	var body, extra evaluator
	if len(args) > 1 {
		before := c.cost
		t.Over, t.Body = list, c.checkBody(list, args[1], name)
		price, element, body = c.cost-before+1, t.Body.Type, t.Body.eval
	}
	switch {
	case p.isTest && t.Body == nil:
		body = t.requireBoolean((*frame).currentElement)
	case p.isTest:
		body = t.Body.requireCondition()
	case name == "groupBy" && t.Body != nil:
		body = t.Body.applyOperation(groupKey, body)
	}
	if len(args) > 2 {
		extra = c.checkValue(args[2]).eval
	}
	if t.Type = p.result(list.Type, element); name == "sum" && !t.canBe(kindFloat, kindNull) {
		panic(errorAt(RuleType, t.from, t.to, "sum adds numbers, these are %s", t.Type.WithArticle()))
	}
	c.cost += costCall
	t.eval = func(f *frame) any {
		v := list.eval(f)
		f.part = t
		items := requireType[[]any](name, v)
		f.spend(len(items) * price)
		return p.run(loop{f, t, items, body, extra})
	}
	return t
}

// checkBody checks the expression that is evaluated for each element.
func (c *checker) checkBody(list *Tree, n ast.Node, name string) *Tree {
	in := surroundings{element: list.Type.Elem(), acc: name == "reduce"}
	if list.ref != nil {
		in.ref = list.ref.withoutName().element()
	}
	c.around = append(c.around, in)
	defer func() { c.around = c.around[:len(c.around)-1] }()
	return c.checkValue(n)
}
