// Runs with actual values: they show that something happens, or that it never does.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/runner/machine"
)

// Limits for trying runs, in machine events.
const (
	maxEvents   = 36_000 // for the policies of a graph
	maxShown    = 8_000  // for all other rules
	maxShownOne = 1_600  // for one question of these
	leastTried  = 2_500  // for one question about a policy
)

// trial is a graph that the explorer can run.
type trial struct {
	plan  *machine.Plan // nil when the graph can't run
	model *explore.Model
}

// newTrial prepares a graph with one policy, or with none.
func (f *facts) newTrial(p *policy, maxSteps int) *trial {
	g, bound := *f.graph, *f.bound
	g.Policies, bound.Never, g.Limits.MaxSteps = nil, nil, maxSteps
	if p != nil {
		g.Policies, bound.Never = f.graph.Policies[p.index:p.index+1], f.bound.Never[p.index:p.index+1]
	}
	t := &trial{model: f.model()}
	t.plan, _ = machine.BuildBound(&g, &bound, nil, nil)
	if p != nil && p.never != nil {
		t.model = explore.NewModel(f.graph, f.bound, f.uses(), p.never, p.place)
	}
	return t
}

// findRun asks for a run of the graph without its policies, guided by a path unless that is
// nil. If the answer has no gap, no run does what q asks, in whatever order branches end.
func (f *facts) findRun(path []int, q explore.Question) explore.Answer {
	t := f.trial()
	if t.plan == nil {
		return explore.Answer{Gap: "the graph can't run"}
	}
	q.Model, q.Plan, q.Guide, q.Watch, q.More = t.model, t.plan, path, -1, -1
	q.Budget, q.Most = &f.showing, maxShownOne
	a := explore.Explore(q)
	if a.Gap == "" && !a.Found && f.flow().FansOut {
		q.Late, q.Proof = true, true
		if late := explore.Explore(q); late.Gap != "" {
			return late
		} else if late.Found {
			a.Gap = "the order in which branches end"
		}
	}
	return a
}

// findBreach asks for a run that breaks a policy; see explore.Question for the rest of q.
func (f *facts) findBreach(p *policy, q explore.Question) explore.Answer {
	if f.events <= 0 {
		return explore.Answer{Gap: explore.TooMany}
	}
	if p.trial == nil {
		p.trial = f.newTrial(p, f.graph.Limits.MaxSteps)
	}
	if p.trial.plan == nil {
		return explore.Answer{Gap: "the graph can't run"}
	}
	q.Most = max(leastTried, f.events/(f.waiting+1)) // the policies after this one need some, too
	q.Model, q.Plan, q.Watch, q.More, q.Budget = p.trial.model, p.trial.plan, -1, -1, &f.events
	switch p.kind {
	case "never":
		q.Watch = p.place
	case "forbid", "reach":
		q.Visits = map[int]int{p.place: 1}
	case "max_visits":
		q.Visits, q.More = map[int]int{p.place: p.limit + 1}, p.place
		q.Guide = f.pathTo(p.place)
		if cycle := cycleThrough(f.alive(), p.place); cycle != nil {
			q.Round = cycle[1 : len(cycle)-1]
		}
	}
	a := explore.Explore(q)
	if !a.Found {
		return a
	}
	if p.place >= len(f.graph.Nodes) || !f.graph.Nodes[p.place].Final { // finally has begun since
		a.Witness = slices.DeleteFunc(a.Witness, func(v int) bool { return f.graph.Nodes[v].Final })
	}
	switch p.kind { // the run ended before it entered this node
	case "forbid":
		a.Witness = append(a.Witness, p.subject)
	case "require", "max_visits":
		a.Witness = append(a.Witness, p.place)
	}
	return a
}

// isWithin reports whether a run visits the vertices of a path one after the other.
func isWithin(path, run []int) bool {
	for _, v := range run {
		if len(path) > 0 && path[0] == v {
			path = path[1:]
		}
	}
	return len(path) == 0
}
