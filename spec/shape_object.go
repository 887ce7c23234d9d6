// Checks maps whose keys are the language's: unknown, missing and exclusive keys.

package spec

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// object checks a map whose keys are the language's.
func (s *shaper) object(keys []Key, choices []Choice, v *Value, owner Text) {
	s.known(keys, v)
	for i := range keys {
		if keys[i].Required && v.Get(keys[i].Name) == nil {
			s.missing(v, owner, fmt.Sprintf("the key %q", keys[i].Name))
		}
	}
	for _, c := range choices {
		s.choice(c, v, owner)
	}
}

// known checks the entries of a map against the keys that it may have.
func (s *shaper) known(keys []Key, v *Value) {
	for i := range v.Fields {
		f := &v.Fields[i]
		if k := findKey(keys, f.Key.Value); k != nil {
			s.check(k, &f.Value, place{f.Key, false})
		} else if !isExtension(f.Key.Value) {
			s.unknownKey(v, f, keys)
		}
	}
}

func findKey(keys []Key, name string) *Key {
	for i := range keys {
		if keys[i].Name == name {
			return &keys[i]
		}
	}
	return nil
}

// unknownKey reports a key that a map does not have.
func (s *shaper) unknownKey(v *Value, f *Field, keys []Key) {
	key := f.Key
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = keys[i].Name
	}
	sort.Strings(names)
	near := nearest(key.Value, names)
	allowed := "; allowed are " + strings.Join(names, ", ")
	if near != "" {
		allowed = ""
	} else if above := mapOf(keys, key.Value); above != "" {
		allowed = fmt.Sprintf("; it stands under %q", above)
	} else if len(names) == 0 {
		allowed = "; none is allowed here"
	} else if findKey(s.tables.common, key.Value) != nil {
		allowed = "; it stands on a node" + target(v) + "; allowed here are " + strings.Join(names, ", ")
	}
	s.report("unknown-key", key.At(0, len(key.Value)), "unknown key %s%s", quoteShort(key.Value), allowed)
	s.diags[len(s.diags)-1].Suggestion = near
	s.repair(v, f, near, keys)
}

// target names the node that an edge leads to, behind a text; "": it is no edge to one.
func target(v *Value) string {
	if to := v.Get("to"); to != nil && v.Get("from") != nil && to.IsScalar() && to.Text.Value != END {
		return ", as on " + quoteShort(to.Text.Value)
	}
	return ""
}

// mapOf is the only one of some keys whose map has a key of that name; "" when there
// is none.
func mapOf(keys []Key, name string) string {
	found := ""
	for i := range keys {
		if keys[i].Type != TypeObject || findKey(keys[i].Keys, name) == nil {
			continue
		}
		if found != "" {
			return ""
		}
		found = keys[i].Name
	}
	return found
}

// repair reads a key that was reported as the one that it most likely stands
// for, unless that is there too, so that nothing is reported as a consequence.
func (s *shaper) repair(v *Value, f *Field, near string, keys []Key) {
	k := findKey(keys, near)
	if k == nil || v.Get(near) != nil {
		return
	}
	f.Key = Text{Value: near, Span: f.Key.Span}
	if fits(k, &f.Value) {
		s.check(k, &f.Value, place{f.Key, false})
	}
}

// missing reports what a map lacks, at the name that it belongs to.
func (s *shaper) missing(v *Value, owner Text, what string) {
	span := owner.Span
	if span.From == span.To {
		span = firstToken(v)
	}
	subject := "this map"
	if owner.Value != "" {
		subject = fmt.Sprintf("%q", owner.Value)
	}
	s.report("missing-field", span, "%s lacks %s", subject, what)
}

// firstToken is where a map without a name of its own is shown.
func firstToken(v *Value) Span {
	if len(v.Fields) > 0 {
		return v.Fields[0].Key.Span
	}
	return v.Span
}

func (s *shaper) choice(c Choice, v *Value, owner Text) {
	var first *Field
	for i := range v.Fields {
		f := &v.Fields[i]
		if !slices.Contains(c.Keys, f.Key.Value) {
			continue
		}
		if first != nil {
			s.report("invalid-value", f.Key.Span, "%q and %q exclude each other; use one of %s", first.Key.Value, f.Key.Value, oneOf(c.Keys))
			return
		}
		first = f
	}
	if first == nil && c.Required {
		s.missing(v, owner, "one of the keys "+oneOf(c.Keys))
	}
}
