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

// claim is the outcome of a condition over state keys only.
type claim struct {
	solve.Claim
	number int // see facts.clause; 0 for none
	roots  []string
}

// clause is a part of a condition: the state keys that it reads, if it reads nothing else
// than them and what is counted, and whether it reads that. Equal parts have one number.
type clause struct {
	number        int
	roots         []string
	known, counts bool
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
			there.enter(to)
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

// walk is a state of the search for a path: a node, its state of the state space, and
// the walk before.
type walk struct {
	at    int
	state int
	from  *walk
}

// maxWalks bounds the search; beyond it a path is taken for possible.
const maxWalks = 500

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
	g := f.stateSpace()
	todo := []*walk{{at: f.Start()}}
	seen := map[int]bool{}
	for len(todo) > 0 {
		w := todo[0]
		todo = todo[1:]
		if w.at == v {
			return w.path()
		}
		for _, next := range f.steps(g, a, thing, w, allowed) {
			if !seen[next.state] {
				seen[next.state] = true
				todo = append(todo, next)
			}
		}
		if len(seen) > maxWalks || g.cut {
			return first
		}
	}
	return nil
}

// steps are the states that follow one.
func (f *facts) steps(g *stateSpace, a *assignment.Analysis, thing int, w *walk, allowed func(v int, g *controlflow.Group, k *knowledge) bool) []*walk {
	if w.at >= len(f.graph.Nodes) {
		return nil
	}
	var out []*walk
	groups := f.flow().Groups[w.at]
	know := g.states[w.state].know
	for _, way := range g.next(w.state) {
		taken := &groups[way.group]
		t := g.states[way.to].at
		if allowed != nil && !allowed(w.at, taken, know) || !a.MayPass(w.at, t, way.group, thing) {
			continue
		}
		if a.MayLack(t, thing) {
			out = append(out, &walk{t, way.to, w})
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

func (k *knowledge) clone() *knowledge {
	return &knowledge{
		f: k.f, claims: slices.Clone(k.claims), values: maps.Clone(k.values), filled: maps.Clone(k.filled), fanned: k.fanned, bad: k.bad,
		at: k.at, counts: k.counts.clone(),
	}
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
	values, ok := scalarsOf(value)
	if !ok || key == nil || !dataflow.Replaces(key) {
		return
	}
	if k.values == nil {
		k.values = map[string][]any{}
	}
	k.values[name] = values
}

// scalarsOf are the scalars that a bound value is one of.
func scalarsOf(b *bind.Value) ([]any, bool) {
	if b.IsConst() {
		d, ok := domain.OfValues([]any{b.Const()})
		return d.Values, ok
	}
	d, ok := domain.OfChoice(b.Program())
	return d.Values, ok
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

// decides reports whether all that a condition reads is known.
func (k *knowledge) decides(p *eval.Program) bool {
	return k != nil && !slices.ContainsFunc(p.Reads(), func(r eval.Read) bool {
		return len(k.values[r.Path[0]]) != 1 || len(r.Path) > 1
	})
}

// possible reports whether a condition can have an outcome, given what is known:
// of what it reads, and of what that hangs together with.
func (k *knowledge) possible(c claim) bool {
	const most = 40 // older ones are left out: a long path is rather taken for possible
	list := []solve.Claim{c.Claim}
	roots := slices.Clone(c.roots)
	used := make([]bool, len(k.claims))
	codes := append(make([]int, 0, few), c.code())
	for again := true; again && len(list) <= most; {
		again = false
		for i := len(k.claims) - 1; i >= 0 && len(list) <= most; i-- {
			old := &k.claims[i]
			if used[i] || !slices.ContainsFunc(old.roots, func(name string) bool { return slices.Contains(roots, name) }) {
				continue
			}
			used[i], again = true, true
			list, roots, codes = append(list, old.Claim), append(roots, old.roots...), append(codes, old.code())
		}
	}
	before := k.f.solver.Spent
	decide := func() bool {
		_, possible := k.f.solver.Model(list, solve.Problem{Domain: k.domain, Valid: (&site{f: k.f, failed: true}).valid})
		return possible
	}
	possible := false
	if c.number == 0 {
		possible = decide()
	} else {
		possible = k.f.remember(k.question(codes, roots), decide)
	}
	k.f.weighed += 1 + k.f.solver.Spent - before
	return possible
}

// question tells claims apart for which something else may be found out.
func (k *knowledge) question(codes []int, roots []string) string {
	key := appendSorted(make([]byte, 0, 128), codes)
	slices.Sort(roots)
	for _, name := range slices.Compact(roots) {
		if k.filled[name] {
			key = append(key, '!')
		}
		if _, known := k.values[name]; known {
			key = k.appendValues(key, name)
		}
		key = append(key, ';')
	}
	return string(k.counts.appendKey(strconv.AppendBool(key, k.fanned)))
}

// remember looks up what was found out about a question, or finds it out.
func (f *facts) remember(question string, decide func() bool) bool {
	out, known := f.theSolved[question]
	if !known {
		out = decide()
		if f.theSolved == nil {
			f.theSolved = map[string]bool{}
		}
		f.theSolved[question] = out
	}
	return out
}

// take learns from a group that fired, and from those that were tried before it.
func (k *knowledge) take(groups []controlflow.Group, taken int) {
	n := k.f.graph.Nodes[k.at]
	k.bad = k.bad || !k.counts.lets(n, groups[taken].Kind)
	defer k.through(len(groups[taken].Targets) > 1)
	kind := groups[taken].Kind
	skipped := k.counts.refused && kind == controlflow.ByDefault // its conditions are not tried
	if kind != controlflow.ByGuard && kind != controlflow.ByDefault && kind != controlflow.OnFailure || groups[taken].Subset || skipped {
		return
	}
	for i := range groups[:taken] {
		if (groups[i].Kind == controlflow.OnFailure) == (kind == controlflow.OnFailure) && groups[i].Kind != controlflow.ByGoto {
			k.learn(&groups[i], false)
		}
	}
	if kind != controlflow.ByDefault {
		k.learn(&groups[taken], true)
	}
}

// learn takes in how the conditions of a group came out: of edges that may all fire, all
// of them where none did.
func (k *knowledge) learn(g *controlflow.Group, outcome bool) {
	edges := g.Edges
	if !g.Subset { // those of one declaration, which have one condition
		edges = edges[:1]
	}
	for _, e := range edges {
		if when := k.f.bound.Edges[e].When; when != nil {
			k.condition(when, when.Tree(), outcome)
		}
	}
}

// condition takes a part of a program's condition apart into what it shows.
func (k *knowledge) condition(p *eval.Program, t *eval.Tree, outcome bool) {
	switch {
	case t.Op == eval.TreeUnary && t.Name == "not":
		k.condition(p, t.Args[0], !outcome)
		return
	case t.Op == eval.TreeBinary && (t.Name == "and" && outcome || t.Name == "or" && !outcome):
		k.condition(p, t.Args[0], outcome)
		k.condition(p, t.Args[1], outcome)
		return
	}
	part := k.clause(p, t)
	if !part.known || k.fanned && !k.stable(part.roots, k.at) {
		return
	}
	c := claim{Claim: solve.Claim{Tree: t, Holds: outcome}, number: part.number, roots: part.roots}
	k.bad = k.bad || !k.possible(c)
	if part.counts {
		return // it holds for this visit only
	}
	known := slices.ContainsFunc(k.claims, func(old claim) bool { return old.number == c.number && old.Holds == outcome })
	if !known {
		k.claims = append(k.claims, c)
	}
}

// clause looks at a part of a program once. What is not understood of it may read
// whatever the program reads.
func (k *knowledge) clause(p *eval.Program, t *eval.Tree) *clause {
	f := k.f
	if c := f.clauses[t]; c != nil {
		return c
	}
	if f.clauses == nil {
		f.clauses, f.clauseOf = map[*eval.Tree]*clause{}, map[string]int{}
	}
	c := &clause{known: true, counts: k.counts.speaks(t)}
	key := t.Key()
	if c.number = f.clauseOf[key]; c.number == 0 {
		c.number = len(f.clauseOf) + 1
		f.clauseOf[key] = c.number
	}
	f.clauses[t] = c
	read := func(path []string, counts bool) {
		_, declared := f.keyOf[path[0]]
		_, counted := k.counted(path)
		c.known = c.known && (declared || counts && counted)
		if declared && !slices.Contains(c.roots, path[0]) {
			c.roots = append(c.roots, path[0])
		}
	}
	t.Each(func(part *eval.Tree) {
		switch part.Op {
		case eval.TreeOther:
			for _, r := range p.Reads() {
				read(r.Path, false)
			}
		case eval.TreePath:
			read(part.Path, true)
		}
	})
	return c
}
