// Checks of schemas, and of the types of values that nodes write to state keys.

package bind

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/spec"
)

// checkValueFits reports an expression whose value does not fit its state key.
func (b *binder) checkValueFits(name string, value *Value, span spec.Span) {
	key := b.graph.Key(name)
	if key == nil || value.Program == nil && value.Template == nil {
		return
	}
	if !key.Reducer.IsSet() {
		for _, constant := range value.Constants() {
			if b.reportMisfit(key, constant, span) {
				return
			}
		}
	}
	b.checkType(key, value.Type(), span, "the value")
	if value.Program == nil {
		return
	}
	doc, tree := key.Schema, value.Program.Tree
	switch key.Reducer.Value {
	case "", "replace":
	case "append", "prepend", "union":
		if tree.Op != eval.TreeList {
			doc, _ = doc["items"].(map[string]any)
		}
	default:
		return
	}
	if name := findMissingMember(doc, tree); name != "" {
		b.addFinding("type-mismatch", span, "the value has no "+strconv.Quote(name)+", which state key "+strconv.Quote(key.Name.Value)+" requires there")
	}
}

// findMissingMember returns the first member that a schema requires but an object in the expression
// lacks, or "".
func findMissingMember(doc map[string]any, t *eval.Tree) string {
	switch {
	case t.Op == eval.TreeChoice:
		return cmp.Or(findMissingMember(doc, t.Args[1]), findMissingMember(doc, t.Args[2]))
	case t.Op == eval.TreeList:
		items, _ := doc["items"].(map[string]any)
		for _, element := range t.Args {
			if name := findMissingMember(items, element); name != "" {
				return name
			}
		}
	case t.Members != nil:
		required, _ := doc["required"].([]any)
		for _, name := range required {
			if text, ok := name.(string); ok && t.Members[text] == nil {
				return text
			}
		}
		properties, _ := doc["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(t.Members)) {
			part, _ := properties[name].(map[string]any)
			if missing := findMissingMember(part, t.Members[name]); missing != "" {
				return missing
			}
		}
	}
	return ""
}

// reportMisfit reports a constant that a key's schema does not allow.
func (b *binder) reportMisfit(key *spec.StateKey, constant any, span spec.Span) bool {
	compiled, _ := schema.Compile(key.Schema) // bindStateKey reports an error
	_, err := compiled.Accept(constant)
	if err != nil {
		b.addFinding("type-mismatch", span, "state key "+strconv.Quote(key.Name.Value)+": "+err.Error())
	}
	return err != nil
}

// checkData returns a value of the file as normalised data. It reports the first part that does not fit
// the schema. what describes the value in the message.
func (b *binder) checkData(s *schema.Schema, v *spec.Value, what string) any {
	data, err := s.Accept(v.Data())
	var misfit *schema.Mismatch
	if errors.As(err, &misfit) {
		b.addFinding("type-mismatch", v.PartAt(misfit.Path).Span, what+": "+misfit.Error())
	}
	return data
}

// checkLiteral reports a literal of a set node that does not fit its state key. Strings are expressions.
func (b *binder) checkLiteral(f *spec.Field) {
	if key := b.graph.Key(f.Key.Value); key != nil && f.Value.Kind != spec.String {
		compiled, _ := schema.Compile(schemaOfUpdate(key, &f.Value)) // bindStateKey reports an error
		b.checkData(compiled, &f.Value, "the value for "+strconv.Quote(f.Key.Value))
	}
}

// schemaOfUpdate returns the schema of a value written to a key with a reducer, or nil if any value fits.
func schemaOfUpdate(k *spec.StateKey, v *spec.Value) map[string]any {
	items, hasItems := k.Schema["items"].(map[string]any)
	switch k.Reducer.Value {
	case "", "replace":
		return k.Schema
	case "sum", "min", "max":
		if typ, ok := k.Schema["type"]; ok {
			return map[string]any{"type": typ}
		}
	case "merge":
		out := map[string]any{"type": "object"}
		if properties, ok := k.Schema["properties"]; ok {
			out["properties"] = properties
		}
		return out
	case "append", "prepend", "union":
		if v.Kind != spec.List {
			return items
		}
		if hasItems {
			return map[string]any{"items": items}
		}
	}
	return nil
}

// checkType reports a value whose type the key's reducer does not accept.
func (b *binder) checkType(key *spec.StateKey, have eval.Type, span spec.Span, what string) {
	whole := b.keyType(key)
	element, name := whole.Elem(), findMisfitMember(whole, have)
	ok, verb, want := true, "", ""
	switch key.Reducer.Value {
	case "", "replace", "min", "max":
		ok, verb, want = whole.Accepts(have), "holds ", "holds "+whole.WithArticle()
	case "append", "prepend", "union":
		if have.IsList() {
			ok = element.Accepts(have.Elem())
		} else {
			ok = element.Accepts(have)
		}
		want = "collects " + pluralName(element)
	case "sum":
		ok, want = eval.Float().Accepts(have), "adds numbers"
	case "merge":
		ok, verb, want = eval.Object(nil, true).Accepts(have) && name == "", "merges ", "merges objects"
	}
	if ok {
		return
	}
	if verb != "" && name != "" {
		what = "member " + strconv.Quote(name) + " of " + what
		have, _, _ = have.Field(name)
		whole, _, _ = whole.Field(name)
		want = verb + whole.WithArticle() + " there"
	}
	b.addFinding("type-mismatch", span, what+" is "+have.WithArticle()+", but state key "+strconv.Quote(key.Name.Value)+" "+want)
}

// pluralName returns the plural name of a type: strings, numbers, lists.
func pluralName(t eval.Type) string {
	if t.IsAny() {
		return "values"
	}
	return t.String() + "s"
}

// findMisfitMember returns the first member of have that does not fit the type whole, or "".
func findMisfitMember(whole, have eval.Type) string {
	for _, name := range have.Fields() {
		part, _, _ := have.Field(name)
		if in, known, _ := whole.Field(name); known && !in.Accepts(part) {
			return name
		}
	}
	return ""
}

// reducerResults maps reducers to the types of their results.
var reducerResults = map[string]eval.Type{
	"append": eval.List(eval.Any()), "prepend": eval.List(eval.Any()), "union": eval.List(eval.Any()),
	"messages": eval.List(eval.Any()), "sum": eval.Float(), "merge": eval.Object(nil, true),
}

// checkReducer reports a reducer whose result does not fit the schema of its key.
func (b *binder) checkReducer(key *spec.StateKey) {
	have := b.keyType(key)
	if want, isKnown := reducerResults[key.Reducer.Value]; isKnown && !have.Accepts(want) {
		b.addFinding("type-mismatch", key.Reducer.Span, "the reducer "+key.Reducer.Value+" yields "+want.WithArticle()+
			", but state key "+strconv.Quote(key.Name.Value)+" holds "+have.WithArticle())
	}
}

// keyType returns the type of a state key.
func (b *binder) keyType(key *spec.StateKey) eval.Type { return b.scopes.outputs.keys[key.Name.Value] }

// checkOutput checks the type of the node's output against the state keys that `writes` lists. Each key
// gets a member of the output, but a single key may get the whole output.
func (b *binder) checkOutput(node *spec.Node) {
	keys := node.Writes.Keys
	if len(keys) == 0 {
		return
	}
	have := b.scopes.outputs.outputType(node)
	if have.IsAny() {
		return
	}
	for _, text := range keys {
		key := b.graph.Key(text.Value)
		if key == nil {
			continue
		}
		member, known, allowed := have.Field(text.Value)
		switch {
		case known:
			b.checkType(key, member, text.Span, "the member of the output")
			b.checkValues(node, key, []string{text.Value}, text.Span)
		case have.IsObject() && allowed:
			properties, _ := node.Output["properties"].(map[string]any)
			if _, isSet := node.Output["additionalProperties"]; len(properties) > 0 && !isSet && (len(keys) > 1 || !key.Reducer.IsSet() && !b.keyType(key).Accepts(have)) {
				b.addFinding("type-mismatch", text.Span, "the output schema of "+strconv.Quote(node.ID.Value)+" has no member "+strconv.Quote(text.Value)+
					"; declare it there, or say additionalProperties: true")
			}
		case len(keys) == 1:
			b.checkType(key, have, text.Span, "the output")
			b.checkValues(node, key, nil, text.Span)
		case have.IsObject():
			b.addFinding("type-mismatch", text.Span, "the output of "+strconv.Quote(node.ID.Value)+" has no member "+strconv.Quote(text.Value))
		default:
			b.addFinding("type-mismatch", text.Span, "the output is "+have.WithArticle()+", which has no member "+strconv.Quote(text.Value)+
				"; a list of several keys needs an object")
			return
		}
	}
}

// checkValues checks the possible values of the output, or of its member at a path, against a key. It
// knows the values if an enum or a person's choices list them.
func (b *binder) checkValues(node *spec.Node, key *spec.StateKey, path []string, span spec.Span) {
	if key.Reducer.IsSet() || node.Each.IsSet() {
		return
	}
	doc := node.Output
	if node.Kind.Value == "human" {
		if choices := node.Field("choices"); choices != nil && len(path) == 0 {
			for i := range choices.Items {
				if item := &choices.Items[i]; item.IsScalar() && !isTemplate(item.Text.Value) {
					b.reportMisfit(key, item.Data(), item.Span)
				}
			}
			return
		}
		if schema := node.Field("schema"); schema != nil {
			doc, _ = schema.Data().(map[string]any)
		}
	}
	for _, name := range path {
		properties, _ := doc["properties"].(map[string]any)
		doc, _ = properties[name].(map[string]any)
	}
	values, _ := doc["enum"].([]any)
	for _, value := range values {
		if value != nil && b.reportMisfit(key, value, span) {
			return
		}
	}
}

// checkWrites checks the expressions of writes against their keys.
func (b *binder) checkWrites(node *spec.Node, writes []Field) {
	for i := range writes {
		w, span := &writes[i], node.Writes.Exprs[i].Expr.Span
		b.checkValueFits(w.Name, &w.Value, span)
		if key := b.graph.Key(w.Name); key != nil && w.Value.Program != nil {
			if tree := w.Value.Program.Tree; tree.Op == eval.TreePath && tree.Path[0] == "output" {
				b.checkValues(node, key, tree.Path[1:], span)
			}
		}
	}
}

// exprTypesByKey maps some keys of node kinds to the types that their expressions may have.
var exprTypesByKey = map[string][]eval.Type{
	"messages": {eval.List(eval.Any())}, "choices": {eval.List(eval.Any())},
	"until": {eval.String()}, "for": {eval.String(), eval.Float()},
}

// checkExprType reports an expression whose type its key does not accept.
func (b *binder) checkExprType(text spec.Text, p *eval.Program, key string, types ...eval.Type) {
	if p == nil || len(types) == 0 || slices.ContainsFunc(types, func(t eval.Type) bool { return t.Accepts(p.Type()) }) {
		return
	}
	from := len(text.Value) - len(strings.TrimLeft(text.Value, " \t\r\n"))
	to := len(strings.TrimRight(text.Value, " \t\r\n"))
	b.addFinding("expr-type", text.At(from, to), key+" needs "+types[0].WithArticle()+", this is "+p.Type().WithArticle())
}

// compileSchema compiles a schema. It reports an error at the keyword in source, unless Parse has already
// reported a finding there. After an error it returns nil, which accepts everything.
func (b *binder) compileSchema(doc map[string]any, source *spec.Value, what string) *schema.Schema {
	compiled, err := schema.Compile(doc)
	var fault *schema.Error
	if !errors.As(err, &fault) {
		return compiled
	}
	if !b.graph.HasFaultIn(source.Span) {
		b.addFinding("invalid-value", source.PartAt(fault.Path).Span, what+": "+err.Error())
	}
	return nil
}

// checkSummaries checks the schema of a conversation's summaries.
func (b *binder) checkSummaries(conversation *spec.Value) {
	if source := conversation.Get("compaction").Get("output"); source != nil {
		if doc, ok := source.Data().(map[string]any); ok {
			b.compileSchema(doc, source, "schema of summaries")
		}
	}
}
