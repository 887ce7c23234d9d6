// Whether a node can be come to with values that none of its conditions is for, after
// what held and was written on the way there.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/runner/machine"
)

// maxPlaces is how many states of the state space are followed for it.
const maxPlaces = 2_000

// mayFallThrough reports whether path conditions leave a way to a node on which all of its
// conditions may be false.
func (f *facts) mayFallThrough(d *judgement) bool {
	if f.jumps() || !f.stateSpace().complete() {
		return true
	}
	return slices.ContainsFunc(f.stateSpace().states, func(s pathState) bool {
		return s.at == d.site.node.Index && s.know.mayMissAll(d)
	})
}

// fallsThrough is a run in which no condition of a decision holds, and what they read
// then. Not possible when every run was tried.
func (f *facts) fallsThrough(d *judgement) (path []int, values []solve.Binding, possible bool) {
	v := d.site.node.Index
	a := f.shows(f.wayTo(v), explore.Question{Found: func(r *explore.Run) bool {
		skipped := func(n machine.Note) bool { return n.Skipped } // its conditions are not tried
		how := r.State.Failure
		if r.State.Status != machine.Stuck || how.Node != d.site.node.ID.Value || len(how.Candidates) == 0 || how.Candidates[0].Edge < 0 || slices.ContainsFunc(r.State.Notes(), skipped) {
			return false // or it is a join that waits for branches which can't come
		}
		told := map[string]bool{}
		for _, p := range d.conditions {
			for _, read := range p.Reads() {
				name := solve.PathName(read.Path)
				if value, ok := r.Read(read.Path, v); ok && !told[name] {
					values, told[name] = append(values, solve.Binding{Path: read.Path, Value: value}), true
				}
			}
		}
		return true
	}})
	return a.Witness, values, a.Found || a.Gap != ""
}

// complete follows all ways, if they are not too many.
func (g *stateSpace) complete() bool {
	for i := 0; i < len(g.states); i++ {
		if g.next(i); g.cut || i >= maxPlaces {
			return false
		}
	}
	return true
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

// mayMissAll reports whether no condition of a decision may hold after a visit for which
// this is known before.
func (k *knowledge) mayMissAll(d *judgement) bool {
	claims := make([]solve.Claim, len(d.conditions))
	for i, p := range d.conditions {
		claims[i].Tree = p.Tree()
	}
	after := k.after(d.site.node.Index)
	return after != nil && after.mayCome(d.site, claims...)
}
