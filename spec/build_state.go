// Builds the declared state keys.

package spec

import (
	"maps"
	"slices"
)

// state reads the state block and reports names that expressions could not
// hold, reducers that are none, and defaults that do not fit their schema.
func (b *builder) state(v *Value) {
	g := b.graph
	if v.Kind != Map {
		g.gaps |= gapState
		return
	}
	for i := range v.Fields {
		f := &v.Fields[i]
		if isExtension(f.Key.Value) {
			continue
		}
		if reason := reservedReason(f.Key.Value); reason != "" {
			b.report("reserved-name", f.Key.At(0, len(f.Key.Value)), "%q can't be a state key: %s", f.Key.Value, reason)
		}
		k := stateKey(f)
		b.besideSchema(f)
		g.State = append(g.State, k)
		g.keys[k.Name.Value] = k
		b.reducer(k)
		if k.Default != nil {
			t, before := typing{b.shaper}, len(b.diags)
			t.fits(k.Schema, k.Default, "the default of \""+k.Name.Value+"\"")
			k.Unfit = len(b.diags) > before
		}
	}
}

func stateKey(f *Field) *StateKey {
	k := &StateKey{Name: f.Key, Source: &f.Value, Schema: map[string]any{}}
	for i := range f.Value.Fields {
		name, v := f.Value.Fields[i].Key.Value, &f.Value.Fields[i].Value
		switch {
		case name == "default":
			k.Default = v
		case name == "required" && v.Kind == Bool:
			k.Required = boolOf(v, false)
		case name == "secret":
			k.Secret = boolOf(v, false)
		case name == "once":
			k.Once = boolOf(v, false)
		case name == "scope":
			k.Scope = textOf(v)
		case name == "reducer":
			k.Reducer = textOf(v)
		case name == "schema" && v.Kind == Map:
			if doc, ok := v.Data().(map[string]any); ok {
				maps.Copy(k.Schema, doc)
			}
		case !isExtension(name) && name != "schema":
			k.Schema[name] = v.Data()
		}
	}
	return k
}

// besideSchema reports keywords of JSON Schema beside `schema`: they belong inside it.
func (b *builder) besideSchema(f *Field) {
	if f.Value.Get("schema") == nil {
		return
	}
	for i := range f.Value.Fields {
		key := f.Value.Fields[i].Key
		own := slices.ContainsFunc(stateKeywords(), func(k Key) bool { return k.Name == key.Value })
		if !own && !isExtension(key.Value) {
			b.report("invalid-value", key.At(0, len(key.Value)), "%q stands beside \"schema\"; put it there", key.Value)
		} else if key.Value == "required" && f.Value.Fields[i].Value.Kind == List {
			b.report("invalid-value", key.At(0, len(key.Value)), "\"required\" as a list stands beside \"schema\"; put it there")
		}
	}
}

// reducer reports a single word that names no reducer: an expression over
// current and update has more to it.
func (b *builder) reducer(k *StateKey) {
	name := k.Reducer.Value
	if !isIdentifier(name) || name == "current" || name == "update" || slices.Contains(reducers(), name) {
		return
	}
	b.report("invalid-value", k.Reducer.At(0, len(name)), "%q is no reducer; expected %s, or an expression over current and update", name, oneOf(reducers()))
	b.diags[len(b.diags)-1].Suggestion = nearest(name, reducers())
}
