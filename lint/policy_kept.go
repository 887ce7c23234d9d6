// Proofs that a policy is kept.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/solve"
)

// doubt is a policy of which neither a breach nor a proof was found, and what stood
// in the way.
type doubt struct {
	policy policy
	why    string
}

// proof is a policy that every run keeps, and what shows it.
type proof struct {
	policy policy
	how    string
}

// keeps tells how it is proven, without a run, that every run keeps a policy; empty when
// it is not.
func (f *facts) keeps(p *policy) string {
	switch {
	case f.obeys(p):
		return "the shape of the graph keeps it"
	case f.guarded(p):
		return "the conditions on every path keep it"
	case f.counted(p):
		return "conditions on visits keep it"
	}
	return ""
}

// guarded reports whether on every path to the place of a never policy an edge excludes
// its condition, and no node between writes what it reads.
func (f *facts) guarded(p *policy) bool {
	if p.kind != "never" || f.flow().Anywhere || f.jumps() {
		return false
	}
	var names []string
	for _, r := range p.never.Reads() {
		if key := f.graph.Key(r.Path[0]); key == nil || key.Once {
			return false
		}
		names = append(names, r.Path[0])
	}
	writes := func(v int) bool {
		return slices.ContainsFunc(f.access()[v].Writes, func(w dataflow.Write) bool { return slices.Contains(names, w.Name.Value) })
	}
	if writes(p.place) {
		return false
	}
	seen := map[int]bool{p.place: true}
	for todo := []int{p.place}; len(todo) > 0; {
		v := todo[0]
		todo = todo[1:]
		if v == f.Start() || !f.stable(names, v) {
			return false
		}
		for u, groups := range f.flow().Groups {
			for i := range groups {
				if !slices.Contains(groups[i].Targets, v) || f.isDead(&groups[i]) || f.excludes(u, i, p) {
					continue
				}
				if u >= len(f.graph.Nodes) || writes(u) {
					return false
				}
				if !seen[u] {
					seen[u] = true
					todo = append(todo, u)
				}
			}
		}
	}
	return true
}

// excludes reports whether the condition of a never policy is false where a group fires.
func (f *facts) excludes(v, fires int, p *policy) bool {
	if v >= len(f.graph.Nodes) {
		return false
	}
	claims := f.claims(v, fires, func(name string) bool { return f.graph.Key(name) != nil })
	return len(claims) > 0 && !f.possible(site{f: f, failed: true}, append(claims, solve.Claim{Tree: p.never.Tree(), Holds: true}))
}

// counted reports whether every cycle through the node of a max_visits policy has an edge
// whose condition is false once the node has that many visits.
func (f *facts) counted(p *policy) bool {
	if p.kind != "max_visits" || f.flow().Anywhere || f.flow().FansOut {
		return false
	}
	full := solve.Claim{Holds: true, Tree: &eval.Tree{Op: eval.TreeBinary, Name: ">=", Args: []*eval.Tree{
		{Op: eval.TreePath, Path: []string{"visits", f.Name(p.place)}}, {Op: eval.TreeConst, Value: p.limit},
	}}}
	known := func(name string) bool { return name == "visits" || f.graph.Key(name) != nil }
	var from, to []int
	for v := range f.graph.Nodes {
		groups := f.flow().Groups[v]
		for i := range groups {
			claims := f.claims(v, i, known)
			if len(claims) == 0 || f.possible(site{f: f, node: f.graph.Nodes[v]}, append(claims, full)) {
				from, to = append(from, slices.Repeat([]int{v}, len(groups[i].Targets))...), append(to, groups[i].Targets...)
			}
		}
	}
	return cycleThrough(graphalg.New(len(f.graph.Nodes)+2, from, to), p.place) == nil
}

// jumps reports whether a run may come to a node although no edge fires that leads there:
// when joins fail, or all branches before them.
func (f *facts) jumps() bool {
	for v, n := range f.graph.Nodes {
		if f.failsBypassed(n) || f.flow().FansOut && controlflow.FailurePolicy(f.graph, v) == "wait_all" {
			return true
		}
	}
	return false
}

// triesAll tells what stands in the way of trying every run; empty when each was tried
// and kept the policy.
func (f *facts) triesAll(p *policy) string {
	for _, late := range []bool{false, true} {
		q := explore.Question{Late: late, Proof: true}
		switch a := f.runs(p, q); {
		case a.Found && late:
			return "it depends on the order in which branches end"
		case a.Found:
			return "it depends on inputs or results"
		case a.Gap != "":
			return a.Gap
		case !f.flow().FansOut:
			return ""
		}
	}
	return ""
}

// obeys reports whether the shape of the graph alone keeps a policy.
func (f *facts) obeys(p *policy) bool {
	if p.place < len(f.graph.Nodes) && !f.flow().Reached[p.place] {
		return true
	}
	switch p.kind {
	case "require":
		if p.subject == p.place {
			return false
		}
		a := f.newAssignment(1)
		a.First = true
		if !f.skipsUnmade(p.subject) {
			a.Makes(p.subject, 0)
		}
		a.Solve()
		return !a.MayLack(p.place, 0)
	case "forbid": // a step is after its past, not after what other branches do
		return !f.leads(p.place, p.subject) && p.place != p.subject
	case "max_visits":
		limited := func(most int) bool { return most > 0 && most <= p.limit }
		return limited(f.graph.Nodes[p.place].VisitLimit(f.graph)) || limited(f.graph.Limits.MaxSteps) ||
			!f.flow().Cyclic[p.place]
	case "reach":
		if p.subject != f.End {
			return p.place == p.subject || f.leads(p.place, p.subject)
		}
		for v, comes := range f.alive().Reach(p.place) {
			if comes && v < len(f.graph.Nodes) && f.stuck(v) {
				return false
			}
		}
		return true
	case "never":
		value, ok := p.never.Const()
		return ok && value == false
	}
	return false
}
