// What the elements of an `each` write, as the writes of one node.

package machine

// updates gathers the writes of many elements: where a reducer allows, those to
// one key become one.
type updates struct {
	plan  *Plan
	keys  []int
	byKey map[int][]any
	size  int // of all updates
}

func newUpdates(p *Plan) *updates { return &updates{plan: p, byKey: map[int][]any{}} }

func (u *updates) add(key int, w write) {
	update := w.update
	u.size += w.size
	list, seen := u.byKey[key]
	if !seen {
		u.keys = append(u.keys, key)
	}
	switch u.plan.keys[key].reducer {
	case reduceReplace:
		u.byKey[key] = append(list[:0], update)
	case reduceAppend, reduceUnion:
		u.byKey[key] = append(list, listOf(update)...)
	default:
		u.byKey[key] = append(list, update)
	}
}

// writes appends the gathered writes, keys in the order of their first write.
func (u *updates) writes(dst []write) []write {
	for _, key := range u.keys {
		list := u.byKey[key]
		switch u.plan.keys[key].reducer {
		case reduceAppend, reduceUnion:
			dst = append(dst, write{key: key, update: list, size: sizeOf(list)})
		default:
			for _, update := range list {
				dst = append(dst, write{key: key, update: update, size: sizeOf(update)})
			}
		}
	}
	return dst
}
