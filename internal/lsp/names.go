// An index of the names in a file: declarations, references, uses in expressions.

package lsp

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

// scope is a graph: a file, or an entry of its `graphs`.
type scope struct {
	file  string // "" for the file that is indexed
	graph string // "" for the file's graph
}

// use is one occurrence of a name.
type use struct {
	kind string // node, key, tool, model, graph, secret
	scope
	name  string
	from  int
	to    int
	decl  bool
	write bool   // the use writes the key
	node  string // the node whose declaration contains the use, or ""
}

// isSame reports whether two uses refer to the same declaration.
func (u *use) isSame(o *use) bool { return u.kind == o.kind && u.scope == o.scope && u.name == o.name }

// keyUse is an occurrence of a key of the language.
type keyUse struct {
	from, to int
	key      *spec.Key
}

type names struct {
	uses  []use
	keys  []keyUse
	exprs [][2]int            // from and to of each expression
	nodes map[string][]string // by graph
	calls []call
}

type call struct {
	graph, node string
	child       scope
}

// indexNames indexes a file. It returns nil if the text is not a YAML map.
func indexNames(path string, t *text) *names {
	doc := readValue(path, t)
	if doc.Kind != spec.Map {
		return nil
	}
	w := newWalker(path, t)
	w.walkGraph(doc)
	slices.SortStableFunc(w.out.uses, func(a, b use) int { return a.from - b.from })
	return w.out
}

// readValue returns the value of a file. It is empty if the text is not YAML.
func readValue(path string, t *text) *spec.Value {
	if doc, _ := spec.ReadValue(path, []byte(t.src), ""); doc != nil {
		return doc
	}
	return &spec.Value{}
}

// walker visits a YAML value along the table of keys.
type walker struct {
	path  string
	src   string
	graph string
	node  string // the node whose declaration is visited, or ""
	child *scope // the graph that the current node or edge gets its output from
	out   *names
}

func newWalker(path string, t *text) *walker {
	return &walker{path: path, src: t.src, out: &names{nodes: map[string][]string{}}}
}

// walkGraph visits a graph. It finds the calls first, because expressions refer to them.
func (w *walker) walkGraph(g *spec.Value) {
	for _, node := range g.Get("nodes").Entries() {
		w.out.nodes[w.graph] = append(w.out.nodes[w.graph], node.Key.Value)
		called := node.Value.Get("graph").Scalar().Value
		child := scope{file: spec.ResolvePath(w.path, called)}
		if inner, ok := strings.CutPrefix(called, "#"); ok {
			child = scope{graph: inner}
		}
		if called != "" {
			w.out.calls = append(w.out.calls, call{w.graph, node.Key.Value, child})
		}
	}
	w.walkKeys(g, spec.TopKeys)
}

// findChild returns the graph that a node runs, or nil.
func (w *walker) findChild(node string) *scope {
	for i := range w.out.calls {
		if c := &w.out.calls[i]; c.graph == w.graph && c.node == node {
			return &c.child
		}
	}
	return nil
}

// findContent returns the offsets of a scalar's content in the file, without quotes.
func findContent(n spec.Text) (from, to int) {
	at := n.At(0, len(n.Value))
	return at.From, at.To
}

// newUse returns a use of a name of the current graph.
func (w *walker) newUse(kind string) use { return use{kind: kind, scope: scope{graph: w.graph}} }

// addUse records a use of the name at some offsets.
func (w *walker) addUse(u use, from, to int) {
	u.name, u.from, u.to, u.node = w.src[from:to], from, to, w.node
	w.out.uses = append(w.out.uses, u)
}

// addScalar records a use of the name that a scalar holds.
func (w *walker) addScalar(u use, n spec.Text) {
	if from, to := findContent(n); n.Value != "" && w.src[from:to] == n.Value {
		w.addUse(u, from, to)
	}
}

// walkKeys visits a map whose keys are in a table.
func (w *walker) walkKeys(m *spec.Value, table []spec.Key) {
	for _, f := range m.Fields {
		if key := spec.FindKey(table, f.Key.Value); key != nil {
			from, to := findContent(f.Key)
			w.out.keys = append(w.out.keys, keyUse{from, to, key})
			w.walkEntry(key, &f.Value)
		}
	}
}

// declaredKinds holds the kinds of names that the keys of maps declare.
var declaredKinds = map[string]string{"nodes": "node", "state": "key", "tools": "tool", "models": "model", "graphs": "graph", "secrets": "secret"}

func (w *walker) walkEntry(key *spec.Key, v *spec.Value) {
	switch kind := declaredKinds[key.Name]; {
	case kind != "" && v.Kind == spec.Map:
		for i := range v.Fields {
			declared := w.newUse(kind)
			declared.decl = true
			w.addScalar(declared, v.Fields[i].Key)
			w.walkDeclaration(kind, &v.Fields[i], key)
		}
	case key.Name == "writes" || key.Name == "set":
		written := w.newUse("key")
		written.write = true
		if v.Kind == spec.Map {
			w.walkAssignments(written, v)
		} else {
			visitScalars(v, func(n spec.Text) { w.addScalar(written, n) })
		}
	case key.Name == "tools" || key.Name == "tool":
		visitScalars(v, func(n spec.Text) {
			server, _, _ := strings.Cut(n.Value, ".")
			if from, _ := findContent(n); strings.HasPrefix(w.src[from:], server) {
				w.addUse(use{kind: "tool"}, from, from+len(server))
			}
		})
	case key.Name == "model":
		w.addScalar(w.newUse("model"), v.Text)
	case key.Name == "with" && w.child != nil:
		w.walkAssignments(use{kind: "key", scope: *w.child, write: true}, v)
	case key.Name == "edges":
		for i := range v.Items {
			w.child = w.findChild(v.Items[i].Get("from").Scalar().Value)
			w.walkValue(key.Elem, &v.Items[i])
		}
		w.child = nil
	case key.Name == "graph" && strings.HasPrefix(v.Text.Value, "#"):
		if from, to := findContent(v.Text); to-from == len(v.Text.Value) {
			w.addUse(use{kind: "graph"}, from+1, to)
		}
	default:
		w.walkValue(key, v)
	}
}

func (w *walker) walkDeclaration(kind string, f *spec.Field, key *spec.Key) {
	name := f.Key.Value
	switch kind {
	case "node":
		w.node, w.child = name, w.findChild(name)
		w.walkKeys(&f.Value, listKeysOfKind(f.Value.Get("kind").Scalar().Value))
		w.node, w.child = "", nil
	case "graph":
		before := w.graph
		w.graph = name
		w.walkGraph(&f.Value)
		w.graph = before
	default:
		if key.Elem != nil {
			w.walkValue(key.Elem, &f.Value)
		}
	}
}

func listKeysOfKind(kind string) []spec.Key {
	keys := slices.Clone(spec.NodeKeys)
	for _, k := range spec.BuiltinKinds {
		if k.Name == kind {
			keys = append(keys, k.Keys...)
		}
	}
	return keys
}

// walkAssignments visits a map from state keys to expressions.
func (w *walker) walkAssignments(key use, v *spec.Value) {
	for i := range v.Fields {
		w.addScalar(key, v.Fields[i].Key)
		visitScalars(&v.Fields[i].Value, w.walkExpression)
	}
}

func visitScalars(v *spec.Value, do func(n spec.Text)) {
	if v.IsScalar() {
		do(v.Text)
	}
	for i := range v.Items {
		visitScalars(&v.Items[i], do)
	}
	for i := range v.Fields {
		visitScalars(&v.Fields[i].Value, do)
	}
}

// walkValue visits a value as the role of its key says.
func (w *walker) walkValue(key *spec.Key, v *spec.Value) {
	switch key.Role {
	case spec.RoleNode, spec.RoleState:
		u := w.newUse(map[spec.Role]string{spec.RoleNode: "node", spec.RoleState: "key"}[key.Role])
		visitScalars(v, func(n spec.Text) { w.addScalar(u, n) })
		return
	case spec.RoleExpr, spec.RoleSet:
		visitScalars(v, w.walkExpression)
		return
	case spec.RoleTemplate, spec.RoleContent:
		visitScalars(v, w.walkTemplate)
		return
	}
	switch {
	case key.Type == spec.TypeOneOf:
		if i := slices.IndexFunc(key.Forms, func(form spec.Key) bool { return hasShape(v, form.Type) }); i >= 0 {
			w.walkValue(&key.Forms[i], v)
		}
	case v.Kind == spec.List && key.Elem != nil:
		for i := range v.Items {
			w.walkValue(key.Elem, &v.Items[i])
		}
	case v.Kind == spec.Map && key.Type == spec.TypeMap && key.Elem != nil:
		for i := range v.Fields {
			w.walkValue(key.Elem, &v.Fields[i].Value)
		}
	case v.Kind == spec.Map:
		w.walkKeys(v, key.Keys)
	}
}

// hasShape reports whether a value has the shape of a type: list, map or scalar.
func hasShape(v *spec.Value, t spec.Type) bool {
	isMap := t == spec.TypeMap || t == spec.TypeObject
	return (v.Kind == spec.List) == (t == spec.TypeList) && (v.Kind == spec.Map) == isMap
}

func (w *walker) walkExpression(n spec.Text) {
	from, to := findContent(n)
	if strings.Contains(w.src[from:to], "{{") {
		w.walkTemplate(n)
		return
	}
	w.addReads(from, to)
}

func (w *walker) walkTemplate(n spec.Text) {
	from, to := findContent(n)
	for {
		open := strings.Index(w.src[from:to], "{{")
		if open < 0 {
			return
		}
		from += open + len("{{")
		inside, _, _ := strings.Cut(w.src[from:to], "}}")
		w.addReads(from, from+len(inside))
		from += len(inside)
	}
}

// exprToken matches an identifier, a string, a number or any other character of an expression.
var exprToken = lazyregexp.New(`[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\d+(?:\.\d+)?|\S`)

func isQuote(c byte) bool { return c == '"' || c == '\'' }

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// computedName matches a look-up of a node by a computed name. Strings in
// the same expression that equal names of nodes count as uses of the nodes.
var computedName = lazyregexp.New(`\b(?:nodes|branches|visits|history)\[[^\]'"]`)

// memberKinds holds the kinds of names that are members of objects in expressions.
var memberKinds = map[string]string{"nodes": "node", "history": "node", "visits": "node", "branches": "node", "state": "key", "secrets": "secret"}

// addReads records the state keys, nodes and secrets that an expression uses.
func (w *walker) addReads(from, to int) {
	w.out.exprs = append(w.out.exprs, [2]int{from, to})
	src := w.src[from:to]
	found := exprToken.Get().FindAllStringIndex(src, -1)
	word := func(i int) string {
		if i < 0 || i >= len(found) {
			return ""
		}
		return src[found[i][0]:found[i][1]]
	}
	add := func(u use, i int) {
		begin, end := from+found[i][0], from+found[i][1]
		if isQuote(w.src[begin]) {
			begin, end = begin+1, end-1
		}
		w.addUse(u, begin, end)
	}
	hasComputed := computedName.Get().MatchString(src)
	for i := range found {
		name, before, after := word(i), word(i-1), word(i+1)
		kind, isMember := memberKinds[name]
		switch {
		case name == "output" && after+word(i+2)+word(i+3) == ".state." && i+4 < len(found):
			child := w.child
			if before != "." {
				add(w.newUse("key"), i)
			} else if child = nil; word(i-4) == "nodes" {
				child = w.findChild(word(i - 2))
			}
			if child != nil {
				add(use{kind: "key", scope: *child}, i+4)
			}
		case hasComputed && isQuote(name[0]) && slices.Contains(w.out.nodes[w.graph], strings.Trim(name, `'"`)):
			add(w.newUse("node"), i)
		case !isLetter(name[0]) || before == "." || after == ":" && (before == "{" || before == ","):
		case !isMember:
			add(w.newUse("key"), i)
		case after == "." && i+2 < len(found), after == "[" && i+2 < len(found) && isQuote(word(i + 2)[0]):
			add(w.newUse(kind), i+2)
		}
	}
}
