// Checks maps whose keys are the language's: unknown, missing and exclusive keys.

package spec

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
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
			s.unknownKey(f.Key, keys)
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

func (s *shaper) unknownKey(key Text, keys []Key) {
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = keys[i].Name
	}
	sort.Strings(names)
	near := suggest.Closest(key.Value, names)
	allowed := "; allowed are " + strings.Join(names, ", ")
	if near != "" {
		allowed = ""
	} else if len(names) == 0 {
		allowed = "; none is allowed here"
	}
	s.report("unknown-key", key.At(0, len(key.Value)), "unknown key %s%s", quoteShort(key.Value), allowed)
	s.diags[len(s.diags)-1].Suggestion = near
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
	if first == nil && c.Required && !misspelt(v, c.Keys) {
		s.missing(v, owner, "one of the keys "+oneOf(c.Keys))
	}
}

// misspelt reports whether a key of the map seems to stand for one of those; it
// is reported as unknown then, and nothing is missing besides.
func misspelt(v *Value, keys []string) bool {
	return slices.ContainsFunc(v.Fields, func(f Field) bool {
		return !isExtension(f.Key.Value) && suggest.Closest(f.Key.Value, keys) != ""
	})
}
