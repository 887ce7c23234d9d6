// Whether the conditions along a path contradict each other.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// knowledge is what conditions have shown of the state along a path, by the
// canonical text of an expression.
type knowledge struct {
	f     *facts
	known map[string]fact
	bad   bool
}

type fact struct {
	holds bool
	roots []string // the names that it depends on
	equal string   // for path == constant: the path; holds and value belong to it
	value string
}

// feasible reports whether a path from the start can be walked as far as its
// conditions tell: the same condition has one outcome until a node on the path
// writes what it reads.
func (f *facts) feasible(path []int) bool {
	k := &knowledge{f: f, known: map[string]fact{}}
	for i := 0; i+1 < len(path) && !k.bad; i++ {
		v, to := path[i], path[i+1]
		for _, w := range f.access()[v].writes {
			k.forget(w.name.Value)
		}
		k.step(f.flow().groups[v], to)
	}
	return !k.bad
}

// step learns from the groups that were tried before the one that was taken,
// when it is clear which one that is.
func (k *knowledge) step(groups []group, to int) {
	taken := -1
	for i := range groups {
		if slices.Contains(groups[i].targets, to) {
			if taken >= 0 {
				return
			}
			taken = i
		}
	}
	if taken < 0 || groups[taken].kind != byGuard && groups[taken].kind != byDefault || groups[taken].perhaps {
		return
	}
	for i := range groups[:taken] {
		if groups[i].kind == byGuard && !groups[i].perhaps {
			k.learn(&groups[i], false)
		}
	}
	if groups[taken].kind == byGuard {
		k.learn(&groups[taken], true)
	}
}

func (k *knowledge) learn(g *group, outcome bool) {
	if when := k.f.bound.Edges[g.edges[0]].When; when != nil {
		k.condition(when.Tree(), outcome)
	}
}

// condition takes a condition apart into what it shows.
func (k *knowledge) condition(t *eval.Tree, outcome bool) {
	switch {
	case t.Op == eval.TreeUnary && t.Name == "not":
		k.condition(t.Args[0], !outcome)
		return
	case t.Op == eval.TreeBinary && (t.Name == "and" && outcome || t.Name == "or" && !outcome):
		k.condition(t.Args[0], outcome)
		k.condition(t.Args[1], outcome)
		return
	}
	roots, ok := k.roots(t)
	if !ok {
		return
	}
	key := t.Key()
	if t.Op == eval.TreeBinary && t.Name == "!=" {
		u := *t
		u.Name = "=="
		key, outcome, t = u.Key(), !outcome, &u
	}
	new := fact{holds: outcome, roots: roots}
	if path, value, ok := comparison(t); ok {
		new.equal, new.value = path, value
	}
	for _, old := range k.known {
		k.bad = k.bad || new.equal != "" && old.equal == new.equal && old.holds && new.holds && old.value != new.value
	}
	if old, was := k.known[key]; was && old.holds != outcome {
		k.bad = true
	}
	k.known[key] = new
}

// roots are the state keys that a condition reads; not ok when it reads
// anything else, which may change by itself.
func (k *knowledge) roots(t *eval.Tree) (names []string, ok bool) {
	ok = true
	t.Each(func(p *eval.Tree) {
		switch p.Op {
		case eval.TreeOther:
			ok = false
		case eval.TreePath:
			_, declared := k.f.keyOf[p.Path[0]]
			ok = ok && declared
			names = append(names, p.Path[0])
		}
	})
	return names, ok
}

// forget drops what depends on a name that is written.
func (k *knowledge) forget(name string) {
	for key, fact := range k.known {
		if slices.Contains(fact.roots, name) {
			delete(k.known, key)
		}
	}
}
