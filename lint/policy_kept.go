// Proofs that a policy is kept.

package lint

import (
	"github.com/graphrun/graphrun/internal/analysis/explore"
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
	case p.kind == "reach" && p.subject != f.End: // a way is all that is asked for
		return ""
	case f.follows(p):
		return "the conditions on every path keep it"
	case f.countsTo(p):
		return "limits and conditions on visits, steps and numbers in the state keep it"
	}
	return ""
}

// triesAll tells what stands in the way of trying every run; empty when each was tried
// and kept the policy.
func (f *facts) triesAll(p *policy) string {
	for _, late := range []bool{false, true} {
		q := explore.Question{Late: late, Proof: true}
		switch a := f.runs(p, q); {
		case a.Found && late:
			return "only the order in which branches get on keeps it"
		case a.Found:
			return "only inputs, results and the conditions on them keep it"
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
