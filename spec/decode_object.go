// Decoding maps with keys of the language: unknown, missing and exclusive keys.

package spec

import (
	"fmt"
	"slices"
	"strings"
)

// readObject reads a map whose keys are the language's into a struct.
func (d *decoder) readObject(keys []Key, choices []Choice, v *Value, owner Text, into any) {
	d.readKeys(keys, v, into)
	d.checkKeys(keys, choices, v, owner, "")
}

// checkKeys reports missing keys and keys that exclude each other. of ends the messages.
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
		d.checkChoice(c, v, owner)
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
	for i := range keys {
		if keys[i].Name == name {
			return &keys[i]
		}
	}
	return nil
}

// keyNames returns the names of keys, sorted.
func keyNames(keys []Key) []string {
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = keys[i].Name
	}
	slices.Sort(names)
	return names
}

// repairKey reports an unknown key of a map. It renames a misspelt key, so that no other finding calls
// it missing, and returns the intended key, or nil.
func (d *decoder) repairKey(v *Value, f *Field, keys []Key, into any) *Key {
	key, names := f.Key, keyNames(keys)
	near := findNearest(key.Value, names)
	allowed := "; allowed are " + strings.Join(names, ", ")
	if near != "" {
		allowed = ""
	} else if slices.Contains(names, "$ref") { // a schema has too many for a message
		allowed = "; allowed are the keywords of JSON Schema"
	} else if i := slices.IndexFunc(keys, func(k Key) bool { return k.Type == TypeObject && FindKey(k.Keys, key.Value) != nil }); i >= 0 {
		allowed = fmt.Sprintf("; it stands under %q", keys[i].Name)
	} else if len(names) == 0 {
		allowed = "; none is allowed here"
	} else if _, isGraph := into.(*Graph); isGraph && FindKey(topKeys, key.Value) != nil {
		allowed = "; it stands at the top of the file"
	} else if FindKey(nodeKeys, key.Value) != nil {
		allowed = "; it stands on a node; allowed here are " + strings.Join(names, ", ")
	}
	d.report("unknown-key", key.At(0, len(key.Value)), "unknown key %s%s", quoteShort(key.Value), allowed)
	d.suggest(near)
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

// reportMissing reports a missing part of a map, at the name of the map.
func (d *decoder) reportMissing(v *Value, owner Text, what string) {
	span := owner.Span
	if span.From == span.To {
		span = v.Span
		if len(v.Fields) > 0 {
			span = v.Fields[0].Key.Span
		}
	}
	subject := "this map"
	if owner.Value != "" {
		subject = fmt.Sprintf("%q", owner.Value)
	}
	d.report("missing-field", span, "%s lacks %s", subject, what)
}

func (d *decoder) checkChoice(c Choice, v *Value, owner Text) {
	var first *Field
	for i := range v.Fields {
		f := &v.Fields[i]
		if !slices.Contains(c.Keys, f.Key.Value) {
			continue
		}
		if first != nil {
			d.report("invalid-value", f.Key.Span, "%q and %q exclude each other; use one of %s", first.Key.Value, f.Key.Value, listNames(c.Keys))
			return
		}
		first = f
	}
	if first == nil && c.Required {
		d.reportMissing(v, owner, "one of the keys "+listNames(c.Keys))
	}
}

// checkSchema checks a JSON Schema. Its top may also have the keywords in k.Keys.
func (d *decoder) checkSchema(k *Key, v *Value, at place, into any) {
	if v.Kind == Bool {
		if len(k.Keys) > 0 {
			d.report("invalid-value", v.Span, "%s must be a map with the keywords of a JSON Schema; found %s", at, describeValue(v))
		}
		return
	}
	keys := schemaKeywords()
	if len(k.Keys) > 0 {
		keys = stateSchemaKeywords()
	}
	d.readKeys(keys, v, into)
}
