// What several rules need to know of a graph, computed at most once.

package lint

import (
	"github.com/graphrun/graphrun/internal/analysis/assignment"
	"github.com/graphrun/graphrun/internal/analysis/concurrency"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/internal/analysis/taint"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// facts belong to one call of Check. Vertices are the nodes by their index,
// and END behind them.
type facts struct {
	graph *spec.Graph
	bound *bind.Graph
	opts  Options

	rule   *Rule
	solver solve.Solver
	found  spec.Diagnostics

	*controlflow.Vertices
	shaped bool           // the graph is well formed
	keyOf  map[string]int // declared state keys by name
	// keyDomains are those of wholeDomain, schemas those of valid.
	keyDomains map[*spec.StateKey]solve.Domain
	schemas    map[string]*schema.Schema

	// Filled on first use by the functions of the same names.
	allUses  *dataflow.Uses
	theFlow  *controlflow.Graph
	theForks *concurrency.Branches
	// theAssignment is of no things.
	theAssignment *assignment.Analysis
	// theSiblings are fan-outs by the pairs of nodes that they lead to.
	theSiblings  map[[2]int]int
	theParallel  *concurrency.Pairs
	allAccess    []dataflow.Access
	theMade      *made
	madeKnown    bool
	theSubgraphs *subgraph.Loader
	theEdges     [][]int

	theJudgements *[]judgement
	theTaints     *taint.Analysis
	cycles        map[cyclesKey]*cycles
	theDead       map[int]bool // edges that are proven never to fire
	theEnding     []bool
	plans         map[int]*machine.Plan  // by policy, see planFor
	models        map[int]*explore.Model // by policy, see modelFor
	events        int                    // that may still be applied to them
	showing       int                    // see maxShown
	waiting       int                    // policies that have not been asked for a breach
	undecided     []doubt
	kept          []proof
	theSteps      []int
	pondered      int // by policies, see maxPondered
	theWriters    map[string][]*spec.Node
	theAlive      *graphalg.Digraph
}

func newFacts(g *spec.Graph, bound *bind.Graph, opts Options) *facts {
	f := &facts{graph: g, bound: bound, opts: opts, Vertices: controlflow.NewVertices(g), keyOf: make(map[string]int, len(g.State)), keyDomains: map[*spec.StateKey]solve.Domain{}}
	for i, key := range g.State {
		f.keyOf[key.Name.Value] = i
	}
	return f
}

// edgesOut lists the edges that leave each node, in the order of declaration.
func (f *facts) edgesOut() [][]int {
	if f.theEdges == nil {
		f.theEdges = f.Vertices.EdgesOut()
	}
	return f.theEdges
}

// uses are the expressions of the graph.
func (f *facts) uses() *dataflow.Uses {
	if f.allUses == nil {
		f.allUses = dataflow.NewUses(f.graph, f.bound, f.From)
	}
	return f.allUses
}

// access is what each node does to the state.
func (f *facts) access() []dataflow.Access {
	if f.allAccess == nil {
		f.allAccess = dataflow.Accesses(f.graph, f.bound)
	}
	return f.allAccess
}

// always lists what a node has written whenever it succeeded.
func (f *facts) always(i int) []dataflow.Write { return f.access()[i].Always }

// subgraphs reads the graphs that the graph names.
func (f *facts) subgraphs() *subgraph.Loader {
	if f.theSubgraphs == nil {
		f.theSubgraphs = subgraph.New(f.graph, f.opts.Kinds, f.opts.Load, Filter)
	}
	return f.theSubgraphs
}

// childOf is the valid subgraph of a node; nil when there is none.
func (f *facts) childOf(n *spec.Node) *spec.Graph {
	if n.Kind.Value != "graph" {
		return nil
	}
	if c := f.subgraphs().Load(f.graph, "", text(n, "graph").Value); c != nil {
		return c.Graph
	}
	return nil
}

// taints tells where what expressions read comes from.
func (f *facts) taints() *taint.Analysis {
	if f.theTaints == nil {
		var w *controlflow.Graph
		if f.shaped {
			w = f.flow()
		}
		f.theTaints = taint.New(f.graph, f.bound, f.access(), w)
	}
	return f.theTaints
}

// flow is the control flow of a well-formed graph.
func (f *facts) flow() *controlflow.Graph {
	if f.theFlow == nil {
		f.theFlow = controlflow.New(f.Vertices, f.edgesOut(), f.bound)
	}
	return f.theFlow
}

// forks are its branches; nil when a node may lead anywhere.
func (f *facts) forks() *concurrency.Branches {
	if f.theForks == nil {
		f.theForks = concurrency.New(f.flow())
	}
	return f.theForks
}

// newAssignment prepares a definite assignment analysis of a graph with branches.
func (f *facts) newAssignment(size int) *assignment.Analysis {
	if f.theAssignment == nil {
		f.theAssignment = assignment.New(f.forks(), 0, assignment.Known{Dead: f.isDead, Escapes: f.mayLose, MeetsLost: f.meetsLost})
	}
	return f.theAssignment.Of(size)
}

// inParallel reports whether two nodes may be at work at the same time.
func (f *facts) inParallel(x, y int) bool { return f.pairs().Together(x, y) }

// pairs are the pairs of nodes that may be at work at the same time, computed once.
func (f *facts) pairs() *concurrency.Pairs {
	if f.theParallel == nil {
		f.theParallel = concurrency.NewPairs(f.flow())
	}
	return f.theParallel
}

// isModel reports whether a node calls a model.
func isModel(n *spec.Node) bool { return n.Kind.Value == "llm" || n.Kind.Value == "agent" }

// text is the text of a scalar field of a node; absent when it has none.
func text(n *spec.Node, field string) spec.Text {
	if v := n.Field(field); v != nil && v.IsScalar() && v.Kind != spec.Null {
		return v.Text
	}
	return spec.Text{}
}
