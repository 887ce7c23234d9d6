// Checks values against the table of keys: their shapes.

package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shaper reports where values do not have the shape of their key. It belongs
// to one call of Parse.
type shaper struct {
	tables *tables
	file   *File
	diags  Diagnostics
	kinds  []Kind // those of a program too

	load      func(path string) ([]byte, error)
	texts     map[string][]byte // that were read, by path
	textBytes int
}

func newShaper(file *File, opts Options) *shaper {
	return &shaper{tables: language(), file: file, kinds: allKinds(opts.Kinds), load: opts.Load}
}

func (s *shaper) report(rule string, span Span, format string, args ...any) {
	s.diags = append(s.diags, Diagnostic{File: s.file, Rule: rule, Severity: Error, Span: span, Message: fmt.Sprintf(format, args...)})
}

// place is what a value is in a message: the key it belongs to.
type place struct {
	key  Text
	item bool // an item or entry of the key's value
}

func (p place) String() string {
	if p.item {
		return fmt.Sprintf("each entry of %q", p.key.Value)
	}
	return fmt.Sprintf("%q", p.key.Value)
}

// check reports what is wrong with v as the value of a key.
func (s *shaper) check(k *Key, v *Value, at place) {
	switch k.Type {
	case TypeAny:
		return
	case TypeOneOf:
		s.form(k, v, at)
		return
	case TypeText:
		s.text(k, v, at)
		return
	}
	if !fits(k, v) {
		s.mismatch(k, v, at)
		return
	}
	switch k.Type {
	case TypeList:
		s.list(k, v, at)
	case TypeMap:
		s.entries(k, v)
	case TypeObject:
		owner := at.key
		if at.item {
			owner = Text{}
		}
		s.object(k.Keys, k.Choices, v, owner)
	case TypeSchema:
		s.schema(k, v, at)
	case TypeNode:
		s.node(v, at.key)
	case TypeGraph:
		s.graph(s.tables.inner, v, at.key)
	default:
		s.scalar(k, v, at)
	}
}

func (s *shaper) list(k *Key, v *Value, at place) {
	if k.NonEmpty && len(v.Items) == 0 {
		s.report("invalid-value", v.Span, "%s must be %s; found an empty list", at, expects(k))
	}
	for i := range v.Items {
		s.check(k.Elem, &v.Items[i], place{at.key, true})
	}
}

// form checks a value against the first of a key's forms that it resembles.
func (s *shaper) form(k *Key, v *Value, at place) {
	for i := range k.Forms {
		form := &k.Forms[i]
		if !fits(form, v) {
			continue
		}
		if form.Type == TypeEnum {
			s.enum(k, form.Enum, v, at)
		} else {
			s.check(form, v, at)
		}
		return
	}
	s.mismatch(k, v, at)
}

func (s *shaper) mismatch(k *Key, v *Value, at place) {
	span := v.Span
	if v.Kind == Null && span.From == span.To && !at.item {
		span = at.key.Span
	}
	if k.Type == TypeEnum && v.IsScalar() && v.Kind != Null {
		s.enum(k, k.Enum, v, at)
		return
	}
	note := ""
	if key, _, glued := strings.Cut(v.Text.Value, ":"); glued && v.Kind == String && fits(k, &Value{Kind: Map}) && isIdentifier(key) {
		note = "; a colon needs a space behind it"
	}
	if k.Type == TypeNode {
		note = graphAdvice(at.key.Value, v)
	}
	s.report("invalid-value", span, "%s must be %s; found %s%s", at, expects(k), describe(v), note)
	d := &s.diags[len(s.diags)-1]
	d.Suggestion = written(k, v)
	if v.Kind == String && d.Suggestion == v.Text.Value {
		d.Message += "; write " + d.Suggestion + " without quotes"
	}
}

// fits reports whether a value has the outline of a key's shape, so that a
// finding about its content makes more sense than one about its outline.
func fits(k *Key, v *Value) bool {
	switch k.Type {
	case TypeAny:
		return true
	case TypeBool:
		return v.Kind == Bool
	case TypeInt:
		return v.Kind == Int
	case TypeNumber:
		return v.Kind == Int || v.Kind == Float
	case TypeText:
		return v.Get("file") != nil || k.Elem != nil && (v.Kind == List || v.Kind == Map) || fitsText(k, v)
	case TypeString:
		return fitsText(k, v)
	case TypeName, TypeEnum:
		return v.Kind == String
	case TypeDuration:
		return v.IsScalar() && v.Kind != Null && v.Kind != Bool
	case TypeList:
		return v.Kind == List
	case TypeMap, TypeObject, TypeNode, TypeGraph:
		return v.Kind == Map
	case TypeSchema:
		return v.Kind == Map || v.Kind == Bool
	}
	for i := range k.Forms {
		if fits(&k.Forms[i], v) {
			return true
		}
	}
	return false
}

// fitsText reports whether a value may be the text of a key.
func fitsText(k *Key, v *Value) bool {
	return v.Kind == String || k.Role != RolePlain && k.Role != RoleState && v.IsScalar() && v.Kind != Null
}

// scalar checks the content of a scalar that has the right outline.
func (s *shaper) scalar(k *Key, v *Value, at place) {
	ok := true
	switch k.Type {
	case TypeEnum:
		s.enum(k, k.Enum, v, at)
	case TypeName:
		ok = k.Role == RoleNode || isID(v.Text.Value)
	case TypeInt, TypeNumber:
		n := number(v)
		ok = (!k.Positive || n > 0) && (k.Min == nil || n >= *k.Min) && (k.Max == nil || n <= *k.Max)
	case TypeDuration:
		d, valid := parseDuration(v.Text.Value)
		ok = valid && d >= 0 && (!k.Positive || d > 0)
		if k.Role == RoleExpr && !valid { // a number of seconds, or an expression
			_, notWhole := strconv.Atoi(v.Text.Value)
			ok = v.Kind != String && number(v) >= 0 || v.Kind == String && (notWhole == nil || duration(v.Text.Value) == "")
		}
	}
	if !ok {
		s.report("invalid-value", v.Span, "%s must be %s; found %s", at, expects(k), describe(v))
		s.diags[len(s.diags)-1].Suggestion = written(k, v)
	}
}

func number(v *Value) float64 {
	switch v.Kind {
	case Int:
		return float64(int(v.bits))
	case Float:
		return math.Float64frombits(v.bits)
	}
	return 0
}

// parseDuration reads Go's notation; a plain 0 needs no unit.
func parseDuration(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// IsDuration reports whether a text is a duration, which needs no evaluation.
func IsDuration(s string) bool {
	_, ok := parseDuration(s)
	return ok
}

// enum checks a word, as the value of a key, against those that are allowed.
func (s *shaper) enum(k *Key, allowed []string, v *Value, at place) {
	if slices.Contains(allowed, v.Text.Value) {
		return
	}
	near, note := nearest(v.Text.Value, allowed), ""
	span := v.Span
	if near != "" {
		span = v.Text.At(0, len(v.Text.Value))
	} else if at.key.Value == "condition" && strings.ContainsAny(v.Text.Value, "<>=(. ") {
		note = `; an expression stands under "when"`
	}
	const many = 12
	if near != "" && len(allowed) > many { // a list that long would hide the suggestion
		s.report("invalid-value", span, "%s can't be %s", at, quoteShort(v.Text.Value))
	} else {
		s.report("invalid-value", span, "%s must be %s; found %s%s", at, expects(k), quoteShort(v.Text.Value), note)
	}
	s.diags[len(s.diags)-1].Suggestion = near
}

// isExtension reports whether a key is one that the language ignores.
func isExtension(name string) bool { return strings.HasPrefix(name, "x-") }

// entries checks the values of a map and, where they are names, its keys.
func (s *shaper) entries(k *Key, v *Value) {
	for i := range v.Fields {
		f := &v.Fields[i]
		if k.Names != NamesFree && isExtension(f.Key.Value) {
			continue
		}
		switch {
		case k.Names == NamesID && !isID(f.Key.Value) && !isReserved(f.Key.Value):
			s.report("invalid-value", f.Key.Span, "the name %s must be letters, digits, _ and -, a letter first", quoteShort(f.Key.Value))
		case k.Names == NamesState && !isIdentifier(f.Key.Value):
			s.report("invalid-value", f.Key.Span, "the name %s must be letters, digits and _, no digit first, so that expressions can hold it", quoteShort(f.Key.Value))
		}
		s.check(k.Elem, &f.Value, place{f.Key, false})
	}
}
