// The syntax for the library's compiler: each of our operations is a call.

package eval

import (
	"reflect"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// operation computes a value and its cost in units. It must not keep args. It panics with
// an error.
type operation = func(args ...any) (any, uint)

// frame is the environment of one evaluation.
type frame struct {
	names map[string]any
	spent uint
}

func (f *frame) spend(units uint) {
	if f.spent += units; f.spent >= budget {
		panic(errBudget)
	}
}

// partError is the error of an operation, with its part.
type partError struct {
	error
	part *Tree
}

func (e *partError) Unwrap() error { return e.error }

// blame adds the part to a panic; the operations of a part defer it.
func (t *Tree) blame() {
	if err, ok := recover().(error); ok {
		panic(&partError{err, t})
	}
}

// at gives a node its place in bytes, and the type that makes the compiler emit
// no conversions: values are plain data, so there are no pointers to follow.
func at(n ast.Node, from, to int) ast.Node {
	n.SetLocation(file.Location{From: from, To: to})
	n.SetNature(nature.Nature{Nil: true})
	return n
}

// run makes a call of an operation that belongs to a part.
func (c *checker) run(t *Tree, run operation, args ...ast.Node) ast.Node {
	return t.callNode(func(args ...any) any {
		defer t.blame()
		last := len(args) - 1
		out, units := run(args[:last]...)
		args[last].(*frame).spend(units)
		return out
	}, append(args, at(&ast.IdentifierNode{Value: "$env"}, t.from, t.to))...)
}

// runSmall is run for a free operation on two values.
func (c *checker) runSmall(t *Tree, run func(a, b any) any, a, b ast.Node) ast.Node {
	return t.callNode(func(a, b any) any {
		defer t.blame()
		return run(a, b)
	}, a, b)
}

// charged is run for an operation whose cost depends on its data.
func (c *checker) charged(t *Tree, run operation, args ...ast.Node) ast.Node {
	c.cost += costCall
	return c.run(t, run, args...)
}

func (t *Tree) callNode(fn any, args ...ast.Node) ast.Node {
	callee := at(&ast.ConstantNode{Value: fn}, t.from, t.to)
	callee.SetType(reflect.TypeOf(fn))
	return at(&ast.CallNode{Callee: callee, Arguments: args}, t.from, t.to)
}

// load reads a top-level name.
func (t *Tree) load(name string) ast.Node {
	return t.callNode(func(f, name any) any { return f.(*frame).names[name.(string)] },
		at(&ast.IdentifierNode{Value: "$env"}, t.from, t.to), at(&ast.StringNode{Value: name}, t.from, t.to))
}

// boolean makes a value a boolean or fails; the error names the part blamed.
func (c *checker) boolean(t, blamed *Tree) ast.Node {
	if t.isBoolean() {
		return t.node
	}
	return c.run(blamed, mustBeBoolean, t.node)
}

func mustBeBoolean(args ...any) (any, uint) {
	if _, ok := args[0].(bool); !ok {
		panic(failf("expected a boolean, found %s", kindOf(args[0])))
	}
	return args[0], 0
}

// constantPart makes the tree of a scalar.
func constantPart(v any, from, to int) *Tree {
	t := &Tree{Op: TreeConst, Value: v, Type: typeOf(v), from: from, to: to}
	switch v := v.(type) {
	case bool:
		t.node = &ast.BoolNode{Value: v}
	case string:
		t.node = &ast.StringNode{Value: v}
	case int:
		t.node = &ast.IntegerNode{Value: v}
	case float64:
		t.node = &ast.FloatNode{Value: v}
	default:
		t.node = &ast.NilNode{}
	}
	t.node = at(t.node, from, to)
	return t
}

// compile compiles a part. It returns nil on a defect.
func (t *Tree) compile() (code *vm.Program) {
	defer func() {
		if r := recover(); r != nil {
			code = nil
		}
	}()
	code, _ = compiler.Compile(&parser.Tree{Node: t.node, Source: file.NewSource("")}, newConfig())
	return code
}
