// Names and members: resolution, aliases, roots, and hints for what is unknown.

package eval

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// constant returns the value of the Python and JSON spellings of constants.
func constant(name string) (value any, ok bool) {
	switch name {
	case "True", "true":
		return true, true
	case "False", "false":
		return false, true
	case "None", "null", "nil":
		return nil, true
	}
	return nil, false
}

func isConstant(name string) bool {
	_, ok := constant(name)
	return ok
}

// identifier resolves a bare name: let, declared name, alias, constant.
func (c *checker) identifier(name string, from, to int) operand {
	for i := len(c.locals) - 1; i >= 0; i-- {
		if l := c.locals[i]; l.name == name {
			o := l.value
			o.node, o.from, o.to, o.ref = c.identifierNode(name, from, to), from, to, o.ref.unkeyed()
			return o
		}
	}
	if name == "$env" {
		return c.fail(RuleName, from, to, `$env is only readable by a constant name, as in $env["my-key"]`)
	}
	if o, ok := c.global(name, from, to); ok {
		return o
	}
	if path, ok := c.scope.alias[name]; ok && len(path) > 0 {
		return c.aliased(path, from, to)
	}
	if v, ok := constant(name); ok {
		if b, isBool := v.(bool); isBool {
			return c.literal(&ast.BoolNode{Value: b}, from, to)
		}
		return c.literal(&ast.NilNode{}, from, to)
	}
	if reason, ok := c.scope.refuse[name]; ok {
		return c.fail(RuleName, from, to, "%s", reason)
	}
	if c.scope.isRoot(name) {
		return c.fail(RuleName, from, to, "%q is only readable by a constant key, as in %s.key", name, name)
	}
	if c.scope.open {
		return c.read(name, Any(), from, to)
	}
	return c.unknownName(name, from, to)
}

// global resolves a name that the scope declares.
func (c *checker) global(name string, from, to int) (operand, bool) {
	t, ok := c.scope.lookup(name)
	if !ok {
		return operand{}, false
	}
	if reason, no := c.scope.refuse[name]; no {
		return c.fail(RuleName, from, to, "%s", reason), true
	}
	return c.read(name, t, from, to), true
}

func (c *checker) read(name string, t Type, from, to int) operand {
	return operand{
		node: c.identifierNode(name, from, to), typ: t, from: from, to: to, bound: maxInt, ref: c.names.ref(name),
	}
}

func (c *checker) identifierNode(name string, from, to int) ast.Node {
	return c.at(&ast.IdentifierNode{Value: name}, from, to)
}

func (c *checker) aliased(path []string, from, to int) operand {
	o, ok := c.global(path[0], from, to)
	if !ok {
		o = c.read(path[0], Any(), from, to)
	}
	for _, key := range path[1:] {
		t, _, _ := o.typ.Field(key)
		k := c.literal(&ast.StringNode{Value: key}, from, to)
		o = c.fetch(&o, &k, t, false)
		o.from, o.to = from, to
	}
	return o
}

// unknownName reports a bare name that the scope doesn't have.
func (c *checker) unknownName(name string, from, to int) operand {
	if c.hyphenated(from, to) {
		return c.unknown(from, to)
	}
	known := c.scope.known()
	c.fail(RuleName, from, to, "unknown name %q%s", name, list("known", known))
	if c.err.From == from {
		c.err.Suggestion = nearest(name, known)
	}
	return c.unknown(from, to)
}

// hyphenated recognises visits.a-b, which reads as a subtraction, where a-b is
// a name, and reports how to write it.
func (c *checker) hyphenated(from, to int) bool {
	if c.err != nil {
		return false
	}
	text := c.src.text
	for from > 0 && isWordByte(text[from-1]) {
		from--
	}
	for to < len(text) && isWordByte(text[to]) {
		to++
	}
	word := text[from:to]
	if !strings.Contains(word, "-") {
		return false
	}
	fix := ""
	if _, ok := c.scope.lookup(word); ok {
		fix = fmt.Sprintf("$env[%q]", word)
		if len(c.scope.roots) > 0 {
			fix = fmt.Sprintf("%s[%q]", c.scope.roots[0], word)
		}
	}
	base, key, ok := strings.Cut(word, ".")
	if t, isName := c.scope.lookup(base); ok && isName {
		// The key may be followed by members of its own.
		for _, field := range t.Fields() {
			rest, is := strings.CutPrefix(key, field)
			if is && strings.Contains(field, "-") && (rest == "" || rest[0] == '.') {
				fix = fmt.Sprintf("%s[%q]%s", base, field, rest)
			}
		}
	}
	if fix == "" {
		return false
	}
	c.err = &Error{
		Rule: RuleName, From: from, To: to, Suggestion: fix,
		Message: fmt.Sprintf("%q is a subtraction; write %s for the name with a hyphen", word, fix),
	}
	return true
}

func isWordByte(b byte) bool {
	return b == '_' || b == '-' || b == '.' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// member resolves base.name and base[key].
func (c *checker) member(n *ast.MemberNode, from, to int) operand {
	name, isName := n.Property.(*ast.StringNode)
	bracket := !isName
	if isName {
		f, t := c.place(n.Property)
		bracket = f != from || t != to
	}
	if id, ok := n.Node.(*ast.IdentifierNode); ok && isName {
		idFrom, _ := c.place(id)
		if bracket {
			to = c.src.closing(from)
		}
		if o, ok := c.rooted(id.Value, name.Value, idFrom, from, to); ok {
			return o
		}
	}
	c.nest--
	base := c.expr(n.Node)
	c.nest++
	if bracket {
		to = c.src.closing(from)
	}
	key := c.value(n.Property)
	if !bracket {
		key.from, key.to = from, to
	}
	t, ok := c.memberType(&base, &key, name)
	if !ok {
		return c.unknown(base.from, to)
	}
	key.to = max(key.to, to)
	return c.fetch(&base, &key, t, n.Optional)
}

// rooted resolves state.x and $env["x"] to the name x itself.
func (c *checker) rooted(root, name string, from, keyFrom, to int) (operand, bool) {
	for _, l := range c.locals { // no local has the name of a root
		if root == "$env" && l.name == name {
			return operand{}, false
		}
	}
	switch {
	case root == "$env":
		if o, ok := c.global(name, from, to); ok {
			return o, true
		}
		if c.scope.open {
			return c.read(name, Any(), from, to), true
		}
	case !c.scope.isRoot(root):
		return operand{}, false
	case c.scope.underRoot(root, name):
		o, _ := c.global(name, from, to)
		return o, true
	default:
		if _, ok := c.scope.lookup(root); ok {
			return operand{}, false
		}
		if c.scope.open {
			return c.read(name, Any(), from, to), true
		}
	}
	if c.hyphenated(keyFrom, to) {
		return c.unknown(from, to), true
	}
	known := c.scope.declared()
	keyFrom, keyTo := c.keySpan(keyFrom, to, name)
	c.fail(RuleName, keyFrom, keyTo, "unknown name %q in %s%s", name, root, list("known", known))
	c.suggest(keyFrom, name, known)
	return c.unknown(from, to), true
}

// keySpan narrows ["x"] to x.
func (c *checker) keySpan(from, to int, name string) (int, int) {
	if i := strings.Index(c.src.text[from:to], name); i > 0 && name != "" {
		return from + i, from + i + len(name)
	}
	return from, to
}

func (c *checker) suggest(from int, name string, known []string) {
	if c.err != nil && c.err.From == from && c.err.Suggestion == "" {
		c.err.Suggestion = nearest(name, known)
	}
}

// memberType is the type of base[key]; not ok after an error.
func (c *checker) memberType(base, key *operand, name *ast.StringNode) (Type, bool) {
	if name != nil && c.lengthOf(base, key, name.Value) {
		return Any(), false
	}
	switch base.typ.kind {
	case kindAny:
		return Any(), true
	case kindList:
		if name == nil && key.may(kindFloat) {
			return base.typ.item(), true
		}
		c.fail(RuleType, key.from, key.to, "elements of a list are read by an integer, this is %s", article(key.typ))
		return Any(), false
	case kindObject:
		if name != nil {
			return c.fieldType(base, key, name.Value)
		}
		if !key.may(kindString) {
			c.fail(RuleType, key.from, key.to, "members of an object are read by a string, this is %s", article(key.typ))
			return Any(), false
		}
		return Any(), true
	}
	if name != nil {
		c.fail(RuleType, key.from, key.to, "%s has no member %q: it is %s", c.quote(base), name.Value, article(base.typ))
	} else {
		c.fail(RuleType, key.from, key.to, "%s has no members: it is %s", c.quote(base), article(base.typ))
	}
	return Any(), false
}

func (c *checker) fieldType(base, key *operand, name string) (Type, bool) {
	t, _, ok := base.typ.Field(name)
	if ok {
		return t, true
	}
	if c.hyphenated(key.from, key.to) {
		return Any(), false
	}
	known := base.typ.Fields()
	from, to := c.keySpan(key.from, key.to, name)
	c.fail(RuleName, from, to, "unknown name %q in %s%s", name, c.quote(base), list("known", known))
	c.suggest(from, name, known)
	return Any(), false
}

// quote names an operand in messages by its source text.
func (c *checker) quote(o *operand) string {
	const most = 40
	text := strings.Join(strings.Fields(c.src.text[o.from:o.to]), " ")
	if len(text) > most {
		return "this value"
	}
	return fmt.Sprintf("%q", text)
}

// fetch builds base[key] and follows the path.
func (c *checker) fetch(base, key *operand, t Type, optional bool) operand {
	from, to := c.src.outer(base.from, base.to)
	o := operand{node: c.blank, typ: t, from: from, to: max(to, key.to), bound: base.bound, ref: base.ref.member(base, key)}
	if base.typ.kind != kindList {
		c.hashed(key, keyValue)
	}
	if !optional {
		o.node = c.callFast(fetchMember, o.from, o.to, base.node, key.node)
	} else {
		o.node = c.at(&ast.MemberNode{Node: base.node, Property: key.node, Optional: true}, o.from, o.to)
	}
	c.site(o.from, o.to, ".", base, key)
	return o
}

// hashed makes a computed key pay for its length: each lookup hashes all of it.
func (c *checker) hashed(key *operand, fn charged) {
	if !key.isLiteral() && key.may(kindString) {
		key.node = c.callCharged(fn, key.from, key.to, key.node)
	}
}

// slice checks base[from:to].
func (c *checker) slice(n *ast.SliceNode, from int) operand {
	base := c.expr(n.Node)
	c.use(&base)
	if !base.may(kindList, kindString) {
		return c.fail(RuleType, base.from, base.to, "only lists and strings have slices, this is %s", article(base.typ))
	}
	to := c.src.closing(from)
	args := []ast.Node{base.node}
	for _, end := range []ast.Node{n.From, n.To} {
		if end == nil {
			args = append(args, c.literal(&ast.NilNode{}, from, to).node)
			continue
		}
		v := c.value(end)
		if !v.may(kindFloat) {
			return c.fail(RuleType, v.from, v.to, "ends of a slice must be integers, this is %s", article(v.typ))
		}
		args = append(args, v.node)
	}
	c.site(base.from, to, "[:]", &base)
	o := operand{typ: base.typ, from: base.from, to: to, bound: base.bound}
	o.node = c.callCharged(sliceValue, o.from, o.to, args...)
	return o
}
