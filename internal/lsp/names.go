// An index of the names in a file: declarations, references, uses in expressions.

package lsp

import (
	"path/filepath"
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
	write bool   // of a key
	node  string // whose declaration contains it, or ""
}

// same reports whether two uses refer to the same declaration.
func (u *use) same(o *use) bool { return u.kind == o.kind && u.scope == o.scope && u.name == o.name }

// keyAt is an occurrence of a key of the language.
type keyAt struct {
	from, to int
	key      *spec.Key
}

// names is the index of a file.
type names struct {
	uses  []use
	keys  []keyAt
	exprs [][2]int            // from and to of each expression
	nodes map[string][]string // by graph
	calls []call
}

// call is a node that runs another graph.
type call struct {
	graph, node string
	child       scope
}

// namesOf indexes a file. It returns nil if the text is not a YAML map.
func namesOf(path string, t *text) *names {
	doc := valueIn(path, t)
	if doc.Kind != spec.Map {
		return nil
	}
	w := newWalker(t)
	w.folder = filepath.Dir(path)
	w.graphEntries(doc)
	slices.SortStableFunc(w.out.uses, func(a, b use) int { return a.from - b.from })
	return w.out
}

// valueIn returns the value of a file. It is empty if the text is not YAML.
func valueIn(path string, t *text) *spec.Value {
	if doc, _ := spec.ReadValue(path, []byte(t.src), ""); doc != nil {
		return doc
	}
	return &spec.Value{}
}

// walker visits a YAML value along the table of keys.
type walker struct {
	text   *text
	folder string // of the file
	graph  string
	node   string // whose declaration is visited, or ""
	child  *scope // the graph that the current node or edge gets its output from
	out    *names
}

func newWalker(t *text) *walker { return &walker{text: t, out: &names{nodes: map[string][]string{}}} }

// graphEntries visits a graph. It finds the calls first, because expressions refer to them.
func (w *walker) graphEntries(g *spec.Value) {
	if nodes := g.Get("nodes"); nodes != nil {
		for i := range nodes.Fields {
			node := &nodes.Fields[i]
			w.out.nodes[w.graph] = append(w.out.nodes[w.graph], node.Key.Value)
			named := textAt(&node.Value, "graph")
			child := scope{file: filepath.Join(w.folder, filepath.FromSlash(named))}
			if inner, ok := strings.CutPrefix(named, "#"); ok {
				child = scope{graph: inner}
			}
			if named != "" {
				w.out.calls = append(w.out.calls, call{w.graph, node.Key.Value, child})
			}
		}
	}
	w.entries(g, spec.TopKeys())
}

// childOf returns the graph that a node runs, or nil.
func (w *walker) childOf(node string) *scope {
	for i := range w.out.calls {
		if c := &w.out.calls[i]; c.graph == w.graph && c.node == node {
			return &c.child
		}
	}
	return nil
}

// contentOf returns the offsets of a scalar's content in the file, without quotes.
func contentOf(n spec.Text) (from, to int) {
	at := n.At(0, len(n.Value))
	return at.From, at.To
}

// add records a use of a name of a graph.
func (w *walker) add(declared scope, kind string, from, to int, decl, write bool) {
	w.out.uses = append(w.out.uses, use{kind, declared, w.text.src[from:to], from, to, decl, write, w.node})
}

// note records a use of a name of the current graph.
func (w *walker) note(kind string, n spec.Text, decl, write bool) {
	w.noteIn(scope{graph: w.graph}, kind, n, decl, write)
}

// noteIn records a use of a name of another graph.
func (w *walker) noteIn(declared scope, kind string, n spec.Text, decl, write bool) {
	if from, to := contentOf(n); n.Value != "" && w.text.src[from:to] == n.Value {
		w.add(declared, kind, from, to, decl, write)
	}
}

// entries visits a map whose keys are in a table.
func (w *walker) entries(m *spec.Value, table []spec.Key) {
	for i := range m.Fields {
		f := &m.Fields[i]
		at := slices.IndexFunc(table, func(k spec.Key) bool { return k.Name == f.Key.Value })
		if at < 0 {
			continue
		}
		from, to := contentOf(f.Key)
		w.out.keys = append(w.out.keys, keyAt{from, to, &table[at]})
		w.entry(f.Key.Value, &f.Value, &table[at])
	}
}

// declares holds the kinds of names that the keys of maps declare.
var declares = map[string]string{"nodes": "node", "state": "key", "tools": "tool", "models": "model", "graphs": "graph", "secrets": "secret"}

// entry visits the value of a key.
func (w *walker) entry(name string, v *spec.Value, key *spec.Key) {
	switch kind := declares[name]; {
	case kind != "" && v.Kind == spec.Map:
		for i := range v.Fields {
			w.note(kind, v.Fields[i].Key, true, false)
			w.declared(kind, &v.Fields[i], key)
		}
	case name == "writes" || name == "set":
		if v.Kind == spec.Map {
			w.assignments(scope{graph: w.graph}, v)
		} else {
			w.each(v, func(n spec.Text) { w.note("key", n, false, true) })
		}
	case name == "tools" || name == "tool":
		w.each(v, func(n spec.Text) {
			server, _, _ := strings.Cut(n.Value, ".")
			if from, _ := contentOf(n); strings.HasPrefix(w.text.src[from:], server) {
				w.add(scope{}, "tool", from, from+len(server), false, false)
			}
		})
	case name == "model":
		w.note("model", v.Text, false, false)
	case name == "with" && w.child != nil:
		w.assignments(*w.child, v)
	case name == "edges":
		for i := range v.Items {
			w.child = w.childOf(textAt(&v.Items[i], "from"))
			w.value(&v.Items[i], key.Elem)
		}
		w.child = nil
	case name == "graph" && strings.HasPrefix(v.Text.Value, "#"):
		if from, to := contentOf(v.Text); to-from == len(v.Text.Value) {
			w.add(scope{}, "graph", from+1, to, false, false)
		}
	default:
		w.value(v, key)
	}
}

// declared visits the value of a declaration.
func (w *walker) declared(kind string, f *spec.Field, key *spec.Key) {
	name := f.Key.Value
	switch kind {
	case "node":
		table := slices.Clone(spec.NodeKeys())
		for _, k := range spec.BuiltinKinds() {
			if k.Name == textAt(&f.Value, "kind") {
				table = append(table, k.Keys...)
			}
		}
		w.node, w.child = name, w.childOf(name)
		w.entries(&f.Value, table)
		w.node, w.child = "", nil
	case "graph":
		before := w.graph
		w.graph = name
		w.graphEntries(&f.Value)
		w.graph = before
	default:
		if key.Elem != nil {
			w.value(&f.Value, key.Elem)
		}
	}
}

// textAt returns the text of a map entry, or "".
func textAt(m *spec.Value, name string) string {
	if v := m.Get(name); v != nil {
		return v.Text.Value
	}
	return ""
}

// assignments visits a map from state keys of a graph to expressions.
func (w *walker) assignments(of scope, v *spec.Value) {
	for i := range v.Fields {
		w.noteIn(of, "key", v.Fields[i].Key, false, true)
		w.each(&v.Fields[i].Value, w.expression)
	}
}

// each calls do for every scalar in a value.
func (w *walker) each(v *spec.Value, do func(n spec.Text)) {
	if v.IsScalar() {
		do(v.Text)
	}
	for i := range v.Items {
		w.each(&v.Items[i], do)
	}
	for i := range v.Fields {
		w.each(&v.Fields[i].Value, do)
	}
}

// value visits a value by the role of its key.
func (w *walker) value(v *spec.Value, key *spec.Key) {
	switch key.Role {
	case spec.RoleNode:
		w.each(v, func(n spec.Text) { w.note("node", n, false, false) })
		return
	case spec.RoleState:
		w.each(v, func(n spec.Text) { w.note("key", n, false, false) })
		return
	case spec.RoleExpr, spec.RoleSet:
		w.each(v, w.expression)
		return
	case spec.RoleTemplate, spec.RoleContent:
		w.each(v, w.template)
		return
	}
	switch {
	case key.Type == spec.TypeOneOf:
		for i := range key.Forms {
			if fits(v, &key.Forms[i]) {
				w.value(v, &key.Forms[i])
				return
			}
		}
	case v.Kind == spec.List && key.Elem != nil:
		for i := range v.Items {
			w.value(&v.Items[i], key.Elem)
		}
	case v.Kind == spec.Map && key.Type == spec.TypeMap && key.Elem != nil:
		for i := range v.Fields {
			w.value(&v.Fields[i].Value, key.Elem)
		}
	case v.Kind == spec.Map:
		w.entries(v, key.Keys)
	}
}

// fits reports whether the kind of a value matches a form.
func fits(v *spec.Value, form *spec.Key) bool {
	switch form.Type {
	case spec.TypeList:
		return v.Kind == spec.List
	case spec.TypeMap, spec.TypeObject:
		return v.Kind == spec.Map
	}
	return v.IsScalar()
}

func (w *walker) expression(n spec.Text) {
	from, to := contentOf(n)
	if strings.Contains(w.text.src[from:to], "{{") {
		w.template(n)
		return
	}
	w.reads(from, to)
}

func (w *walker) template(n spec.Text) {
	from, to := contentOf(n)
	for at := from; at < to; {
		open := strings.Index(w.text.src[at:to], "{{")
		if open < 0 {
			return
		}
		begin := at + open + 2
		end := strings.Index(w.text.src[begin:to], "}}")
		if end < 0 {
			end = to - begin
		}
		w.reads(begin, begin+end)
		at = begin + end
	}
}

// exprToken matches an identifier, a string, a number or any other character of an expression.
var exprToken = lazyregexp.New(`[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\d+(?:\.\d+)?|\S`)

// dynamic matches a look-up of a node by a computed name. Texts beside it that are names of
// nodes are taken for them.
var dynamic = lazyregexp.New(`\b(?:nodes|branches|visits|history)\[[^\]'"]`)

// reads records the state keys, nodes and secrets that an expression uses.
func (w *walker) reads(from, to int) {
	w.out.exprs = append(w.out.exprs, [2]int{from, to})
	found := exprToken().FindAllStringIndex(w.text.src[from:to], -1)
	word := func(i int) string {
		if i < 0 || i >= len(found) {
			return ""
		}
		return w.text.src[from+found[i][0] : from+found[i][1]]
	}
	noteIn := func(declared scope, kind string, i int) {
		begin, end := from+found[i][0], from+found[i][1]
		if quote := w.text.src[begin]; quote == '"' || quote == '\'' {
			begin, end = begin+1, end-1
		}
		w.add(declared, kind, begin, end, false, false)
	}
	note := func(kind string, i int) { noteIn(scope{graph: w.graph}, kind, i) }
	byName := dynamic().MatchString(w.text.src[from:to])
	roots := map[string]string{"nodes": "node", "history": "node", "visits": "node", "branches": "node", "state": "key", "secrets": "secret"}
	for i := range found {
		name := word(i)
		if child := w.outputOf(name, word(i-1), word(i-2), word(i-4)); child != nil && word(i+1) == "." && word(i+2) == "state" && word(i+3) == "." && i+4 < len(found) {
			noteIn(*child, "key", i+4)
		}
		if c := name[0]; byName && (c == '\'' || c == '"') && slices.Contains(w.out.nodes[w.graph], strings.Trim(name, `'"`)) {
			note("node", i)
			continue
		}
		if c := name[0]; c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') || word(i-1) == "." {
			continue
		}
		if word(i+1) == ":" && (word(i-1) == "{" || word(i-1) == ",") {
			continue // the key of a map
		}
		kind := roots[name]
		switch {
		case kind == "":
			note("key", i)
		case word(i+1) == "." && i+2 < len(found):
			note(kind, i+2)
		case word(i+1) == "[" && i+2 < len(found) && strings.ContainsAny(word(i + 2)[:1], `"'`):
			note(kind, i+2)
		}
	}
}

// outputOf returns the graph whose output a word of an expression reads, or nil: by `output` or
// `nodes.NODE.output`. before, node and root are the words before it.
func (w *walker) outputOf(name, before, node, root string) *scope {
	switch {
	case name != "output":
		return nil
	case before == "." && root == "nodes":
		return w.childOf(node)
	case before == ".":
		return nil
	}
	return w.child
}
