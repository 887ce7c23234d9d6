// Checks nodes: the keys of every node and those of the node's kind.

package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
)

// allKinds are the built-in kinds and those of a program; a kind of a program
// with the name of a built-in one is left out.
func allKinds(more []Kind) []Kind {
	kinds := slices.Clip(BuiltinKinds())
	for _, k := range more {
		if findKind(kinds, k.Name) == nil {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func findKind(kinds []Kind, name string) *Kind {
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i]
		}
	}
	return nil
}

func kindNames(kinds []Kind) []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].Name
	}
	slices.Sort(names)
	return names
}

// node checks one node. Without a known kind its other keys are not judged:
// they may be that kind's.
func (s *shaper) node(v *Value, id Text) {
	kind := s.kindOf(v, id)
	for i := range v.Fields {
		f := &v.Fields[i]
		if f.Key.Value == "kind" {
			continue
		}
		k := findKey(s.tables.common, f.Key.Value)
		if k == nil && kind != nil {
			k = findKey(kind.Keys, f.Key.Value)
		}
		switch {
		case k != nil:
			s.check(k, &f.Value, place{f.Key, false})
		case kind != nil && !isExtension(f.Key.Value):
			s.unknownNodeKey(v, f, kind, id)
		}
	}
	if kind == nil {
		return
	}
	for i := range kind.Keys {
		if kind.Keys[i].Required && v.Get(kind.Keys[i].Name) == nil {
			s.missing(v, id, "the key \""+kind.Keys[i].Name+"\" of the kind "+kind.Name)
		}
	}
	for _, c := range kind.Choices {
		s.choice(c, v, id)
	}
	if kind.Name == "agent" {
		s.retryOnAgent(v)
	}
}

// kindOf finds the kind that a node names and reports a missing or unknown one.
func (s *shaper) kindOf(v *Value, id Text) (kind *Kind) {
	named := v.Get("kind")
	if named == nil {
		named = s.misnamedKind(v)
	}
	if named != nil && named.Kind == String {
		if kind = findKind(s.kinds, named.Text.Value); kind != nil {
			return kind
		}
	}
	k := Key{Type: TypeEnum, Enum: kindNames(s.kinds)}
	switch {
	case named == nil && s.oddKey(v):
	case named == nil:
		s.missing(v, id, "the key \"kind\"; kinds are "+oneOf(k.Enum))
	case named.Kind != String:
		s.mismatch(&k, named, place{Text{Value: "kind", Span: named.Span}, false})
	default:
		s.enum(&k, k.Enum, named, place{Text{Value: "kind"}, false})
		if advice := kindAdvice(strings.ToLower(named.Text.Value), v); advice != "" {
			d := &s.diags[len(s.diags)-1]
			d.Message, d.Suggestion = fmt.Sprintf("there is no kind %q; %s", named.Text.Value, advice), ""
		}
	}
	return nil
}

// misnamedKind finds a key that stands for "kind" in a node without one, reports
// it, and reads it as that.
func (s *shaper) misnamedKind(v *Value) *Value {
	for i := range v.Fields {
		f := &v.Fields[i]
		if findKey(s.tables.common, f.Key.Value) == nil && nearest(f.Key.Value, []string{"kind"}) != "" {
			s.report("unknown-key", f.Key.At(0, len(f.Key.Value)), "unknown key %q", f.Key.Value)
			s.diags[len(s.diags)-1].Suggestion = "kind"
			f.Key = Text{Value: "kind", Span: f.Key.Span}
			return &f.Value
		}
	}
	return nil
}

// oddKey reports a key of a node without a kind that holds a character which
// nobody sees.
func (s *shaper) oddKey(v *Value) bool {
	for i := range v.Fields {
		if key := v.Fields[i].Key; firstOdd(key.Value) >= 0 {
			s.report("unknown-key", key.At(0, len(key.Value)), "unknown key %q", key.Value)
			return true
		}
	}
	return false
}

// unknownNodeKey reports a key that neither nodes nor the kind have. A key of
// another kind is called that.
func (s *shaper) unknownNodeKey(v *Value, f *Field, kind *Kind, id Text) {
	key := f.Key
	if advice := nodeAdvice(strings.ToLower(key.Value), id.Value, &f.Value); advice != "" {
		s.report("unknown-key", key.At(0, len(key.Value)), "unknown key %q in a node; %s", key.Value, advice)
		return
	}
	keys := slices.Concat([]Key{{Name: "kind"}}, kind.Keys, s.tables.common)
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = keys[i].Name
	}
	var owners []string
	for _, other := range s.kinds {
		if findKey(other.Keys, key.Value) != nil {
			owners = append(owners, other.Name)
		}
	}
	if len(owners) == 0 || suggest.Closest(key.Value, names) != "" {
		s.unknownKey(v, f, keys)
		return
	}
	slices.Sort(names)
	s.report("unknown-key", key.At(0, len(key.Value)), "unknown key %q in a node of the kind %s; it belongs to the kind %s", key.Value, kind.Name, oneOf(owners))
}

func (s *shaper) retryOnAgent(v *Value) {
	for i := range v.Fields {
		if key := v.Fields[i].Key; key.Value == "retry" {
			s.report("retry-on-agent", key.Span, "an agent node can't have \"retry\": it retries inside, by its judge")
		}
	}
}
