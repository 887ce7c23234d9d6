// How the nodes of cycles move what is kept in the state.

package lint

import "slices"

// movement is how nodes of some cycles move a key, all in one direction.
type movement struct {
	direction, steps int
	edge             *float64
	by               []int // those that move it each time, sorted
}

// moveKey names a movement: the key, whether its length is meant, and the component.
type moveKey struct {
	key    int
	length bool
	of     int
}

// movementOf is how those move a key that run between two times that a way is taken;
// nil when nothing sure is known of it. Without branches it is the same for all ways of
// a component.
func (r *ranking) movementOf(key int, length bool, a cycleArc) *movement {
	if r.f.flow().FansOut {
		return r.movement(key, length, slices.DeleteFunc(slices.Clone(r.writers[key]), func(v int) bool { return !r.beside(a)(r.f.graph.Nodes[v]) }))
	}
	name := moveKey{key, length, r.of[a.from]}
	m, known := r.movements[name]
	if !known {
		m = r.movement(key, length, r.writersOf[moveKey{key: key, of: name.of}])
		r.movements[name] = m
	}
	return m
}

// movement is how some nodes move a key.
func (r *ranking) movement(key int, length bool, writers []int) *movement {
	m := &movement{}
	for _, v := range writers {
		access := r.f.access()[v]
		for i := range access.Writes {
			if access.Writes[i].Key != key {
				continue
			}
			c := r.f.change(v, key, length)
			if c.unknown || m.direction*c.direction < 0 {
				return nil
			}
			if c.direction == 0 {
				continue
			}
			if m.direction != 0 && (m.edge == nil) != (c.edge == nil) || m.edge != nil && c.edge != nil && *m.edge != *c.edge {
				return nil
			}
			m.edge = c.edge
			if m.direction = c.direction; c.strict {
				m.by, m.steps = append(m.by, v), max(m.steps, c.step)
			}
		}
	}
	if m.direction == 0 || len(m.by) == 0 {
		return nil
	}
	return m
}
