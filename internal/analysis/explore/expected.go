// The schemas that expressions expect of results without a declared schema, such as a list in
// filter(output, # > 1).

package explore

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/domain"
)

// doc is a JSON Schema.
type doc = map[string]any

// Schemas of operands and arguments.
var (
	boolean = doc{"type": "boolean"}
	number  = doc{"type": "number"}
	text    = doc{"type": "string"}
	numbers = doc{"type": "array", "items": number, "minItems": 1}
)

// operands are the schemas that operators and functions expect of each operand.
var operands = map[string]doc{
	"not": boolean, "and": boolean, "or": boolean, "<": number, "<=": number, ">": number, ">=": number, "-": number, "*": number, "/": number, "%": number,
	"startsWith": text, "endsWith": text, "contains": text, "matches": text,
	"min": number, "max": number, "abs": number, "round": number, "floor": number, "ceil": number, "float": number, "int": number,
	"sum": number, "mean": number, "median": number, "join": {"type": "array", "items": text}, "lower": text, "upper": text, "trim": text, "split": text,
	// of the body that is evaluated for each element:
	"any": boolean, "all": boolean, "none": boolean, "one": boolean, "count": boolean, "filter": boolean, "find": boolean, "findIndex": boolean,
}

// expectResult returns the schema that the expressions of a node expect of its result, or of one
// element of its each. The schema is empty if nothing is expected.
func (m *Model) expectResult(v int) doc {
	root := doc{}
	for _, e := range m.own[v] {
		if !e.Program.Uses("output") {
			continue
		}
		var want doc
		if key := m.graph.Key(m.findTarget(e)); e.Field == "writes" && key != nil {
			if tree := e.Program.Tree(); !collects(key) || tree.Op == eval.TreeList || tree.Over != nil {
				want = key.Schema
			}
		}
		expectValue(e.Program.Tree(), want, map[string]doc{"output": root})
	}
	if m.graph.Nodes[v].Each.IsSet() {
		return extendSchema(root, "[0]")
	}
	return root
}

// expectValue extends the schemas of names so that the value of an expression can have the schema
// want, which may be nil.
func expectValue(t *eval.Tree, want doc, names map[string]doc) {
	if t.Op == eval.TreePath {
		if at, known := names[t.Path[0]]; known {
			for _, part := range t.Path[1:] {
				at = extendSchema(at, part)
			}
			if len(at) == 0 {
				maps.Copy(at, cloneSchema(want).(doc))
			}
		}
		return
	}
	if t.Over != nil {
		expectElements(t, want, names)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Members)) {
		expectValue(t.Members[name], domain.Subschema(want, name), names)
	}
	function := t.Op == eval.TreeCall
	for i, a := range t.Args {
		of := operands[t.Name]
		switch {
		case t.Op == eval.TreeList:
			of, _ = want["items"].(doc)
		case t.Op == eval.TreeChoice && i == 0:
			of = boolean
		case t.Op == eval.TreeChoice, t.Name == "??", t.Name == "+", t.Name == "concat":
			of = want
		case function && len(t.Args) == 1 && slices.Contains([]string{"min", "max", "sum", "mean", "median"}, t.Name):
			of = numbers
		case function && (t.Name == "first" || t.Name == "last"):
			of = doc{"type": "array", "items": want, "minItems": 1}
		case function && i > 0 && (t.Name == "join" || t.Name == "split"):
			continue // the separator
		}
		expectValue(a, of, names)
	}
}

// expectElements extends the schemas of names by what an expression needs of each element.
func expectElements(t *eval.Tree, want doc, names map[string]doc) {
	function, _, _ := strings.Cut(t.Name, "(")
	body := operands[function]
	if function == "map" {
		body, _ = want["items"].(doc)
	}
	element := doc{}
	inner := maps.Clone(names)
	inner["#"] = element
	expectValue(t.Body, body, inner)
	expectValue(t.Over, doc{"type": "array", "items": element}, names)
}

// extendSchema returns the schema of a member or an element. It adds a missing one.
func extendSchema(at doc, part string) doc {
	parent, kind := at, "array"
	if !isElement(part) {
		kind = "object"
		if parent, _ = at["properties"].(doc); parent == nil {
			parent = doc{}
			at["properties"] = parent
		}
	} else {
		part = "items"
	}
	at["type"] = kind
	sub, _ := parent[part].(doc)
	if sub == nil {
		sub = doc{}
		parent[part] = sub
	}
	return sub
}

// cloneSchema returns a schema that can be extended.
func cloneSchema(v any) any {
	object, is := v.(doc)
	if !is {
		return v
	}
	out := doc{}
	for key, part := range object {
		out[key] = cloneSchema(part)
	}
	return out
}
