// Whether the conditions along a path contradict each other.

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
		k.leave(v)
		groups, taken := f.flow().groups[v], -1
		for j := range groups {
			if slices.Contains(groups[j].targets, to) {
				if taken >= 0 {
					taken = -1 // any of several: nothing is learnt
					break
				}
				taken = j
			}
		}
		if taken >= 0 {
			k.take(groups, taken)
		}
	}
	return !k.bad
}

// walk is a state of the search for a path: a node, what is known on the way
// to it, and the state before.
type walk struct {
	at   int
	know *knowledge
	from *walk
}

// maxWalks bounds the search; beyond it a path is taken for possible.
const maxWalks = 500

// openPath finds a way from the start to v on which a thing is not made and
// whose conditions don't contradict each other; nil when there is none.
func (f *facts) openPath(a *assignment, thing, v int) []int {
	first := a.path(thing, v)
	if first == nil || f.feasible(first) {
		return first
	}
	todo := []*walk{{at: f.start(), know: &knowledge{f: f, known: map[string]fact{}}}}
	seen := map[string]bool{}
	for len(todo) > 0 {
		w := todo[0]
		todo = todo[1:]
		if w.at == v {
			return w.path()
		}
		for _, next := range f.steps(a, thing, w) {
			key := fmt.Sprint(next.at, next.know.key())
			if !seen[key] {
				seen[key] = true
				todo = append(todo, next)
			}
		}
		if len(seen) > maxWalks {
			return first
		}
	}
	return nil
}

// steps are the states that follow one.
func (f *facts) steps(a *assignment, thing int, w *walk) []*walk {
	if w.at >= len(f.graph.Nodes) {
		return nil
	}
	var out []*walk
	groups := f.flow().groups[w.at]
	for i := range groups {
		how := onSuccess
		if groups[i].kind == onFailure {
			how = onFail
			if !a.fails(w.at, &groups[i]) {
				continue
			}
		}
		if a.left(arc{w.at, how}, thing/64)&(1<<(thing%64)) == 0 {
			continue
		}
		know := &knowledge{f: f, known: maps.Clone(w.know.known)}
		if how == onSuccess {
			know.leave(w.at)
		}
		know.take(groups, i)
		for _, t := range groups[i].targets {
			if !know.bad && a.open[t].has(thing) {
				out = append(out, &walk{t, know, w})
			}
		}
	}
	return out
}

func (w *walk) path() []int {
	var path []int
	for ; w != nil; w = w.from {
		path = append(path, w.at)
	}
	slices.Reverse(path)
	return path
}

// key tells what is known apart.
func (k *knowledge) key() string {
	parts := make([]string, 0, len(k.known))
	for name, fact := range k.known {
		parts = append(parts, fmt.Sprint(name, fact.holds))
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// leave forgets what a node's writes change.
func (k *knowledge) leave(v int) {
	for _, w := range k.f.access()[v].writes {
		k.forget(w.name.Value)
	}
}

// take learns from a group that fired, and from those that were tried before it.
func (k *knowledge) take(groups []group, taken int) {
	if kind := groups[taken].kind; kind != byGuard && kind != byDefault || groups[taken].perhaps {
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
