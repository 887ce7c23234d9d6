// The plan: a compiled graph, and reachability in it (§7).

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/spec"
)

// Plan is a compiled graph. It is immutable and safe for concurrent use by many runs.
type Plan struct {
	// Graph is the source of the plan.
	Graph *spec.Graph
	// Inner are the plans of the graphs that nodes and tools run, by the name in `graph:`.
	Inner map[string]*Plan

	bound *bind.Graph
	nodes []node
	edges []edge
	keys  []key
	keyOf map[string]int
	start int
	// finally are the nodes that run when the end of a run is decided.
	finally            []int
	outUses, groupUses uses
	// wanted are the context names that any expression reads.
	wanted map[string]bool
	// watched marks the nodes whose visits, history or results an expression reads.
	watched []bool
	// reachable are policies that require nodes to stay reachable.
	reachable []reachable
	// sources lists the nodes that may lead to each node. Its last entry is for END.
	sources [][]int
	// failsBypassed means that some join has `on_bypass: fail`.
	failsBypassed bool
	// endGuards are checked when a branch reaches END.
	endGuards []guard
	// readsInputs means that some expression reads input, inputs or branches.
	readsInputs bool
	// requires means that some policy requires a node.
	requires bool
	// talks means that some node takes part in a conversation.
	talks   bool
	initial []any // the state before the input, by key; absent for no value
}

// action says what the machine does with a node. The zero value is unset.
type action int

const (
	actSet   action = iota + 1 // evaluated inside the machine
	actPass                    // evaluated inside the machine
	actFail                    // evaluated inside the machine
	actWait                    // waits for a timer
	actHuman                   // waits for an answer
	actGraph                   // runs a graph in its own scope
	actRun                     // runs in the driver
)

type node struct {
	id, kind  string
	decl      *spec.Node
	bound     *bind.Node
	act       action
	uses      uses
	set       []assignment
	writes    []assignment   // map form
	writeKeys []int          // list form: keys by index
	reads     []int          // keys by index, unless the node reads all
	ends      map[string]int // label → node index, or endNode
	schema    *schema.Schema
	parallel  spec.Parallel // with the settings of the graph
	retry     []spec.Retry  // nil: the default policy
	cache     *cachePolicy
	guards    []guard
	watches   []watch
	joins     bool // it has a join
	quorum    int  // of its join; 0: all
	onBypass  string
	inner     *Plan  // of a graph node
	graph     string // the name in its `graph:`
	talk      talkSettings
	asksAgain bool  // the handler repeats the call if the output does not fit
	lazy      bool  // a set node whose output is built from its writes when it is read
	sound     []int // nodes that an edge or a label leads to, without failure edges

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
	to        int // node index, or endNode
	uses      uses
	when      *eval.Program
	transform *bind.Value
}

// endNode is END as a target.
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

// uses lists the context names that an expression reads.
type uses []string

// innerPlan returns the plan of a graph for a node, and its key in Inner: "node:graph" for a plan
// of this node alone.
func (p *Plan) innerPlan(node, graph string) (*Plan, string) {
	if own := p.Inner[node+":"+graph]; own != nil {
		return own, node + ":" + graph
	}
	return p.Inner[graph], graph
}

// Start returns the id of the first node.
func (p *Plan) Start() string { return p.nodes[p.start].id }

// ReadsRunDir reports whether any expression reads the folder of the run.
func (p *Plan) ReadsRunDir() bool { return p.wanted["run.dir"] }

// visitReads calls do for every path that fields and programs read. Programs may be nil.
func visitReads(do func(eval.Read), fields [][]bind.Field, programs ...*eval.Program) {
	for _, list := range fields {
		for i := range list {
			list[i].Value.VisitReads(do)
		}
	}
	for _, p := range programs {
		if p != nil {
			for _, r := range p.Reads {
				do(r)
			}
		}
	}
}

// addUses adds the context names that fields and programs read.
func (b *builder) addUses(to *uses, fields [][]bind.Field, programs ...*eval.Program) {
	visitReads(func(r eval.Read) { b.addRead(to, r) }, fields, programs...)
}

// addRead adds the context name that a path begins with, or all names for an empty path.
func (b *builder) addRead(to *uses, r eval.Read) {
	names := r.Path[:min(1, len(r.Path))]
	if len(names) == 0 {
		names = contextNames
	}
	for _, name := range names {
		if !slices.Contains(contextNames, name) {
			continue
		}
		if b.plan.wanted[name] = true; !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
		switch name {
		case "visits", "history", "nodes":
			if len(r.Path) > 1 && b.plan.Graph.Node(r.Path[1]) != nil {
				b.watched[r.Path[1]] = true
			} else {
				b.all = true
			}
		case "run": // the folder is created only if it is read
			b.plan.wanted["run.dir"] = b.plan.wanted["run.dir"] || len(r.Path) < 2 || r.Path[1] == "dir"
		}
	}
}

type reachKey struct {
	plan      *Plan
	to, avoid int
}

// canReach reports whether a path of at least one edge leads from from to to, and avoids a third node.
func (sc *Scope) canReach(from, to, avoid int) bool {
	s, key := sc.state, reachKey{sc.plan, to, avoid}
	set, ok := s.reach[key]
	if !ok {
		set = sc.plan.nodesLeadingTo(to, func(node int) bool { return node == avoid })
		s.reach = setEntry(s.reach, key, set)
	}
	return from >= 0 && set[from]
}

// nodesLeadingTo marks the nodes from which a path leads to a node without passing a stop.
func (p *Plan) nodesLeadingTo(to int, stops func(node int) bool) []bool {
	out := make([]bool, len(p.nodes))
	if to == endNode {
		to = len(p.nodes)
	}
	todo := []int{to}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range p.sources[at] {
			if !out[from] && !stops(from) {
				todo = append(todo, from)
			}
			out[from] = true
		}
	}
	return out
}

// findImplicitJoin returns the first node that all branches reach without failure edges, or
// noNode. Implicit joins have no `join`.
func (sc *Scope) findImplicitJoin(source int, targets []int) int {
	p := sc.plan
	begin := slices.DeleteFunc(slices.Clone(targets), func(to int) bool { return to == endNode })
	if len(begin) < 2 || p.nodes[source].parallel.Join != "auto" {
		return noNode
	}
	if at := p.findMeetingNode(begin, source); at != noNode && !p.nodes[at].joins && !slices.Contains(begin, source) {
		return at
	}
	return noNode
}

// findMeetingNode returns the first node that all paths reach without failure edges and without
// passing source, or noNode.
func (p *Plan) findMeetingNode(begin []int, source int) int {
	// By node: how many beginnings reach it, the last of them, and the largest distance.
	reached, last, most := make([]int, len(p.nodes)), make([]int, len(p.nodes)), make([]int, len(p.nodes))
	var level, next, all []int
	visit := func(node, from, edges int) {
		if last[node] == from {
			return
		}
		last[node], most[node] = from, max(most[node], edges)
		if reached[node]++; reached[node] == len(begin) && node != source {
			all = append(all, node)
		}
		if node != source {
			next = append(next, node)
		}
	}
	for i, from := range begin {
		visit(from, i+1, 0)
		for edges := 1; len(next) > 0; edges++ {
			level, next = next, level[:0]
			for _, node := range level {
				for _, to := range p.nodes[node].sound {
					visit(to, i+1, edges)
				}
			}
		}
	}
	slices.Sort(all)
	best := noNode
	for _, i := range all {
		if best == noNode || most[i] < most[best] || most[i] == most[best] && p.nodes[i].joins && !p.nodes[best].joins {
			best = i
		}
	}
	return best
}
