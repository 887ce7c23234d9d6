// What is known on a path in spite of branches beside it.

package lint

import (
	"maps"
	"slices"
)

// through notes that branches start: from here on what other nodes write may
// change at any time.
func (k *knowledge) through(fan bool) {
	if !fan {
		return
	}
	k.fanned, k.unsure = true, true
	for _, key := range k.f.graph.State {
		if len(k.f.writersOf()[key.Name.Value]) > 0 {
			k.forget(key.Name.Value)
		}
	}
}

// enter drops what a sibling of the next node may change.
func (k *knowledge) enter(v int) {
	if v < len(k.f.graph.Nodes) {
		join := k.f.graph.Nodes[v].Join
		k.unsure = k.unsure || join != nil && join.Wait == "N" && join.Count > 1
	}
	if !k.fanned || v >= len(k.f.graph.Nodes) {
		return
	}
	k.claims = slices.DeleteFunc(k.claims, func(c claim) bool { return !k.stable(c.roots, v) })
	maps.DeleteFunc(k.values, func(name string, _ []any) bool { return !k.stable([]string{name}, v) })
}

// stable reports whether no node that can be live together with v writes any
// of the keys.
func (k *knowledge) stable(names []string, v int) bool {
	forks := k.f.forks()
	if forks != nil && forks.up[v] < 0 {
		return true // on no branch, so beside none
	}
	for _, name := range names {
		for _, n := range k.f.writersOf()[name] {
			if forks == nil {
				return false
			}
			if _, together := forks.together(v, n.Index); together && n.Index != v {
				return false
			}
		}
	}
	return true
}
