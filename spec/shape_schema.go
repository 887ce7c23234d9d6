// Checks JSON Schemas in a graph file: keywords, types, patterns.

package spec

import "regexp"

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
			s.unknownKey(f.Key, append(k.Keys[:len(k.Keys):len(k.Keys)], s.tables.keywords...))
		}
	}
	if pattern := v.Get("pattern"); pattern != nil && pattern.Kind == String {
		if _, err := regexp.Compile(pattern.Text.Value); err != nil {
			s.report("invalid-value", pattern.Span, "\"pattern\" must be a regular expression; %v", err)
		}
	}
}
