// Names and members: resolution, aliases, roots, and hints for what is unknown.

package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/graphrun/graphrun/internal/suggest"
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
func (c *checker) identifier(name string, from, to int) *Tree {
	for i := len(c.locals) - 1; i >= 0; i-- {
		if l := c.locals[i]; l.name == name {
			t := *l.value
			t.from, t.to, t.ref = from, to, t.ref.unkeyed()
			t.eval = func(f *frame) any { return f.locals[i] }
			t.operands = nil
			return &t
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
		return constantPart(v, from, to)
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
func (c *checker) global(name string, from, to int) (*Tree, bool) {
	t, ok := c.scope.lookup(name)
	if !ok {
		return nil, false
	}
	if reason, no := c.scope.refuse[name]; no {
		return c.fail(RuleName, from, to, "%s", reason), true
	}
	return c.read(name, t, from, to), true
}

func (c *checker) read(name string, typ Type, from, to int) *Tree {
	t := &Tree{Op: TreePath, Path: []string{name}, Type: typ, from: from, to: to}
	t.ref = &ref{path: t.Path, keys: []any{name}}
	t.eval = func(f *frame) any { return f.names[name] }
	return t
}

func (c *checker) aliased(path []string, from, to int) *Tree {
	t, ok := c.global(path[0], from, to)
	if !ok {
		t = c.read(path[0], Any(), from, to)
	}
	for _, key := range path[1:] {
		member, _, _ := t.Type.Field(key)
		t = c.fetch(t, constantPart(key, from, to), member, false, to)
		t.from, t.to = from, to
	}
	return t
}

// unknownName reports a bare name that the scope doesn't have.
func (c *checker) unknownName(name string, from, to int) *Tree {
	if c.hyphenated(from, to) {
		return unknown(from, to)
	}
	known := c.scope.known()
	c.fail(RuleName, from, to, "unknown name %q%s", name, list("known", known))
	if c.err.From == from {
		c.err.Suggestion = suggest.Closest(name, known)
	}
	return unknown(from, to)
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
func (c *checker) member(n *ast.MemberNode, from, to int) *Tree {
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
	t, ok := c.memberType(base, key, name)
	if !ok {
		return unknown(base.from, to)
	}
	return c.fetch(base, key, t, n.Optional, to)
}

// rooted resolves state.x and $env["x"] to the name x itself.
func (c *checker) rooted(root, name string, from, keyFrom, to int) (*Tree, bool) {
	for _, l := range c.locals { // no local has the name of a root
		if root == "$env" && l.name == name {
			return nil, false
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
		return nil, false
	case c.scope.underRoot(root, name):
		t, _ := c.global(name, from, to)
		return t, true
	default:
		if _, ok := c.scope.lookup(root); ok {
			return nil, false
		}
		if c.scope.open {
			return c.read(name, Any(), from, to), true
		}
	}
	if c.hyphenated(keyFrom, to) {
		return unknown(from, to), true
	}
	known := c.scope.declared()
	keyFrom, keyTo := c.keySpan(keyFrom, to, name)
	c.fail(RuleName, keyFrom, keyTo, "unknown name %q in %s%s", name, root, list("known", known))
	c.suggest(keyFrom, name, known)
	return unknown(from, to), true
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
		c.err.Suggestion = suggest.Closest(name, known)
	}
}

// memberType is the type of base[key]; not ok after an error.
func (c *checker) memberType(base, key *Tree, name *ast.StringNode) (Type, bool) {
	if name != nil && c.lengthOf(base, key, name.Value) {
		return Any(), false
	}
	switch base.Type.kind {
	case kindAny:
		return Any(), true
	case kindList:
		if name == nil && key.may(kindFloat) {
			return base.Type.Elem(), true
		}
		c.fail(RuleType, key.from, key.to, "elements of a list are read by an integer, this is %s", article(key.Type))
		return Any(), false
	case kindObject:
		if name != nil {
			return c.fieldType(base, key, name.Value)
		}
		if !key.may(kindString) {
			c.fail(RuleType, key.from, key.to, "members of an object are read by a string, this is %s", article(key.Type))
			return Any(), false
		}
		return Any(), true
	}
	if name != nil {
		c.fail(RuleType, key.from, key.to, "%s has no member %q: it is %s", c.quote(base), name.Value, article(base.Type))
	} else {
		c.fail(RuleType, key.from, key.to, "%s has no members: it is %s", c.quote(base), article(base.Type))
	}
	return Any(), false
}

func (c *checker) fieldType(base, key *Tree, name string) (Type, bool) {
	t, _, ok := base.Type.Field(name)
	if ok {
		return t, true
	}
	if c.hyphenated(key.from, key.to) {
		return Any(), false
	}
	known := base.Type.Fields()
	from, to := c.keySpan(key.from, key.to, name)
	c.fail(RuleName, from, to, "unknown name %q in %s%s", name, c.quote(base), list("known", known))
	c.suggest(from, name, known)
	return Any(), false
}

// quote names an operand in messages by its source text.
func (c *checker) quote(o *Tree) string {
	const most = 40
	text := strings.Join(strings.Fields(c.src.text[o.from:o.to]), " ")
	if len(text) > most {
		return "this value"
	}
	return fmt.Sprintf("%q", text)
}

// fetch builds base[key], which ends at end, and follows the path.
func (c *checker) fetch(base, key *Tree, typ Type, optional bool, end int) *Tree {
	from, to := c.src.outer(base.from, base.to)
	t := &Tree{Type: typ, from: from, to: max(to, key.to, end), ref: base.ref.member(base, key), operands: []*Tree{base, key}}
	if base.Op == TreePath && key.Op == TreeConst {
		switch k := key.Value.(type) {
		case string:
			t.Op, t.Path = TreePath, append(slices.Clip(base.Path), k)
		case int:
			if k >= 0 {
				t.Op, t.Path = TreePath, append(slices.Clip(base.Path), "["+strconv.Itoa(k)+"]")
			}
		}
	}
	if base.Type.kind != kindList && key.Op != TreeConst && key.may(kindString) {
		c.cost += costCall // hashing a computed key takes as long as the key
	}
	t.eval = t.follow(base.eval, key.eval, optional)
	return t
}

// chain ends a path such as a?.b.c: it is null when the base of any ?. is null.
func chain(path *Tree) *Tree {
	t := *path
	t.eval = func(f *frame) any {
		if out := path.eval(f); out != (skipped{}) {
			return out
		}
		return nil
	}
	return &t
}

// slice checks base[from:to].
func (c *checker) slice(n *ast.SliceNode, from int) *Tree {
	base := c.value(n.Node)
	if !base.may(kindList, kindString) {
		return c.fail(RuleType, base.from, base.to, "only lists and strings have slices, this is %s", article(base.Type))
	}
	to := c.src.closing(from)
	args := []evaluator{base.eval}
	for _, end := range []ast.Node{n.From, n.To} {
		v := constantPart(nil, from, to)
		if end != nil {
			if v = c.value(end); !v.may(kindFloat) {
				return c.fail(RuleType, v.from, v.to, "ends of a slice must be integers, this is %s", article(v.Type))
			}
		}
		args = append(args, v.eval)
	}
	from, _ = c.src.outer(base.from, base.to)
	t := &Tree{Type: base.Type, from: from, to: to, operands: []*Tree{base}}
	t.eval = c.charged(t, sliceValue, args...)
	return t
}

// list names the known names, if they are few.
func list(what string, known []string) string {
	const most = 12
	if len(known) == 0 || len(known) > most {
		return ""
	}
	return fmt.Sprintf("; %s: %s", what, strings.Join(slices.Sorted(slices.Values(known)), ", "))
}
