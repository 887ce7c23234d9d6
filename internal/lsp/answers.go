// Requests about a position: hover, definition, references, rename, code actions, symbols.

package lsp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// useAt returns the use at a position of a name that this or another file declares, or nil.
func (d *document) useAt(p position) *use {
	if d.names == nil {
		return nil
	}
	at := d.text.offset(p)
	for i := range d.names.uses {
		if u := &d.names.uses[i]; u.from <= at && at <= u.to && (u.file != "" || d.declaration(u) != nil) {
			return u
		}
	}
	return nil
}

// declaration returns the declaration of a name, or nil.
func (d *document) declaration(u *use) *use {
	for i := range d.names.uses {
		if o := &d.names.uses[i]; o.decl && o.same(u) {
			return o
		}
	}
	return nil
}

// usesAt returns all uses of the name at a position, in file order.
func (d *document) usesAt(p position) []use {
	if u := d.useAt(p); u != nil {
		return d.usesOf(u)
	}
	return nil
}

// usesOf returns all uses of a name, in file order.
func (d *document) usesOf(u *use) []use {
	var out []use
	for _, o := range d.names.uses {
		if o.same(u) && (len(out) == 0 || out[len(out)-1].from != o.from) {
			out = append(out, o)
		}
	}
	return out
}

func (s *Server) definition(d *document, p *params) (any, error) {
	d, u := s.declared(d, d.useAt(p.Position))
	if u == nil {
		return nil, nil
	}
	decl := d.declaration(u)
	return location{d.uri, d.text.span(decl.from, decl.to)}, nil
}

func references(d *document, p *params) (any, error) {
	out := []location{}
	for _, u := range d.usesAt(p.Position) {
		out = append(out, location{d.uri, d.text.span(u.from, u.to)})
	}
	return out, nil
}

func highlights(d *document, p *params) (any, error) {
	out := []object{}
	for _, u := range d.usesAt(p.Position) {
		kind := 2 // read
		if u.decl || u.write {
			kind = 3 // write
		}
		out = append(out, object{"range": d.text.span(u.from, u.to), "kind": kind})
	}
	return out, nil
}

func prepareRename(d *document, p *params) (any, error) {
	u := d.useAt(p.Position)
	if u == nil {
		return nil, nil
	}
	return object{"range": d.text.span(u.from, u.to), "placeholder": u.name}, nil
}

func symbols(d *document, _ *params) (any, error) {
	out := []object{}
	if d.names == nil {
		return out, nil
	}
	// The kinds of the protocol: 5 class, 8 field, 12 function, 14 constant.
	kinds := map[string]int{"node": 5, "key": 8, "tool": 12, "model": 14, "graph": 5, "secret": 14}
	for i := range d.names.uses {
		u := &d.names.uses[i]
		if !u.decl {
			continue
		}
		name, at := u.name, d.text.span(u.from, u.to)
		if u.graph != "" {
			name = "#" + u.graph + "/" + name
		}
		out = append(out, object{"name": name, "detail": u.kind, "kind": kinds[u.kind], "range": at, "selectionRange": at})
	}
	return out, nil
}

func format(d *document, _ *params) (any, error) {
	src := []byte(d.text.src)
	if !spec.IsGraph(src) {
		return []textEdit{}, nil
	}
	formatted, err := spec.Format(d.path, src, nil)
	if err != nil {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: err.Error()}
	}
	if bytes.Equal(src, formatted) {
		return []textEdit{}, nil
	}
	return []textEdit{{d.text.span(0, len(src)), string(formatted)}}, nil
}

// hoverAt describes the rule that a comment suppresses, the declared name, the function or
// the key of the language at a position.
func hoverAt(d *document, p *params) (any, error) {
	if from, to, ok := d.wordAt(p.Position); ok {
		if rule, found := lint.FindRule(d.text.src[from:to]); found && strings.Contains(d.text.line(p.Position.Line), "#") {
			return d.hover("**"+rule.Name+"** — "+rule.Summary+"\n\n"+rule.Doc, from, to), nil
		}
	}
	if u := d.useAt(p.Position); u != nil {
		return d.hover(d.describe(u), u.from, u.to), nil
	}
	if d.names == nil {
		return nil, nil
	}
	at := d.text.offset(p.Position)
	if from, to, f, ok := d.functionAt(at); ok {
		return d.hover(f.describe(), from, to), nil
	}
	for _, k := range d.names.keys {
		if k.from <= at && at <= k.to {
			return d.hover(describeKey(k.key), k.from, k.to), nil
		}
	}
	return nil, nil
}

func (d *document) hover(text string, from, to int) object {
	return object{"contents": markup{"markdown", text}, "range": d.text.span(from, to)}
}

var ruleWord = lazyregexp.New(`[a-z]+(?:-[a-z]+)+`)

// wordAt returns the hyphenated word at a position.
func (d *document) wordAt(p position) (from, to int, ok bool) {
	if p.Line < 0 || p.Line >= len(d.text.lines) {
		return 0, 0, false
	}
	start, at := d.text.lines[p.Line], d.text.offset(p)
	for _, w := range ruleWord().FindAllStringIndex(d.text.line(p.Line), -1) {
		if from, to = start+w[0], start+w[1]; from <= at && at <= to {
			return from, to, true
		}
	}
	return 0, 0, false
}

func describeKey(k *spec.Key) string {
	out := "**" + k.Name + "** — " + k.Doc
	if k.Default != "" {
		out += "\n\nDefault: `" + k.Default + "`"
	}
	return out
}

// describe returns the hover text of a declared name.
func (d *document) describe(u *use) string {
	g := d.checked.Graph
	if g != nil && u.graph != "" {
		g = g.Inner("#" + u.graph)
	}
	out := fmt.Sprintf("**%s** — %s", u.name, u.kind)
	switch {
	case g == nil:
	case u.kind == "node" && g.Node(u.name) != nil:
		n := g.Node(u.name)
		out = fmt.Sprintf("**%s** — node of kind `%s`", u.name, n.Kind.Value)
		if from := sources(g, u.name); len(from) > 0 {
			out += "\n\nEdges from: " + strings.Join(from, ", ")
		}
		if keys := n.Keys(); len(keys) > 0 {
			out += "\n\nWrites: " + strings.Join(keys, ", ")
		}
	case u.kind == "key" && g.Key(u.name) != nil:
		key := g.Key(u.name)
		out = fmt.Sprintf("**%s** — state key", u.name)
		if t, ok := key.Schema["type"]; ok {
			out += fmt.Sprintf(" of type `%v`", t)
		}
		if key.Default != nil {
			out += fmt.Sprintf(", default `%v`", key.Default.Data())
		}
		if doc, ok := key.Schema["description"].(string); ok {
			out += "\n\n" + doc
		}
		if writers := d.users(u, true); len(writers) > 0 {
			out += "\n\nWritten by: " + strings.Join(writers, ", ")
		}
		if readers := d.users(u, false); len(readers) > 0 {
			out += "\n\nRead by: " + strings.Join(readers, ", ")
		}
	}
	return out
}

// users returns the nodes that write or read a state key.
func (d *document) users(key *use, write bool) (out []string) {
	for i := range d.names.uses {
		if u := &d.names.uses[i]; u.same(key) && u.write == write && u.node != "" && !slices.Contains(out, u.node) {
			out = append(out, u.node)
		}
	}
	return out
}

// sources returns the nodes with an edge to a node.
func sources(g *spec.Graph, to string) []string {
	var out []string
	for _, e := range g.Edges {
		if e.To.Value == to && !slices.Contains(out, e.From.Value) {
			out = append(out, e.From.Value)
		}
	}
	return out
}
