// The plan: a graph compiled for walking.

package machine

import (
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/spec"
)

// Plan is a graph ready to walk. It is immutable and safe for concurrent use;
// many runs share one.
type Plan struct {
	// Graph is what the plan was built from.
	Graph *spec.Graph

	nodes  []node
	edges  []edge
	keys   []key
	keyOf  map[string]int
	start  int
	output *bind.Value
	// group names the group of runs that a run is in; nil: none.
	group *eval.Program
	// finally are the nodes that run when the end of a run is decided.
	finally []int
	// tools and providers are what a run sets up.
	tools, providers []bind.Field
	outUses          uses
	// wanted says which costly parts of the context any expression reads.
	wanted uses
	// watched are the nodes whose visits an expression names; all of them
	// when one reads visits as a whole.
	watched []int
	// shown says that one does: what it got is not to change afterwards.
	shown  bool
	limits spec.Limits
	// breakBefore and breakAfter are the graph's breakpoints.
	breakBefore, breakAfter []string
	goal                    string
	// readsClock says that some node parks, retries or runs in the driver.
	readsClock bool
	// hasCountedJoins says that some join is any or N.
	hasCountedJoins bool
	// forbidsConflicts says that parallel.conflict is error somewhere.
	forbidsConflicts bool
	// endGuards have to hold when a branch comes to END.
	endGuards []guard
	// requires says that some policy requires a node.
	requires bool
	// talks says that some node takes part in a conversation.
	talks   bool
	initial map[string]any // the state before the input: the keys that some expression or write names
	idle    map[string]any // the other keys: their defaults, which only an input changes
	size    int            // of both
	sizes   []int          // of each key in them
	context []string       // names of the environment that are no state keys
}

// action says what the machine does with a node. The zero value is unset.
type action int

const (
	actSet   action = iota + 1 // evaluated inside the machine
	actPass                    // evaluated inside the machine
	actFail                    // evaluated inside the machine
	actWait                    // parks on a timer
	actHuman                   // parks on a question
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
	required  bool // by a policy
	// runsGraphs says that the node runs subgraphs, or may.
	runsGraphs bool
	watches    []watch
	join       joinKind
	joinCount  int // of joinCount
	onBypass   onBypass
	talk       talking
	asksAgain  bool  // the handler asks again for an output that does not fit
	sources    []int // nodes with an edge or a label to this one
	targets    []int // nodes that an edge or a label leads to

	final       bool  // stands in finally
	conditional []int // edges by priority, then order
	decide      []int
	plain       []int // on_success and always
	failWhen    []int // on_failure with when, by priority, then order
	failPlain   []int // on_failure without when
	always      []int
	out         []int // every outgoing edge in declaration order
	// successRank and failureRank give each of out its place in the order of
	// evaluation after a success and a failure.
	successRank []int
	failureRank []int
}

type edge struct {
	spec      *spec.Edge
	from      int
	to        int // node index, or endNode
	slot      int // place among the source's outgoing edges
	uses      uses
	when      *eval.Program
	transform *bind.Value
	// isTrue and isFalse are what is told of a condition.
	isTrue, isFalse string
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
	// useNow and useRunDir are the members of run that change and that take work.
	useNow
	useRunDir
)

// contextNames pairs each bit with the name it stands for.
var contextNames = [...]struct {
	bit  uses
	name string
}{
	{useOutput, "output"},
	{useInput, "input"},
	{useInputs, "inputs"},
	{useOutcome, "outcome"},
	{useError, "error"},
	{useNodes, "nodes"},
	{useHistory, "history"},
	{useVisits, "visits"},
	{useNode, "node"},
	{useVisit, "visit"},
	{useStep, "step"},
	{useState, "state"},
	{useGoal, "goal"},
	{useRun, "run"},
	{useLast, "last"},
	{useBranches, "branches"},
	{useItem, "item"},
	{useIndex, "index"},
}

// Start returns the id of the first node.
func (p *Plan) Start() string { return p.nodes[p.start].id }

// SeesRunDir reports whether any expression reads the folder of the run.
func (p *Plan) SeesRunDir() bool { return p.wanted&useRunDir != 0 }

// ReadsClock reports whether any node's behaviour depends on the time of the
// events: without one, a driver that nobody watches may leave At zero.
func (p *Plan) ReadsClock() bool { return p.readsClock }

// usesOf is the set of context names that evaluating a value reads.
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
	for i := range contextNames {
		if contextNames[i].name != r.Path[0] {
			continue
		}
		switch contextNames[i].bit {
		case useVisits, useHistory, useNodes:
			b.watch(r)
		case useRun:
			return usesOfRun(r)
		}
		return contextNames[i].bit
	}
	if i, ok := b.plan.keyOf[r.Path[0]]; ok {
		b.used[i] = true
	}
	return 0
}

// usesOfRun is what a read of run, or of a member, uses.
func usesOfRun(r eval.Read) uses {
	switch {
	case len(r.Path) < 2:
		return useRun | useNow | useRunDir
	case r.Path[1] == "now":
		return useRun | useNow
	case r.Path[1] == "dir":
		return useRun | useRunDir
	}
	return useRun
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
