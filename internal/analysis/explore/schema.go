// Values of schemas, and the schemas that expressions expect of results, as in filter(output, # > 1).

package explore

import (
	"maps"
	"reflect"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/schema"
)

// listValues returns values of a schema, the simplest first. They include and surround constants
// in conditions. Members of objects vary only on the paths in read. partial says that the schema
// allows other values, too.
func listValues(of doc, constants []any, read [][]string) (out []any, partial bool) {
	if list, ok := of["enum"].([]any); ok {
		return list, false
	}
	if c, ok := of["const"]; ok {
		return []any{c}, false
	}
	kinds, ok := of["type"].([]any)
	if !ok {
		kinds = []any{of["type"]}
	}
	for _, kind := range kinds {
		switch kind {
		case "null":
			out = append(out, nil)
			continue
		case "boolean":
			out = append(out, false, true)
			continue
		case "integer", "number":
			more, others := listNumbers(of, kind == "number", constants)
			out, partial = append(out, more...), partial || others
			continue
		case "array":
			out = append(out, listArrays(of, constants)...)
		case "object":
			combined, one := listObjects(of, constants, read)
			out = append(append(out, combined...), one...)
		case "string":
			out = append(out, listTexts(of, constants)...)
		default:
			out = append(out, AnyText)
			for _, c := range constants {
				if out = append(out, c); isInt(c) {
					out = append(out, c.(int)+1)
				}
			}
			out = append(out, true, false, nil)
		}
		partial = true
	}
	return out, partial
}

// listTexts returns a text of the schema, the constants, and texts with constants as lengths.
func listTexts(of doc, constants []any) []any {
	text := sampleText(of)
	out, long := []any{text}, []any{}
	for _, c := range constants {
		switch c := c.(type) {
		case string:
			out = append(out, c)
		case int:
			if c > 0 && c < 1000 {
				long = append(long, strings.Repeat("x", c+1), strings.Repeat("x", c))
			}
		}
	}
	if text == AnyText {
		out = append(out, "x", "")
	}
	return append(out, long...)
}

// maxText bounds the length of a text in bytes.
const maxText = 1 << 20

// sampleText returns a text with the pattern, format or length that a schema demands.
func sampleText(of doc) string {
	if pattern, ok := of["pattern"].(string); ok {
		return matchPattern(pattern)
	}
	switch of["format"] {
	case "date":
		return "2030-01-01"
	case "date-time":
		return "2030-01-01T00:00:00Z"
	case "email":
		return "a@example.org"
	case "uri", "url":
		return "https://example.org"
	}
	least, _ := of["minLength"].(int)
	text := AnyText + strings.Repeat(".", max(0, min(least, maxText)-len(AnyText)))
	if most, ok := of["maxLength"].(int); ok && most < len(text) {
		return text[:max(0, most)]
	}
	return text
}

func isInt(v any) bool {
	_, is := v.(int)
	return is
}

// listNumbers returns all numbers of a small range, or numbers at and between constants.
func listNumbers(of doc, fractions bool, constants []any) (out []any, partial bool) {
	low, hasLow := of["minimum"].(int)
	high, hasHigh := of["maximum"].(int)
	if hasLow && hasHigh && !fractions && high-low < maxOptions {
		for n := low; n <= high; n++ {
			out = append(out, n)
		}
		return out, false
	}
	out = append(out, findLeast(of))
	var sorted []float64
	for _, c := range constants {
		n, isNumber := eval.Number(c)
		if isNumber {
			sorted = append(sorted, n)
		}
		switch c := c.(type) {
		case int:
			out = append(out, c, c+1, c-1)
		case float64:
			if fractions {
				out = append(out, c, c+1, c-1)
			}
		}
	}
	out = append(out, 0, 1)
	slices.Sort(sorted)
	for i := 1; i < len(sorted) && fractions; i++ {
		out = append(out, (sorted[i-1]+sorted[i])/2)
	}
	for _, c := range constants { // for a condition such as n + 1 > 3
		for _, d := range constants {
			if isInt(c) && isInt(d) && len(out) < maxOptions {
				out = append(out, c.(int)-d.(int))
			}
		}
	}
	if !hasHigh {
		high = 1_000_000
	}
	return append(out, high), true
}

// findLeast returns the least number of a schema, or 0 if it has no minimum.
func findLeast(of doc) any {
	if least := of["minimum"]; least != nil {
		return least
	}
	switch n := of["exclusiveMinimum"].(type) {
	case int:
		return n + 1
	case float64:
		return n + 1
	}
	if most, has := eval.Number(of["maximum"]); has && most < 0 {
		return of["maximum"]
	}
	return 0
}

// listArrays returns lists of at most two items, one of all, and lists with constants as lengths.
func listArrays(of doc, constants []any) (out []any) {
	items, _ := of["items"].(doc)
	var all []any
	if items["type"] == "object" {
		_, all = listObjects(items, constants, [][]string{{}})
	} else {
		all, _ = listValues(items, constants, [][]string{{}})
	}
	if least, _ := of["minItems"].(int); least < 1 || len(all) == 0 {
		out = append(out, []any{})
	}
	if len(all) == 0 {
		return out
	}
	all = all[:min(len(all), maxItems)]
	first, last := all[:1], all[len(all)-1:]
	for _, v := range all {
		out = append(out, []any{v}, []any{v, v})
	}
	out = append(out, slices.Concat(first, last), slices.Concat(last, first), all)
	if most, _ := of["maxItems"].(int); most > 2 && most <= maxOptions {
		out = append(out, slices.Repeat(first, most))
	}
	for _, c := range constants {
		if n, _ := c.(int); n > 1 && n < maxLength {
			out = append(out, slices.Repeat(last, n), slices.Repeat(last, n+1))
		}
	}
	return out
}

// listObjects returns example objects of a schema: combinations of the properties that are read,
// if they are few, and objects that differ in one property. The last of them have only the
// required properties, or none.
func listObjects(of doc, constants []any, read [][]string) (combined, one []any) {
	properties, _ := of["properties"].(doc)
	full, _ := makeSample(of).(doc)
	combined, one = []any{full}, []any{full}
	names := slices.Sorted(maps.Keys(properties))
	values := make([][]any, len(names))
	most, product := 0, 1
	for i, name := range names {
		if within := findPathsWithin(read, name); len(within) > 0 {
			own, _ := properties[name].(doc)
			values[i], _ = listValues(own, constants, within)
		}
		most = max(most, len(values[i]))
		product = min(product*max(len(values[i]), 1), maxOptions)
	}
	for i, name := range names {
		if len(values[i]) == 0 || product == maxOptions {
			continue
		}
		var next []any
		for _, object := range combined {
			for _, value := range values[i] {
				next = append(next, setPart(object, []string{name}, value))
			}
		}
		combined = next
	}
	for nth := range min(most, maxOptions) {
		if product == maxOptions { // all properties at once
			object := any(full)
			for i, name := range names {
				if len(values[i]) > 0 {
					object = setPart(object, []string{name}, values[i][min(nth, len(values[i])-1)])
				}
			}
			combined = append(combined, object)
		}
		for i, name := range names {
			if nth < len(values[i]) && !reflect.DeepEqual(values[i][nth], full[name]) {
				one = append(one, setPart(full, []string{name}, values[i][nth]))
			}
		}
	}
	least := doc{}
	required, _ := of["required"].([]any)
	for _, name := range required {
		if text, ok := name.(string); ok {
			least[text] = full[text]
		}
	}
	return combined, append(one, least, doc{})
}

// findPathsWithin returns the paths inside a member. An empty path reads all members.
func findPathsWithin(paths [][]string, name string) (out [][]string) {
	for _, path := range paths {
		switch {
		case len(path) == 0 || isElement(path[0]):
			out = append(out, nil)
		case path[0] == name:
			out = append(out, path[1:])
		}
	}
	return out
}

// makeSample returns the simplest value of a schema, with all properties of objects. It prefers
// objects: otherwise it and listValues could call each other for ever.
func makeSample(of doc) any {
	kinds, _ := of["type"].([]any)
	if of["type"] == "object" || slices.Contains(kinds, any("object")) || of["properties"] != nil {
		out := doc{}
		properties, _ := of["properties"].(doc)
		for name, own := range properties {
			schema, _ := own.(doc)
			out[name] = makeSample(schema)
		}
		return out
	}
	if values, _ := listValues(of, nil, nil); len(values) > 0 {
		return values[0]
	}
	return nil
}

// Sample returns a simple value of a schema. If none fits, unmet is the schema.
func Sample(of map[string]any) (value any, unmet string) {
	compiled, err := schema.Compile(of)
	if err != nil {
		return makeSample(of), ""
	}
	for _, v := range []any{makeSample(of), "", "a", "A1", "0", "2030-01-01", 1, nil, false, []any{}, doc{}} {
		if compiled.Check(v) == nil {
			return v, ""
		}
	}
	return makeSample(of), compiled.String()
}

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

// expectResult returns the schema that the expressions of a node expect of its result or element.
func (m *Model) expectResult(v int) doc {
	root := doc{}
	for _, e := range m.own[v] {
		if !e.Program.Uses("output") {
			continue
		}
		var want doc
		if key := m.graph.Key(m.findComputedKey(e)); e.Field == "writes" && key != nil {
			if want = key.Schema; collects(key) && !e.Program.Type().IsList() { // an element
				want, _ = key.Schema["items"].(doc)
			}
		}
		expectValue(e.Program.Tree, want, map[string]doc{"output": root})
	}
	if m.graph.Nodes[v].Each.IsSet() {
		return extendSchema(root, "[0]")
	}
	return root
}

// expectValue extends the schemas of names so that an expression can have the schema want, or nil.
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
		case t.Op == eval.TreeChoice, t.Name == "??", t.Name == "+", t.Name == "concat",
			i == 0 && slices.Contains([]string{"take", "reverse", "sort", "uniq"}, t.Name):
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
	if items, is := want["items"].(doc); is && function == "filter" {
		element = items
	}
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

// matchPattern returns a short text that a pattern probably matches. It ignores anchors and other
// conditions on the text around. It returns an invalid pattern itself.
func matchPattern(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return pattern
	}
	var b strings.Builder
	writeMatch(&b, re.Simplify(), 0)
	return b.String()
}

// maxMatch bounds the texts that patterns match.
const maxMatch = 200

// writeMatch writes a short text that a pattern matches.
func writeMatch(b *strings.Builder, re *syntax.Regexp, depth int) {
	if depth > 50 || b.Len() > maxMatch {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			b.WriteRune(usualRune(re.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		writeMatch(b, re.Sub[0], depth+1)
	case syntax.OpRepeat:
		for range re.Min {
			writeMatch(b, re.Sub[0], depth+1)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			writeMatch(b, sub, depth+1)
		}
	}
}

// usualRune returns a member of a class of characters, preferably a common one.
func usualRune(class []rune) rune {
	for _, r := range "a0A _-" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	return class[0]
}
