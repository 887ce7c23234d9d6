// The nodes of a lowered tree.

package eval

import (
	"reflect"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// fast is an operation of fixed cost on two values; it panics with an error.
type fast = func(a, b any) any

// charged is a function whose cost depends on its data: it returns the units
// that the evaluation pays for it.
type charged = vm.SafeFunction

// at gives a node its place in bytes, and the type that makes the compiler emit
// no conversions: values are plain data, so there are no pointers to follow.
func (c *checker) at(n ast.Node, from, to int) ast.Node {
	n.SetLocation(file.Location{From: from, To: to})
	n.SetNature(nature.Nature{Nil: true})
	return n
}

// sameLiteral is another node of the same value.
func sameLiteral(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.BoolNode:
		return &ast.BoolNode{Value: n.Value}
	case *ast.StringNode:
		return &ast.StringNode{Value: n.Value}
	case *ast.FloatNode:
		return &ast.FloatNode{Value: n.Value}
	case *ast.IntegerNode:
		return &ast.IntegerNode{Value: n.Value}
	}
	return &ast.NilNode{}
}

// native builds an operator that the library evaluates itself.
func (c *checker) native(op string, o, l, r *operand) ast.Node {
	return c.at(&ast.BinaryNode{Operator: op, Left: l.node, Right: r.node}, o.from, o.to)
}

// not negates a node.
func (c *checker) not(n ast.Node, from, to int) ast.Node {
	return c.at(&ast.UnaryNode{Operator: "not", Node: n}, from, to)
}

// callFast builds a call that needs no argument list at run time.
func (c *checker) callFast(fn fast, from, to int, a, b ast.Node) ast.Node {
	return c.callValue(fn, from, to, []ast.Node{a, b})
}

// callCharged builds a call that assemble turns into a charged one.
func (c *checker) callCharged(fn charged, from, to int, args ...ast.Node) ast.Node {
	c.cost += costCall
	return c.callValue(fn, from, to, append([]ast.Node(nil), args...))
}

func (c *checker) callValue(fn any, from, to int, args []ast.Node) ast.Node {
	callee := c.at(&ast.ConstantNode{Value: fn}, from, to)
	callee.SetType(reflect.TypeOf(fn))
	return c.at(&ast.CallNode{Callee: callee, Arguments: args}, from, to)
}

// site notes an operation for what it says when it fails.
func (c *checker) site(from, to int, op string, args ...*operand) {
	s := site{from, to, op, make([]place, len(args))}
	for i, a := range args {
		s.args[i] = place{a.from, a.to, a.ref.constant()}
	}
	c.sites = append(c.sites, s)
}

// siteOf is site for a list of operands.
func (c *checker) siteOf(from, to int, op string, args []operand) {
	list := make([]*operand, len(args))
	for i := range args {
		list[i] = &args[i]
	}
	c.site(from, to, op, list...)
}
