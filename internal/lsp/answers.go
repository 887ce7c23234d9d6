// Requests about a position: hover, definition, references, symbols.

package lsp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// findUse returns the use of a declared name at a position, or nil. Another file may declare it.
func (d *document) findUse(p position) *use {
	at := d.text.offset(p)
	for i := range d.names.uses {
		if u := &d.names.uses[i]; u.from <= at && at <= u.to && (u.file != "" || d.findDeclaration(u) != nil) {
			return u
		}
	}
	return nil
}

func (d *document) findDeclaration(u *use) *use {
	for i := range d.names.uses {
		if o := &d.names.uses[i]; o.decl && o.isSame(u) {
			return o
		}
	}
	return nil
}

// findUses returns all uses of a name in file order, or none if u is nil.
func (d *document) findUses(u *use) []use {
	var out []use
	if u == nil {
		return nil
	}
	for _, o := range d.names.uses {
		if o.isSame(u) && (len(out) == 0 || out[len(out)-1].from != o.from) {
			out = append(out, o)
		}
	}
	return out
}

func (s *Server) findDefinition(d *document, p *params) (any, error) {
	d, u := s.findDeclared(d, d.findUse(p.Position))
	if u == nil {
		return nil, nil
	}
	decl := d.findDeclaration(u)
	return d.newLocation(decl.from, decl.to), nil
}

func listReferences(d *document, p *params) (any, error) {
	out := []object{}
	for _, u := range d.findUses(d.findUse(p.Position)) {
		out = append(out, d.newLocation(u.from, u.to))
	}
	return out, nil
}

func listSymbols(d *document, _ *params) (any, error) {
	out := []object{}
	// The kinds of the protocol: 5 class, 8 field, 12 function, 14 constant.
	kinds := map[string]int{"node": 5, "key": 8, "tool": 12, "model": 14, "graph": 5, "secret": 14}
	for _, u := range d.names.uses {
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

func formatDocument(d *document, _ *params) (any, error) {
	src := []byte(d.text.src)
	if !spec.IsGraph(src) {
		return []textEdit{}, nil
	}
	formatted, err := spec.Format(d.path, src, nil)
	if err != nil {
		return nil, newRefusal("%v", err)
	}
	if bytes.Equal(src, formatted) {
		return []textEdit{}, nil
	}
	return []textEdit{{d.text.span(0, len(src)), string(formatted)}}, nil
}

// ruleName matches the names of rules.
var ruleName = lazyregexp.New(`[a-z]+(?:-[a-z]+)+`)

// describePosition describes the rule that a comment suppresses, the declared name, the function or
// the key of the language at a position.
func describePosition(d *document, p *params) (any, error) {
	at := d.text.offset(p.Position)
	start := d.text.lines[d.text.position(at).Line]
	line := d.text.line(d.text.position(at).Line)
	for _, w := range ruleName.Get().FindAllStringIndex(line, -1) {
		rule, known := lint.FindRule(line[w[0]:w[1]])
		if from, to := start+w[0], start+w[1]; known && from <= at && at <= to && strings.Contains(line, "#") {
			return d.newHover("**"+rule.Name+"** — "+rule.Summary+"\n\n"+rule.Doc, from, to), nil
		}
	}
	if u := d.findUse(p.Position); u != nil {
		return d.newHover(d.describeName(u), u.from, u.to), nil
	}
	if from, to, f := d.findFunction(at); f != nil {
		return d.newHover(f.describe(), from, to), nil
	}
	for _, k := range d.names.keys {
		if k.from <= at && at <= k.to {
			return d.newHover(describeKey(k.key), k.from, k.to), nil
		}
	}
	return nil, nil
}

func (d *document) newHover(text string, from, to int) object {
	return object{"contents": newMarkup(text), "range": d.text.span(from, to)}
}

func describeKey(k *spec.Key) string {
	out := "**" + k.Name + "** — " + k.Doc
	if k.Default != "" {
		out += "\n\nDefault: `" + k.Default + "`"
	}
	return out
}

// findGraph returns an entry of graphs, or for "" the file's graph. It returns nil before the first check.
func (d *document) findGraph(name string) *spec.Graph {
	if g := d.checked.Graph; g != nil && name != "" {
		return g.InnerGraph("#" + name)
	}
	return d.checked.Graph
}

func (d *document) describeName(u *use) string {
	g := d.findGraph(u.graph)
	var written, writers, readers, sources []string
	for _, o := range d.names.uses {
		switch {
		case u.kind == "node" && o.write && o.scope == u.scope && o.node == u.name:
			written = append(written, o.name)
		case o.write && o.isSame(u):
			writers = append(writers, o.node)
		case o.isSame(u):
			readers = append(readers, o.node)
		}
	}
	switch {
	case g == nil:
	case u.kind == "node" && g.Node(u.name) != nil:
		for _, e := range g.Edges {
			if e.To.Value == u.name {
				sources = append(sources, e.From.Value)
			}
		}
		return fmt.Sprintf("**%s** — node of kind `%s`", u.name, g.Node(u.name).Kind.Value) + listUnique("Edges from", sources) + listUnique("Writes", written)
	case u.kind == "key" && g.Key(u.name) != nil:
		key := g.Key(u.name)
		out := fmt.Sprintf("**%s** — state key", u.name)
		if t, ok := key.Schema["type"]; ok {
			out += fmt.Sprintf(" of type `%v`", t)
		}
		if key.Default != nil {
			out += fmt.Sprintf(", default `%v`", key.Default.Data())
		}
		if doc, ok := key.Schema["description"].(string); ok {
			out += "\n\n" + doc
		}
		return out + listUnique("Written by", writers) + listUnique("Read by", readers)
	}
	return fmt.Sprintf("**%s** — %s", u.name, u.kind)
}

// listUnique returns a paragraph that lists each name once, in order. It is "" without names.
func listUnique(title string, names []string) string {
	var out []string
	for _, name := range names {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if out == nil {
		return ""
	}
	return "\n\n" + title + ": " + strings.Join(out, ", ")
}
