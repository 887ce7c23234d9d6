// What is no longer known on a path: what was written, by it or by branches beside it.

package lint

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// through notes that branches start: from here on what other nodes write may
// change at any time. Behind the first fan-out of a path that are the nodes that
// it leads to.
func (k *knowledge) through(fan bool) {
	if !fan {
		return
	}
	first := !k.fanned && !k.f.flow().Anywhere
	k.fanned = true
	for _, key := range k.f.graph.State {
		writes := func(n *spec.Node) bool { return !first || k.f.follow(k.at)[n.Index] }
		if slices.ContainsFunc(k.f.writersOf()[key.Name.Value], writes) {
			k.forget(key.Name.Value)
		}
	}
}

// follow are the nodes that may run after another.
func (f *facts) follow(v int) []bool {
	if f.followers == nil {
		f.followers = map[int][]bool{}
	}
	if f.followers[v] == nil {
		f.followers[v] = f.flow().Digraph.Reach(f.flow().Digraph.Next(v)...)
	}
	return f.followers[v]
}

// settle drops what branches beside a node may have changed by the time that it has run.
func (k *knowledge) settle(v int) {
	if !k.fanned || v >= len(k.f.graph.Nodes) {
		return
	}
	k.claims = slices.DeleteFunc(k.claims, func(c claim) bool { return !k.stable(c.roots, v) })
	maps.DeleteFunc(k.values, func(name string, _ []any) bool { return !k.stable([]string{name}, v) })
}

// stable reports whether no node that may be at work beside v writes any of the keys.
func (k *knowledge) stable(names []string, v int) bool {
	if w := k.f.flow(); !w.FansOut && !w.Anywhere {
		return true
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		if key := k.f.graph.Key(name); key != nil && key.Once {
			return true // models beside it may set it back
		}
		return slices.ContainsFunc(k.f.writersOf()[name], func(n *spec.Node) bool { return n.Index != v && k.f.inParallel(v, n.Index) })
	})
}

// forget drops what depends on a name that is written.
func (k *knowledge) forget(name string) {
	k.claims = slices.DeleteFunc(k.claims, func(c claim) bool { return slices.Contains(c.roots, name) })
	delete(k.values, name)
}
