// The meaning of a compiled expression as a tree that names no library: what
// static analysis reasons about.

package eval

import (
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"
)

// TreeOp says what a part of an expression is. The zero value is unset.
type TreeOp int

// The parts of an expression.
const (
	// TreeConst is a constant: Value holds nil, bool, int, float64 or string.
	TreeConst TreeOp = iota + 1
	// TreePath is a value read from the environment: Path holds its top-level
	// name and constant members; an index is written "[0]".
	TreePath
	// TreeList is a list of Args.
	TreeList
	// TreeUnary is an operator, Name ("not", "-", "+"), on one argument.
	TreeUnary
	// TreeBinary is an operator, Name, on two arguments: "and", "or", "==",
	// "!=", "<", "<=", ">", ">=", "in", "startsWith", "endsWith", "contains",
	// "matches", "??", "+", "-", "*", "/", "%", "**", "..".
	TreeBinary
	// TreeChoice is a ? b : c.
	TreeChoice
	// TreeCall is a call of the function Name on Args, without predicates.
	TreeCall
	// TreeOther is any other part. Name is its text, and Args are none.
	TreeOther
)

// Tree is one part of an expression. Names are resolved as the compiler
// resolves them: state.x and an alias are the path that they stand for, and a
// name bound by let is what it is bound to. Two parts with equal keys have equal
// values in one environment.
type Tree struct {
	Op    TreeOp
	Name  string
	Value any
	Path  []string
	Args  []*Tree
	// Type is what is known of a path's value; any for other parts.
	Type Type
	// Over and Body are, of a TreeOther that asks for something of each element of a
	// list, the list and what is asked: the path of an element begins with "#".
	Over, Body *Tree
	// Members are those of a TreeOther that is an object whose names are all constant.
	Members map[string]*Tree
}

// partID is the Value of a TreeOther that tells parts of equal text apart.
type partID string

// Key is the part in a canonical notation.
func (t *Tree) Key() string { return string(t.appendKey(nil)) }

func (t *Tree) appendKey(key []byte) []byte {
	switch t.Op {
	case TreeConst:
		return appendConst(key, t.Value)
	case TreePath:
		key = append(append(key, '$'), t.Path[0]...)
		for _, part := range t.Path[1:] {
			key = strconv.AppendQuote(append(key, '.'), part)
		}
		return key
	case TreeOther:
		id, _ := t.Value.(partID)
		return append(append(append(key, '?'), id...), t.Name...)
	}
	key = append(append(key, t.Name...), '(')
	for i, a := range t.Args {
		if i > 0 {
			key = append(key, ',')
		}
		key = a.appendKey(key)
	}
	return append(key, ')')
}

func appendConst(key []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return strconv.AppendQuote(key, v)
	case bool:
		return strconv.AppendBool(key, v)
	case int:
		return strconv.AppendInt(key, int64(v), 10)
	case float64:
		return strconv.AppendFloat(key, v, 'g', -1, 64)
	}
	return append(key, "null"...)
}

// Each calls f for the part and all parts under it, outermost first.
func (t *Tree) Each(f func(*Tree)) {
	f(t)
	for _, a := range t.Args {
		a.Each(f)
	}
}

// maxTree bounds the parts of a tree: names bound by let are written out.
const maxTree = 2 * maxNodes

// Tree returns the tree of the program's expression, which must not be changed.
func (p *Program) Tree() *Tree {
	if p.tree.Load() == nil {
		var k Compiler
		var s source
		_ = s.scan(p.src) // it was in order when p was compiled
		if syntax, err := k.parse(&s); err == nil {
			p.tree.CompareAndSwap(nil, k.tree(p, syntax))
		}
	}
	return p.tree.Load()
}

// treeBuilder builds one tree at a time.
type treeBuilder struct {
	scope *Scope
	lets  []treeLet
	count int
	names nameTable
}

// tree is that of a program that was parsed to syntax.
func (k *Compiler) tree(p *Program, syntax ast.Node) *Tree {
	b := &k.trees
	if k.names == nil {
		k.names = nameTable{}
	}
	b.scope, b.names, b.lets, b.count = p.scope, k.names, b.lets[:0], 0
	t := b.build(syntax)
	if b.count > maxTree {
		return &Tree{Op: TreeOther, Name: p.src, Type: p.typ}
	}
	return t
}

// part is a new part without arguments.
func (b *treeBuilder) part(op TreeOp, name string) *Tree {
	return &Tree{Op: op, Name: name}
}

type treeLet struct {
	name  string
	value ast.Node
	// outer is how many of lets the value may see.
	outer int
}

func (b *treeBuilder) build(n ast.Node) *Tree {
	if b.count++; b.count > maxTree {
		return b.other(n)
	}
	switch n := n.(type) {
	case *ast.NilNode:
		return b.constant(nil)
	case *ast.BoolNode:
		return b.constant(n.Value)
	case *ast.StringNode:
		return b.constant(n.Value)
	case *ast.IntegerNode:
		return b.constant(n.Value)
	case *ast.FloatNode:
		return b.constant(n.Value)
	case *ast.IdentifierNode:
		return b.name(n)
	case *ast.PointerNode:
		return b.path([]string{"#" + n.Name}, Any())
	case *ast.ChainNode:
		return b.build(n.Node)
	case *ast.MemberNode:
		return b.member(n)
	case *ast.ArrayNode:
		return b.with(b.part(TreeList, "[]"), n.Nodes...)
	case *ast.UnaryNode:
		return b.unary(n)
	case *ast.BinaryNode:
		return b.with(b.part(TreeBinary, operatorName(n.Operator)), n.Left, n.Right)
	case *ast.ConditionalNode:
		return b.with(b.part(TreeChoice, "?:"), n.Cond, n.Exp1, n.Exp2)
	case *ast.VariableDeclaratorNode:
		return b.let(n)
	case *ast.MapNode:
		return b.object(n)
	case *ast.BuiltinNode:
		return b.call(n, n.Name, n.Arguments)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok {
			return b.call(n, id.Value, n.Arguments)
		}
	}
	return b.other(n)
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

func (b *treeBuilder) constant(v any) *Tree {
	return &Tree{Op: TreeConst, Value: v}
}

// with completes a part by its arguments.
func (b *treeBuilder) with(t *Tree, args ...ast.Node) *Tree {
	t.Args = make([]*Tree, len(args))
	for i, a := range args {
		t.Args[i] = b.build(a)
	}
	return t
}

func (b *treeBuilder) unary(n *ast.UnaryNode) *Tree {
	t := b.with(b.part(TreeUnary, operatorName(n.Operator)), n.Node)
	if a := t.Args[0]; a.Op == TreeConst {
		switch v := a.Value.(type) {
		case int:
			if t.Name == "-" {
				return b.constant(-v)
			}
		case float64:
			if t.Name == "-" {
				return b.constant(-v)
			}
		}
	}
	return t
}

func (b *treeBuilder) call(n ast.Node, name string, args []ast.Node) *Tree {
	for _, a := range args {
		if of, ok := a.(*ast.PredicateNode); ok {
			t := b.other(n)
			t.Over, t.Body = b.build(args[0]), b.build(of.Node)
			return t
		}
	}
	return b.with(b.part(TreeCall, name), args...)
}

func (b *treeBuilder) object(n *ast.MapNode) *Tree {
	t, members := b.other(n), make(map[string]*Tree, len(n.Pairs))
	for _, node := range n.Pairs {
		pair, _ := node.(*ast.PairNode)
		name, constant := pair.Key.(*ast.StringNode)
		if !constant {
			return t
		}
		members[name.Value] = b.build(pair.Value)
	}
	t.Members = members
	return t
}

// other is a part that is not looked into. Where let binds names, its text
// does not say its value, so no other part is equal to it.
func (b *treeBuilder) other(n ast.Node) *Tree {
	t := b.part(TreeOther, n.String())
	if len(b.lets) > 0 {
		t.Value = partID(strconv.Itoa(b.count) + "@" + strconv.Itoa(n.Location().From) + " ")
	}
	return t
}

func (b *treeBuilder) let(n *ast.VariableDeclaratorNode) *Tree {
	b.lets = append(b.lets, treeLet{n.Name, n.Value, len(b.lets)})
	t := b.build(n.Expr)
	b.lets = b.lets[:len(b.lets)-1]
	return t
}

// name resolves a bare name in the order of checker.identifier.
func (b *treeBuilder) name(n *ast.IdentifierNode) *Tree {
	for i := len(b.lets) - 1; i >= 0; i-- {
		if l := b.lets[i]; l.name == n.Value {
			saved := slices.Clone(b.lets)
			b.lets = b.lets[:l.outer]
			t := b.build(l.value)
			b.lets = saved
			return t
		}
	}
	if path, t, ok := b.named(n.Value); ok {
		return b.path(path, t)
	}
	v, _ := constant(n.Value)
	return b.constant(v)
}

// named is the path that a name stands for unless let binds it; not ok when it
// is a constant.
func (b *treeBuilder) named(name string) (path []string, t Type, ok bool) {
	if t, ok := b.scope.lookup(name); ok {
		return b.names.ref(name).path, t, true
	}
	if path, ok := b.scope.alias[name]; ok && len(path) > 0 {
		t := b.scope.typeOf(path[0])
		for _, key := range path[1:] {
			t, _, _ = t.Field(key)
		}
		return path, t, true
	}
	return b.names.ref(name).path, Any(), !isConstant(name)
}

// path is a value read from the environment. A top-level name of one type is one
// part, wherever it stands.
func (b *treeBuilder) path(path []string, t Type) *Tree {
	if len(path) > 1 || !t.isScalar() {
		out := b.part(TreePath, "")
		out.Path, out.Type = path, t
		return out
	}
	r := b.names.ref(path[0])
	if r.tree == nil || r.tree.Type.kind != t.kind {
		r.tree = b.part(TreePath, "")
		r.tree.Path, r.tree.Type = path, t
	}
	return r.tree
}

// member resolves base.name and base[0]; computed keys are not looked into.
func (b *treeBuilder) member(n *ast.MemberNode) *Tree {
	path, t, ok := b.place(n)
	if !ok {
		return b.other(n)
	}
	return b.path(path, t)
}

// place is the path of a member, if it is one.
func (b *treeBuilder) place(n *ast.MemberNode) (path []string, t Type, ok bool) {
	name, isName := n.Property.(*ast.StringNode)
	if id, ok := n.Node.(*ast.IdentifierNode); ok && isName && !b.bound(id.Value) {
		root := id.Value
		if root == "$env" || b.scope.isRoot(root) && b.scope.underRoot(root, name.Value) {
			return b.names.ref(name.Value).path, b.scope.typeOf(name.Value), true
		}
		if _, own := b.scope.lookup(root); b.scope.isRoot(root) && !own {
			return b.names.ref(name.Value).path, Any(), true
		}
	}
	base, t, ok := b.base(n.Node)
	if !ok {
		return nil, Any(), false
	}
	if isName {
		t, _, _ := t.Field(name.Value)
		return extended(base, name.Value), t, true
	}
	if index, ok := n.Property.(*ast.IntegerNode); ok && index.Value >= 0 {
		return extended(base, "["+strconv.Itoa(index.Value)+"]"), t.Elem(), true
	}
	return nil, Any(), false
}

// base is the path that a member is read from. It makes no part of it.
func (b *treeBuilder) base(n ast.Node) (path []string, t Type, ok bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if !b.bound(n.Value) {
			b.count++
			return b.named(n.Value)
		}
	case *ast.MemberNode:
		b.count++
		return b.place(n)
	}
	out := b.build(n)
	return out.Path, out.Type, out.Op == TreePath
}

func (b *treeBuilder) bound(name string) bool {
	return slices.ContainsFunc(b.lets, func(l treeLet) bool { return l.name == name })
}
