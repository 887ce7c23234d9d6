// A YAML value of any shape with the position of each part.

package spec

import (
	"math"
	"strconv"
)

// ValueKind is the kind of a Value. The zero value is unset.
type ValueKind int

// The kinds of values.
const (
	Null ValueKind = iota + 1
	Bool
	Int
	Float
	String
	List
	Map
)

// Value is a tree of YAML values. Scalars have a Text, lists have Items, maps have Fields in file order.
// Every value has the Span of its Text. A Value is read-only, because the values of aliases share parts.
type Value struct {
	Kind ValueKind
	Text
	bits   uint64 // the number of an Int, the IEEE 754 form of a Float, 1 for true
	Items  []Value
	Fields []Field
}

// Field is one entry of a map.
type Field struct {
	Key   Text
	Value Value
}

// Get returns the value of the entry with that name in a map, or nil.
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	return valueOf(v.Fields, name)
}

// findField returns the entry with that name, or nil.
func findField(fields []Field, name string) *Field {
	return find(fields, func(f *Field) bool { return f.Key.Value == name })
}

func valueOf(fields []Field, name string) *Value {
	if f := findField(fields, name); f != nil {
		return &f.Value
	}
	return nil
}

// Scalar returns the text of a scalar, or the zero Text for lists, maps, null and nil.
func (v *Value) Scalar() Text {
	if v == nil || !v.IsScalar() || v.Kind == Null {
		return Text{}
	}
	return v.Text
}

// Entries returns the entries of a map, or nil for other values and nil.
func (v *Value) Entries() []Field {
	if v == nil {
		return nil
	}
	return v.Fields
}

// OneOrAll returns the items of a list, a slice with any other value, or nil for nil.
func (v *Value) OneOrAll() []Value {
	switch {
	case v == nil:
		return nil
	case v.Kind == List:
		return v.Items
	}
	return []Value{*v}
}

// PartAt returns the part at a path of names and decimal indexes, or the last existing part on the path.
func (v *Value) PartAt(path []string) *Value {
	for _, step := range path {
		next := v.Get(step)
		if i, err := strconv.Atoi(step); err == nil && v.Kind == List && i < len(v.Items) {
			next = &v.Items[i]
		}
		if next == nil {
			break
		}
		v = next
	}
	return v
}

// IsScalar reports whether the value is neither a list nor a map.
func (v *Value) IsScalar() bool { return v.Kind != List && v.Kind != Map }

// Data returns the value as plain Go data: nil, bool, int, float64, string, []any or map[string]any.
// Lists and maps are new. A whole number beyond 64 bits is a float64. The data of nil is nil.
func (v *Value) Data() any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case Bool:
		return v.bits != 0
	case Int:
		return int(v.bits)
	case Float:
		return math.Float64frombits(v.bits)
	case String:
		return v.Text.Value
	case List:
		out := make([]any, len(v.Items))
		for i := range v.Items {
			out[i] = v.Items[i].Data()
		}
		return out
	case Map:
		out := make(map[string]any, len(v.Fields))
		for i := range v.Fields {
			out[v.Fields[i].Key.Value] = v.Fields[i].Value.Data()
		}
		return out
	}
	return nil
}
