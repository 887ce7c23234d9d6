// Facts about a graph that several rules share, each computed at most once.

package lint

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/assignment"
	"github.com/graphrun/graphrun/internal/analysis/concurrency"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/internal/analysis/taint"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// facts holds what one call of Check knows about a graph.
type facts struct {
	graph *spec.Graph
	bound *bind.Graph
	opts  Options
	*controlflow.Vertices
	has   need           // what rules can rely on
	keyOf map[string]int // index of each declared state key

	rule   *Rule // that is being checked
	found  spec.Diagnostics
	solver solve.Solver
	// policyEvents and ruleEvents count the machine events left for policies and for all other rules.
	policyEvents, ruleEvents int
	waiting                  int // policies that share events
	verdicts                 []verdict
	counters                 map[loopKey]bool // see mayCount

	uses        func() *dataflow.Uses
	access      func() []dataflow.Access
	writes      func() []writer
	writersOf   func() map[string][]*spec.Node // nodes that may write each declared key
	testedNames func() map[string]bool
	subgraphs   func() *subgraph.Loader
	taints      func() *taint.Analysis
	flow        func() *controlflow.Graph
	alive       func() *graphalg.Digraph // the arcs that are not proven dead
	stepsBefore func() map[int]int
	pairs       func() *concurrency.Pairs // errs on the side of yes
	surePairs   func() *concurrency.Pairs // errs on the side of no
	assigned    func() *assignment.Analysis
	assignments func() *assignments
	judgements  func() []judgement
	situations  func() []situation
	dead        func() []bool        // edges that are proven never to fire
	arcsInto    func() map[int][]arc // by vertex, dead ones included
	model       func() *explore.Model
	trial       func() *trial
	limitless   func() *trial // without limits.max_steps
}

func newFacts(g *spec.Graph, bound *bind.Graph, opts Options) *facts {
	f := &facts{graph: g, bound: bound, opts: opts, Vertices: controlflow.NewVertices(g), keyOf: make(map[string]int, len(g.State)), counters: map[loopKey]bool{}, ruleEvents: maxRuleEvents}
	f.policyEvents = max(maxPolicyEvents/6, maxPolicyEvents-6*len(g.Edges)) // other analyses take longer on many edges
	for i, key := range g.State {
		f.keyOf[key.Name.Value] = i
	}
	f.uses = sync.OnceValue(func() *dataflow.Uses { return dataflow.NewUses(g, f.bound, f.From) })
	f.access = sync.OnceValue(func() []dataflow.Access { return dataflow.Accesses(g, f.bound) })
	f.writes = sync.OnceValue(f.listWrites)
	f.writersOf = sync.OnceValue(f.findWriters)
	f.testedNames = sync.OnceValue(f.findTestedNames)
	f.subgraphs = sync.OnceValue(func() *subgraph.Loader { return subgraph.New(g, opts.Kinds, opts.Load, Filter) })
	f.taints = sync.OnceValue(func() *taint.Analysis {
		if f.has == needNode {
			return taint.New(g, f.bound, f.access(), nil)
		}
		return taint.New(g, f.bound, f.access(), f.flow())
	})
	f.flow = sync.OnceValue(func() *controlflow.Graph { return controlflow.New(f.Vertices, f.bound) })
	f.alive = sync.OnceValue(func() *graphalg.Digraph { return f.filterArcs(nil) })
	f.stepsBefore = sync.OnceValue(f.countSteps)
	f.pairs = sync.OnceValue(func() *concurrency.Pairs { return concurrency.FindPairs(f.flow(), nil) })
	f.surePairs = sync.OnceValue(func() *concurrency.Pairs { return concurrency.FindPairs(f.flow(), f.startsBoth) })
	f.assigned = sync.OnceValue(func() *assignment.Analysis { return assignment.New(f.flow(), 0, f.isDead) })
	f.assignments = sync.OnceValue(f.findAssignments)
	f.judgements = sync.OnceValue(f.solveDecisions)
	f.situations = sync.OnceValue(f.findSituations)
	f.dead = sync.OnceValue(f.findDead)
	f.arcsInto = sync.OnceValue(func() map[int][]arc {
		into := map[int][]arc{}
		for _, a := range f.flow().Arcs {
			into[a.To] = append(into[a.To], a)
		}
		return into
	})
	f.model = sync.OnceValue(func() *explore.Model { return explore.NewModel(f.flow(), f.bound, f.uses(), nil, -1) })
	f.trial = sync.OnceValue(func() *trial { return f.newTrial(nil, g.Limits.MaxSteps) })
	f.limitless = sync.OnceValue(func() *trial { return f.newTrial(nil, limitlessSteps) })
	return f
}

// writer is a write, its node, and its index among the writes of the node.
type writer struct {
	node, order int
	dataflow.Write
}

// listWrites lists the writes of all nodes.
func (f *facts) listWrites() (out []writer) {
	for v, a := range f.access() {
		for i, w := range a.Writes {
			out = append(out, writer{v, i, w})
		}
	}
	return out
}

func (f *facts) findWriters() map[string][]*spec.Node {
	out := map[string][]*spec.Node{}
	for _, w := range f.writes() {
		name, n := w.Name.Value, f.graph.Nodes[w.node]
		if have := out[name]; !slices.Contains(have[max(0, len(have)-1):], n) {
			out[name] = append(have, n)
		}
	}
	return out
}

// child returns the valid subgraph of a node, or nil.
func (f *facts) child(n *spec.Node) *subgraph.Graph {
	if n.Kind.Value != "graph" {
		return nil
	}
	return f.loadGraph(text(n, "graph").Value)
}

// loadGraph returns a valid graph by its name in this one, or nil.
func (f *facts) loadGraph(name string) *subgraph.Graph {
	if c := f.subgraphs().Load(f.graph, "", name); c != nil && c.Graph != nil {
		return c
	}
	return nil
}

// alwaysWrites reports whether each success of a node writes a key.
func (f *facts) alwaysWrites(n *spec.Node, key int) bool {
	return slices.ContainsFunc(f.access()[n.Index].Always, func(w dataflow.Write) bool { return w.Key == key })
}

// inParallel reports whether two nodes may run at the same time.
func (f *facts) inParallel(x, y int) bool { return f.pairs().MayRunTogether(x, y) }

// isModel reports whether a node calls a model.
func isModel(n *spec.Node) bool { return n.Kind.Value == "llm" || n.Kind.Value == "agent" }

// text returns the text of a scalar field of a node, or an unset one.
func text(n *spec.Node, field string) spec.Text { return n.Field(field).Scalar() }

// choosesNext reports whether a node chooses its next nodes by goto.
func choosesNext(n *spec.Node) bool { return n.HasEnds || n.Goto.IsSet() }

// canFail reports whether the call or the question of a node may fail.
func canFail(n *spec.Node) bool {
	switch n.Kind.Value {
	case "set", "pass", "wait":
		return false
	case "human":
		return n.Timeout > 0 && n.Field("default") == nil
	}
	return true
}

// failsIfBypassed reports whether a join fails when too few branches can still reach it.
func failsIfBypassed(n *spec.Node) bool { return n.Join != nil && n.Join.OnBypass.Value == "fail" }

// maySkipUnassigned reports whether a node may fail, and be skipped at its limit of visits later:
// it then leads on as after a success although it never succeeded.
func (f *facts) maySkipUnassigned(v int) bool {
	n := f.graph.Nodes[v]
	mayErr := func(u *dataflow.Use) bool { return u.Field != "set" && !u.Optional } // errors of set are found by trying runs
	if n.OnMaxVisits != "skip" || !canFail(n) && !slices.ContainsFunc(f.uses().OfNode(v), mayErr) || !f.flow().Cyclic[v] && !f.flow().FansOut {
		return false
	}
	return f.mayContinueAfterFailure(n)
}

// mayContinueAfterFailure reports whether a run may continue although a node has failed.
func (f *facts) mayContinueAfterFailure(n *spec.Node) bool {
	return controlflow.ToleratesFailures(f.graph) || f.flow().HasGroup(n.Index, controlflow.OnFailure)
}

// isDead reports whether a group is proven never to fire.
func (f *facts) isDead(g *controlflow.Group) bool {
	if g.Kind == controlflow.ByGoto || g.Kind == controlflow.OnFailure {
		return false
	}
	return !slices.ContainsFunc(g.Edges, func(e int) bool { return !f.dead()[e] })
}

// arc leads from a node to a vertex.
type arc = controlflow.Arc

// arcs lists the arcs of groups that may fire.
func (f *facts) arcs() []arc {
	return slices.DeleteFunc(slices.Clone(f.flow().Arcs), func(a arc) bool { return f.isDead(f.flow().GroupOf(a)) })
}

// filterArcs returns the graph of the arcs that a filter admits and whose groups may fire.
func (f *facts) filterArcs(filter func(a arc) bool) *graphalg.Digraph {
	return f.NewDigraph(slices.DeleteFunc(f.arcs(), func(a arc) bool { return filter != nil && !filter(a) }))
}

// listSuccessors lists the vertices that a success of a node may lead to.
func (f *facts) listSuccessors(v int) []int {
	var out []int
	for _, g := range f.flow().Groups[v] {
		if g.Kind != controlflow.OnFailure && !f.isDead(&g) {
			out = append(out, g.Targets...)
		}
	}
	return out
}

// findVerticesBefore marks the vertices from which a path of at least one edge leads to a vertex.
func (f *facts) findVerticesBefore(to int) []bool {
	back := f.alive().Reverse()
	return back.Reach(back.Next(to)...)
}

// leadsTo reports whether a path of at least one edge connects two vertices.
func (f *facts) leadsTo(from, to int) bool { return f.findVerticesBefore(to)[from] }

// countSteps returns the fewest steps before each node, or none if a node may lead anywhere.
func (f *facts) countSteps() map[int]int {
	if f.flow().Anywhere {
		return nil
	}
	return graphalg.Distances(f.flow().Digraph.Next, f.Start())
}

// situation is a vertex on a path, with the values that keys can have there after the path.
type situation struct {
	vertex, before int // before is the index of the situation before it, or -1
	known          map[string][]any
}

// findSituations follows the paths whose conditions can hold, the shortest first.
func (f *facts) findSituations() []situation {
	const most = 1_000
	list, seen := []situation{{f.Start(), -1, nil}}, map[string]bool{}
	for i := 0; i < len(list) && len(list) < most; i++ {
		v := list[i].vertex
		if v >= len(f.graph.Nodes) {
			continue
		}
		written := f.findKnownValues(v, list[i].known)
		for k := range f.flow().Groups[v] {
			g, known := &f.flow().Groups[v][k], written
			if g.Kind == controlflow.OnFailure {
				known = list[i].known
			}
			isKnown := func(name string) bool { return known[name] != nil }
			domainOf := func(path []string, _ eval.Type) solve.Domain {
				return solve.Domain{Values: known[path[0]], Null: len(path) > 1}
			}
			for _, t := range g.Targets {
				next := situation{t, i, known}
				if f.flow().Joins[min(t, f.End-1)] || t < f.End && f.graph.Nodes[t].Join != nil { // other branches write, too
					next.known = nil
				}
				name := fmt.Sprint(t, next.known)
				if !seen[name] && !f.isDead(g) && f.solver.CanHold(f.listClaims(arc{From: v, To: t, Group: k}, isKnown), domainOf) {
					seen[name] = true
					list = append(list, next)
				}
			}
		}
	}
	return list
}

// findKnownValues returns the known values of keys after a success of a node.
func (f *facts) findKnownValues(v int, before map[string][]any) map[string][]any {
	known := map[string][]any{}
	maps.Copy(known, before)
	for _, w := range f.access()[v].Writes {
		delete(known, w.Name.Value)
		d, ok := f.domainOfWrite(f.graph.Nodes[v], w.Name.Value)
		if ok && len(d.Values) > 0 && f.testedNames()[w.Name.Value] && dataflow.Replaces(f.graph.State[w.Key]) && !f.graph.Nodes[v].Each.IsSet() {
			known[w.Name.Value] = d.Values
		}
	}
	return known
}

// findPathTo returns a shortest path to a vertex, if possible one that runs can follow, or nil.
func (f *facts) findPathTo(v int) (path []int) {
	list := f.situations()
	i := slices.IndexFunc(list, func(s situation) bool { return s.vertex == v })
	if i < 0 {
		return graphalg.Path(f.alive().Next, f.Start(), v)
	}
	for ; i >= 0; i = list[i].before {
		path = append(path, list[i].vertex)
	}
	slices.Reverse(path)
	return path
}

// findPathThrough returns a shortest path to v and on to another vertex by at least one edge, or nil.
func (f *facts) findPathThrough(from, v, to int) []int {
	path, on := graphalg.Path(f.alive().Next, from, v), findCycleThrough(f.alive(), v)
	if v != to {
		on = graphalg.Path(f.alive().Next, v, to)
	}
	if path == nil || on == nil {
		return nil
	}
	return append(path, on[1:]...)
}

// findCycleThrough returns a shortest cycle through v, which begins and ends it, or nil.
func findCycleThrough(g *graphalg.Digraph, v int) []int {
	begin := g.Len() // a copy of v, where the path begins
	path := graphalg.Path(func(x int) []int {
		if x == begin {
			x = v
		}
		return g.Next(x)
	}, begin, v)
	if path != nil {
		path[0] = v
	}
	return path
}

// Limits for trying runs, in machine events: for all questions, and at least for one.
const (
	maxPolicyEvents   = 36_000 // for the policies of a graph
	maxRuleEvents     = 44_000 // for all other rules
	leastRuleEvents   = 1_600  // for one of their questions, which may use a third of the rest
	leastPolicyEvents = 2_500  // for one question about a policy
)

// trial is a graph that the explorer can run.
type trial struct {
	plan  *machine.Plan // nil when the graph can't run
	model *explore.Model
	watch int // see explore.Question
}

// explore answers a question about the graph of a trial.
func (t *trial) explore(q explore.Question) explore.Answer {
	if t.plan == nil {
		return explore.Answer{Gap: "the graph can't run"}
	}
	q.Model, q.Plan, q.Watch = t.model, t.plan, t.watch
	return explore.Explore(q)
}

// newTrial prepares a graph with one policy, or with none.
func (f *facts) newTrial(p *policy, maxSteps int) *trial {
	g, bound := *f.graph, *f.bound
	g.Policies, bound.Never, g.Limits.MaxSteps = nil, nil, maxSteps
	g.PauseBefore, g.PauseAfter = nil, nil // runs continue after breakpoints
	if p != nil {
		g.Policies, bound.Never = f.graph.Policies[p.index:p.index+1], f.bound.Never[p.index:p.index+1]
	}
	t := &trial{model: f.model(), watch: -1}
	t.plan, _ = machine.BuildBound(&g, &bound, nil, nil)
	if p != nil && p.never != nil {
		t.model, t.watch = explore.NewModel(f.flow(), f.bound, f.uses(), p.never, p.node), p.node
	}
	return t
}

// findRun asks for a run of the graph without its policies, guided by a path or nil. If the answer
// has no gap, no run does what q asks, in whatever order branches end.
func (f *facts) findRun(path []int, q explore.Question) explore.Answer {
	q.Guide, q.Bare, q.Budget, q.Most = path, true, &f.ruleEvents, max(leastRuleEvents, f.ruleEvents/3)
	a := f.trial().explore(q)
	if a.Gap == "" && !a.Found && f.flow().FansOut {
		q.Late, q.Proof = true, true
		if late := f.trial().explore(q); late.Gap != "" {
			return late
		} else if late.Found {
			a.Gap = "the order in which branches end"
		}
	}
	a.Witness = slices.DeleteFunc(a.Witness, func(v int) bool { return f.graph.Nodes[v].Final }) // finally begins last
	return a
}

// hopelessAfter returns a function that reports whether a run can't reach a node any more, or nil.
func (f *facts) hopelessAfter(node int) func(*explore.Run) bool {
	if node < 0 || node >= len(f.graph.Nodes) || f.graph.Nodes[node].Final {
		return nil
	}
	before := f.flow().Digraph.Reverse().Reach(node)
	return func(r *explore.Run) bool { return !r.IsEnding() && !r.HasTaskAt(before) }
}

// findBreach asks for a run that breaks a policy; see explore.Question for the rest of q.
func (f *facts) findBreach(p *policy, q explore.Question) explore.Answer {
	if f.policyEvents <= 0 {
		return explore.Answer{Gap: explore.TooMany}
	}
	if p.trial == nil {
		p.trial = f.newTrial(p, f.graph.Limits.MaxSteps)
	}
	q.Most, q.Budget = max(leastPolicyEvents, f.policyEvents/(f.waiting+1)), &f.policyEvents // leave some for the later policies
	q.Bare, q.Hopeless = p.kind == "never" && !q.Proof, f.hopelessAfter(p.node)
	switch p.kind {
	case "forbid":
		q.Visits, q.Hopeless = map[int]int{p.node: 1}, f.hopelessAfter(p.subject)
	case "reach":
		q.Visits, q.Hopeless = map[int]int{p.node: 1}, nil
	case "max_visits":
		q.Visits = map[int]int{p.node: p.limit + 1}
		q.Guide = append(f.repeatCycles(f.findPathTo(p.node), nil), f.repeatCycle(p.node, 1, p.limit+1)...)
	}
	a := p.trial.explore(q)
	if !a.Found {
		return a
	}
	if p.node >= len(f.graph.Nodes) || !f.graph.Nodes[p.node].Final { // finally has begun since
		a.Witness = slices.DeleteFunc(a.Witness, func(v int) bool { return f.graph.Nodes[v].Final })
	}
	switch p.kind { // the run ended before it entered this node
	case "forbid":
		a.Witness = append(a.Witness, p.subject)
	case "require", "max_visits":
		a.Witness = append(a.Witness, p.node)
	}
	return a
}

// isSubsequence reports whether a run visits the vertices of a path one after the other.
func isSubsequence(path, run []int) bool {
	for _, v := range run {
		if len(path) > 0 && path[0] == v {
			path = path[1:]
		}
	}
	return len(path) == 0
}
