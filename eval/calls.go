// Calls: predicates, which loop in the interpreter, and plain functions.

package eval

import (
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
	run := make([]evaluator, len(args))
	for i, a := range args {
		v := c.value(a)
		t.Args, run[i] = append(t.Args, v), v.eval
		if want := f.param(i); len(want) > 0 && !v.may(want...) {
			return c.fail(RuleType, v.from, v.to, "%s needs %s here, this is %s", name, oneOf(want), article(v.Type))
		}
	}
	if len(t.Args) > 0 {
		t.from = c.start(from, t.Args[0])
	}
	t.operands, t.Type = t.Args, f.result(t.Args)
	if name == "len" && t.Args[0].Type.kind == kindList {
		t.eval = t.operate(f.run, run...)
	} else {
		t.eval = c.charged(t, f.run, run...)
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
	t.eval = c.charged(t, getMember, base.eval, key.eval)
	return t
}

// predicate is a function that evaluates an expression per element.
type predicate struct {
	isTest bool // the expression must be boolean
	result func(list, body Type) Type
	run    looping
}

var predicates = map[string]predicate{
	"all":           {true, loopGives(Bool()), test(false, false)},
	"any":           {true, loopGives(Bool()), test(true, true)},
	"none":          {true, loopGives(Bool()), test(true, false)},
	"one":           {true, loopGives(Bool()), filter(func(found []any) any { return len(found) == 1 })},
	"count":         {true, loopGives(Int()), filter(func(found []any) any { return len(found) })},
	"findIndex":     {true, loopGives(Int()), find(false, index)},
	"findLastIndex": {true, loopGives(Int()), find(true, index)},
	"find":          {true, func(list, _ Type) Type { return list.Elem() }, find(false, elementAt)},
	"findLast":      {true, func(list, _ Type) Type { return list.Elem() }, find(true, elementAt)},
	"filter":        {true, func(list, _ Type) Type { return List(list.Elem()) }, filter(func(found []any) any { return found })},
	"map":           {false, func(_, body Type) Type { return List(body) }, mapList},
	"sum":           {false, func(_, body Type) Type { return body }, sumList},
	"reduce":        {false, loopGives(Any()), reduceList},
	"groupBy":       {false, loopGives(Object(nil, true)), withKeys(groupValues)},
	"sortBy":        {false, func(list, _ Type) Type { return list }, withKeys(sortByKeys)},
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
	price, element := 1, list.Type.Elem()
	var body evaluator
	var more []evaluator
	switch {
	case len(args) > 1:
		before := c.cost
		t.Over, t.Body = list, c.body(list, args[1], name)
		price, element = c.cost-before+1, t.Body.Type
		body = c.bodyValue(t, p, name)
	case p.isTest:
		body = t.operate(mustBeBoolean, currentElement)
	}
	if len(args) > 2 {
		more = append(more, c.value(args[2]).eval)
	}
	if t.Type = p.result(list.Type, element); name == "sum" && !t.may(kindFloat, kindNull) {
		c.fail(RuleType, t.from, t.to, "sum adds numbers, these are %s", article(t.Type))
	}
	if c.err != nil {
		return unknown(from, end)
	}
	enter := c.charged(t, enterLoop(name, uint(price), name == "reduce" && len(args) < 3), list.eval)
	if name == "sum" || name == "groupBy" || name == "sortBy" {
		c.cost += costCall
	}
	t.eval = func(f *frame) any { return p.run(f, t, enter(f).([]any), body, more) }
	return t
}

// body checks the expression that is evaluated for each element.
func (c *checker) body(list *Tree, n ast.Node, name string) *Tree {
	in := surroundings{element: list.Type.Elem(), acc: name == "reduce"}
	if list.ref != nil {
		in.ref = &ref{path: list.ref.path, stopped: true}
	}
	c.around = append(c.around, in)
	defer func() { c.around = c.around[:len(c.around)-1] }()
	return c.value(n)
}

// bodyValue makes the evaluator of the expression for each element.
func (c *checker) bodyValue(t *Tree, p predicate, name string) evaluator {
	switch body := t.Body; {
	case p.isTest && !c.mustBeBool(body):
	case p.isTest && body.Type.kind == kindAny:
		return body.boolean(body)
	case p.isTest:
		return body.boolean(t)
	case name == "groupBy":
		return c.charged(body, groupKey, body.eval)
	}
	return t.Body.eval
}
