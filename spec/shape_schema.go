// Checks JSON Schemas in a graph file: keywords, types, patterns.

package spec

import (
	"regexp"
	"slices"
	"strings"
)

// schema checks a JSON Schema; the keywords in k.Keys are allowed at its top
// and go before those of JSON Schema.
func (s *shaper) schema(k *Key, v *Value, at place) {
	if v.Kind == Bool {
		if len(k.Keys) > 0 {
			s.report("invalid-value", v.Span, "%s must be a map with the keywords of a JSON Schema; found %s", at, describe(v))
		}
		return
	}
	for i := range v.Fields {
		f := &v.Fields[i]
		keyword := findKey(k.Keys, f.Key.Value)
		if keyword == nil {
			keyword = findKey(s.tables.keywords, f.Key.Value)
		}
		switch {
		case keyword != nil:
			s.check(keyword, &f.Value, place{f.Key, false})
		case !isExtension(f.Key.Value):
			s.unknownKeyword(v, f, k.Keys)
		}
	}
	if pattern := v.Get("pattern"); pattern != nil && pattern.Kind == String {
		if _, err := regexp.Compile(pattern.Text.Value); err != nil {
			s.report("invalid-value", pattern.Span, "\"pattern\" must be a regular expression; %v", err)
		}
	}
}

// unknownKeyword reports a key that is no keyword. JSON Schema has too many for
// a list in a message; more are those that the place adds.
func (s *shaper) unknownKeyword(v *Value, f *Field, more []Key) {
	key := f.Key
	var names, added []string
	for _, k := range more {
		added = append(added, k.Name)
	}
	names = append(names, added...)
	for _, k := range s.tables.keywords {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	near, what := nearest(key.Value, names), ""
	switch {
	case key.Value == "nullable":
		near, what = "", "; name the type null instead: type: [string, null]"
	case near == "" && len(added) > 0:
		slices.Sort(added)
		what = "; allowed are the keywords of JSON Schema and " + strings.Join(added, ", ")
	case near == "":
		what = "; allowed are the keywords of JSON Schema"
	}
	s.report("unknown-key", key.At(0, len(key.Value)), "unknown key %s%s", quoteShort(key.Value), what)
	s.diags[len(s.diags)-1].Suggestion = near
	s.repair(v, f, near, slices.Concat(more, s.tables.keywords))
}
