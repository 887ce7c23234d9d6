// What may stand at a place. A text that is being typed is seldom YAML: the line so far
// says what is wanted, and the lines above where it is.

package lsp

import (
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// Kinds of completions, as the protocol counts them.
const (
	itemFunction = 3
	itemField    = 5
	itemVariable = 6
	itemNode     = 7
	itemEnum     = 13
	itemKey      = 14
)

var (
	memberAt = regexp.MustCompile(`\b(nodes|history|visits|branches|state|secrets)\.\w*$`)
	valueAt  = regexp.MustCompile(`(?:^|[\s{,])([A-Za-z_]\w*): *(\[(?:[^\]]*,)? *|["']?)([^,\]}]*)$`)
	keyAtEnd = regexp.MustCompile(`^\s*(?:- )*\w*$|[{,]\s*\w*$`)
	keyLine  = regexp.MustCompile(`^(\s*(?:- +)*)([A-Za-z_][\w-]*):(.*)$`)
)

func complete(d *document, p *params) (any, error) {
	line := ""
	if p.Position.Line < len(d.text.lines) {
		line = d.text.src[d.text.lines[p.Position.Line]:d.text.offset(p.Position)]
	}
	place := d.place(p.Position.Line, line)
	out := []completion{}
	switch member := memberAt.FindStringSubmatch(line); {
	case member != nil:
		kind := map[string]string{"state": "key", "secrets": "secret"}[member[1]]
		out = d.named(out, kind, place.graph)
	case place.expression(line):
		out = d.inExpression(out, place.graph)
	default:
		if value := valueAt.FindStringSubmatch(line); value != nil {
			return d.values(place, value[1]), nil
		}
		if keyAtEnd.MatchString(line) {
			for _, k := range place.table(line) {
				out = append(out, completion{k.Name, itemKey, "", &markup{"markdown", aboutKey(&k)}})
			}
		}
	}
	return out, nil
}

// place is where a line stands: the names of the keys around it, outermost first.
type place struct {
	path  []string
	kind  string // of the node
	graph string // the entry of graphs
}

// place reads the lines above by their indentation.
func (d *document) place(number int, line string) place {
	var out place
	indent := len(line) - len(strings.TrimLeft(line, " -"))
	var path []string
	for n := number - 1; n >= 0 && indent > 0; n-- {
		above := d.text.line(n)
		m := keyLine.FindStringSubmatch(above)
		if m == nil || len(m[1]) >= indent {
			continue
		}
		indent = len(m[1])
		path = append(path, m[2])
	}
	slices.Reverse(path)
	if m := keyLine.FindStringSubmatch(line); m != nil && strings.ContainsAny(m[3], "{[") {
		path = append(path, m[2])
	}
	if len(path) > 1 && path[0] == "graphs" {
		out.graph, path = path[1], path[2:]
	}
	out.path = path
	if len(path) > 1 && path[0] == "nodes" {
		out.kind = d.kindAt(number)
	}
	return out
}

var kindWord = regexp.MustCompile(`\bkind: *["']?(\w+)`)

// kindAt is the kind of the node that a line belongs to, as it is written near the line.
func (d *document) kindAt(number int) string {
	if m := kindWord.FindStringSubmatch(d.text.line(number)); m != nil {
		return m[1]
	}
	indent := func(n int) int { return len(d.text.line(n)) - len(strings.TrimLeft(d.text.line(n), " ")) }
	own := indent(number)
	for _, step := range []int{-1, 1} {
		for n := number + step; n >= 0 && n < len(d.text.lines); n += step {
			if strings.TrimSpace(d.text.line(n)) != "" && indent(n) < own {
				break
			}
			if m := kindWord.FindStringSubmatch(d.text.line(n)); m != nil && indent(n) == own {
				return m[1]
			}
		}
	}
	return ""
}

// table are the keys that may stand in a place.
func (p place) table(line string) []spec.Key {
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
			continue // the table is that of the map's elements already
		}
		at := slices.IndexFunc(keys, func(k spec.Key) bool { return k.Name == name })
		if at < 0 {
			return nil
		}
		keys = inside(&keys[at])
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k spec.Key) bool {
		return regexp.MustCompile(`[{,]\s*` + regexp.QuoteMeta(k.Name) + `:`).MatchString(line)
	})
}

// inside are the keys of the maps that a value consists of.
func inside(k *spec.Key) []spec.Key {
	if len(k.Keys) > 0 {
		return k.Keys
	}
	if k.Elem != nil {
		return inside(k.Elem)
	}
	for i := range k.Forms {
		if keys := inside(&k.Forms[i]); len(keys) > 0 {
			return keys
		}
	}
	return nil
}

// key is the key of a name in a place; nil: none is known.
func (p place) key(name string) *spec.Key {
	for _, table := range [][]spec.Key{p.table(""), spec.NodeKeys(), spec.TopKeys()} {
		if at := slices.IndexFunc(table, func(k spec.Key) bool { return k.Name == name }); at >= 0 {
			return &table[at]
		}
	}
	return nil
}

// expression reports whether the end of a line is inside of an expression.
func (p place) expression(line string) bool {
	if open := strings.LastIndex(line, "{{"); open >= 0 && !strings.Contains(line[open:], "}}") {
		return true
	}
	value := valueAt.FindStringSubmatch(line)
	if value == nil {
		return len(p.path) > 0 && p.path[len(p.path)-1] == "set" && strings.Contains(line, ":")
	}
	if len(p.path) > 0 && (p.path[len(p.path)-1] == "set" || p.path[len(p.path)-1] == "writes") {
		return true
	}
	key := p.key(value[1])
	return key != nil && (key.Role == spec.RoleExpr || key.Role == spec.RoleSet)
}

// named are the names that the file declares; a kind of "" is that of nodes.
func (d *document) named(out []completion, kind, graph string) []completion {
	if d.names == nil {
		return out
	}
	item := itemVariable
	if kind == "" {
		kind, item = "node", itemNode
	}
	for i := range d.names.uses {
		if u := &d.names.uses[i]; u.decl && u.kind == kind && u.graph == graph {
			out = append(out, completion{u.name, item, kind, &markup{"markdown", d.about(u)}})
		}
	}
	return out
}

// inExpression are the names that an expression sees.
func (d *document) inExpression(out []completion, graph string) []completion {
	out = d.named(out, "key", graph)
	for _, name := range []string{"branches", "error", "goal", "history", "input", "inputs", "item", "index", "last", "node", "nodes", "outcome", "output", "run", "state", "step", "visit", "visits"} {
		out = append(out, completion{Label: name, Kind: itemField})
	}
	for _, name := range eval.Functions() {
		out = append(out, completion{Label: name, Kind: itemFunction})
	}
	return out
}

// values are what a key may have.
func (d *document) values(p place, name string) []completion {
	out := []completion{}
	if name == "kind" {
		for _, k := range spec.BuiltinKinds() {
			out = append(out, completion{k.Name, itemEnum, "", &markup{"markdown", k.Doc}})
		}
		return out
	}
	key := p.key(name)
	if key == nil {
		return out
	}
	for _, form := range append([]spec.Key{*key}, key.Forms...) {
		if form.Elem != nil && len(form.Enum) == 0 && form.Role == spec.RolePlain {
			form = *form.Elem
		}
		if form.Role == spec.RoleNode {
			out = d.named(out, "", p.graph)
			return append(out, completion{Label: spec.END, Kind: itemNode})
		}
		if form.Role == spec.RoleState {
			return d.named(out, "key", p.graph)
		}
		for _, word := range form.Enum {
			out = append(out, completion{Label: word, Kind: itemEnum})
		}
		if form.Type == spec.TypeBool {
			out = append(out, completion{Label: "true", Kind: itemEnum}, completion{Label: "false", Kind: itemEnum})
		}
	}
	switch name {
	case "writes":
		return d.named(out, "key", p.graph)
	case "tools", "tool":
		return d.named(out, "tool", "")
	case "model":
		return d.named(out, "model", "")
	}
	return out
}
