// An index of the names in a file: declarations, references, uses in expressions.

package lsp

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

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
	write bool // of a key
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
	var doc yaml.Node
	if yaml.Unmarshal([]byte(t.src), &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	w := newWalker(t, &doc)
	w.folder = filepath.Dir(path)
	w.graphEntries(doc.Content[0])
	slices.SortStableFunc(w.out.uses, func(a, b use) int { return a.from - b.from })
	return w.out
}

// walker visits a YAML tree along the table of keys.
type walker struct {
	text   *text
	folder string // of the file
	graph  string
	child  *scope // the graph that the current node or edge gets its output from
	out    *names
	starts []int // of all values
}

func newWalker(t *text, doc *yaml.Node) *walker {
	w := &walker{text: t, out: &names{nodes: map[string][]string{}}}
	w.collectStarts(doc)
	slices.Sort(w.starts)
	return w
}

// graphEntries visits a graph. It finds the calls first, because expressions refer to them.
func (w *walker) graphEntries(g *yaml.Node) {
	for i := 0; g.Kind == yaml.MappingNode && i+1 < len(g.Content); i += 2 {
		nodes := g.Content[i+1]
		if g.Content[i].Value != "nodes" || nodes.Kind != yaml.MappingNode {
			continue
		}
		for k := 0; k+1 < len(nodes.Content); k += 2 {
			w.out.nodes[w.graph] = append(w.out.nodes[w.graph], nodes.Content[k].Value)
			named := valueOf(nodes.Content[k+1], "graph")
			child := scope{file: filepath.Join(w.folder, filepath.FromSlash(named))}
			if inner, ok := strings.CutPrefix(named, "#"); ok {
				child = scope{graph: inner}
			}
			if named != "" {
				w.out.calls = append(w.out.calls, call{w.graph, nodes.Content[k].Value, child})
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

// collectStarts records the offset of every value. A value ends before the next one starts.
func (w *walker) collectStarts(n *yaml.Node) {
	w.starts = append(w.starts, w.text.at(n.Line, n.Column))
	for _, c := range n.Content {
		w.collectStarts(c)
	}
}

// textOf returns the offsets of a scalar's text, without quotes.
func (w *walker) textOf(n *yaml.Node) (from, to int) {
	from = w.text.at(n.Line, n.Column)
	rest := w.text.src[from:]
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			if rest[i] == '\\' {
				i++
			} else if rest[i] == '"' {
				return from + 1, from + i
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			if rest[i] != '\'' {
				continue
			}
			if i+1 < len(rest) && rest[i+1] == '\'' {
				i++
				continue
			}
			return from + 1, from + i
		}
	case strings.HasPrefix(rest, n.Value):
		return from, from + len(n.Value)
	}
	i, _ := slices.BinarySearch(w.starts, from+1)
	if i < len(w.starts) {
		return from, w.starts[i]
	}
	return from, len(w.text.src)
}

// note records a use of a name of the current graph.
func (w *walker) note(kind string, n *yaml.Node, decl, write bool) {
	w.noteIn(scope{graph: w.graph}, kind, n, decl, write)
}

// noteIn records a use of a name of another graph.
func (w *walker) noteIn(declared scope, kind string, n *yaml.Node, decl, write bool) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	if from, to := w.textOf(n); w.text.src[from:to] == n.Value {
		w.out.uses = append(w.out.uses, use{kind, declared, n.Value, from, to, decl, write})
	}
}

// entries visits a map whose keys are in a table.
func (w *walker) entries(m *yaml.Node, table []spec.Key) {
	if m.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		name, value := m.Content[i], m.Content[i+1]
		at := slices.IndexFunc(table, func(k spec.Key) bool { return k.Name == name.Value })
		if at < 0 {
			continue
		}
		from, to := w.textOf(name)
		w.out.keys = append(w.out.keys, keyAt{from, to, &table[at]})
		w.entry(name.Value, value, &table[at])
	}
}

// entry visits the value of a key.
func (w *walker) entry(name string, v *yaml.Node, key *spec.Key) {
	declares := map[string]string{"nodes": "node", "state": "key", "tools": "tool", "models": "model", "graphs": "graph", "secrets": "secret"}
	switch kind := declares[name]; {
	case kind != "" && v.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(v.Content); i += 2 {
			w.note(kind, v.Content[i], true, false)
			w.declared(kind, v.Content[i].Value, v.Content[i+1], key)
		}
	case name == "writes" || name == "set":
		w.writes(v)
	case name == "tools" || name == "tool":
		w.each(v, func(n *yaml.Node) {
			server, _, _ := strings.Cut(n.Value, ".")
			if from, _ := w.textOf(n); strings.HasPrefix(w.text.src[from:], server) {
				w.out.uses = append(w.out.uses, use{"tool", scope{}, server, from, from + len(server), false, false})
			}
		})
	case name == "model":
		w.note("model", v, false, false)
	case name == "with" && w.child != nil && v.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(v.Content); i += 2 {
			w.noteIn(*w.child, "key", v.Content[i], false, true)
			w.each(v.Content[i+1], w.expression)
		}
	case name == "edges" && v.Kind == yaml.SequenceNode:
		for _, edge := range v.Content {
			w.child = w.childOf(valueOf(edge, "from"))
			w.value(edge, key.Elem)
		}
		w.child = nil
	case name == "graph" && strings.HasPrefix(v.Value, "#"):
		from, to := w.textOf(v)
		if to-from == len(v.Value) {
			w.out.uses = append(w.out.uses, use{"graph", scope{}, v.Value[1:], from + 1, to, false, false})
		}
	default:
		w.value(v, key)
	}
}

// declared visits the value of a declaration.
func (w *walker) declared(kind, name string, v *yaml.Node, key *spec.Key) {
	switch kind {
	case "node":
		table := slices.Clone(spec.NodeKeys())
		for _, k := range spec.BuiltinKinds() {
			if k.Name == valueOf(v, "kind") {
				table = append(table, k.Keys...)
			}
		}
		w.child = w.childOf(name)
		w.entries(v, table)
		w.child = nil
	case "graph":
		before := w.graph
		w.graph = name
		w.graphEntries(v)
		w.graph = before
	default:
		if key.Elem != nil {
			w.value(v, key.Elem)
		}
	}
}

// valueOf returns the text of a map entry, or "".
func valueOf(m *yaml.Node, name string) string {
	for i := 0; m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i+1].Value
		}
	}
	return ""
}

// writes visits `writes` or `set`: a list of state keys, or a map from keys to expressions.
func (w *walker) writes(v *yaml.Node) {
	if v.Kind != yaml.MappingNode {
		w.each(v, func(n *yaml.Node) { w.note("key", n, false, true) })
		return
	}
	for i := 0; i+1 < len(v.Content); i += 2 {
		w.note("key", v.Content[i], false, true)
		w.each(v.Content[i+1], w.expression)
	}
}

// each calls do for every scalar in a value.
func (w *walker) each(v *yaml.Node, do func(n *yaml.Node)) {
	switch v.Kind {
	case yaml.ScalarNode:
		do(v)
	case yaml.SequenceNode:
		for _, item := range v.Content {
			w.each(item, do)
		}
	case yaml.MappingNode:
		for i := 1; i < len(v.Content); i += 2 {
			w.each(v.Content[i], do)
		}
	}
}

// value visits a value by the role of its key.
func (w *walker) value(v *yaml.Node, key *spec.Key) {
	switch key.Role {
	case spec.RoleNode:
		w.each(v, func(n *yaml.Node) { w.note("node", n, false, false) })
		return
	case spec.RoleState:
		w.each(v, func(n *yaml.Node) { w.note("key", n, false, false) })
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
	case v.Kind == yaml.SequenceNode && key.Elem != nil:
		for _, item := range v.Content {
			w.value(item, key.Elem)
		}
	case v.Kind == yaml.MappingNode && key.Type == spec.TypeMap && key.Elem != nil:
		for i := 1; i < len(v.Content); i += 2 {
			w.value(v.Content[i], key.Elem)
		}
	case v.Kind == yaml.MappingNode:
		w.entries(v, key.Keys)
	}
}

// fits reports whether the kind of a YAML node matches a form.
func fits(v *yaml.Node, form *spec.Key) bool {
	switch form.Type {
	case spec.TypeList:
		return v.Kind == yaml.SequenceNode
	case spec.TypeMap, spec.TypeObject:
		return v.Kind == yaml.MappingNode
	}
	return v.Kind == yaml.ScalarNode
}

func (w *walker) expression(n *yaml.Node) {
	from, to := w.textOf(n)
	if strings.Contains(w.text.src[from:to], "{{") {
		w.template(n)
		return
	}
	w.reads(from, to)
}

func (w *walker) template(n *yaml.Node) {
	from, to := w.textOf(n)
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

// token matches an identifier, a string or any other character of an expression.
var token = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\S`)

// dynamic matches a look-up of a node by a computed name. Texts beside it that are names of
// nodes are taken for them.
var dynamic = regexp.MustCompile(`\b(?:nodes|branches|visits|history)\[[^\]'"]`)

// reads records the state keys, nodes and secrets that an expression uses.
func (w *walker) reads(from, to int) {
	w.out.exprs = append(w.out.exprs, [2]int{from, to})
	found := token.FindAllStringIndex(w.text.src[from:to], -1)
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
		w.out.uses = append(w.out.uses, use{kind, declared, w.text.src[begin:end], begin, end, false, false})
	}
	note := func(kind string, i int) { noteIn(scope{graph: w.graph}, kind, i) }
	byName := dynamic.MatchString(w.text.src[from:to])
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
