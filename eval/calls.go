// Calls: predicates, which loop in the interpreter, and plain functions.

package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// call checks name(args…); from and to mark the name.
func (c *checker) call(name string, args []ast.Node, from, to int) *Tree {
	end := c.src.closing(to)
	if p, ok := predicates[name]; ok {
		return c.predicateCall(p, name, args, from, to, end)
	}
	f, ok := functions[name]
	if !ok {
		return c.unknownFunction(name, from, to)
	}
	if len(args) < f.min || len(args) > f.max {
		return c.fail(RuleType, from, end, "%s takes %s, found %d", name, f.arity(), len(args))
	}
	if name == "get" {
		return c.get(args, from, end)
	}
	t := &Tree{Op: TreeCall, Name: name, from: from, to: end}
	nodes := make([]ast.Node, len(args))
	for i, a := range args {
		v := c.value(a)
		t.Args, nodes[i] = append(t.Args, v), v.node
		if want := f.param(i); len(want) > 0 && !v.may(want...) {
			return c.fail(RuleType, v.from, v.to, "%s needs %s here, this is %s", name, oneOf(want), article(v.Type))
		}
	}
	if len(t.Args) > 0 {
		t.from = c.start(from, t.Args[0])
	}
	t.operands, t.Type = t.Args, f.result(t.Args)
	if name == "len" && t.Args[0].Type.kind == kindList {
		t.node = c.run(t, f.run, nodes...)
	} else {
		t.node = c.charged(t, f.run, nodes...)
	}
	return t
}

// start is where a call begins, whose name is at from: list | first() starts at its list.
func (c *checker) start(from int, first *Tree) int {
	if first.from < from {
		from, _ = c.src.outer(first.from, first.to)
	}
	return from
}

func (c *checker) unknownFunction(name string, from, to int) *Tree {
	if reason := missingFunction(name); reason != "" {
		return c.fail(RuleName, from, to, "function %q is not available: %s", name, reason)
	}
	function, hint := foreignFunction(name)
	if hint != "" {
		return c.fail(RuleName, from, to, "unknown function %q; %s", name, hint)
	}
	t := c.fail(RuleName, from, to, "unknown function %q", name)
	if c.err != nil && c.err.From == from && function != "" {
		c.err.Suggestion = function
	}
	c.suggest(from, name, callable())
	return t
}

// callable lists what can be called, the plain functions first.
func callable() []string {
	return append(slices.Sorted(maps.Keys(functions)), slices.Sorted(maps.Keys(predicates))...)
}

func oneOf(kinds []kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = article(Type{kind: k})
	}
	return strings.Join(names, " or ")
}

// get reads a member that may be missing: get(x, key).
func (c *checker) get(args []ast.Node, from, to int) *Tree {
	base, key := c.expr(args[0]), c.value(args[1])
	name, _ := args[1].(*ast.StringNode)
	typ, ok := Any(), true
	if base.may(kindList, kindObject) && name != nil {
		typ, _, _ = base.Type.Field(name.Value)
	}
	if base.Type.kind == kindList {
		typ, ok = c.memberType(base, key, name)
	}
	if !ok {
		return unknown(from, to)
	}
	t := &Tree{Op: TreeCall, Name: "get", Args: []*Tree{base, key}, Type: typ, from: from, to: to}
	t.ref = base.ref.member(base, key).unkeyed()
	t.node = c.charged(t, getMember, base.node, key.node)
	return t
}

// predicate is a function that evaluates an expression per element.
type predicate struct {
	isTest bool // the expression must be boolean
	result func(list, body Type) Type
}

var predicates = map[string]predicate{
	"all":           {true, loopGives(Bool())},
	"any":           {true, loopGives(Bool())},
	"none":          {true, loopGives(Bool())},
	"one":           {true, loopGives(Bool())},
	"count":         {true, loopGives(Int())},
	"findIndex":     {true, loopGives(Int())},
	"findLastIndex": {true, loopGives(Int())},
	"find":          {true, func(list, _ Type) Type { return list.Elem() }},
	"findLast":      {true, func(list, _ Type) Type { return list.Elem() }},
	"filter":        {true, func(list, _ Type) Type { return List(list.Elem()) }},
	"map":           {false, func(_, body Type) Type { return List(body) }},
	"sum":           {false, func(_, body Type) Type { return body }},
	"reduce":        {false, loopGives(Any())},
	"groupBy":       {false, loopGives(Object(nil, true))},
	"sortBy":        {false, func(list, _ Type) Type { return list }},
}

func loopGives(t Type) func(list, body Type) Type {
	return func(_, _ Type) Type { return t }
}

// predicateCall checks name(list, predicate, extra). The parser made sure of
// the number of arguments.
func (c *checker) predicateCall(p predicate, name string, args []ast.Node, from, to, end int) *Tree {
	if len(args) == 0 {
		return c.fail(RuleType, from, end, "%s needs a list", name)
	}
	if len(c.around) >= maxPredicates {
		return c.fail(RuleSyntax, from, to, "predicates are nested deeper than %d levels", maxPredicates)
	}
	list := c.value(args[0])
	t := &Tree{from: c.start(from, list), to: end, operands: []*Tree{list}}
	if !list.may(kindList) {
		return c.fail(RuleType, list.from, list.to, "%s needs a list, this is %s", name, article(list.Type))
	}
	if len(args) == 1 {
		t.Op, t.Name, t.Args = TreeCall, name, []*Tree{list}
	}
	c.temps++
	price, element, temp := 1, list.Type.Elem(), fmt.Sprintf("list %d", c.temps)
	var nodes []ast.Node // after the list
	if len(args) > 1 {
		before := c.cost
		t.Over, t.Body = list, c.body(list, args[1], name, temp)
		price, element = c.cost-before+1, t.Body.Type
		nodes = append(nodes, at(&ast.PredicateNode{Node: c.bodyNode(t, p, name)}, t.Body.from, t.Body.to))
	}
	if len(args) == 1 && p.isTest {
		element := c.run(t, mustBeBoolean, at(&ast.PointerNode{}, t.from, t.to))
		nodes = append(nodes, at(&ast.PredicateNode{Node: element}, t.from, t.to))
	}
	if len(args) > 2 {
		nodes = append(nodes, c.value(args[2]).node)
	}
	if t.Type = p.result(list.Type, element); name == "sum" && !t.may(kindFloat, kindNull) {
		c.fail(RuleType, t.from, t.to, "sum adds numbers, these are %s", article(t.Type))
	}
	if c.err != nil {
		return unknown(from, end)
	}
	enter := enterLoop(name, uint(price), name == "reduce" && len(args) < 3)
	t.node = c.loop(t, name, temp, c.charged(t, enter, list.node), nodes)
	return t
}

// body checks the expression that is evaluated for each element.
func (c *checker) body(list *Tree, n ast.Node, name, temp string) *Tree {
	in := surroundings{element: list.Type.Elem(), acc: name == "reduce"}
	if strings.HasPrefix(name, "findLast") {
		in.list = temp
	}
	if list.ref != nil {
		in.ref = &ref{path: list.ref.path, stopped: true}
	}
	c.around = append(c.around, in)
	defer func() { c.around = c.around[:len(c.around)-1] }()
	return c.value(n)
}

func (c *checker) bodyNode(t *Tree, p predicate, name string) ast.Node {
	switch body := t.Body; {
	case p.isTest && !c.mustBeBool(body):
	case p.isTest && body.Type.kind == kindAny:
		return c.boolean(body, body)
	case p.isTest:
		return c.boolean(body, t)
	case name == "groupBy":
		return c.charged(body, groupKey, body.node)
	}
	return t.Body.node
}

// loop is the call itself. The list has passed through enterLoop. It gets the name
// temp, which no source can spell, where it is needed twice.
func (c *checker) loop(t *Tree, name, temp string, list ast.Node, nodes []ast.Node) ast.Node {
	builtin := func(name string, args ...ast.Node) ast.Node {
		return at(&ast.BuiltinNode{Name: name, Arguments: args}, t.from, t.to)
	}
	same := func() ast.Node { return at(&ast.IdentifierNode{Value: temp}, t.from, t.to) }
	let := func(n ast.Node) ast.Node {
		return at(&ast.VariableDeclaratorNode{Name: temp, Value: list, Expr: n}, t.from, t.to)
	}
	switch name {
	case "findLast": // the library's own leaves values behind
		return let(builtin("find", c.run(t, reverseValues, same()), nodes[0]))
	case "findLastIndex":
		found := builtin("findIndex", c.run(t, reverseValues, same()), nodes[0])
		return let(c.run(t, indexFromEnd, found, same()))
	case "sum":
		if len(nodes) > 0 {
			list = builtin("map", list, nodes[0])
		}
		return c.charged(t, sumValues, list)
	case "groupBy", "sortBy":
		args, run := []ast.Node{same(), builtin("map", same(), nodes[0])}, operation(groupValues)
		if name == "sortBy" {
			run, args = sortByKeys, append(args, nodes[1:]...)
		}
		return let(c.charged(t, run, args...))
	}
	return builtin(name, append([]ast.Node{list}, nodes...)...)
}
