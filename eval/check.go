// The checker: one walk over the library's syntax that resolves names, checks
// types, collects reads and makes the typed tree.

package eval

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
)

type local struct {
	name  string
	value *Tree
}

// surroundings holds what a predicate reads: the element and, in reduce, #acc.
type surroundings struct {
	element Type
	ref     *ref
	acc     bool
}

// checker walks one expression. It keeps the first error and continues with values of
// unknown type.
type checker struct {
	scope  *Scope
	src    source
	err    *Error
	seen   map[ast.Node]bool
	locals []local
	around []surroundings
	reads  []Read
	places []place
	nest   int
	cost   int    // units spent on nodes so far, for the price of predicates
	lets   partID // of all locals, as text
}

func (c *checker) fail(rule string, from, to int, format string, args ...any) *Tree {
	if c.err == nil {
		c.err = &Error{Rule: rule, From: from, To: to, Message: fmt.Sprintf(format, args...)}
	}
	return unknown(from, to)
}

// unknown stands for a part that could not be checked.
func unknown(from, to int) *Tree {
	return &Tree{Op: TreeOther, from: from, to: to}
}

// place returns the byte span of a node's token.
func (c *checker) place(n ast.Node) (from, to int) {
	loc := n.Location()
	return c.src.bytes(loc.From), c.src.bytes(loc.To)
}

// value checks a part and records what it reads.
func (c *checker) value(n ast.Node) *Tree {
	t := c.expr(n)
	c.use(t)
	return t
}

func (c *checker) use(t *Tree) {
	if t.ref != nil {
		c.reads = append(c.reads, Read{Path: t.ref.path, Dynamic: t.ref.dynamic})
		if t.ref.keys != nil {
			c.places = append(c.places, place{t.from, t.to, t.ref.keys})
		}
	}
}

// expr checks a part without recording its own path.
func (c *checker) expr(n ast.Node) *Tree {
	from, to := c.place(n)
	if c.nest++; c.nest > maxNesting {
		c.nest--
		if c.err == nil {
			c.err = tooDeep(from, to)
		}
		return unknown(from, to)
	}
	defer func() { c.nest-- }()
	c.cost++
	if c.err != nil {
		return unknown(from, to)
	}
	if c.isShared(n) {
		return c.fail(RuleSyntax, from, to, "a chained comparison or ?: repeats this part; write it out with and, or name it with let")
	}
	t := c.part(n, from, to)
	if c.err != nil { // the text of shared parts may be endless
		return t
	}
	if t.size == 0 {
		t.measure()
	}
	if t.Op == 0 || t.Op == TreeOther && t.Name == "" {
		t.Op, t.Name = TreeOther, n.String()
		if c.lets != "" { // without them, the text does not say the value
			t.Value = c.lets
		}
	}
	return t
}

// isShared reports whether the parser put the same subtree into two places, as it
// does for a < b < c. Only small ones may be walked twice: nested sharing would
// double the work at each level.
func (c *checker) isShared(n ast.Node) bool {
	if !c.src.repeats || isSimplePath(n) {
		return false
	}
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode, *ast.NilNode:
		return false
	}
	if c.seen == nil {
		c.seen = map[ast.Node]bool{}
	}
	again := c.seen[n]
	c.seen[n] = true
	return again
}

func isSimplePath(n ast.Node) bool {
	for range 8 {
		switch m := n.(type) {
		case *ast.IdentifierNode, *ast.PointerNode:
			return true
		case *ast.MemberNode:
			if _, ok := m.Property.(*ast.StringNode); !ok {
				return false
			}
			n = m.Node
		default:
			return false
		}
	}
	return false
}

func (c *checker) part(n ast.Node, from, to int) *Tree {
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
			return c.fail(RuleSyntax, from, to, "integer %d is beyond 2^61", n.Value)
		}
		return constantPart(n.Value, from, to)
	case *ast.IdentifierNode:
		return c.identifier(n.Value, from, to)
	case *ast.PointerNode:
		return c.pointer(n, from, to)
	case *ast.MemberNode:
		return c.member(n, from, to)
	case *ast.ChainNode:
		return chain(c.expr(n.Node))
	case *ast.SliceNode:
		return c.slice(n, from)
	case *ast.UnaryNode:
		return c.unary(n, from)
	case *ast.BinaryNode:
		return c.binary(n, from, to)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.BuiltinNode:
		return c.call(n.Name, n.Arguments, from, to)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.call(id.Value, n.Arguments, from, to)
		}
		return c.noMethods(n, from, to)
	case *ast.VariableDeclaratorNode:
		return c.let(n, from, to)
	case *ast.ArrayNode:
		return c.array(n, from)
	case *ast.MapNode:
		return c.object(n, from)
	case *ast.SequenceNode:
		return c.fail(RuleSyntax, from, to, "one expression is allowed, found several separated by semicolons")
	case *ast.BytesNode:
		return c.fail(RuleSyntax, from, to, "byte strings are no JSON values; write a string")
	case *ast.PredicateNode:
		return c.value(n.Node)
	}
	return c.fail(RuleSyntax, from, to, "this form is not part of the language")
}

func (c *checker) pointer(n *ast.PointerNode, from, to int) *Tree {
	if n.Name != "" {
		to = from + 1 + len(n.Name)
	}
	if len(c.around) == 0 {
		return c.fail(RuleSyntax, from, to, "# is only known inside predicates such as any(list, # > 1)")
	}
	in := c.around[len(c.around)-1]
	t := &Tree{Op: TreePath, Path: []string{"#" + n.Name}, from: from, to: to}
	switch {
	case n.Name == "":
		t.Type, t.ref, t.eval = in.element, in.ref, currentElement
	case n.Name == "index":
		t.Type = Int()
		t.eval = func(f *frame) any { return f.loops[len(f.loops)-1].index }
	case n.Name == "acc" && in.acc:
		t.eval = func(f *frame) any { return f.loops[len(f.loops)-1].acc }
	case n.Name == "acc":
		return c.fail(RuleName, from, to, "#acc is only known inside reduce")
	default:
		return c.fail(RuleName, from, to, "unknown name %q; known here: #, #index, #acc in reduce", "#"+n.Name)
	}
	return t
}

// let binds a name for the rest of the expression.
func (c *checker) let(n *ast.VariableDeclaratorNode, from, to int) *Tree {
	if c.isTaken(n.Name) {
		return c.fail(RuleSyntax, from, to, "let can't rename %q, which has a meaning already; choose another name", n.Name)
	}
	v, outer := c.expr(n.Value), c.lets
	if c.err != nil {
		return v
	}
	c.locals = append(c.locals, local{n.Name, v})
	c.lets += partID("let " + n.Name + " = " + n.Value.String() + "; ")
	body := *c.expr(n.Expr)
	c.locals, c.lets = c.locals[:len(c.locals)-1], outer
	_, body.to = c.src.outer(body.from, body.to)
	rest := body.eval
	body.eval = func(f *frame) any {
		f.locals = append(f.locals, v.eval(f))
		out := rest(f)
		f.locals = f.locals[:len(f.locals)-1]
		return out
	}
	body.from, body.ref, body.isLet = strings.LastIndex(c.src.text[:from], "let"), body.ref.unkeyed(), true
	return &body
}

func (c *checker) isTaken(name string) bool {
	_, isName := c.scope.lookup(name)
	for _, l := range c.locals {
		isName = isName || l.name == name
	}
	return isName || c.scope.isRoot(name) || isConstant(name) || name == "$env"
}

func (c *checker) array(n *ast.ArrayNode, from int) *Tree {
	t := &Tree{Op: TreeList, Name: "[]", from: from, to: c.src.closing(from)}
	for _, e := range n.Nodes {
		t.Args = append(t.Args, c.value(e))
	}
	t.Type = List(joined(t.Args, (*Tree).typ))
	c.cost += costList
	args := t.Args // measure may drop those of the tree
	t.eval = func(f *frame) any {
		out := make([]any, len(args))
		for i, a := range args {
			out[i] = a.eval(f)
		}
		return out
	}
	return t
}

func (c *checker) object(n *ast.MapNode, from int) *Tree {
	t := &Tree{Op: TreeOther, from: from, to: c.src.closing(from), Members: map[string]*Tree{}}
	pairs := make([][2]evaluator, len(n.Pairs))
	fields, open := make(map[string]Type, len(n.Pairs)), false
	for i, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		key, v := c.value(pair.Key), c.value(pair.Value)
		if k, ok := pair.Key.(*ast.StringNode); ok {
			if _, twice := fields[k.Value]; twice {
				return c.fail(RuleSyntax, key.from, key.to, "key %q stands twice in one object", k.Value)
			}
			fields[k.Value], t.Members[k.Value], pairs[i][0] = v.Type, v, key.eval
		} else {
			open = true
			if !key.may(kindString) {
				return c.fail(RuleType, key.from, key.to, "key of an object must be a string, this is %s", article(key.Type))
			}
			pairs[i][0] = key.operate(keyString, key.eval)
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

func (c *checker) conditional(n *ast.ConditionalNode) *Tree {
	cond := c.value(n.Cond)
	c.mustBeBool(cond)
	yes, no := c.value(n.Exp1), c.value(n.Exp2)
	t := &Tree{Op: TreeChoice, Name: "?:", Args: []*Tree{cond, yes, no}, Type: Either(yes.Type, no.Type)}
	t.from, t.to = c.span(t.Args...)
	holds := cond.boolean(cond)
	t.eval = func(f *frame) any {
		if holds(f) == true {
			return yes.eval(f)
		}
		return no.eval(f)
	}
	return t
}

func (c *checker) mustBeBool(t *Tree) bool {
	if t.may(kindBool) {
		return true
	}
	c.fail(RuleType, t.from, t.to, "expected a boolean, this is %s", article(t.Type))
	return false
}

// span returns the bytes of the operands with the parentheses around them.
func (c *checker) span(operands ...*Tree) (from, to int) {
	for i, o := range operands {
		f, t := c.src.outer(o.from, o.to)
		if i == 0 {
			from, to = f, t
		}
		from, to = min(from, f), max(to, t)
	}
	return from, to
}

// article names a type in a sentence.
func article(t Type) string {
	switch t.kind {
	case kindInt, kindObject:
		return "an " + t.String()
	case kindNull, kindAny:
		return t.String()
	}
	return "a " + t.String()
}
