// Static types of the values that expressions read, in JSON terms.

package eval

import (
	"maps"
	"slices"
	"sync"
)

// Type describes a value for the checker. The zero value is any. Every type admits
// null, because a key without a value reads as null.
type Type struct {
	kind    kind
	open    bool
	elem    *Type
	members func() map[string]Type // nil for none
}

type kind uint8

const (
	kindAny kind = iota
	kindNull
	kindBool
	kindInt
	kindFloat
	kindString
	kindList
	kindObject
)

var kindNames = [...]string{"any", "null", "boolean", "integer", "number", "string", "list", "object"}

// String names the kind in messages.
func (k kind) String() string { return kindNames[k] }

// isOneOf reports whether k is one of kinds. An integer is a number.
func (k kind) isOneOf(kinds []kind) bool {
	return slices.Contains(kinds, k) || k == kindInt && slices.Contains(kinds, kindFloat)
}

// kindOf returns the kind of a plain value.
func kindOf(v any) kind {
	switch v.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBool
	case int:
		return kindInt
	case float64:
		return kindFloat
	case string:
		return kindString
	case []any:
		return kindList
	case map[string]any:
		return kindObject
	}
	return kindAny
}

// Any returns the unknown type.
func Any() Type { return Type{} }

// Bool returns the type of true and false.
func Bool() Type { return Type{kind: kindBool} }

// Int returns the type of whole numbers.
func Int() Type { return Type{kind: kindInt} }

// Float returns the type of numbers, whole or not.
func Float() Type { return Type{kind: kindFloat} }

// String returns the type of texts.
func String() Type { return Type{kind: kindString} }

// List returns the type of lists of elem.
func List(elem Type) Type { return Type{kind: kindList, elem: &elem} }

// Object returns the type of objects with these fields. An open one may have other fields, which
// are any. The map must not change afterwards.
func Object(fields map[string]Type, open bool) Type {
	return Type{kind: kindObject, members: func() map[string]Type { return fields }, open: open}
}

// LazyObject returns the type of closed objects. It calls fields when the fields are first needed.
func LazyObject(fields func() map[string]Type) Type {
	return Type{kind: kindObject, members: sync.OnceValue(fields)}
}

// fields returns the declared fields of an object.
func (t Type) fields() map[string]Type {
	if t.members == nil {
		return nil
	}
	return t.members()
}

// FromSchema returns the type that a JSON Schema describes by its type, enum, const, items, properties
// and additionalProperties: false. It returns any for all other schemas.
func FromSchema(schema map[string]any) Type { return fromSchema(schema, 0) }

const maxSchemaDepth = 100

func fromSchema(schema map[string]any, depth int) Type {
	if depth > maxSchemaDepth || schema["$ref"] != nil {
		return Any()
	}
	switch t := schema["type"].(type) {
	case string:
		return fromTypeName(t, schema, depth)
	case []any:
		return joinTypes(t, func(name any) Type {
			text, _ := name.(string)
			return fromTypeName(text, schema, depth)
		})
	case nil:
		if values, ok := schema["enum"].([]any); ok {
			return joinTypes(values, typeOf)
		}
		if value, ok := schema["const"]; ok {
			return typeOf(value)
		}
	}
	return Any()
}

var schemaKinds = map[string]kind{"null": kindNull, "boolean": kindBool, "integer": kindInt, "number": kindFloat, "string": kindString}

func fromTypeName(name string, schema map[string]any, depth int) Type {
	switch name {
	case "array":
		items, _ := schema["items"].(map[string]any)
		return List(fromSchema(items, depth+1))
	case "object":
		props, _ := schema["properties"].(map[string]any)
		fields := make(map[string]Type, len(props))
		for name, sub := range props {
			m, _ := sub.(map[string]any)
			fields[name] = fromSchema(m, depth+1)
		}
		return Object(fields, schema["additionalProperties"] != false)
	}
	return Type{kind: schemaKinds[name]}
}

// typeOf returns the type of a plain value.
func typeOf(v any) Type {
	switch v := v.(type) {
	case []any:
		return List(joinTypes(v, typeOf))
	case map[string]any:
		fields := make(map[string]Type, len(v))
		for k, e := range v {
			fields[k] = typeOf(e)
		}
		return Object(fields, true)
	}
	return Type{kind: kindOf(v)}
}

// joinTypes returns the narrowest type that holds the values of all types, or any for none.
func joinTypes[T any](list []T, typeOf func(T) Type) Type {
	var out Type
	for i, e := range list {
		if t := typeOf(e); i == 0 {
			out = t
		} else {
			out = Either(out, t)
		}
	}
	return out
}

// Either returns the narrowest type that holds the values of a and b.
func Either(a, b Type) Type {
	switch {
	case a.kind == kindNull:
		return b
	case b.kind == kindNull:
		return a
	case a.isNumber() && b.isNumber():
		return numberType(a, b)
	case a.kind != b.kind:
		return Any()
	case a.kind == kindList:
		return List(Either(a.Elem(), b.Elem()))
	case a.kind == kindObject:
		return joinObjects(a, b)
	}
	return a
}

func joinObjects(a, b Type) Type {
	left, right := a.fields(), b.fields()
	fields := make(map[string]Type, len(left))
	for name, t := range left {
		if u, ok := right[name]; ok {
			fields[name] = Either(t, u)
		}
	}
	same := len(fields) == len(left) && len(fields) == len(right)
	return Object(fields, a.open || b.open || !same)
}

// Accepts reports whether a value of type v may be used as a t. Any and null fit
// every type, and an integer is a number.
func (t Type) Accepts(v Type) bool {
	switch {
	case t.kind == kindAny || v.kind == kindAny || v.kind == kindNull:
		return true
	case t.isNumber(): // whether a number is whole is known only at run time
		return v.isNumber()
	case t.kind != v.kind:
		return false
	case t.kind == kindList:
		return t.Elem().Accepts(v.Elem())
	case t.kind == kindObject:
		fields := t.fields()
		for name, have := range v.fields() {
			want, isKnown := fields[name]
			if isKnown && !want.Accepts(have) || !isKnown && !t.open && !v.open {
				return false
			}
		}
	}
	return true
}

// IsAny reports whether the type is unknown.
func (t Type) IsAny() bool { return t.kind == kindAny }

// IsList reports whether the value is a list or null.
func (t Type) IsList() bool { return t.kind == kindList }

// IsObject reports whether the value is an object or null.
func (t Type) IsObject() bool { return t.kind == kindObject }

// Field returns the type of a member. known is set if the object declares it, allowed if it may be read.
func (t Type) Field(name string) (f Type, known, allowed bool) {
	switch t.kind {
	case kindAny:
		return Any(), false, true
	case kindObject:
		f, known = t.fields()[name]
		return f, known, known || t.open
	}
	return Any(), false, false
}

// Fields returns the names of the declared members, sorted.
func (t Type) Fields() []string { return slices.Sorted(maps.Keys(t.fields())) }

// Elem returns the type of a list's elements, or any.
func (t Type) Elem() Type {
	if t.elem == nil {
		return Any()
	}
	return *t.elem
}

func (t Type) isNumber() bool { return t.kind == kindInt || t.kind == kindFloat }

// String returns the type as messages name it: string, integer, number, boolean,
// list of integers, object, null, any.
func (t Type) String() string {
	text := t.kind.String()
	for i := 0; i < 4 && t.kind == kindList && t.Elem().kind != kindAny; i++ {
		t = t.Elem()
		text += " of " + t.kind.String()
		if t.kind != kindNull {
			text += "s"
		}
	}
	return text
}

// WithArticle returns the type with an article: an integer, a list of strings.
func (t Type) WithArticle() string {
	switch t.kind {
	case kindInt, kindObject:
		return "an " + t.String()
	case kindNull, kindAny:
		return t.String()
	}
	return "a " + t.String()
}
