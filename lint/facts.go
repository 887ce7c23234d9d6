// What several rules need to know of a graph, computed at most once.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/solve"
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

	end    int            // the vertex of END
	from   []int          // the vertex where each edge begins; -1 for no node
	to     []int          // the vertex where it ends; -1 for no name
	shaped bool           // the graph is well formed
	keyOf  map[string]int // declared state keys by name
	// keyDomains are those of wholeDomain, schemas those of valid.
	keyDomains map[*spec.StateKey]solve.Domain
	schemas    map[string]*schema.Schema

	// Filled on first use by the functions of the same names.
	allUses  *useIndex
	theFlow  *flow
	theForks *forks
	// theSiblings are fan-outs by the pairs of nodes that they lead to.
	theSiblings map[[2]int]int
	theParallel *parallel
	allAccess   []access
	theMade     *made
	madeKnown   bool
	children    map[string]*child
	theEdges    [][]int
	origins     []origin
	// outputOrigins says who wrote the outputs of nodes, as far as it was asked.
	outputOrigins map[int]origin
	joinCounts    map[int]joinCount
	regions       int // vertices that counting the branches of joins has visited

	theJudgements *[]judgement
	theInto       [][]int // edges by target, see handedBy
	theChosen     []bool
	theDead       map[int]bool // edges that are proven never to fire
	theCounts     *boundWalk
	theGround     *ground
	scenes        int // of rehearsals
	theEnding     []bool
	undecided     []doubt
	kept          []policy
	walked        int // states of the ground that were followed
	rehearsed     int // expressions that they evaluated
	explored      int // states of tooOften
	theSteps      []int
	theTree       *graphalg.Tree
	thePostTree   *postTree
	pondered      int // by policies, see maxPondered
	theWriters    map[string][]*spec.Node
	intoAlive     [][]int // vertices with an edge that may fire to each vertex
}

func newFacts(g *spec.Graph, bound *bind.Graph, opts Options) *facts {
	f := &facts{graph: g, bound: bound, opts: opts, end: len(g.Nodes), keyOf: make(map[string]int, len(g.State)), keyDomains: map[*spec.StateKey]solve.Domain{}}
	for i, key := range g.State {
		f.keyOf[key.Name.Value] = i
	}
	ends := make([]int, 2*len(g.Edges))
	f.from, f.to = ends[:len(g.Edges)], ends[len(g.Edges):]
	for i, e := range g.Edges {
		f.from[i], f.to[i] = -1, f.vertex(e.To.Value)
		if n := g.Node(e.From.Value); n != nil {
			f.from[i] = n.Index
		}
	}
	return f
}

// wellFormed reports whether every end of every edge is known, so that
// conclusions from the shape of the graph hold.
func (f *facts) wellFormed() bool {
	g := f.graph
	if !g.Complete() || g.Node(g.Start.Value) == nil {
		return false
	}
	if slices.Contains(f.from, -1) || slices.Contains(f.to, -1) {
		return false
	}
	for _, n := range g.Nodes {
		for _, end := range n.Ends {
			if f.vertex(end.Target.Value) < 0 {
				return false
			}
		}
	}
	return true
}

// vertex is the number of a node or of END; -1 for another name.
func (f *facts) vertex(name string) int {
	if n := f.graph.Node(name); n != nil {
		return n.Index
	}
	if name == spec.END {
		return f.end
	}
	return -1
}

// start is the vertex of the first node of a well-formed graph.
func (f *facts) start() int { return f.graph.Node(f.graph.Start.Value).Index }

// name is what messages call a vertex.
func (f *facts) name(v int) string {
	if v == f.end {
		return spec.END
	}
	return f.graph.Nodes[v].ID.Value
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
