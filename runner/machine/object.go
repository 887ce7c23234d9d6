// The output of a set node, kept small until somebody looks at it.

package machine

// object is a map in the making: most outputs of set nodes are never read, so
// the map is built only when one is.
type object struct {
	pairs []KeyValue
	one   [1]KeyValue
}

func newObject(size int) *object {
	o := &object{}
	if size <= 1 {
		o.pairs = o.one[:0]
	} else {
		o.pairs = make([]KeyValue, 0, size)
	}
	return o
}

func (o *object) add(key string, value any) {
	o.pairs = append(o.pairs, KeyValue{Key: key, Value: value})
}

// plainObject returns v as plain data.
func plainObject(v any) any {
	o, ok := v.(*object)
	if !ok {
		return v
	}
	out := make(map[string]any, len(o.pairs))
	for _, pair := range o.pairs {
		out[pair.Key] = pair.Value
	}
	return out
}
