// The output of a set node, kept small until somebody looks at it.

package machine

import (
	"cmp"
	"slices"
)

// Object is an object in the making: most outputs of set nodes are never read,
// so the map is built only when one is. Pairs are sorted by key.
type Object struct {
	Pairs []KeyValue
	one   [1]KeyValue
}

func newObject(size int) *Object {
	o := &Object{}
	if size <= 1 {
		o.Pairs = o.one[:0]
	} else {
		o.Pairs = make([]KeyValue, 0, size)
	}
	return o
}

// set adds a key or replaces its value.
func (o *Object) set(key string, value any) {
	for i := range o.Pairs {
		if o.Pairs[i].Key == key {
			o.Pairs[i].Value = value
			return
		}
	}
	o.Pairs = append(o.Pairs, KeyValue{Key: key, Value: value})
}

func (o *Object) sort() {
	if len(o.Pairs) > 1 {
		slices.SortFunc(o.Pairs, func(a, b KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	}
}

// Plain returns v as plain data: an *Object becomes a map.
func Plain(v any) any {
	o, ok := v.(*Object)
	if !ok {
		return v
	}
	out := make(map[string]any, len(o.Pairs))
	for _, pair := range o.Pairs {
		out[pair.Key] = pair.Value
	}
	return out
}
