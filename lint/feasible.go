// Whether the conditions along a path contradict each other.

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/assignment"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/solve"
)

// knowledge is what is known of the state along a path: what conditions have
// shown, and what set nodes have written.
type knowledge struct {
	f      *facts
	claims []claim
	values map[string][]any // keys that hold one of a few known scalars
	filled map[string]bool  // keys that have been written
	// fanned says that the path has come through a fan-out: siblings may write
	// meanwhile.
	fanned, bad bool
	at          int // the node that has just run
	counts      pathCounts
}

// feasible reports whether a path from the start can be walked as far as its
// conditions tell: the same condition has one outcome until a node on the path
// writes what it reads.
func (f *facts) feasible(path []int) bool {
	tries := maxWalks
	return f.walkable(path, f.atStart(), &tries)
}

// walkable tries the groups that lead from each node to the next, in turn; when
// there are too many, the path is taken for possible.
func (f *facts) walkable(path []int, k *knowledge, tries *int) bool {
	if len(path) < 2 {
		return true
	}
	v, to := path[0], path[1]
	k.run(v)
	groups := f.flow().Groups[v]
	if *tries--; *tries < 0 || len(groups) == 0 {
		return true
	}
	for i := range groups {
		if !slices.Contains(groups[i].Targets, to) || f.isDead(&groups[i]) {
			continue
		}
		if there := k.onward(groups, i); !there.bad {
			there.settle(to)
			if f.walkable(path[1:], there, tries) {
				return true
			}
		}
	}
	return false
}

// onward is what is known after the node at which the groups are has run, and
// one of them fired.
func (k *knowledge) onward(groups []controlflow.Group, taken int) *knowledge {
	out := k.clone()
	if groups[taken].Kind != controlflow.OnFailure && !out.counts.refused { // a failure writes nothing
		out.leave(out.at)
	}
	out.take(groups, taken)
	return out
}

// openPath finds a way from the start to v on which a thing is not made and
// whose conditions don't contradict each other; nil when there is none.
//
// allowed, when set, says which groups of a node may be taken.
func (f *facts) openPath(a *assignment.Analysis, thing, v int, allowed func(v int, g *controlflow.Group, k *knowledge) bool) []int {
	first := a.Path(thing, v)
	if first != nil && f.feasible(first) {
		return first
	}
	past := a.PathAround(thing, v)
	if first == nil || past != nil {
		return past
	}
	h := &pathSearch{f: f, through: -1, to: v}
	h.allows = func(at *searched, g *controlflow.Group, way onward) bool {
		t := f.theReached.states[way.to].at
		return (allowed == nil || allowed(at.at, g, at.know)) && a.MayPass(at.at, t, way.group, thing) && a.MayLack(t, thing)
	}
	path, _ := h.search(maxWalks)
	if path == nil && !h.all {
		return first
	}
	return path
}

func (k *knowledge) clone() *knowledge {
	return &knowledge{
		f: k.f, claims: slices.Clone(k.claims), values: maps.Clone(k.values), filled: maps.Clone(k.filled), fanned: k.fanned, bad: k.bad,
		at: k.at, counts: k.counts.clone(),
	}
}

// forgetBut forgets what is known of all but some keys.
func (k *knowledge) forgetBut(keys map[string]bool) {
	other := func(name string) bool { return !keys[name] }
	k.claims = slices.DeleteFunc(k.claims, func(c claim) bool { return slices.ContainsFunc(c.roots, other) })
	maps.DeleteFunc(k.values, func(name string, _ []any) bool { return other(name) })
	maps.DeleteFunc(k.filled, func(name string, _ bool) bool { return other(name) })
}

// appendKey tells what is known apart.
func (k *knowledge) appendKey(key []byte) []byte {
	numbers := make([]int, 0, few)
	for i := range k.claims {
		numbers = append(numbers, k.claims[i].code())
	}
	key = appendSorted(key, numbers)
	numbers = numbers[:0]
	for name := range k.filled {
		numbers = append(numbers, k.f.keyOf[name])
	}
	key = appendSorted(key, numbers)
	for _, name := range slices.Sorted(maps.Keys(k.values)) {
		key = k.appendValues(key, name)
	}
	return k.counts.appendKey(key)
}

// few is how many claims there are mostly.
const few = 32

// code is a number for the claim.
func (c *claim) code() int {
	if c.Holds {
		return 2*c.number + 1
	}
	return 2 * c.number
}

func (k *knowledge) appendValues(key []byte, name string) []byte {
	return fmt.Appendf(strconv.AppendInt(key, int64(k.f.keyOf[name]), 10), "%#v", k.values[name])
}

// appendSorted adds numbers to a key, whatever their order.
func appendSorted(key []byte, numbers []int) []byte {
	slices.Sort(numbers)
	for _, n := range numbers {
		key = append(strconv.AppendInt(key, int64(n), 36), ' ')
	}
	return append(key, ';')
}

// leave forgets what a node's writes change, and learns what they make certain.
func (k *knowledge) leave(v int) {
	n, b := k.f.graph.Nodes[v], &k.f.bound.Nodes[v]
	defer k.settle(v)
	for _, key := range k.f.graph.State {
		if key.Once && isModel(n) { // a model that is told it sets it back
			k.forget(key.Name.Value)
		}
	}
	for _, w := range k.f.access()[v].Writes {
		k.forget(w.Name.Value)
	}
	for _, w := range k.f.always(v) {
		if !k.f.graph.State[w.Key].Once {
			if k.filled == nil {
				k.filled = map[string]bool{}
			}
			k.filled[w.Name.Value] = true
		}
	}
	for i := range b.Writes {
		k.holds(b.Writes[i].Name, &b.Writes[i].Value)
	}
	if n.Kind.Value != "set" || n.Each.IsSet() {
		return
	}
	for i := range b.Set {
		k.holds(b.Set[i].Name, &b.Set[i].Value)
	}
}

// holds learns what a key holds that has been written, if that is one of a few
// scalars.
func (k *knowledge) holds(name string, value *bind.Value) {
	key := k.f.graph.Key(name)
	d, ok := scalarsOf(value)
	if !ok || key == nil || !dataflow.Replaces(key) {
		return
	}
	if k.values == nil {
		k.values = map[string][]any{}
	}
	k.values[name] = d.Values
}

// scalarsOf are the scalars that a bound value is one of.
func scalarsOf(b *bind.Value) (solve.Domain, bool) {
	if b.IsConst() {
		return domain.OfValues([]any{b.Const()})
	}
	return domain.OfChoice(b.Program())
}

// domain is what is known of a state key on the path.
func (k *knowledge) domain(path []string, typ eval.Type) solve.Domain {
	if values, ok := k.values[path[0]]; ok && len(path) == 1 {
		return solve.Domain{Values: values}
	}
	if n, ok := k.counted(path); ok {
		return n
	}
	at := site{f: k.f, failed: true} // of no node: only what holds everywhere
	key := k.f.graph.Key(path[0])
	d := at.keyDomain(key, path[1:], typ)
	if k.filled[path[0]] && len(path) == 1 {
		d.Null = domain.AllowsNull(key.Schema)
	}
	return d
}

// take learns from a group that fired, and from those that were tried before it.
func (k *knowledge) take(groups []controlflow.Group, taken int) {
	n := k.f.graph.Nodes[k.at]
	k.bad = k.bad || !k.counts.lets(n, groups[taken].Kind)
	defer k.through(len(groups[taken].Targets) > 1)
	if !k.tells(&groups[taken]) {
		return
	}
	for i := range groups[:taken] {
		if triedBefore(&groups[i], &groups[taken]) {
			k.learn(&groups[i], false)
		}
	}
	if groups[taken].Kind != controlflow.ByDefault {
		k.learn(&groups[taken], true)
	}
}

// tells reports whether a group that fired tells how conditions have come out.
func (k *knowledge) tells(g *controlflow.Group) bool {
	skipped := k.counts.refused && g.Kind == controlflow.ByDefault // its conditions are not tried
	return (g.Kind == controlflow.ByGuard || g.Kind == controlflow.ByDefault || g.Kind == controlflow.OnFailure) && !g.Subset && !skipped
}

// triedBefore reports whether the conditions of an earlier group are tried before another.
func triedBefore(earlier, g *controlflow.Group) bool {
	return (earlier.Kind == controlflow.OnFailure) == (g.Kind == controlflow.OnFailure) && earlier.Kind != controlflow.ByGoto
}
