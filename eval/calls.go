// Calls: predicates, which loop in the interpreter, and plain functions.

package eval

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// call checks name(args…); from and to mark the name.
func (c *checker) call(name string, args []ast.Node, from, to int) operand {
	end := c.src.closing(to)
	if isPredicate(name) {
		return c.predicateCall(name, args, from, to, end)
	}
	f, ok := findFunction(name)
	if !ok {
		return c.unknownFunction(name, from, to)
	}
	if len(args) < f.min || len(args) > f.max {
		return c.fail(RuleType, from, end, "%s takes %s, found %d", name, f.arity(), len(args))
	}
	if name == "get" {
		return c.get(args, from, end)
	}
	values, nodes := make([]operand, len(args)), make([]ast.Node, len(args))
	o := operand{node: c.blank, from: from, to: end, bound: unbounded}
	for i, a := range args {
		values[i] = c.value(a)
		nodes[i] = values[i].node
		if want := f.param(i); len(want) > 0 && !values[i].may(want...) {
			return c.fail(RuleType, values[i].from, values[i].to, "%s needs %s here, this is %s",
				name, oneOf(want), article(values[i].typ))
		}
	}
	if len(values) > 0 {
		o.from = min(from, values[0].from) // list | first() starts at its list
	}
	c.siteOf(o.from, end, name, values)
	o.typ = f.result
	if f.infer != nil {
		o.typ = f.infer(values)
	}
	if o.typ.kind != kindInt || f.bounded {
		o.bound = resultBound(f, values)
	}
	if name == "len" && values[0].typ.kind == kindList {
		o.node = c.at(&ast.BuiltinNode{Name: "len", Arguments: nodes}, o.from, end)
		return o
	}
	o.node = c.callCharged(f.run, o.from, end, nodes...)
	return o
}

// resultBound: functions that pick from their arguments keep those bounds; all
// others check their own integers.
func resultBound(f function, values []operand) float64 {
	bound := float64(maxInt)
	if f.bounded {
		return bound
	}
	for _, v := range values {
		bound = max(bound, v.bound)
	}
	return bound
}

func (c *checker) unknownFunction(name string, from, to int) operand {
	if reason := missingFunction(name); reason != "" {
		return c.fail(RuleName, from, to, "function %q is not available: %s", name, reason)
	}
	function, say := functionElsewhere(name)
	if say != "" {
		return c.fail(RuleName, from, to, "unknown function %q; %s", name, say)
	}
	c.fail(RuleName, from, to, "unknown function %q", name)
	if c.err != nil && c.err.From == from && function != "" {
		c.err.Suggestion = function
	}
	c.suggest(from, name, append(functionNames(), predicateNames()...))
	return c.unknown(from, to)
}

func oneOf(kinds []kind) string {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		if k != kindNull {
			names = append(names, article(Type{kind: k}))
		}
	}
	return strings.Join(names, " or ")
}

// get reads a member that may be missing: get(x, key).
func (c *checker) get(args []ast.Node, from, to int) operand {
	base := c.expr(args[0])
	key := c.value(args[1])
	name, _ := args[1].(*ast.StringNode)
	t, ok := Any(), true
	if base.may(kindList, kindObject) {
		if t, _, _ = base.typ.Field(""); name != nil {
			t, _, _ = base.typ.Field(name.Value)
		}
	}
	if base.typ.kind == kindList {
		t, ok = c.memberType(&base, &key, name)
	}
	if !ok {
		return c.unknown(from, to)
	}
	o := operand{typ: t, from: from, to: to, bound: base.bound, ref: base.ref.member(&base, &key).unkeyed()}
	o.node = c.callCharged(getMember, from, to, base.node, key.node)
	return o
}

// predicateNames are the functions that evaluate an expression per element.
func predicateNames() []string {
	return []string{
		"all", "any", "count", "filter", "find", "findIndex", "findLast", "findLastIndex",
		"groupBy", "map", "none", "one", "reduce", "sortBy", "sum",
	}
}

func isPredicate(name string) bool {
	switch name {
	case "all", "any", "count", "filter", "find", "findIndex", "findLast", "findLastIndex",
		"groupBy", "map", "none", "one", "reduce", "sortBy", "sum":
		return true
	}
	return false
}

// loop is a predicate call whose parts are checked.
type loop struct {
	name       string
	collection operand // the list as written
	list       ast.Node
	body       operand
	bodyNode   ast.Node
	hasBody    bool
	extra      *operand // third argument
	from, to   int
}

// predicateCall checks name(list, predicate, extra). The parser made sure of
// the number of arguments.
func (c *checker) predicateCall(name string, args []ast.Node, from, to, end int) operand {
	if len(args) == 0 {
		return c.fail(RuleType, from, end, "%s needs a list", name)
	}
	if len(c.frames) >= maxPredicates {
		return c.fail(RuleSyntax, from, to, "predicates are nested deeper than %d levels", maxPredicates)
	}
	l := loop{name: name, collection: c.value(args[0]), from: from, to: end}
	l.from = min(from, l.collection.from)
	if !l.collection.may(kindList) {
		return c.fail(RuleType, l.collection.from, l.collection.to, "%s needs a list, this is %s", name, article(l.collection.typ))
	}
	price := 1
	if len(args) > 1 {
		price = c.body(&l, args[1])
	}
	if len(args) > 2 {
		extra := c.value(args[2])
		l.extra = &extra
	}
	if c.err != nil {
		return c.unknown(from, end)
	}
	// The list passes through a function that charges for the whole loop.
	units := c.literal(&ast.IntegerNode{Value: price}, from, to)
	label := c.literal(&ast.StringNode{Value: name}, from, to)
	c.site(l.from, end, name, &l.collection)
	l.list = c.callCharged(enterLoop, l.from, end, l.collection.node, units.node, label.node)
	return c.finish(&l)
}

// body checks the predicate itself and returns what one round costs.
func (c *checker) body(l *loop, n ast.Node) (price int) {
	element := operand{typ: l.collection.typ.item(), bound: l.collection.bound}
	if l.collection.isPath() {
		element.ref = &ref{path: l.collection.ref.path, stopped: true}
	}
	l.hasBody = true
	c.frames = append(c.frames, frame{element: element, acc: l.name == "reduce"})
	before := c.cost
	l.body = c.value(n)
	c.frames = c.frames[:len(c.frames)-1]
	switch l.name {
	case "all", "any", "count", "filter", "find", "findIndex", "findLast", "findLastIndex", "none", "one":
		c.mustBeBool(&l.body)
		c.site(l.body.from, l.body.to, "?", &l.body)
		if l.body.typ.kind == kindAny {
			// Checked here so that the error carries the predicate's place.
			l.body.node = c.not(c.not(l.body.node, l.body.from, l.body.to), l.body.from, l.body.to)
		}
	}
	if l.name == "groupBy" {
		l.body.node = c.callCharged(groupKey, l.body.from, l.body.to, l.body.node)
	}
	l.bodyNode = c.at(&ast.PredicateNode{Node: l.body.node}, l.body.from, l.body.to)
	return c.cost - before + 1
}

// finish builds the lowered call and types its result.
func (c *checker) finish(l *loop) operand {
	o := operand{from: l.from, to: l.to, bound: l.collection.bound}
	args := []ast.Node{l.list}
	if l.bodyNode != nil {
		args = append(args, l.bodyNode)
	}
	native := func() ast.Node { return c.loopNode(l.name, args, l) }
	switch l.name {
	case "all", "any", "none", "one":
		o.typ, o.node = Bool(), native()
	case "count", "findIndex", "findLastIndex":
		o.typ, o.bound, o.node = Int(), 1<<40, native()
	case "filter":
		o.typ, o.node = List(l.collection.typ.item()), native()
	case "find", "findLast":
		o.typ, o.node = l.collection.typ.item(), native()
	case "map":
		o.typ, o.bound, o.node = List(l.body.typ), l.body.bound, native()
	case "reduce":
		o.bound = unbounded
		if l.extra != nil {
			args = append(args, l.extra.node)
		}
		o.node = native()
	case "sum":
		o.typ, o.bound, o.node = c.sum(l)
	case "groupBy":
		o.typ = Object(nil, true)
		o.node = c.callCharged(groupValues, l.from, l.to, native())
	case "sortBy":
		o.typ = l.collection.typ
		o.node = c.sortBy(l)
	}
	return o
}

func (c *checker) loopNode(name string, args []ast.Node, l *loop) ast.Node {
	return c.at(&ast.BuiltinNode{Name: name, Arguments: args}, l.from, l.to)
}

// sum adds the mapped elements with overflow checks.
func (c *checker) sum(l *loop) (Type, float64, ast.Node) {
	list, elem := l.list, l.collection.typ.item()
	if l.hasBody {
		list, elem = c.loopNode("map", []ast.Node{l.list, l.bodyNode}, l), l.body.typ
	}
	if elem.kind != kindAny && elem.kind != kindNull && !elem.isNumber() {
		c.fail(RuleType, l.from, l.to, "sum adds numbers, these are %s", article(elem))
	}
	return elem, maxInt, c.callCharged(sumValues, l.from, l.to, list)
}

// sortBy computes all keys first and sorts stably by them; the list is bound to
// a name that no source can spell, because it is needed twice.
func (c *checker) sortBy(l *loop) ast.Node {
	name := fmt.Sprintf("list %d", c.temps)
	c.temps++
	at := func() ast.Node { return c.at(&ast.IdentifierNode{Value: name}, l.from, l.to) }
	keys := c.loopNode("map", []ast.Node{at(), l.bodyNode}, l)
	order := c.at(&ast.StringNode{Value: "asc"}, l.from, l.to)
	if l.extra != nil {
		order = l.extra.node
	}
	sorted := c.callCharged(sortByKeys, l.from, l.to, at(), keys, order)
	return c.at(&ast.VariableDeclaratorNode{Name: name, Value: l.list, Expr: sorted}, l.from, l.to)
}
