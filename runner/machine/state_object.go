// The output of a set node, kept small until somebody looks at it.

package machine

import (
	"cmp"
	"slices"
)

// Object is an object in the making: most outputs of set nodes are never read,
// so the map is built only when one is. Pairs are sorted by key. An object is
// valid until the next Apply; Plain makes a copy to keep.
type Object struct {
	Pairs []KeyValue
	one   [1]KeyValue
	held  bool
}

// objectPool hands out objects and takes back those that the run no longer
// holds: nearly every output of a set node lives for two supersteps, and left
// to the garbage collector they would cost more than the steps themselves.
type objectPool struct {
	all  []*Object
	free []*Object
}

// objectBlock is how many objects are made at a time.
const objectBlock = 32

// newObject returns an empty object.
func (s *State) newObject() *Object {
	pool := &s.objects
	if len(pool.free) == 0 {
		s.reclaimObjects()
	}
	if len(pool.free) == 0 {
		block := make([]Object, max(objectBlock, len(pool.all)))
		for i := range block {
			block[i].Pairs = block[i].one[:0]
			pool.all = append(pool.all, &block[i])
			pool.free = append(pool.free, &block[i])
		}
	}
	o := pool.free[len(pool.free)-1]
	pool.free = pool.free[:len(pool.free)-1]
	o.Pairs = o.Pairs[:0]
	return o
}

// reclaimObjects frees the objects that nothing in the state refers to.
func (s *State) reclaimObjects() {
	pool := &s.objects
	for _, o := range pool.all {
		o.held = false
	}
	hold(s.lastEnd)
	hold(s.lastOutput)
	for _, tasks := range [...][]task{s.tasks, s.next, s.parked} {
		for i := range tasks {
			t := &tasks[i]
			hold(t.input)
			hold(t.output)
			for j := range t.inputs {
				hold(t.inputs[j].value)
			}
		}
	}
	for i := range s.routes {
		hold(s.routes[i].input)
	}
	for i := range s.barriers {
		for j := range s.barriers[i].arrivals {
			hold(s.barriers[i].arrivals[j].input)
			hold(s.barriers[i].arrivals[j].output)
		}
	}
	for i := range s.notes {
		hold(s.notes[i].Output)
	}
	for _, o := range pool.all {
		if !o.held {
			pool.free = append(pool.free, o)
		}
	}
}

func hold(v any) {
	if o, ok := v.(*Object); ok {
		o.held = true
	}
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
