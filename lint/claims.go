// What conditions claim of the state on a path, and whether all of it can hold.

package lint

import (
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/solve"
)

// claim is the outcome of a condition over state keys only.
type claim struct {
	solve.Claim
	number int // see facts.clause
	roots  []string
}

// clause is a part of a condition: the state keys that it reads, if it reads nothing else
// than them and what is counted, and whether it reads that. Equal parts have one number.
type clause struct {
	number        int
	roots         []string
	known, counts bool
}

// decides reports whether all that a condition reads is known.
func (k *knowledge) decides(p *eval.Program) bool {
	return k != nil && !slices.ContainsFunc(p.Reads(), func(r eval.Read) bool {
		return len(k.values[r.Path[0]]) != 1 || len(r.Path) > 1
	})
}

// costOfClaim is what looking for the claims that hang together with one costs, in steps
// of the solver.
const costOfClaim = 20

// related adds to some claims those that hang together with state keys, directly or by
// others, the latest first; names are all these keys, codes those of what was added.
func (k *knowledge) related(claims []solve.Claim, keys []string) (all []solve.Claim, names []string, codes []int) {
	const most = 40 // older ones are left out: a long path is rather taken for possible
	names, codes = slices.Clone(keys), make([]int, 0, few)
	used := make([]bool, len(k.claims))
	for again := true; again && len(claims) <= most; {
		again = false
		for i := len(k.claims) - 1; i >= 0 && len(claims) <= most; i-- {
			old := &k.claims[i]
			if used[i] || !slices.ContainsFunc(old.roots, func(name string) bool { return slices.Contains(names, name) }) {
				continue
			}
			used[i], again = true, true
			claims, names, codes = append(claims, old.Claim), append(names, old.roots...), append(codes, old.code())
		}
	}
	return claims, names, codes
}

// possible reports whether a condition can have an outcome, given what is known:
// of what it reads, and of what that hangs together with.
func (k *knowledge) possible(c claim) bool {
	list, roots, codes := k.related([]solve.Claim{c.Claim}, c.roots)
	codes = append(codes, c.code())
	before := k.f.solver.Spent
	question := k.question(codes, roots)
	possible, known := k.f.theSolved[question]
	if !known {
		_, possible = k.f.solver.Model(list, solve.Problem{Domain: k.domain, Valid: (&site{f: k.f, failed: true}).valid})
		k.f.theSolved[question] = possible
	}
	k.f.weighed += costOfClaim + len(k.claims) + k.f.solver.Spent - before
	return possible
}

// mayCome reports whether conditions may come out so where they are tried, given what is
// known there.
func (k *knowledge) mayCome(at site, claims ...solve.Claim) bool {
	var roots []string
	for _, c := range claims {
		c.Tree.Each(func(t *eval.Tree) {
			switch t.Op {
			case eval.TreePath:
				roots = append(roots, t.Path[0])
			case eval.TreeOther: // it may read anything
				for i := range k.claims {
					roots = append(roots, k.claims[i].roots...)
				}
			}
		})
	}
	claims, _, _ = k.related(claims, roots)
	_, possible := k.f.solver.Model(claims, solve.Problem{Valid: at.valid, Domain: func(path []string, typ eval.Type) solve.Domain {
		_, counted := k.counted(path)
		if _, known := k.values[path[0]]; counted || known {
			return k.domain(path, typ)
		}
		out := at.domain(path, typ)
		if key := k.f.graph.Key(path[0]); key != nil && len(path) == 1 && k.filled[path[0]] {
			out.Null = domain.AllowsNull(key.Schema)
		}
		return out
	}})
	return possible
}

// after is what is known once a node has run and succeeded, for which this is known
// before; nil when it can't.
func (k *knowledge) after(v int) *knowledge {
	out := k.clone()
	if out.run(v); out.counts.refused || out.bad {
		return nil
	}
	out.leave(v)
	return out
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

// condition takes a program's condition apart into what it shows.
func (k *knowledge) condition(p *eval.Program, outcome bool) {
	p.Tree().Implied(outcome, func(t *eval.Tree, outcome bool) {
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
	})
}

// placed is a part of a program, and what is counted where it is tried.
type placed struct {
	counts *boundWalk
	tree   *eval.Tree
}

// clause looks at a part of a program once. What is not understood of it may read
// whatever the program reads.
func (k *knowledge) clause(p *eval.Program, t *eval.Tree) *clause {
	f := k.f
	at := placed{k.counts.of, t}
	if c := f.clauses[at]; c != nil {
		return c
	}
	if f.clauses == nil {
		f.clauses, f.clauseOf = map[placed]*clause{}, map[string]int{}
	}
	c := &clause{known: true, counts: k.counts.speaks(t)}
	key := t.Key()
	if c.number = f.clauseOf[key]; c.number == 0 {
		c.number = len(f.clauseOf) + 1
		f.clauseOf[key] = c.number
	}
	f.clauses[at] = c
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

// learn takes in how the conditions of a group came out: of edges that may all fire, all
// of them where none did.
func (k *knowledge) learn(g *controlflow.Group, outcome bool) {
	edges := g.Edges
	if !g.Subset { // those of one declaration, which have one condition
		edges = edges[:1]
	}
	for _, e := range edges {
		if when := k.f.bound.Edges[e].When; when != nil {
			k.condition(when, outcome)
		}
	}
}
