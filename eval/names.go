// Resolving names and members, with aliases, roots, and hints about unknown names.

package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/graphrun/graphrun/internal/suggest"
)

// constants maps the spellings of constants, including those of Python, to their values.
var constants = map[string]any{"True": true, "true": true, "False": false, "false": false, "None": nil, "null": nil, "nil": nil}

// resolveIdentifier resolves a bare name as a let name, declared name, alias or constant, in this order.
func (c *checker) resolveIdentifier(name string, from, to int) *Tree {
	if i := c.findLocalIndex(name); i >= 0 {
		t := *c.locals[i].value
		t.from, t.to, t.ref, t.operands = from, to, t.ref.withoutName(), nil
		t.eval = func(f *frame) any { return f.locals[i] }
		return &t
	}
	if name == "$env" {
		panic(errorAt(RuleName, from, to, `$env is only readable by a constant name, as in $env["my-key"]`))
	}
	if t := c.resolveGlobal(name, from, to); t != nil {
		return t
	}
	if path := c.scope.opts.Alias[name]; len(path) > 0 {
		return c.resolveAlias(path, from, to)
	}
	if v, ok := constants[name]; ok {
		return constantPart(v, from, to)
	}
	if reason, ok := c.scope.opts.Refuse[name]; ok {
		panic(errorAt(RuleName, from, to, "%s", reason))
	}
	if c.scope.isRoot(name) {
		panic(errorAt(RuleName, from, to, "%q is only readable by a constant key, as in %s.key", name, name))
	}
	if c.scope.opts.Open {
		return c.readName(name, Any(), from, to)
	}
	c.rejectHyphenatedName(from, to)
	known := c.scope.knownNames()
	panic(errorAt(RuleName, from, to, "unknown name %q%s", name, formatKnown(known)).withSuggestion(suggest.Closest(name, known)))
}

// findLocalIndex returns the index of a let name in c.locals, or -1.
func (c *checker) findLocalIndex(name string) int {
	return slices.IndexFunc(c.locals, func(l local) bool { return l.name == name })
}

// resolveGlobal resolves a name that the scope declares, or returns nil.
func (c *checker) resolveGlobal(name string, from, to int) *Tree {
	t, ok := c.scope.findType(name)
	if !ok {
		return nil
	}
	if reason, no := c.scope.opts.Refuse[name]; no {
		panic(errorAt(RuleName, from, to, "%s", reason))
	}
	return c.readName(name, t, from, to)
}

func (c *checker) readName(name string, typ Type, from, to int) *Tree {
	t := &Tree{Op: TreePath, Path: []string{name}, Type: typ, from: from, to: to}
	t.ref = &ref{keys: []any{name}}
	t.eval = func(f *frame) any { return f.names[name] }
	return t
}

func (c *checker) resolveAlias(path []string, from, to int) *Tree {
	t := c.resolveGlobal(path[0], from, to)
	if t == nil {
		t = c.readName(path[0], Any(), from, to)
	}
	for _, key := range path[1:] {
		member, _, _ := t.Type.Field(key)
		t = c.buildMember(t, constantPart(key, from, to), member, false, to)
		t.from, t.to = from, to
	}
	return t
}

// rejectHyphenatedName reports visits.a-b if a-b is a name. The name needs brackets, because without
// them the expression is a subtraction.
func (c *checker) rejectHyphenatedName(from, to int) {
	text := c.src.text
	from = len(strings.TrimRightFunc(text[:from], isWordRune))
	to = len(text) - len(strings.TrimLeftFunc(text[to:], isWordRune))
	word := text[from:to]
	fix := ""
	if _, ok := c.scope.findType(word); ok {
		root := append(slices.Clip(c.scope.opts.Roots), "$env")[0]
		fix = fmt.Sprintf("%s[%q]", root, word)
	}
	base, key, _ := strings.Cut(word, ".")
	t, _ := c.scope.findType(base)
	for _, field := range t.Fields() { // members may follow
		rest, is := strings.CutPrefix(key, field)
		if is && strings.Contains(field, "-") && (rest == "" || rest[0] == '.') {
			fix = fmt.Sprintf("%s[%q]%s", base, field, rest)
		}
	}
	if fix != "" && strings.Contains(word, "-") {
		panic(errorAt(RuleName, from, to, "%q is a subtraction; write %s for the name with a hyphen", word, fix).withSuggestion(fix))
	}
}

func isWordRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// checkMember resolves base.name and base[key].
func (c *checker) checkMember(n *ast.MemberNode, from, to int) *Tree {
	name, isName := n.Property.(*ast.StringNode)
	if n.Property.Location() != n.Location() { // in brackets
		to = c.src.findClosingEnd(from)
	}
	if id, ok := n.Node.(*ast.IdentifierNode); ok && isName {
		idFrom, _ := c.src.addParentheses(c.tokenSpan(id))
		if t := c.resolveRooted(id.Value, name.Value, idFrom, from, to); t != nil {
			return t
		}
	}
	c.nest--
	base := c.checkExpr(n.Node)
	c.nest++
	key := c.checkValue(n.Property)
	return c.buildMember(base, key, c.memberType(base, key), n.Optional, to)
}

// resolveRooted resolves state.x and $env["x"] to the name x. It returns nil for other members.
func (c *checker) resolveRooted(root, name string, from, keyFrom, to int) *Tree {
	own, isName := c.scope.findType(root)
	_, isMember, _ := own.Field(name)
	_, isTop := c.scope.findType(name)
	switch {
	case root != "$env" && !c.scope.isRoot(root), root == "$env" && c.findLocalIndex(name) >= 0: // a let can't hide a root
		return nil
	case root == "$env" || isTop && (isMember || !isName):
		if t := c.resolveGlobal(name, from, to); t != nil {
			return t
		}
	case isName:
		return nil
	}
	if c.scope.opts.Open {
		return c.readName(name, Any(), from, to)
	}
	c.rejectHyphenatedName(keyFrom, to)
	panic(c.unknownMemberError(name, root, c.scope.declaredNames(), keyFrom, to))
}

func (c *checker) unknownMemberError(name, of string, known []string, from, to int) *Error {
	if i := strings.Index(c.src.text[from:to], name); i > 0 && name != "" { // the x of ["x"]
		from, to = from+i, from+i+len(name)
	}
	return errorAt(RuleName, from, to, "unknown name %q in %s%s", name, of, formatKnown(known)).withSuggestion(suggest.Closest(name, known))
}

// memberType returns the type of base[key].
func (c *checker) memberType(base, key *Tree) Type {
	name, isName := key.Value.(string)
	if isName {
		c.rejectLengthMember(base, key, name)
	}
	switch base.Type.kind {
	case kindAny:
		return Any()
	case kindList:
		if !isName && key.canBe(kindFloat) {
			return base.Type.Elem()
		}
		panic(errorAt(RuleType, key.from, key.to, "elements of a list are read by an integer, this is %s", key.Type.WithArticle()))
	case kindObject:
		key.requireKinds("members of an object are read by a string", kindString)
		t, _, ok := base.Type.Field(name)
		if isName && !ok {
			c.rejectHyphenatedName(key.from, key.to)
			panic(c.unknownMemberError(name, c.quoteSource(base), base.Type.Fields(), key.from, key.to))
		}
		return t
	}
	if isName {
		panic(errorAt(RuleType, key.from, key.to, "%s has no member %q: it is %s", c.quoteSource(base), name, base.Type.WithArticle()))
	}
	panic(errorAt(RuleType, key.from, key.to, "%s has no members: it is %s", c.quoteSource(base), base.Type.WithArticle()))
}

// quoteSource returns the source text of an operand for a message.
func (c *checker) quoteSource(o *Tree) string {
	const most = 40
	text := strings.Join(strings.Fields(c.src.text[o.from:o.to]), " ")
	if len(text) > most {
		return "this value"
	}
	return fmt.Sprintf("%q", text)
}

// buildMember returns the tree of base[key], which ends at end, with its path.
func (c *checker) buildMember(base, key *Tree, typ Type, optional bool, end int) *Tree {
	from, to := c.src.addParentheses(base.from, base.to)
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
	if base.Type.kind != kindList && key.Op != TreeConst && key.canBe(kindString) {
		c.cost += costCall // hashing a computed key takes as long as the key
	}
	t.eval = t.followMember(base.eval, key.eval, optional)
	return t
}

// endChain completes a path such as a?.b.c, which is null if the base of any ?. is null.
func endChain(t *Tree) *Tree {
	path := t.eval
	t.eval = func(f *frame) any {
		if out := path(f); out != (skipped{}) {
			return out
		}
		return nil
	}
	return t
}

// checkSlice checks base[from:to].
func (c *checker) checkSlice(n *ast.SliceNode, from int) *Tree {
	base := c.checkValue(n.Node)
	base.requireKinds("only lists and strings have slices", kindList, kindString)
	t := &Tree{Type: base.Type, operands: []*Tree{base}, to: c.src.findClosingEnd(from)}
	t.from, _ = c.src.addParentheses(base.from, base.to)
	args := []evaluator{base.eval}
	for _, end := range []ast.Node{n.From, n.To} {
		v := constantPart(nil, 0, 0)
		if end != nil {
			v = c.checkValue(end)
			v.requireKinds("ends of a slice must be integers", kindFloat)
		}
		args = append(args, v.eval)
	}
	t.eval = t.applyOperation(sliceValue, args...)
	c.cost += costCall
	return t
}

// formatKnown returns a list of known names for a message, or "" if there are too many.
func formatKnown(known []string) string {
	const most = 12
	if len(known) == 0 || len(known) > most {
		return ""
	}
	return "; known: " + strings.Join(known, ", ")
}
