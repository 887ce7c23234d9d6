// Decoding: one walk checks each value against the table of keys and assigns it to the field with the key's tag.

package spec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// reporter collects findings about one file.
type reporter struct {
	file  *File
	diags Diagnostics
}

// report adds an error finding. The returned pointer is valid until the next report.
func (r *reporter) report(rule string, span Span, format string, args ...any) *Diagnostic {
	r.diags = append(r.diags, Diagnostic{
		File: cmp.Or(r.file.host, r.file), Rule: rule, Severity: Error, Span: r.file.InHost(span), Message: fmt.Sprintf(format, args...),
	})
	return &r.diags[len(r.diags)-1]
}

// addRelated adds another position to the latest finding.
func (r *reporter) addRelated(at Span, message string) {
	d := &r.diags[len(r.diags)-1]
	d.Related = append(d.Related, Related{File: r.file, Span: at, Message: message})
}

// reportRepeated reports names that a list repeats. rule ends the message with the reason.
func (r *reporter) reportRepeated(list []Text, rule string) {
	for i, name := range list {
		if slices.ContainsFunc(list[:i], func(t Text) bool { return t.Value == name.Value }) {
			r.report("invalid-value", name.At(0, len(name.Value)), "%q is listed twice; %s", name.Value, rule)
		}
	}
}

// decoder reads one file. It reports a value of a wrong shape and treats it as absent.
type decoder struct {
	reporter
	kinds []Kind // the built-in kinds and the additional kinds
	graph *Graph // nil for other files

	load        func(path string) ([]byte, error)
	texts       map[string][]byte // by path
	textBytes   int
	policyFiles map[string]bool // by path: the files that have been read
}

func newDecoder(file *File, opts Options) *decoder {
	return &decoder{reporter: reporter{file: file}, kinds: mergeKinds(opts.Kinds), load: opts.Load, texts: map[string][]byte{}}
}

// subject names a value in messages, by its key.
type subject struct {
	key  Text
	item bool // the value is an item or entry of the key's value
}

func (s subject) String() string {
	if s.item {
		return fmt.Sprintf("each entry of %q", s.key.Value)
	}
	return fmt.Sprintf("%q", s.key.Value)
}

// readField checks the value of a key and assigns it to fields of into, a pointer to a struct or nil.
func (d *decoder) readField(k *Key, f *Field, into any) {
	before, fields := len(d.diags), fieldPointers(into, k.Name)
	var parts any
	if len(fields) > 0 {
		parts = allocateField(fields[0], &f.Value)
	}
	d.checkValue(k, &f.Value, subject{f.Key, false}, parts)
	if k.Name == "policies" {
		d.setPolicyRule(before)
	}
	for _, to := range fields {
		setField(&f.Value, to, k.Role == RoleNode || k.Role == RoleState)
	}
}

// checkValue reports mistakes in the value of a key. It assigns the parts of a list or map to into.
func (d *decoder) checkValue(k *Key, v *Value, at subject, into any) {
	if !hasOutline(k, v) {
		d.reportMismatch(k, v, at)
		return
	}
	owner := at.key
	if at.item {
		owner = Text{}
	}
	switch k.Type {
	case TypeOneOf:
		form := find(k.Forms, func(form *Key) bool { return hasOutline(form, v) })
		if form.Type == TypeEnum {
			d.checkEnum(k, form.Enum, v, at)
		} else {
			d.checkValue(form, v, at, into)
		}
	case TypeText:
		if v.Kind == List {
			d.readList(k, v, at, nil)
		} else if v.Kind == Map && k.Elem != nil && v.Get("file") == nil {
			d.checkValue(k.Elem, v, at, nil)
		} else if v.Kind == Map {
			d.readTextFile(v, owner)
		}
	case TypeList:
		d.readList(k, v, at, into)
	case TypeMap:
		d.readEntries(k, v, into)
	case TypeObject:
		d.readObject(k.Keys, k.Choices, v, owner, into)
	case TypeSchema:
		keywords := schemaKeywords()
		if len(k.Keys) > 0 {
			keywords = stateSchemaKeywords()
		}
		if d.readKeys(keywords, v, into); len(k.Keys) > 0 && v.Kind != Map {
			d.report("invalid-value", v.Span, "%s must be a map with the keywords of a JSON Schema; found %s", at, describeValue(v))
		}
	case TypeNode:
		d.readNode(into.(*Node), v, at.key)
	case TypeGraph:
		outer := d.graph
		d.graph = into.(*Graph)
		d.readGraph(innerKeys(), v, at.key)
		d.graph = outer
	default:
		d.checkScalar(k, v, at)
	}
}

func (d *decoder) readList(k *Key, v *Value, at subject, into any) {
	if k.NonEmpty && len(v.Items) == 0 {
		d.report("invalid-value", v.Span, "%s must be %s; found an empty list", at, describeKey(k))
	}
	for i := range v.Items {
		item := &v.Items[i]
		part := d.addPart(into, i, Text{}, item)
		d.checkValue(k.Elem, item, subject{at.key, true}, part)
		if e, ok := part.(*Edge); ok {
			d.completeEdge(e, item)
			item.Fields = nil // frees memory: a large graph consists mostly of edges
		}
	}
}

// readEntries checks the values of a map, and its keys if they are names.
func (d *decoder) readEntries(k *Key, v *Value, into any) {
	for i := range v.Fields {
		f := &v.Fields[i]
		if k.Names != NamesFree && isExtension(f.Key.Value) {
			continue
		}
		switch {
		case k.Names == NamesID && !isID(f.Key.Value) && !isReserved(f.Key.Value):
			d.report("invalid-value", f.Key.Span, "the name %s must be letters, digits, _ and -, a letter first", quoteShort(f.Key.Value))
		case k.Names == NamesState && !isIdentifier(f.Key.Value):
			d.report("invalid-value", f.Key.Span, "the name %s must be letters, digits and _, no digit first, so that expressions can hold it", quoteShort(f.Key.Value))
		}
		part := d.addPart(into, i, f.Key, &f.Value)
		d.checkValue(k.Elem, &f.Value, subject{f.Key, false}, part)
		if key, ok := part.(*StateKey); ok {
			d.completeStateKey(key, f)
		}
	}
}

func (d *decoder) reportMismatch(k *Key, v *Value, at subject) {
	rule, span, note := "invalid-value", v.Span, ""
	if v.Kind == Null && span.From == span.To && !at.item {
		span = at.key.Span
	}
	if k.Name == "start" && v.Kind == Null {
		rule, span = "missing-start", at.key.Span
	}
	if k.Type == TypeEnum && v.IsScalar() && v.Kind != Null {
		d.checkEnum(k, k.Enum, v, at)
		return
	}
	if key, _, glued := strings.Cut(v.Text.Value, ":"); glued && v.Kind == String && hasOutline(k, &Value{Kind: Map}) && isIdentifier(key) {
		note = "; a colon needs a space behind it"
	}
	if k.Type == TypeNode && v.Get("kind") == nil && FindKey(TopKeys, at.key.Value) != nil {
		note = fmt.Sprintf("; %q is a key of the graph and is indented too deep: it begins in the column of \"nodes\"", at.key.Value)
	}
	suggestion := d.suggestShape(k, v)
	if v.Kind == String && suggestion == v.Text.Value {
		note += "; write " + suggestion + " without quotes"
	}
	d.report(rule, span, "%s must be %s; found %s%s", at, describeKey(k), describeValue(v), note).Suggestion = suggestion
}

// hasOutline reports whether the kind of a value fits a key. It does not check the content.
func hasOutline(k *Key, v *Value) bool {
	switch k.Type {
	case TypeAny:
		return true
	case TypeString, TypeText:
		return v.Kind == String || k.Role != RolePlain && k.Role != RoleState && v.IsScalar() && v.Kind != Null ||
			k.Type == TypeText && (isFileReference(v) || k.Elem != nil && !v.IsScalar())
	case TypeOneOf:
		return find(k.Forms, func(form *Key) bool { return hasOutline(form, v) }) != nil
	}
	return slices.Contains(types[k.Type].kinds, v.Kind)
}

// checkScalar checks the content of a scalar with the right outline.
func (d *decoder) checkScalar(k *Key, v *Value, at subject) {
	ok := true
	switch k.Type {
	case TypeEnum:
		d.checkEnum(k, k.Enum, v, at)
	case TypeName:
		ok = k.Role == RoleNode || isID(v.Text.Value)
	case TypeInt, TypeNumber:
		n := toFloat(v)
		ok = (!k.Positive || n > 0) && (k.Min == nil || n >= *k.Min) && (k.Max == nil || n <= *k.Max)
	case TypeDuration:
		length, err := time.ParseDuration(v.Text.Value)
		ok = err == nil && length >= 0 && (!k.Positive || length > 0)
		if k.Role == RoleExpr && err != nil { // a number of seconds, or an expression
			ok = v.Kind == String || toFloat(v) >= 0
		}
	}
	if !ok {
		d.report("invalid-value", v.Span, "%s must be %s; found %s", at, describeKey(k), describeValue(v)).Suggestion = d.suggestShape(k, v)
	}
}

func toFloat(v *Value) float64 {
	switch v.Kind {
	case Int:
		return float64(int(v.bits))
	case Float:
		return math.Float64frombits(v.bits)
	}
	return 0
}

// IsDuration reports whether a text is a duration and not an expression.
func IsDuration(s string) bool {
	_, err := time.ParseDuration(s)
	return err == nil
}

// checkEnum reports a value that is not one of the allowed words.
func (d *decoder) checkEnum(k *Key, allowed []string, v *Value, at subject) {
	if slices.Contains(allowed, v.Text.Value) {
		return
	}
	near, note, span := findNearest(v.Text.Value, allowed), "", v.Span
	if near != "" {
		span = v.Text.At(0, len(v.Text.Value))
	} else if at.key.Value == "condition" && strings.ContainsAny(v.Text.Value, "<>=(. ") {
		note = `; an expression stands under "when"`
	}
	const many = 16
	message := fmt.Sprintf("%s must be %s; found %s%s", at, describeKey(k), quoteShort(v.Text.Value), note)
	if near != "" && len(allowed) > many { // a long list would hide the suggestion
		message = fmt.Sprintf("%s can't be %s", at, quoteShort(v.Text.Value))
	}
	d.report("invalid-value", span, "%s", message).Suggestion = near
}

// isExtension reports whether the language ignores a key.
func isExtension(name string) bool { return strings.HasPrefix(name, "x-") }

// readObject reads a map with the given keys into a struct.
func (d *decoder) readObject(keys []Key, choices []Choice, v *Value, owner Text, into any) {
	d.readKeys(keys, v, into)
	d.checkKeys(keys, choices, v, owner, "")
}

// checkKeys reports missing keys and keys that exclude each other. The messages end in of.
func (d *decoder) checkKeys(keys []Key, choices []Choice, v *Value, owner Text, of string) {
	for i := range keys {
		switch nodes := findField(v.Fields, "nodes"); {
		case !keys[i].Required || v.Get(keys[i].Name) != nil:
		case keys[i].Name == "start" && nodes != nil:
			d.report("missing-start", nodes.Key.Span, "the graph has no \"start\"; name its first node")
		default:
			d.reportMissing(v, owner, fmt.Sprintf("the key %q%s", keys[i].Name, of))
		}
	}
	for _, c := range choices {
		var found []Text
		for i := range v.Fields {
			if key := v.Fields[i].Key; slices.Contains(c.Keys, key.Value) {
				found = append(found, key)
			}
		}
		if len(found) > 1 {
			d.report("invalid-value", found[1].Span, "%q and %q exclude each other; use one of %s", found[0].Value, found[1].Value, listNames(c.Keys))
		} else if len(found) == 0 && c.Required {
			d.reportMissing(v, owner, "one of the keys "+listNames(c.Keys))
		}
	}
}

// readKeys reads the entries of a map by a table of keys.
func (d *decoder) readKeys(keys []Key, v *Value, into any) {
	for i := range v.Fields {
		f := &v.Fields[i]
		k := FindKey(keys, f.Key.Value)
		if k == nil && !isExtension(f.Key.Value) {
			k = d.repairKey(v, f, keys, into)
		}
		if k != nil {
			d.readField(k, f, into)
		}
	}
}

// FindKey returns the key of that name, or nil.
func FindKey(keys []Key, name string) *Key {
	return find(keys, func(k *Key) bool { return k.Name == name })
}

// find returns the first element that matches, or nil.
func find[T any](list []T, matches func(*T) bool) *T {
	for i := range list {
		if matches(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// collectNames returns the names of the elements of a list, sorted.
func collectNames[T any](list []T, nameOf func(T) string) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = nameOf(list[i])
	}
	slices.Sort(names)
	return names
}

func listKeyNames(keys []Key) []string {
	return collectNames(keys, func(k Key) string { return k.Name })
}

// repairKey reports an unknown key of a map and returns the intended key, or nil. It renames a misspelt
// key, so that no other finding reports it as missing.
func (d *decoder) repairKey(v *Value, f *Field, keys []Key, into any) *Key {
	key, names := f.Key, listKeyNames(keys)
	near := findNearest(key.Value, names)
	allowed := "; allowed are " + strings.Join(names, ", ")
	if near != "" {
		allowed = ""
	} else if slices.Contains(names, "$ref") { // a schema has too many for a message
		allowed = "; allowed are the keywords of JSON Schema"
	} else if i := slices.IndexFunc(keys, func(k Key) bool { return k.Type == TypeObject && FindKey(k.Keys, key.Value) != nil }); i >= 0 {
		allowed = fmt.Sprintf("; it stands under %q", keys[i].Name)
	} else if _, isGraph := into.(*Graph); isGraph && FindKey(TopKeys, key.Value) != nil {
		allowed = "; it stands at the top of the file"
	} else if FindKey(NodeKeys, key.Value) != nil {
		allowed = "; it stands on a node; allowed here are " + strings.Join(names, ", ")
	}
	d.report("unknown-key", key.At(0, len(key.Value)), "unknown key %s%s", quoteShort(key.Value), allowed).Suggestion = near
	k := FindKey(keys, near)
	if k == nil || v.Get(near) != nil {
		return nil
	}
	f.Key = Text{Value: near, Span: f.Key.Span}
	if !hasOutline(k, &f.Value) {
		return nil
	}
	return k
}

// reportMissing reports that a map lacks a part. The finding is at the name of the map.
func (d *decoder) reportMissing(v *Value, owner Text, what string) {
	name, span := fmt.Sprintf("%q", owner.Value), owner.Span
	if !owner.IsSet() {
		name, span = "this map", v.Span
		if len(v.Fields) > 0 {
			span = v.Fields[0].Key.Span
		}
	}
	d.report("missing-field", span, "%s lacks %s", name, what)
}
