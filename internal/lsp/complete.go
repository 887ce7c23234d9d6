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

func listCompletions(d *document, p *params) (any, error) {
	line := ""
	if p.Position.Line < len(d.text.lines) {
		line = d.text.textBefore(p.Position)
	}
	at := d.readContext(p.Position.Line, line)
	out := []completion{}
	switch member := memberAt.Get().FindStringSubmatch(line); {
	case member != nil:
		out = d.listNames(memberKinds[member[1]], at.graph)
	case at.isInExpression(line):
		if typed := d.listMembers(at.graph, line); len(typed) > 0 {
			return typed, nil
		}
		out = d.listExpressionNames(at.graph)
	case valueAt.Get().MatchString(line):
		out = d.listValues(at, valueAt.Get().FindStringSubmatch(line)[1])
	case keyAtEnd.Get().MatchString(line):
		for _, k := range at.listKeys(line) {
			out = append(out, completion{k.Name, itemKey, "", newMarkup(describeKey(&k))})
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

// readContext returns the context of a line, read from the indentation of the lines above.
func (d *document) readContext(number int, line string) lineContext {
	var out lineContext
	indent := len(line) - len(strings.TrimLeft(line, " -"))
	var path []string
	for n := number - 1; n >= 0 && indent > 0; n-- {
		if m := keyLine.Get().FindStringSubmatch(d.text.line(n)); m != nil && len(m[1]) < indent {
			indent = len(m[1])
			path = append(path, m[2])
		}
	}
	slices.Reverse(path)
	if m := keyLine.Get().FindStringSubmatch(line); m != nil && strings.ContainsAny(m[3], "{[") {
		path = append(path, m[2])
	}
	if len(path) > 1 && path[0] == "graphs" {
		out.graph, path = path[1], path[2:]
	}
	out.path = path
	if len(path) > 1 && path[0] == "nodes" {
		out.kind = d.findKind(number)
	}
	return out
}

var kindWord = lazyregexp.New(`\bkind: *["']?(\w+)`)

// findKind returns the `kind` of the node that a line belongs to, or "".
func (d *document) findKind(number int) string {
	kind := func(n int) string {
		if m := kindWord.Get().FindStringSubmatch(d.text.line(n)); m != nil {
			return m[1]
		}
		return ""
	}
	if own := kind(number); own != "" {
		return own
	}
	own := d.text.indent(number)
	for _, step := range []int{-1, 1} {
		for n := number + step; n >= 0 && n < len(d.text.lines); n += step {
			if strings.TrimSpace(d.text.line(n)) != "" && d.text.indent(n) < own {
				break
			}
			if found := kind(n); found != "" && d.text.indent(n) == own {
				return found
			}
		}
	}
	return ""
}

// listKeys returns the keys that are allowed in a context and not yet on the line.
func (p lineContext) listKeys(line string) []spec.Key {
	keys := spec.TopKeys
	for i, name := range p.path {
		if i == 1 && p.path[0] == "nodes" {
			keys = append([]spec.Key{{Name: "kind", Type: spec.TypeEnum, Doc: "The kind of the node."}}, listKeysOfKind(p.kind)...)
			continue
		}
		if i == 1 && declaredKinds[p.path[0]] != "" || i == 1 && p.path[0] == "providers" {
			continue // keys has the keys of the map's elements already
		}
		key := spec.FindKey(keys, name)
		if key == nil {
			return nil
		}
		keys = listNestedKeys(key)
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k spec.Key) bool {
		return regexp.MustCompile(`[{,]\s*` + regexp.QuoteMeta(k.Name) + `:`).MatchString(line)
	})
}

// listNestedKeys returns the keys of the map, or list of maps, that a key takes.
func listNestedKeys(k *spec.Key) []spec.Key {
	if len(k.Keys) > 0 {
		return k.Keys
	}
	if k.Elem != nil {
		return listNestedKeys(k.Elem)
	}
	for i := range k.Forms {
		if keys := listNestedKeys(&k.Forms[i]); len(keys) > 0 {
			return keys
		}
	}
	return nil
}

func (p lineContext) findKey(name string) *spec.Key {
	return spec.FindKey(slices.Concat(p.listKeys(""), spec.NodeKeys, spec.TopKeys), name)
}

func (p lineContext) isInExpression(line string) bool {
	if open := strings.LastIndex(line, "{{"); open >= 0 && !strings.Contains(line[open:], "}}") {
		return true
	}
	around := ""
	if len(p.path) > 0 {
		around = p.path[len(p.path)-1]
	}
	value := valueAt.Get().FindStringSubmatch(line)
	if value == nil {
		return around == "set" && strings.Contains(line, ":")
	}
	key := p.findKey(value[1])
	return around == "set" || around == "writes" || key != nil && (key.Role == spec.RoleExpr || key.Role == spec.RoleSet)
}

// newLabels returns completions of a kind without documentation.
func newLabels(kind int, names ...string) []completion {
	out := make([]completion, len(names))
	for i, name := range names {
		out[i] = completion{Label: name, Kind: kind}
	}
	return out
}

func (d *document) listNames(kind, graph string) []completion {
	out := []completion{}
	item := itemVariable
	if kind == "node" {
		item = itemNode
	}
	for i := range d.names.uses {
		if u := &d.names.uses[i]; u.decl && u.kind == kind && u.graph == graph {
			out = append(out, completion{u.name, item, kind, newMarkup(d.describeName(u))})
		}
	}
	return out
}

// listExpressionNames returns the names and functions that an expression can use.
func (d *document) listExpressionNames(graph string) []completion {
	out := append(d.listNames("key", graph), newLabels(itemField, "branches", "error", "goal", "history", "input", "inputs", "item", "index", "last", "node", "nodes", "outcome", "output", "run", "state", "step", "visit", "visits")...)
	for _, name := range eval.Functions() {
		item := completion{Label: name, Kind: itemFunction}
		if f := functions()[name]; f != nil {
			item.Detail, item.Doc = f.example, newMarkup(f.describe())
		}
		out = append(out, item)
	}
	return out
}

func (d *document) listValues(p lineContext, name string) []completion {
	out := []completion{}
	if name == "kind" {
		for _, k := range spec.BuiltinKinds {
			out = append(out, completion{k.Name, itemEnum, "", newMarkup(k.Doc)})
		}
		return out
	}
	key := p.findKey(name)
	if key == nil {
		return out
	}
	for _, form := range append([]spec.Key{*key}, key.Forms...) {
		if form.Elem != nil && len(form.Enum) == 0 && form.Role == spec.RolePlain {
			form = *form.Elem
		}
		switch {
		case form.Role == spec.RoleNode:
			return append(d.listNames("node", p.graph), completion{Label: spec.END, Kind: itemNode})
		case form.Role == spec.RoleState:
			return d.listNames("key", p.graph)
		case form.Type == spec.TypeBool:
			out = append(out, newLabels(itemEnum, "true", "false")...)
		}
		out = append(out, newLabels(itemEnum, form.Enum...)...)
	}
	switch name {
	case "writes":
		return d.listNames("key", p.graph)
	case "tools", "tool", "model":
		return d.listNames(strings.TrimSuffix(name, "s"), "")
	}
	return out
}

// listMembers returns the members of the object before the cursor, or the values of its enum.
func (d *document) listMembers(graph, line string) (out []completion) {
	if m := pathAt.Get().FindStringSubmatch(line); m != nil {
		properties, _ := d.findSchema(graph, m[1])["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			schema, _ := properties[name].(map[string]any)
			typ, _ := schema["type"].(string)
			out = append(out, completion{Label: name, Kind: itemField, Detail: typ})
		}
		if parts := strings.Split(m[1], "."); len(parts) == 2 && parts[0] == "nodes" {
			out = append(out, newLabels(itemField, "error", "outcome", "output", "visits")...)
		}
		return out
	}
	if m := equalsAt.Get().FindStringSubmatch(line); m != nil {
		values, _ := d.findSchema(graph, m[1])["enum"].([]any)
		for _, v := range values {
			label := fmt.Sprint(v)
			if _, ok := v.(string); ok && m[2] == "" {
				label = "'" + label + "'"
			}
			out = append(out, newLabels(itemEnum, label)...)
		}
	}
	return out
}

// findSchema returns the JSON Schema of a state key, an output, or a member of one, or nil.
func (d *document) findSchema(graph, path string) (schema map[string]any) {
	g := d.findGraph(graph)
	if g == nil {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(path, "state."), ".")
	if len(parts) > 2 && parts[0] == "nodes" && parts[2] == "output" {
		if n := g.Node(parts[1]); n != nil {
			schema = n.Output
		}
		parts = parts[2:]
	} else if key := g.Key(parts[0]); key != nil {
		schema = key.Schema
	}
	for _, name := range parts[1:] {
		properties, _ := schema["properties"].(map[string]any)
		schema, _ = properties[name].(map[string]any)
	}
	return schema
}
