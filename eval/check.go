// The checker: one walk over the library's syntax that resolves names, checks types, collects
// reads and makes the typed tree.

package eval

import (
	"strings"

	"github.com/expr-lang/expr/ast"
)

type local struct {
	name  string
	value *Tree
}

// predicateScope says what the expression of a predicate reads: the element and, in reduce, #acc.
type predicateScope struct {
	element Type
	ref     *ref
	acc     bool
}

// checker walks one expression. It panics with its first *Error.
type checker struct {
	scope     *Scope
	src       source
	locals    []local
	enclosing []predicateScope
	reads     []Read
	pathSpans []pathSpan
	nest      int
	parts     int
	cost      int    // units spent on parts so far, for the price of predicates
	lets      partID // of all locals, as text
}

// tokenSpan returns the byte span of a node's token.
func (c *checker) tokenSpan(n ast.Node) (from, to int) {
	loc := n.Location()
	return c.src.byteOffset(loc.From), c.src.byteOffset(loc.To)
}

// checkValue checks a part and records what it reads.
func (c *checker) checkValue(n ast.Node) *Tree {
	t := c.checkExpr(n)
	if t.ref != nil {
		c.reads = append(c.reads, t.ref.read())
	}
	if keys := t.ref.path(); keys != nil {
		c.pathSpans = append(c.pathSpans, pathSpan{t.from, t.to, keys})
	}
	return t
}

// checkExpr checks a part without recording its own path.
func (c *checker) checkExpr(n ast.Node) *Tree {
	from, to := c.tokenSpan(n)
	if c.nest++; c.nest > maxNesting {
		panic(tooDeepError(from, to))
	}
	if c.parts++; c.parts > 2*maxNodes { // the parser duplicates parts of a < b < c and a ?: b
		panic(syntaxAt(0, len(c.src.text), "expression has more than %d parts", maxNodes))
	}
	c.cost++
	t := c.checkPart(n, from, to)
	c.nest--
	if t.size == 0 {
		t.countParts()
	}
	if t.Op == 0 || t.Op == TreeOther && t.Name == "" {
		t.Op, t.Name = TreeOther, n.String()
		if c.lets != "" { // equal texts may have different values
			t.Value = c.lets
		}
	}
	return t
}

func (c *checker) checkPart(n ast.Node, from, to int) *Tree {
	switch n := n.(type) {
	case *ast.NilNode:
		return constantPart(nil, from, to)
	case *ast.BoolNode:
		return constantPart(n.Value, from, to)
	case *ast.StringNode:
		return constantPart(n.Value, from, to)
	case *ast.FloatNode:
		return constantPart(n.Value, from, to)
	case *ast.IntegerNode:
		if n.Value > maxInt || n.Value < -maxInt {
			panic(errorAt(RuleSyntax, from, to, "integer %d is beyond 2^61", n.Value))
		}
		return constantPart(n.Value, from, to)
	case *ast.IdentifierNode:
		return c.resolveIdentifier(n.Value, from, to)
	case *ast.PointerNode:
		return c.checkPointer(n, from, to)
	case *ast.MemberNode:
		return c.checkMember(n, from, to)
	case *ast.ChainNode:
		return endChain(c.checkExpr(n.Node))
	case *ast.SliceNode:
		return c.checkSlice(n, from)
	case *ast.UnaryNode:
		return c.checkUnary(n, from)
	case *ast.BinaryNode:
		return c.checkBinary(n, from, to)
	case *ast.ConditionalNode:
		return c.checkConditional(n)
	case *ast.BuiltinNode:
		return c.checkCall(n.Name, n.Arguments, from, to)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.checkCall(id.Value, n.Arguments, from, to)
		}
		return c.rejectMethodCall(n, from, to)
	case *ast.VariableDeclaratorNode:
		return c.checkLet(n, from, to)
	case *ast.ArrayNode:
		return c.checkArray(n, from)
	case *ast.MapNode:
		return c.checkObject(n, from)
	case *ast.SequenceNode:
		panic(errorAt(RuleSyntax, from, to, "one expression is allowed, found several separated by semicolons"))
	case *ast.BytesNode:
		panic(errorAt(RuleSyntax, from, to, "byte strings are no JSON values; write a string"))
	case *ast.PredicateNode:
		return c.checkValue(n.Node)
	}
	panic(errorAt(RuleSyntax, from, to, "this form is not part of the language"))
}

func (c *checker) checkPointer(n *ast.PointerNode, from, to int) *Tree {
	if n.Name != "" {
		to = from + 1 + len(n.Name)
	}
	if len(c.enclosing) == 0 {
		panic(errorAt(RuleSyntax, from, to, "# is only known inside predicates such as any(list, # > 1)"))
	}
	in := c.enclosing[len(c.enclosing)-1]
	t := &Tree{Op: TreePath, Path: []string{"#" + n.Name}, from: from, to: to}
	switch {
	case n.Name == "":
		t.Type, t.ref, t.eval = in.element, in.ref, (*frame).currentElement
	case n.Name == "index":
		t.Type = Int()
		t.eval = func(f *frame) any { return f.loops[len(f.loops)-1].index }
	case n.Name == "acc" && in.acc:
		t.eval = func(f *frame) any { return f.loops[len(f.loops)-1].acc }
	case n.Name == "acc":
		panic(errorAt(RuleName, from, to, "#acc is only known inside reduce"))
	default:
		panic(errorAt(RuleName, from, to, "unknown name %q; known here: #, #index, #acc in reduce", "#"+n.Name))
	}
	return t
}

// checkLet binds a name for the rest of the expression.
func (c *checker) checkLet(n *ast.VariableDeclaratorNode, from, to int) *Tree {
	if c.hasMeaning(n.Name) {
		panic(errorAt(RuleSyntax, from, to, "let can't rename %q, which has a meaning already; choose another name", n.Name))
	}
	v, outer := c.checkExpr(n.Value), c.lets
	c.locals = append(c.locals, local{n.Name, v})
	c.lets += partID("let " + n.Name + " = " + n.Value.String() + "; ")
	body := *c.checkExpr(n.Expr)
	c.locals, c.lets = c.locals[:len(c.locals)-1], outer
	_, body.to = c.src.addParentheses(body.from, body.to)
	rest := body.eval
	body.eval = func(f *frame) any {
		f.locals = append(f.locals, v.eval(f))
		out := rest(f)
		f.locals = f.locals[:len(f.locals)-1]
		return out
	}
	body.from, body.ref, body.isLet = strings.LastIndex(c.src.text[:from], "let"), body.ref.withoutName(), true
	return &body
}

func (c *checker) hasMeaning(name string) bool {
	_, isName := c.scope.findType(name)
	_, isConstant := constants[name]
	return isName || isConstant || c.findLocalIndex(name) >= 0 || c.scope.isRoot(name) || name == "$env"
}

func (c *checker) checkArray(n *ast.ArrayNode, from int) *Tree {
	t := &Tree{Op: TreeList, Name: "[]", from: from, to: c.src.findClosingEnd(from)}
	for _, e := range n.Nodes {
		t.Args = append(t.Args, c.checkValue(e))
	}
	t.Type = List(joinTypes(t.Args, func(a *Tree) Type { return a.Type }))
	c.cost += costList
	args := t.Args // countParts may drop the Args of the tree
	t.eval = func(f *frame) any {
		out := make([]any, len(args))
		for i, a := range args {
			out[i] = a.eval(f)
		}
		return out
	}
	return t
}

func (c *checker) checkObject(n *ast.MapNode, from int) *Tree {
	t := &Tree{Op: TreeOther, from: from, to: c.src.findClosingEnd(from), Members: map[string]*Tree{}}
	pairs := make([][2]evaluator, len(n.Pairs))
	fields, open := make(map[string]Type, len(n.Pairs)), false
	for i, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		key, v := c.checkValue(pair.Key), c.checkValue(pair.Value)
		if k, ok := pair.Key.(*ast.StringNode); ok {
			if _, twice := fields[k.Value]; twice {
				panic(errorAt(RuleSyntax, key.from, key.to, "key %q stands twice in one object", k.Value))
			}
			fields[k.Value], t.Members[k.Value], pairs[i][0] = v.Type, v, key.eval
		} else {
			open = true
			key.requireKinds("key of an object must be a string", kindString)
			pairs[i][0] = key.applyOperation(func(f *frame, a []any) any { return objectKey(f, a[0]) }, key.eval)
		}
		pairs[i][1] = v.eval
	}
	if open {
		t.Members = nil
	}
	c.cost += costObject
	t.Type = Object(fields, open)
	t.eval = func(f *frame) any {
		out := make(map[string]any, len(pairs))
		for _, pair := range pairs {
			key := pair[0](f).(string)
			out[key] = pair[1](f)
		}
		return out
	}
	return t
}

func (c *checker) checkConditional(n *ast.ConditionalNode) *Tree {
	cond := c.checkValue(n.Cond)
	holds := cond.requireCondition()
	yes, no := c.checkValue(n.Exp1), c.checkValue(n.Exp2)
	t := &Tree{Op: TreeChoice, Name: "?:", Args: []*Tree{cond, yes, no}, Type: Either(yes.Type, no.Type)}
	t.from, t.to = c.findSpan(t.Args...)
	t.eval = func(f *frame) any {
		if holds(f) == true {
			return yes.eval(f)
		}
		return no.eval(f)
	}
	return t
}

// findSpan returns the span from the first to the last operand, with the parentheses around them.
func (c *checker) findSpan(operands ...*Tree) (from, to int) {
	from = len(c.src.text)
	for _, o := range operands {
		f, t := c.src.addParentheses(o.from, o.to)
		from, to = min(from, f), max(to, t)
	}
	return from, to
}

// checkCall checks name(args…); from and to mark the name.
func (c *checker) checkCall(name string, args []ast.Node, from, to int) *Tree {
	end := c.src.findClosingEnd(to)
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
			v.requireKinds(name+" needs "+describeKinds(want)+" here", want...)
		}
	}
	t.from = c.findCallStart(from, t.Args[0])
	t.operands, t.Type, t.eval = t.Args, f.result(types...), t.applyOperation(f.withKindCheck(name), values...)
	c.cost += costCall
	return t
}

// findCallStart returns the offset of a call whose name is at from. list | first() starts at list.
func (c *checker) findCallStart(from int, first *Tree) int {
	if first.from < from {
		from, _ = c.src.addParentheses(first.from, first.to)
	}
	return from
}

// checkGet checks get(x, key), which reads a member that may be missing.
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
	if len(c.enclosing) >= maxPredicates {
		panic(errorAt(RuleSyntax, from, to, "predicates are nested deeper than %d levels", maxPredicates))
	}
	list := c.checkValue(args[0])
	t := &Tree{from: c.findCallStart(from, list), to: end, operands: []*Tree{list}}
	list.requireKinds(name+" needs a list", kindList)
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

// checkBody checks the expression that a predicate evaluates for each element.
func (c *checker) checkBody(list *Tree, n ast.Node, name string) *Tree {
	in := predicateScope{element: list.Type.Elem(), acc: name == "reduce"}
	if list.ref != nil {
		in.ref = list.ref.withoutName().element()
	}
	c.enclosing = append(c.enclosing, in)
	defer func() { c.enclosing = c.enclosing[:len(c.enclosing)-1] }()
	return c.checkValue(n)
}
