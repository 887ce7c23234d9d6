// Completion. A file is rarely valid YAML while the user types, so completion reads the
// text before the cursor and the indentation of the lines above.

package lsp

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

// Completion item kinds of the protocol.
const (
	itemFunction = 3
	itemField    = 5
	itemVariable = 6
	itemNode     = 7
	itemEnum     = 13
	itemKey      = 14
)

var (
	pathAt   = lazyregexp.New(`([A-Za-z_]\w*(?:\.\w+)*)\.\w*$`)
	equalsAt = lazyregexp.New(`([A-Za-z_]\w*(?:\.\w+)*) *[!=]= *(["']?)\w*$`)
	memberAt = lazyregexp.New(`\b(nodes|history|visits|branches|state|secrets)\.\w*$`)
	valueAt  = lazyregexp.New(`(?:^|[\s{,])([A-Za-z_]\w*): *(\[(?:[^\]]*,)? *|["']?)([^,\]}]*)$`)
	keyAtEnd = lazyregexp.New(`^\s*(?:- )*\w*$|[{,]\s*\w*$`)
	keyLine  = lazyregexp.New(`^(\s*(?:- +)*)([A-Za-z_][\w-]*):(.*)$`)
)

func complete(d *document, p *params) (any, error) {
	line := ""
	if p.Position.Line < len(d.text.lines) {
		line = d.text.src[d.text.lines[p.Position.Line]:d.text.offset(p.Position)]
	}
	at := d.contextOf(p.Position.Line, line)
	out := []completion{}
	switch member := memberAt().FindStringSubmatch(line); {
	case member != nil:
		kind := map[string]string{"state": "key", "secrets": "secret"}[member[1]]
		out = d.completeNames(out, kind, at.graph)
	case at.inExpression(line):
		if typed := d.completeTyped(at.graph, line); len(typed) > 0 {
			return typed, nil
		}
		out = d.completeExpression(out, at.graph)
	default:
		if value := valueAt().FindStringSubmatch(line); value != nil {
			return d.completeValue(at, value[1]), nil
		}
		if keyAtEnd().MatchString(line) {
			for _, k := range at.keys(line) {
				out = append(out, completion{k.Name, itemKey, "", &markup{"markdown", describeKey(&k)}})
			}
		}
	}
	return out, nil
}

// lineContext describes where a line is: the enclosing keys, outermost first.
type lineContext struct {
	path  []string
	kind  string // of the node
	graph string // the entry of graphs
}

// contextOf returns the context of a line, read from the indentation of the lines above.
func (d *document) contextOf(number int, line string) lineContext {
	var out lineContext
	indent := len(line) - len(strings.TrimLeft(line, " -"))
	var path []string
	for n := number - 1; n >= 0 && indent > 0; n-- {
		above := d.text.line(n)
		m := keyLine().FindStringSubmatch(above)
		if m == nil || len(m[1]) >= indent {
			continue
		}
		indent = len(m[1])
		path = append(path, m[2])
	}
	slices.Reverse(path)
	if m := keyLine().FindStringSubmatch(line); m != nil && strings.ContainsAny(m[3], "{[") {
		path = append(path, m[2])
	}
	if len(path) > 1 && path[0] == "graphs" {
		out.graph, path = path[1], path[2:]
	}
	out.path = path
	if len(path) > 1 && path[0] == "nodes" {
		out.kind = d.nodeKind(number)
	}
	return out
}

var kindWord = lazyregexp.New(`\bkind: *["']?(\w+)`)

// nodeKind returns the `kind` of the node that a line belongs to, or "".
func (d *document) nodeKind(number int) string {
	if m := kindWord().FindStringSubmatch(d.text.line(number)); m != nil {
		return m[1]
	}
	indent := func(n int) int { return len(d.text.line(n)) - len(strings.TrimLeft(d.text.line(n), " ")) }
	own := indent(number)
	for _, step := range []int{-1, 1} {
		for n := number + step; n >= 0 && n < len(d.text.lines); n += step {
			if strings.TrimSpace(d.text.line(n)) != "" && indent(n) < own {
				break
			}
			if m := kindWord().FindStringSubmatch(d.text.line(n)); m != nil && indent(n) == own {
				return m[1]
			}
		}
	}
	return ""
}

// keys returns the keys that are allowed in a context and not yet on the line.
func (p lineContext) keys(line string) []spec.Key {
	keys := spec.TopKeys()
	for i, name := range p.path {
		switch {
		case p.path[0] == "nodes" && i == 1:
			keys = append([]spec.Key{{Name: "kind", Type: spec.TypeEnum, Doc: "The kind of the node."}}, spec.NodeKeys()...)
			for _, k := range spec.BuiltinKinds() {
				if k.Name == p.kind {
					keys = append(keys, k.Keys...)
				}
			}
			continue
		case p.path[0] == "state" && i == 1, p.path[0] == "tools" && i == 1, p.path[0] == "providers" && i == 1, p.path[0] == "secrets" && i == 1:
			continue // keys has the keys of the map's elements already
		}
		at := slices.IndexFunc(keys, func(k spec.Key) bool { return k.Name == name })
		if at < 0 {
			return nil
		}
		keys = nestedKeys(&keys[at])
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k spec.Key) bool {
		return regexp.MustCompile(`[{,]\s*` + regexp.QuoteMeta(k.Name) + `:`).MatchString(line)
	})
}

// nestedKeys returns the keys of the map, or list of maps, that a key takes.
func nestedKeys(k *spec.Key) []spec.Key {
	if len(k.Keys) > 0 {
		return k.Keys
	}
	if k.Elem != nil {
		return nestedKeys(k.Elem)
	}
	for i := range k.Forms {
		if keys := nestedKeys(&k.Forms[i]); len(keys) > 0 {
			return keys
		}
	}
	return nil
}

// lookupKey returns the key with a name in a context, or nil.
func (p lineContext) lookupKey(name string) *spec.Key {
	for _, table := range [][]spec.Key{p.keys(""), spec.NodeKeys(), spec.TopKeys()} {
		if at := slices.IndexFunc(table, func(k spec.Key) bool { return k.Name == name }); at >= 0 {
			return &table[at]
		}
	}
	return nil
}

// inExpression reports whether the cursor is inside an expression.
func (p lineContext) inExpression(line string) bool {
	if open := strings.LastIndex(line, "{{"); open >= 0 && !strings.Contains(line[open:], "}}") {
		return true
	}
	value := valueAt().FindStringSubmatch(line)
	if value == nil {
		return len(p.path) > 0 && p.path[len(p.path)-1] == "set" && strings.Contains(line, ":")
	}
	if len(p.path) > 0 && (p.path[len(p.path)-1] == "set" || p.path[len(p.path)-1] == "writes") {
		return true
	}
	key := p.lookupKey(value[1])
	return key != nil && (key.Role == spec.RoleExpr || key.Role == spec.RoleSet)
}

// labels returns completions of a kind without documentation.
func labels(kind int, names ...string) []completion {
	out := make([]completion, len(names))
	for i, name := range names {
		out[i] = completion{Label: name, Kind: kind}
	}
	return out
}

// completeNames adds the declared names of a kind; "" means nodes.
func (d *document) completeNames(out []completion, kind, graph string) []completion {
	if d.names == nil {
		return out
	}
	item := itemVariable
	if kind == "" {
		kind, item = "node", itemNode
	}
	for i := range d.names.uses {
		if u := &d.names.uses[i]; u.decl && u.kind == kind && u.graph == graph {
			out = append(out, completion{u.name, item, kind, &markup{"markdown", d.describe(u)}})
		}
	}
	return out
}

// completeExpression adds the names and functions that an expression can use.
func (d *document) completeExpression(out []completion, graph string) []completion {
	out = d.completeNames(out, "key", graph)
	out = append(out, labels(itemField, "branches", "error", "goal", "history", "input", "inputs", "item", "index", "last", "node", "nodes", "outcome", "output", "run", "state", "step", "visit", "visits")...)
	for _, name := range eval.Functions() {
		item := completion{Label: name, Kind: itemFunction}
		if f, ok := functions()[name]; ok {
			item.Detail, item.Doc = f.example, &markup{"markdown", f.describe()}
		}
		out = append(out, item)
	}
	return out
}

// completeValue returns the values that a key allows.
func (d *document) completeValue(p lineContext, name string) []completion {
	out := []completion{}
	if name == "kind" {
		for _, k := range spec.BuiltinKinds() {
			out = append(out, completion{k.Name, itemEnum, "", &markup{"markdown", k.Doc}})
		}
		return out
	}
	key := p.lookupKey(name)
	if key == nil {
		return out
	}
	for _, form := range append([]spec.Key{*key}, key.Forms...) {
		if form.Elem != nil && len(form.Enum) == 0 && form.Role == spec.RolePlain {
			form = *form.Elem
		}
		if form.Role == spec.RoleNode {
			out = d.completeNames(out, "", p.graph)
			return append(out, completion{Label: spec.END, Kind: itemNode})
		}
		if form.Role == spec.RoleState {
			return d.completeNames(out, "key", p.graph)
		}
		out = append(out, labels(itemEnum, form.Enum...)...)
		if form.Type == spec.TypeBool {
			out = append(out, labels(itemEnum, "true", "false")...)
		}
	}
	switch name {
	case "writes":
		return d.completeNames(out, "key", p.graph)
	case "tools", "tool":
		return d.completeNames(out, "tool", "")
	case "model":
		return d.completeNames(out, "model", "")
	}
	return out
}

// completeTyped returns the members of the object before the cursor, or the values of the
// enum that is compared with.
func (d *document) completeTyped(graph, line string) (out []completion) {
	if m := pathAt().FindStringSubmatch(line); m != nil {
		properties, _ := d.schemaAt(graph, m[1])["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			out = append(out, completion{Label: name, Kind: itemField, Detail: typeName(properties[name])})
		}
		if parts := strings.Split(m[1], "."); len(parts) == 2 && parts[0] == "nodes" {
			out = append(out, labels(itemField, "error", "outcome", "output", "visits")...)
		}
		return out
	}
	if m := equalsAt().FindStringSubmatch(line); m != nil {
		values, _ := d.schemaAt(graph, m[1])["enum"].([]any)
		for _, v := range values {
			label := fmt.Sprint(v)
			if _, ok := v.(string); ok && m[2] == "" {
				label = "'" + label + "'"
			}
			out = append(out, labels(itemEnum, label)...)
		}
	}
	return out
}

// schemaAt returns the JSON Schema of a state key, an output, or a member of one, or nil.
func (d *document) schemaAt(graph, path string) map[string]any {
	g := d.last
	if g != nil && graph != "" {
		g = g.Inner("#" + graph)
	}
	if g == nil {
		return nil
	}
	parts := strings.Split(path, ".")
	if parts[0] == "state" {
		parts = parts[1:]
	}
	var doc map[string]any
	switch {
	case len(parts) == 0:
	case len(parts) > 2 && parts[0] == "nodes" && parts[2] == "output":
		if n := g.Node(parts[1]); n != nil {
			doc = n.Output
		}
		parts = parts[2:]
	case g.Key(parts[0]) != nil:
		doc = g.Key(parts[0]).Schema
	}
	for _, name := range parts[min(1, len(parts)):] {
		properties, _ := doc["properties"].(map[string]any)
		doc, _ = properties[name].(map[string]any)
	}
	return doc
}

func typeName(schema any) string {
	doc, _ := schema.(map[string]any)
	name, _ := doc["type"].(string)
	return name
}
