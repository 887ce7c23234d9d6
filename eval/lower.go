// The checker: one walk over the syntax tree that resolves names, checks types,
// collects reads and replaces what the library does unsafely.

package eval

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// site remembers an operation's operands, to name the one that is null when the
// operation fails.
type site struct {
	from, to int
	op       string
	args     []place
}

type local struct {
	name  string
	value operand
}

// frame is a predicate's surroundings: the element and, in reduce, #acc.
type frame struct {
	element operand
	acc     bool
}

// checker walks one expression. The first error wins; after it the walk goes
// on with values of unknown type.
type checker struct {
	scope  *Scope
	src    source
	blank  ast.Node  // stands for what is not lowered yet
	names  nameTable // for all expressions of a Compiler
	err    *Error
	seen   map[ast.Node]bool
	locals []local
	frames []frame
	reads  readSet
	sites  []site
	places []place
	nest   int
	cost   int // units spent on nodes so far, for the price of predicates
	temps  int
}

// reset makes the checker ready for another expression. It keeps the room that
// the last one took.
func (c *checker) reset(s *Scope, names nameTable) {
	*c = checker{
		scope: s, names: names, blank: c.blank, src: c.src, seen: c.seen, locals: c.locals[:0],
		frames: c.frames[:0], reads: c.reads[:0], sites: c.sites[:0], places: c.places[:0],
	}
	clear(c.seen)
	if c.blank == nil {
		c.blank = &ast.PointerNode{}
	}
}

func (c *checker) fail(rule string, from, to int, format string, args ...any) operand {
	if c.err == nil {
		c.err = &Error{Rule: rule, From: from, To: to, Message: fmt.Sprintf(format, args...)}
	}
	return c.unknown(from, to)
}

// unknown is what stands for a part that could not be checked.
func (c *checker) unknown(from, to int) operand {
	return operand{node: c.blank, from: from, to: to, bound: maxInt}
}

// place is the byte span of the token that the parser put on the node.
func (c *checker) place(n ast.Node) (from, to int) {
	loc := n.Location()
	return c.src.bytes(loc.From), c.src.bytes(loc.To)
}

// value checks a part whose value is used, and records what it reads.
func (c *checker) value(n ast.Node) operand {
	o := c.expr(n)
	c.use(&o)
	return o
}

func (c *checker) use(o *operand) {
	if o.isPath() {
		c.reads.add(Read{Path: o.ref.path, Dynamic: o.ref.dynamic})
		if o.ref.keys != nil {
			c.places = append(c.places, place{o.from, o.to, o.ref.keys})
		}
	}
}

// expr checks one part without recording the path that it resolves to.
func (c *checker) expr(n ast.Node) operand {
	from, to := c.place(n)
	if c.nest++; c.nest > maxNesting {
		c.nest--
		if c.err == nil {
			c.err = tooDeep(from, to)
		}
		return c.unknown(from, to)
	}
	defer func() { c.nest-- }()
	c.cost++
	if c.err != nil {
		return c.unknown(from, to)
	}
	if c.shared(n) {
		return c.fail(RuleSyntax, from, to, "a chained comparison or ?: repeats this part; write it out with and, or name it with let")
	}
	return c.dispatch(n, from, to)
}

// shared reports whether the parser put the same subtree into two places, as it
// does for a < b < c. Only small ones may be walked twice: nested sharing would
// double the work at each level.
func (c *checker) shared(n ast.Node) bool {
	if !c.src.repeats {
		return false
	}
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode, *ast.NilNode,
		*ast.IdentifierNode, *ast.PointerNode:
		return false
	case *ast.MemberNode:
		if isSimplePath(n) {
			return false
		}
	}
	if c.seen[n] {
		return true
	}
	if c.seen == nil {
		c.seen = map[ast.Node]bool{}
	}
	c.seen[n] = true
	return false
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

func (c *checker) dispatch(n ast.Node, from, to int) operand {
	switch n := n.(type) {
	case *ast.NilNode, *ast.BoolNode, *ast.StringNode, *ast.IntegerNode, *ast.FloatNode:
		return c.literal(n, from, to)
	case *ast.IdentifierNode:
		return c.identifier(n.Value, from, to)
	case *ast.PointerNode:
		return c.pointer(n, from, to)
	case *ast.MemberNode:
		return c.member(n, from, to)
	case *ast.ChainNode:
		o := c.expr(n.Node)
		o.node = c.at(&ast.ChainNode{Node: o.node}, o.from, o.to)
		return o
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

func (c *checker) literal(n ast.Node, from, to int) operand {
	o := operand{node: n, from: from, to: to}
	switch n := n.(type) {
	case *ast.NilNode:
		o.typ = Null()
	case *ast.BoolNode:
		o.typ = Bool()
	case *ast.StringNode:
		o.typ = String()
	case *ast.FloatNode:
		o.typ = Float()
	case *ast.IntegerNode:
		if n.Value > maxInt || n.Value < -maxInt {
			return c.fail(RuleSyntax, from, to, "integer %d is beyond 2^61", n.Value)
		}
		o.typ, o.bound = Int(), float64(abs(n.Value))
	}
	o.node = c.at(sameLiteral(n), from, to)
	return o
}

func (c *checker) pointer(n *ast.PointerNode, from, to int) operand {
	if n.Name != "" {
		to = from + 1 + len(n.Name)
	}
	if len(c.frames) == 0 {
		return c.fail(RuleSyntax, from, to, "# is only known inside predicates such as any(list, # > 1)")
	}
	f := c.frames[len(c.frames)-1]
	o := operand{from: from, to: to, node: c.blank}
	o.node = c.at(&ast.PointerNode{Name: n.Name}, from, to)
	switch {
	case n.Name == "":
		o.typ, o.bound, o.ref = f.element.typ, f.element.bound, f.element.ref
	case n.Name == "index":
		o.typ, o.bound = Int(), 1<<40
	case n.Name == "acc" && f.acc:
		o.bound = unbounded
	case n.Name == "acc":
		return c.fail(RuleName, from, to, "#acc is only known inside reduce")
	default:
		return c.fail(RuleName, from, to, "unknown name %q; known here: #, #index, #acc in reduce", "#"+n.Name)
	}
	return o
}

// let binds a name for the rest of the expression.
func (c *checker) let(n *ast.VariableDeclaratorNode, from, to int) operand {
	if c.taken(n.Name) {
		return c.fail(RuleSyntax, from, to, "let can't rename %q, which has a meaning already; choose another name", n.Name)
	}
	v := c.expr(n.Value)
	c.locals = append(c.locals, local{n.Name, v})
	body := c.expr(n.Expr)
	c.locals = c.locals[:len(c.locals)-1]
	body.node = c.at(&ast.VariableDeclaratorNode{Name: n.Name, Value: v.node, Expr: body.node}, from, body.to)
	body.from, body.ref = from, body.ref.unkeyed()
	return body
}

func (c *checker) taken(name string) bool {
	_, isName := c.scope.lookup(name)
	for _, l := range c.locals {
		isName = isName || l.name == name
	}
	return isName || c.scope.isRoot(name) || isConstant(name) || name == "$env"
}

func (c *checker) array(n *ast.ArrayNode, from int) operand {
	o := operand{node: c.blank, from: from, to: c.src.closing(from)}
	nodes := make([]ast.Node, len(n.Nodes))
	var elem Type
	for i, e := range n.Nodes {
		v := c.value(e)
		o.bound = max(o.bound, v.bound)
		nodes[i] = v.node
		if i == 0 {
			elem = v.typ
		} else {
			elem = join(elem, v.typ)
		}
	}
	o.typ = List(elem)
	c.cost += costList
	o.node = c.at(&ast.ArrayNode{Nodes: nodes}, o.from, o.to)
	return o
}

func (c *checker) object(n *ast.MapNode, from int) operand {
	o := operand{node: c.blank, from: from, to: c.src.closing(from)}
	pairs := make([]ast.Node, len(n.Pairs))
	fields, open := make(map[string]Type, len(n.Pairs)), false
	for i, p := range n.Pairs {
		pair := p.(*ast.PairNode)
		key := c.value(pair.Key)
		v := c.value(pair.Value)
		o.bound = max(o.bound, v.bound)
		switch k := pair.Key.(type) {
		case *ast.StringNode:
			if _, twice := fields[k.Value]; twice {
				return c.fail(RuleSyntax, key.from, key.to, "key %q stands twice in one object", k.Value)
			}
			fields[k.Value] = v.typ
		default:
			open = true
			if !key.may(kindString) {
				return c.fail(RuleType, key.from, key.to, "key of an object must be a string, this is %s", article(key.typ))
			}
			c.hashed(&key, keyString)
		}
		pairs[i] = c.at(&ast.PairNode{Key: key.node, Value: v.node}, key.from, v.to)
	}
	c.cost += costObject
	o.typ = Object(fields, open)
	o.node = c.at(&ast.MapNode{Pairs: pairs}, o.from, o.to)
	return o
}

func (c *checker) conditional(n *ast.ConditionalNode) operand {
	cond := c.value(n.Cond)
	c.mustBeBool(&cond)
	yes, no := c.value(n.Exp1), c.value(n.Exp2)
	from, to := c.span(&cond, &yes, &no)
	c.site(cond.from, cond.to, "?", &cond)
	o := operand{node: c.blank, typ: join(yes.typ, no.typ), from: from, to: to, bound: max(yes.bound, no.bound)}
	o.node = c.at(&ast.ConditionalNode{Ternary: true, Cond: cond.node, Exp1: yes.node, Exp2: no.node}, cond.from, cond.to)
	return o
}

func (c *checker) mustBeBool(o *operand) bool {
	if o.may(kindBool) {
		return true
	}
	c.fail(RuleType, o.from, o.to, "expected a boolean, this is %s", article(o.typ))
	return false
}

// span covers the operands and the parentheses around them.
func (c *checker) span(operands ...*operand) (from, to int) {
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
