// Runs with actual values: the witness of a claim, or the proof that there is none.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/runner/machine"
)

// Bounds of the steps that trying runs takes.
const (
	maxEvents   = 36_000 // for all of a graph
	maxSearched = 18_000 // for one search that knows where to look
	maxTried    = 5_000  // for another
	maxProving  = 12_000 // for a proof that there is no such run
	maxShown    = 8_000  // for all that rules besides those of policies ask of a graph
	maxShownOne = 1_600  // for one of these
	costOfModel = 4      // of a graph, for each node and key
	// Other analyses take their time for each edge, and for so many bytes of conditions as
	// long as a step does: they leave fewer steps to runs.
	costOfEdge   = 6
	bytesAStep   = 3
	leastOfSteps = maxEvents / 6
)

// shows asks for a run of the graph without its policies, along a path if one is given.
// Without a gap, no run does what is asked for, in whatever order branches get on.
func (f *facts) shows(path []int, q explore.Question) explore.Answer {
	plan := f.planFor(nil)
	if plan == nil {
		return explore.Answer{Gap: "the graph can't run"}
	}
	if q.Model == nil {
		q.Model = f.modelFor(nil)
	}
	q.Plan, q.Guide, q.Watch, q.More = plan, path, -1, -1
	q.Budget, q.Most = &f.showing, maxShownOne
	a := explore.Explore(q)
	if a.Gap == "" && !a.Found && f.flow().FansOut {
		q.Late, q.Proof = true, true
		if late := explore.Explore(q); late.Gap != "" {
			return late
		} else if late.Found {
			a.Gap = "the order in which branches get on"
		}
	}
	return a
}

// runs asks for a run that breaks a policy; see explore.Question for what is left of it.
func (f *facts) runs(p *policy, q explore.Question) explore.Answer {
	plan := f.planFor(p)
	if plan == nil {
		return explore.Answer{Gap: "the graph can't run"}
	}
	q.Most = maxTried
	if q.Proof {
		q.Most = maxProving
	}
	if len(q.Guide) > 0 || p.kind == "max_visits" && !q.Proof {
		q.Most = maxSearched
	}
	if f.waiting > 0 { // no policy may leave too little to those after it
		q.Most = min(q.Most, max(maxTried/2, 2*f.events/(f.waiting+1)))
	}
	q.Model, q.Plan, q.Watch, q.More, q.Budget = f.modelFor(p), plan, -1, -1, &f.events
	switch p.kind {
	case "never":
		q.Watch = p.place
	case "forbid", "reach":
		q.Visits = map[int]int{p.place: 1}
	case "max_visits":
		q.Visits = map[int]int{p.place: p.limit + 1}
		q.More = p.place
		if len(q.Guide) == 0 {
			q.Guide = f.wayTo(p.place)
		}
		if cycle := cycleThrough(f.alive(), p.place); cycle != nil {
			q.Round = cycle[1 : len(cycle)-1]
		}
	}
	a := explore.Explore(q)
	if a.Found {
		if p.place >= len(f.graph.Nodes) || !f.graph.Nodes[p.place].Final { // finally has begun since
			a.Witness = slices.DeleteFunc(a.Witness, func(v int) bool { return f.graph.Nodes[v].Final })
		}
		switch p.kind { // the node at which the policy has ended the run was not entered
		case "forbid":
			a.Witness = append(a.Witness, p.subject)
		case "require", "max_visits":
			a.Witness = append(a.Witness, p.place)
		}
	}
	return a
}

// stepsOfRuns are those that runs of the graph may take: few when its edges take long.
func (f *facts) stepsOfRuns() int {
	bytes := 0
	for i := range f.bound.Edges {
		if when := f.bound.Edges[i].When; when != nil {
			bytes += len(when.Source())
		}
	}
	return max(leastOfSteps, maxEvents-costOfEdge*len(f.graph.Edges)-bytes/bytesAStep)
}

// planFor is the graph as the machine runs it, with one policy or, for nil, with none.
func (f *facts) planFor(p *policy) *machine.Plan {
	index := -1
	if p != nil {
		index = p.index
	}
	if plan, known := f.plans[index]; known {
		return plan
	}
	if f.plans == nil {
		f.plans, f.events, f.showing = map[int]*machine.Plan{}, f.stepsOfRuns(), maxShown
	}
	g, bound := *f.graph, *f.bound
	g.Policies, bound.Never = nil, nil
	if p != nil {
		g.Policies, bound.Never = f.graph.Policies[index:index+1], f.bound.Never[index:index+1]
	}
	f.plans[index], _ = machine.BuildBound(&g, &bound, nil, nil)
	return f.plans[index]
}

// modelFor is what is known of the runs of a graph with a policy, nil for none.
func (f *facts) modelFor(p *policy) *explore.Model {
	key, place := -1, -1
	var never *eval.Program
	if p != nil && p.kind == "never" {
		key, place, never = p.index, p.place, p.never
	}
	m := f.models[key]
	if m == nil {
		if f.models == nil {
			f.models = map[int]*explore.Model{}
		}
		m = explore.NewModel(f.graph, f.bound, f.uses(), never, place)
		f.models[key] = m
	}
	return m
}

// lets lets runs take no way out of a node whose conditions the policy's node may
// decide, unless the graph itself has written what they read.
func (w *wary) lets(r *explore.Run, v int, taken []explore.Taken) bool {
	for _, t := range taken {
		if t.Edge < 0 {
			return !w.depends(w.f.bound.Nodes[v].Goto)
		}
		if w.f.graph.Edges[t.Edge].Condition == "on_failure" {
			return !w.depends(w.f.bound.Edges[t.Edge].When)
		}
	}
	for _, e := range w.f.EdgesOut()[v] {
		when := w.f.bound.Edges[e].When
		if w.f.graph.Edges[e].Condition == "on_failure" || !w.depends(when) {
			continue
		}
		if slices.ContainsFunc(when.Reads(), func(read eval.Read) bool { return len(read.Path) > 1 || !r.Written[read.Path[0]] }) {
			return false
		}
	}
	return true
}
