// The plan: a graph compiled for walking.

package machine

import (
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/spec"
)

// Plan is a compiled graph. It is immutable and safe for concurrent use by many runs.
type Plan struct {
	// Graph is what the plan was built from.
	Graph *spec.Graph
	// Inner are the plans of the graphs that nodes and tools run, by what `graph:` names.
	Inner map[string]*Plan

	nodes  []node
	edges  []edge
	keys   []key
	keyOf  map[string]int
	start  int
	output *bind.Value
	// group gives the name of the concurrency group, if there is one.
	group *eval.Program
	// finally are the nodes that run when the end of a run is decided.
	finally []int
	// tools and providers are what a run sets up.
	tools, providers []bind.Field
	notices          []bind.Field
	outUses          uses
	// wanted says which costly parts of the context any expression reads.
	wanted uses
	// watched says of each node whether an expression names its visits, history or
	// results; all are when one reads them as a whole.
	watched []bool
	goal    string
	// reachable are the nodes that have to stay reachable.
	reachable []reachable
	// sources lists the nodes that may lead to each node, and at last those to END.
	sources [][]int
	// join is parallel.join; failsDeserted says that some join has `on_bypass: fail`.
	join          string
	failsDeserted bool
	// endGuards are checked when a branch reaches END.
	endGuards []guard
	// requires says that some policy requires a node.
	requires bool
	// talks says that some node takes part in a conversation.
	talks   bool
	initial []any    // the state before the input, by key; absent: none
	context []string // names of the environment that are no state keys
}

// action says what the machine does with a node. The zero value is unset.
type action int

const (
	actSet   action = iota + 1 // evaluated inside the machine
	actPass                    // evaluated inside the machine
	actFail                    // evaluated inside the machine
	actWait                    // waits for a timer
	actHuman                   // waits for an answer
	actGraph                   // runs a graph in a scope of its own
	actRun                     // runs in the driver
)

type node struct {
	id        string
	kind      string
	act       action
	uses      uses
	set       []assignment
	config    []bind.Field
	before    []bind.Field
	emit      []bind.Field
	writeKeys []int // list form: keys by index; an undeclared one is a name in writeNames
	writes    []assignment
	reads     []int // keys by index; nil with readAll
	readAll   bool
	gotoExpr  *eval.Program
	each      *eval.Program
	atOnce    int            // elements of each that run at once; 0: any number
	ends      map[string]int // label → node index, or endNode
	endLabels []string       // in declaration order
	hasEnds   bool
	schema    *schema.Schema
	textOnly  bool         // see bind.Node
	retry     []spec.Retry // nil: the default policy
	retryWhen []*eval.Program
	timeout   time.Duration
	maxVisits int
	skips     bool
	all       bool // routing: all
	cache     *cachePolicy
	guards    []guard
	watches   []watch
	joins     bool // it has a join
	quorum    int  // of its join; 0: all
	onBypass  string
	inner     *Plan  // of a graph node
	graph     string // what its `graph:` names
	talk      talking
	asksAgain bool  // the handler asks again for an output that does not fit
	targets   []int // nodes that an edge or a label leads to
	sound     []int // targets but for failure edges

	final       bool  // stands in finally
	conditional []int // edges by priority, then order
	decide      []int
	plain       []int // on_success and always
	failWhen    []int // on_failure with when, by priority, then order
	failPlain   []int // on_failure without when
	always      []int
	out         []int // every outgoing edge in declaration order
}

type edge struct {
	spec      *spec.Edge
	from      int
	to        int // node index, or endNode
	uses      uses
	when      *eval.Program
	transform *bind.Value
}

// endNode stands for END as a target.
const endNode = -1

// assignment writes the value of an expression to a state key.
type assignment struct {
	key   int
	value bind.Value
}

type key struct {
	name    string
	schema  *schema.Schema
	reducer reducer
	expr    *eval.Program  // of reduceExpr
	decl    *spec.StateKey // nil for keys of a graph with strict_state: false
}

// uses is the set of context names that an expression reads.
type uses uint32

const (
	useOutput uses = 1 << iota
	useInput
	useInputs
	useOutcome
	useError
	useNodes
	useHistory
	useVisits
	useNode
	useVisit
	useStep
	useState
	useGoal
	useRun
	useLast
	useBranches
	useItem
	useIndex
	useRunDir // run.dir, because the folder is made on first use
)

// innerPlan returns the plan of the graph that a node runs or calls, and its key in
// Inner. A plan for this node alone is in Inner under "node:graph".
func (p *Plan) innerPlan(node, graph string) (*Plan, string) {
	if own := p.Inner[node+":"+graph]; own != nil {
		return own, node + ":" + graph
	}
	return p.Inner[graph], graph
}

// Start returns the id of the first node.
func (p *Plan) Start() string { return p.nodes[p.start].id }

// SeesRunDir reports whether any expression reads the folder of the run.
func (p *Plan) SeesRunDir() bool { return p.wanted&useRunDir != 0 }

// usesOf returns the context names that the evaluation of a value reads.
func (b *builder) usesOf(v *bind.Value) uses {
	var out uses
	v.Reads(func(r eval.Read) { out |= b.usesOfRead(r) })
	return out
}

func (b *builder) usesOfProgram(program *eval.Program) uses {
	var out uses
	for _, r := range program.Reads() {
		out |= b.usesOfRead(r)
	}
	return out
}

func (b *builder) usesOfRead(r eval.Read) uses {
	if len(r.Path) == 0 {
		b.all = true
		return ^uses(0)
	}
	for _, c := range contextNames() {
		if c.name != r.Path[0] {
			continue
		}
		switch c.bit {
		case useVisits, useHistory, useNodes:
			b.watch(r)
		case useRun:
			if len(r.Path) < 2 || r.Path[1] == "dir" {
				return useRun | useRunDir
			}
		}
		return c.bit
	}
	return 0
}

// watch remembers the node that a read of visits, history or nodes names.
func (b *builder) watch(r eval.Read) {
	if len(r.Path) < 2 || b.plan.Graph.Node(r.Path[1]) == nil {
		b.all = true
		return
	}
	if b.watched == nil {
		b.watched = map[string]bool{}
	}
	b.watched[r.Path[1]] = true
}
