// Facts about a graph that several rules share, each computed at most once.

package lint

import (
	"slices"
	"sync"

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
	"github.com/graphrun/graphrun/spec"
)

// facts holds what one call of Check knows about a graph. Vertices are the nodes by their
// index, and END behind them.
type facts struct {
	graph *spec.Graph
	bound *bind.Graph
	opts  Options
	*controlflow.Vertices
	shaped  bool           // the graph is well formed
	correct bool           // it has no errors
	keyOf   map[string]int // index of each declared state key

	rule   *Rule // that is being checked
	found  spec.Diagnostics
	solver solve.Solver
	// events and showing are how many machine events policies, and all other rules, may
	// still use to try runs.
	events, showing int
	waiting         int // policies that share events
	verdicts        []verdict

	edgesOut   func() [][]int // by the node they leave, in the order of declaration
	uses       func() *dataflow.Uses
	access     func() []dataflow.Access
	writersOf  func() map[string][]*spec.Node // nodes that may write each declared key
	asked      func() map[string]bool
	looped     func() map[loopKey][]*spec.Node
	subgraphs  func() *subgraph.Loader
	taints     func() *taint.Analysis
	flow       func() *controlflow.Graph
	alive      func() *graphalg.Digraph // the arcs that are not proven dead
	unbounded  func() *graphalg.Digraph // the arcs of cycles that nothing surely bounds
	leastSteps func() []int
	pairs      func() *concurrency.Pairs // errs on the side of yes
	rivals     func() *concurrency.Pairs // errs on the side of no
	assigned   func() *assignment.Analysis
	made       func() *made
	judgements func() []judgement
	dead       func() map[int]bool // edges that are proven never to fire
	model      func() *explore.Model
	trial      func() *trial
	limitless  func() *trial // without limits.max_steps
}

func newFacts(g *spec.Graph, bound *bind.Graph, opts Options) *facts {
	f := &facts{graph: g, bound: bound, opts: opts, Vertices: controlflow.NewVertices(g), keyOf: make(map[string]int, len(g.State)), showing: maxShown}
	f.events = max(maxEvents/6, maxEvents-6*len(g.Edges)) // other analyses take longer on many edges
	for i, key := range g.State {
		f.keyOf[key.Name.Value] = i
	}
	f.edgesOut = sync.OnceValue(f.EdgesOut)
	f.uses = sync.OnceValue(func() *dataflow.Uses { return dataflow.NewUses(g, f.bound, f.From) })
	f.access = sync.OnceValue(func() []dataflow.Access { return dataflow.Accesses(g, f.bound) })
	f.writersOf = sync.OnceValue(f.findWriters)
	f.asked = sync.OnceValue(f.findAsked)
	f.looped = sync.OnceValue(f.findLooped)
	f.subgraphs = sync.OnceValue(func() *subgraph.Loader { return subgraph.New(g, opts.Kinds, opts.Load, Filter) })
	f.taints = sync.OnceValue(func() *taint.Analysis {
		if !f.shaped {
			return taint.New(g, f.bound, f.access(), nil)
		}
		return taint.New(g, f.bound, f.access(), f.flow())
	})
	f.flow = sync.OnceValue(func() *controlflow.Graph { return controlflow.New(f.Vertices, f.edgesOut(), f.bound) })
	f.alive = sync.OnceValue(func() *graphalg.Digraph { return f.ways(nil) })
	f.unbounded = sync.OnceValue(func() *graphalg.Digraph { return f.openCycles(-1, false).left() })
	f.leastSteps = sync.OnceValue(f.countSteps)
	f.pairs = sync.OnceValue(func() *concurrency.Pairs { return concurrency.NewPairs(f.flow(), concurrency.Options{}) })
	f.rivals = sync.OnceValue(func() *concurrency.Pairs {
		return concurrency.NewPairs(f.flow(), concurrency.Options{Starts: f.startsBoth})
	})
	f.assigned = sync.OnceValue(func() *assignment.Analysis {
		return assignment.New(f.flow(), 0, f.isDead)
	})
	f.made = sync.OnceValue(f.findMade)
	f.judgements = sync.OnceValue(f.solveDecisions)
	f.dead = sync.OnceValue(f.findDead)
	f.model = sync.OnceValue(func() *explore.Model { return explore.NewModel(g, f.bound, f.uses(), nil, -1) })
	f.trial = sync.OnceValue(func() *trial { return f.newTrial(nil, g.Limits.MaxSteps) })
	f.limitless = sync.OnceValue(func() *trial { return f.newTrial(nil, limitlessSteps) })
	return f
}

func (f *facts) findWriters() map[string][]*spec.Node {
	out := map[string][]*spec.Node{}
	for v, a := range f.access() {
		for i := range a.Writes {
			name, n := a.Writes[i].Name.Value, f.graph.Nodes[v]
			if have := out[name]; len(have) == 0 || have[len(have)-1] != n {
				out[name] = append(have, n)
			}
		}
	}
	return out
}

// childOf returns the valid subgraph of a node, or nil.
func (f *facts) childOf(n *spec.Node) *spec.Graph {
	if n.Kind.Value != "graph" {
		return nil
	}
	if c := f.subgraphs().Load(f.graph, "", text(n, "graph").Value); c != nil {
		return c.Graph
	}
	return nil
}

// always lists the writes of each success of a node.
func (f *facts) always(v int) []dataflow.Write { return f.access()[v].Always }

func (f *facts) alwaysWrites(n *spec.Node, key int) bool {
	return slices.ContainsFunc(f.always(n.Index), func(w dataflow.Write) bool { return w.Key == key })
}

// inParallel reports whether two nodes may be at work at the same time.
func (f *facts) inParallel(x, y int) bool { return f.pairs().Together(x, y) }

// isModel reports whether a node calls a model.
func isModel(n *spec.Node) bool { return n.Kind.Value == "llm" || n.Kind.Value == "agent" }

// text returns the text of a scalar field of a node; absent when it has none.
func text(n *spec.Node, field string) spec.Text {
	if v := n.Field(field); v != nil && v.IsScalar() && v.Kind != spec.Null {
		return v.Text
	}
	return spec.Text{}
}

// choosesNext reports whether a node chooses its next nodes by goto.
func choosesNext(n *spec.Node) bool { return n.HasEnds || n.Goto.IsSet() }

// hasOtherWay reports whether a node can be left although no condition holds.
func (f *facts) hasOtherWay(n *spec.Node) bool {
	return choosesNext(n) || slices.ContainsFunc(f.flow().Groups[n.Index], func(g controlflow.Group) bool {
		return g.Kind == controlflow.ByDefault || g.Kind == controlflow.ByDecision
	})
}

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

// mayErr reports whether an expression of a node may fail. Values that a set node writes
// are left out: explored runs compute them.
func (f *facts) mayErr(v int) bool {
	return slices.ContainsFunc(f.uses().OfNode(v), func(u dataflow.Use) bool {
		return u.Field != "set" && u.Program != nil && !u.Optional
	})
}

// failsBypassed reports whether a join fails when too few branches can still reach it.
func failsBypassed(n *spec.Node) bool { return n.Join != nil && n.Join.OnBypass.Value == "fail" }

// skipsUnmade reports whether a node may lead on as after a success although it never
// succeeded: it failed, and is then skipped at its limit of visits.
func (f *facts) skipsUnmade(v int) bool {
	n := f.graph.Nodes[v]
	if n.OnMaxVisits != "skip" || !canFail(n) && !f.mayErr(v) || !f.flow().Cyclic[v] && !f.flow().FansOut {
		return false
	}
	return controlflow.Tolerates(f.graph) ||
		slices.ContainsFunc(f.flow().Groups[v], func(g controlflow.Group) bool { return g.Kind == controlflow.OnFailure })
}

// isDead reports whether a group is proven never to fire.
func (f *facts) isDead(g *controlflow.Group) bool {
	if g.Kind == controlflow.ByGoto || g.Kind == controlflow.OnFailure {
		return false
	}
	return !slices.ContainsFunc(g.Edges, func(e int) bool { return !f.dead()[e] })
}

// ways returns the arcs of groups that may fire and that a filter admits.
func (f *facts) ways(filter func(v, group, to int) bool) *graphalg.Digraph {
	var from, to []int
	for v, groups := range f.flow().Groups {
		for i := range groups {
			for _, t := range groups[i].Targets {
				if !f.isDead(&groups[i]) && (filter == nil || filter(v, i, t)) {
					from, to = append(from, v), append(to, t)
				}
			}
		}
	}
	return graphalg.New(len(f.graph.Nodes)+2, from, to)
}

// successors lists the vertices that a success of a node may lead to.
func (f *facts) successors(v int) []int {
	var out []int
	groups := f.flow().Groups[v]
	for i := range groups {
		if groups[i].Kind != controlflow.OnFailure && !f.isDead(&groups[i]) {
			out = append(out, groups[i].Targets...)
		}
	}
	return out
}

// before marks the vertices that a path of at least one edge connects to a vertex.
func (f *facts) before(to int) []bool {
	back := f.alive().Reverse()
	return back.Reach(back.Next(to)...)
}

// leads reports whether a path of at least one edge connects two vertices.
func (f *facts) leads(from, to int) bool { return f.before(to)[from] }

// countSteps returns the least step at which each node can run; 1 where nothing is known.
func (f *facts) countSteps() []int {
	out := make([]int, len(f.graph.Nodes)+2)
	if !f.flow().Anywhere {
		out = graphalg.Distances(f.flow().Digraph.Next, len(out), f.Start())
	}
	for v, far := range out {
		out[v] = max(far, 0) + 1
	}
	return out
}

// pathTo returns a shortest path from the start to a vertex, or nil.
func (f *facts) pathTo(v int) []int { return f.path(f.Start(), v) }

func (f *facts) path(from, to int) []int {
	return graphalg.Path(f.alive().Next, from, to)
}

// pathThrough returns a shortest path from the start to v and on to another vertex by at least
// one edge, or nil.
func (f *facts) pathThrough(v, to int) []int {
	path, on := f.pathTo(v), cycleThrough(f.alive(), v)
	if v != to {
		on = f.path(v, to)
	}
	if path == nil || on == nil {
		return nil
	}
	return append(path, on[1:]...)
}

// cycleThrough returns a shortest cycle through v, which begins and ends it, or nil.
func cycleThrough(g *graphalg.Digraph, v int) []int {
	begin := g.Len() // v, as it is left
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
