// What a flow takes results for that declare no schema: a list where it asks something of
// each element, a number where it adds.

package explore

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/domain"
)

// doc is a JSON Schema that grows.
type doc = map[string]any

// expected is the schema that the expressions of a node take its result for, or that of
// an element where it runs for each; empty where they don't tell.
func (m *Model) expected(v int) doc {
	root := doc{}
	for _, e := range m.own[v] {
		if !e.Program.Uses("output") {
			continue
		}
		var want doc
		if key := m.graph.Key(m.target(e)); e.Field == "writes" && key != nil {
			gathers := slices.Contains([]string{"append", "prepend", "union"}, key.Reducer.Value)
			if tree := e.Program.Tree(); !gathers || tree.Op == eval.TreeList || tree.Over != nil {
				want = key.Schema
			}
		}
		expect(e.Program.Tree(), want, map[string]doc{"output": root})
	}
	if m.graph.Nodes[v].Each.IsSet() {
		return inside(root, "[0]")
	}
	return root
}

// expect takes in what a part of an expression has to be for its value to be of a schema,
// nil for any; roots are the schemas of the names that are looked at.
func expect(t *eval.Tree, want doc, roots map[string]doc) {
	switch t.Op {
	case eval.TreePath:
		if at, known := roots[t.Path[0]]; known {
			for _, part := range t.Path[1:] {
				at = inside(at, part)
			}
			if len(at) == 0 {
				maps.Copy(at, cloned(want).(doc))
			}
		}
	case eval.TreeList:
		items, _ := want["items"].(doc)
		for _, a := range t.Args {
			expect(a, items, roots)
		}
	case eval.TreeUnary:
		expect(t.Args[0], typed(map[string]string{"not": "boolean", "-": "number"}[t.Name]), roots)
	case eval.TreeChoice:
		expect(t.Args[0], typed("boolean"), roots)
		expect(t.Args[1], want, roots)
		expect(t.Args[2], want, roots)
	case eval.TreeBinary:
		expectBoth(t, want, roots)
	case eval.TreeCall:
		expectArgs(t, want, roots)
	case eval.TreeOther:
		if t.Over != nil {
			expectEach(t, want, roots)
		}
		for _, name := range slices.Sorted(maps.Keys(t.Members)) {
			expect(t.Members[name], domain.Subschema(want, name), roots)
		}
	}
}

func expectBoth(t *eval.Tree, want doc, roots map[string]doc) {
	switch t.Name {
	case "and", "or":
		want = typed("boolean")
	case "<", "<=", ">", ">=", "-", "*", "/", "%":
		want = typed("number")
	case "startsWith", "endsWith", "contains", "matches":
		want = typed("string")
	case "??", "+":
	default:
		want = nil
	}
	for _, a := range t.Args {
		expect(a, want, roots)
	}
}

func expectArgs(t *eval.Tree, want doc, roots map[string]doc) {
	switch name := t.Name; {
	case slices.Contains([]string{"min", "max", "sum", "mean", "median"}, name) && len(t.Args) == 1:
		want = doc{"type": "array", "items": typed("number"), "minItems": 1}
	case slices.Contains([]string{"min", "max", "abs", "round", "floor", "ceil", "float", "int"}, name):
		want = typed("number")
	case name == "join":
		want = doc{"type": "array", "items": typed("string")}
	case slices.Contains([]string{"lower", "upper", "trim", "split"}, name):
		want = typed("string")
	case name == "first" || name == "last":
		want = doc{"type": "array", "items": cloned(want), "minItems": 1}
	case name != "concat":
		want = nil
	}
	for i, a := range t.Args {
		if i == 0 || t.Name != "join" && t.Name != "split" { // what separates is a text
			expect(a, want, roots)
		}
	}
}

// expectEach is expect for what is asked of each element of a list.
func expectEach(t *eval.Tree, want doc, roots map[string]doc) {
	element := doc{}
	var body doc
	switch function, _, _ := strings.Cut(t.Name, "("); function {
	case "any", "all", "none", "one", "count", "filter", "find", "findIndex":
		body = typed("boolean")
	case "sum":
		body = typed("number")
	case "map":
		body, _ = want["items"].(doc)
	}
	inner := maps.Clone(roots)
	inner["#"] = element
	expect(t.Body, body, inner)
	expect(t.Over, doc{"type": "array", "items": element}, roots)
}

func typed(kind string) doc { return doc{"type": kind} }

// inside is the schema of a member or an element, made where there is none.
func inside(at doc, part string) doc {
	if strings.HasPrefix(part, "[") {
		at["type"] = "array"
		items, _ := at["items"].(doc)
		if items == nil {
			items = doc{}
			at["items"] = items
		}
		return items
	}
	at["type"] = "object"
	properties, _ := at["properties"].(doc)
	if properties == nil {
		properties = doc{}
		at["properties"] = properties
	}
	member, _ := properties[part].(doc)
	if member == nil {
		member = doc{}
		properties[part] = member
	}
	return member
}

// cloned is a schema whose own parts may be changed.
func cloned(v any) any {
	object, is := v.(doc)
	if !is {
		return v
	}
	out := doc{}
	for key, part := range object {
		out[key] = cloned(part)
	}
	return out
}
