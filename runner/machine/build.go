// Building a plan from a checked graph.

package machine

import (
	"cmp"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Build compiles a graph without errors. kinds are the node kinds besides the built-in ones, inner the
// plans of subgraphs by the name in `graph:`. The plan is nil if there are errors.
func Build(g *spec.Graph, kinds []spec.Kind, inner map[string]*Plan) (*Plan, spec.Diagnostics) {
	bound, found := bind.Bind(g, kinds, nil)
	return BuildBound(g, bound, inner, found)
}

// BuildBound is like Build, for a graph with compiled expressions and the findings about them.
func BuildBound(g *spec.Graph, bound *bind.Graph, inner map[string]*Plan, found spec.Diagnostics) (*Plan, spec.Diagnostics) {
	b := &builder{plan: &Plan{Graph: g, Inner: inner, bound: bound, keyOf: map[string]int{}, wanted: map[string]bool{}}, watched: map[string]bool{}}
	for _, n := range g.Nodes {
		if kind := n.Kind.Value; n.Each.IsSet() && (kind == "wait" || kind == "fail") {
			found = append(found, spec.Diagnostic{
				File: g.File, Rule: "invalid-value", Severity: spec.Error, Span: n.Each.Span, Message: "a " + kind + " node has no use for each",
			})
		}
	}
	b.addKeys(g)
	b.addNodes(g)
	b.addEdges(g)
	if found.HasErrors() {
		return nil, found
	}
	b.finishPlan(g)
	return b.plan, found
}

type builder struct {
	plan *Plan
	// watched are the nodes whose visits, history or results expressions read. all means every node.
	watched map[string]bool
	all     bool
}

// addKeys compiles the declared state keys.
func (b *builder) addKeys(g *spec.Graph) {
	for i, decl := range g.State {
		bound := &b.plan.bound.Keys[i]
		k := key{
			name: decl.Name.Value, schema: bound.Schema, decl: decl,
			reducer: parseReducer(decl.Reducer.Value), expr: bound.Reducer,
		}
		if bound.HasInitial {
			b.plan.initial = append(b.plan.initial, bound.Initial)
		} else {
			b.plan.initial = append(b.plan.initial, absent)
		}
		b.plan.keyOf[k.name] = len(b.plan.keys)
		b.plan.keys = append(b.plan.keys, k)
	}
}

// keyIndex returns the index of a state key. It adds a key that is not declared.
func (b *builder) keyIndex(name string) int {
	if i, ok := b.plan.keyOf[name]; ok {
		return i
	}
	i := len(b.plan.keys)
	b.plan.keyOf[name] = i
	b.plan.keys = append(b.plan.keys, key{name: name, reducer: reduceReplace, decl: &spec.StateKey{}})
	b.plan.initial = append(b.plan.initial, absent)
	return i
}

func (b *builder) addNodes(g *spec.Graph) {
	b.plan.nodes = make([]node, len(g.Nodes))
	b.plan.sources = make([][]int, len(g.Nodes)+1)
	for i, decl := range g.Nodes {
		b.initNode(&b.plan.nodes[i], decl, &b.plan.bound.Nodes[i])
	}
	if start := g.Node(g.Start.Value); start != nil {
		b.plan.start = start.Index
	}
}

// actions maps the kinds of nodes that the machine executes to their actions.
var actions = map[string]action{
	"set": actSet, "pass": actPass, "fail": actFail, "wait": actWait, "human": actHuman, "graph": actGraph,
}

func (b *builder) initNode(n *node, decl *spec.Node, bound *bind.Node) {
	*n = node{
		id: decl.ID.Value, kind: decl.Kind.Value, decl: decl, bound: bound, act: cmp.Or(actions[decl.Kind.Value], actRun),
		set: b.newAssignments(bound.Set), writes: b.newAssignments(bound.Writes), schema: bound.Output, retry: decl.RetryBlocks(b.plan.Graph),
	}
	n.lazy = n.act == actSet && len(n.set) > 0 && bound.Each == nil && bound.Goto == nil && !decl.HasEnds && len(bound.Emit) == 0 && n.schema == nil
	n.parallel = b.plan.Graph.Parallel
	if own := decl.Parallel; own != nil {
		all := &n.parallel
		all.OnFailure, all.Conflict = cmp.Or(own.OnFailure, all.OnFailure), cmp.Or(own.Conflict, all.Conflict)
		all.BranchTimeout, all.Join = cmp.Or(own.BranchTimeout, all.BranchTimeout), cmp.Or(own.Join, all.Join)
	}
	n.talk = newTalkSettings(b.plan.Graph, decl)
	if n.talk.model {
		n.talk.once = b.findOnceKeys(bound)
	}
	if n.talk.model && decl.Output != nil {
		n.asksAgain = true
		if tools := decl.Field("tools"); tools != nil && len(tools.Items) > 0 {
			n.schema = nil // the output is {content, tool_calls}: the handler checks the content
		}
	}
	b.plan.talks = b.plan.talks || n.talk.joins
	for _, name := range decl.Writes.Keys {
		n.writeKeys = append(n.writeKeys, b.keyIndex(name.Value))
	}
	for _, name := range decl.Reads {
		n.reads = append(n.reads, b.keyIndex(name.Value))
	}
	if decl.HasEnds {
		n.ends = make(map[string]int, len(decl.Ends))
		for _, end := range decl.Ends {
			n.ends[end.Label.Value] = b.targetIndex(end.Target.Value)
		}
	}
	b.addUses(&n.uses, [][]bind.Field{bound.Config, bound.Set, bound.Before, bound.Emit, bound.Writes}, bound.Goto, bound.Each)
	if cache := cmp.Or(decl.Cache, b.plan.Graph.Cache); cache != nil && n.act == actRun {
		n.cache = b.newCachePolicy(cache, decl, bound)
		b.addUses(&n.uses, nil, n.cache.expr)
	}
	if n.act == actGraph {
		n.graph = decl.Field("graph").Text.Value
		if n.inner, n.graph = b.plan.innerPlan(n.id, n.graph); n.inner == nil {
			n.act = actRun // an analysis runs the node as one step
		}
	}
	if decl.Join != nil {
		n.joins, n.onBypass = true, cmp.Or(decl.Join.OnBypass.Value, "drop")
		b.plan.failsBypassed = b.plan.failsBypassed || n.onBypass == "fail"
		switch decl.Join.Wait {
		case "any":
			n.quorum = 1
		case "N":
			n.quorum = decl.Join.Count
		}
	}
}

func (b *builder) newAssignments(fields []bind.Field) []assignment {
	out := make([]assignment, len(fields))
	for i := range fields {
		out[i] = assignment{key: b.keyIndex(fields[i].Name), value: fields[i].Value}
	}
	return out
}

// targetIndex returns the index of a target node, or endNode.
func (b *builder) targetIndex(id string) int {
	if n := b.plan.Graph.Node(id); n != nil {
		return n.Index
	}
	return endNode
}

func (b *builder) addEdges(g *spec.Graph) {
	b.plan.edges = make([]edge, len(g.Edges))
	for i, decl := range g.Edges {
		source := g.Node(decl.From.Value)
		if source == nil {
			continue
		}
		n := &b.plan.nodes[source.Index]
		e := edge{
			spec: decl, to: b.targetIndex(decl.To.Value),
			when: b.plan.bound.Edges[i].When, transform: b.plan.bound.Edges[i].Transform,
		}
		b.addUses(&e.uses, nil, e.when)
		if e.transform != nil {
			e.transform.VisitReads(func(r eval.Read) { b.addRead(&e.uses, r) })
		}
		b.plan.edges[i] = e
		n.addEdge(i, decl)
	}
	for i := range b.plan.nodes {
		b.plan.sortEdges(&b.plan.nodes[i])
		b.plan.collectTargets(i)
	}
}

// collectTargets records the targets of a node. The caller passes the nodes in order.
func (p *Plan) collectTargets(i int) {
	n := &p.nodes[i]
	lead := func(to int, onFailure bool) {
		at := to
		if to == endNode {
			at = len(p.nodes)
		} else if !onFailure && !slices.Contains(n.sound, to) {
			n.sound = append(n.sound, to)
		}
		if last := len(p.sources[at]) - 1; last < 0 || p.sources[at][last] != i {
			p.sources[at] = append(p.sources[at], i)
		}
	}
	for _, at := range n.out {
		lead(p.edges[at].to, p.edges[at].spec.Condition == "on_failure")
	}
	for _, end := range n.decl.Ends {
		lead(n.ends[end.Label.Value], false)
	}
	if n.bound.Goto != nil && !n.decl.HasEnds {
		for to := range p.nodes {
			if !p.nodes[to].decl.Final {
				lead(to, false)
			}
		}
	}
}

// addEdge adds an outgoing edge to the lists of edges that an outcome consults.
func (n *node) addEdge(i int, decl *spec.Edge) {
	n.out = append(n.out, i)
	switch decl.Condition {
	case "conditional":
		n.conditional = append(n.conditional, i)
	case "llm_decide":
		n.decide = append(n.decide, i)
	case "on_success":
		n.plain = append(n.plain, i)
	case "always":
		n.plain = append(n.plain, i)
		n.always = append(n.always, i)
	case "on_failure":
		if decl.When.IsSet() {
			n.failWhen = append(n.failWhen, i)
		} else {
			n.failPlain = append(n.failPlain, i)
		}
	}
}

// sortEdges sorts guarded edges by priority, high first, then by declaration order.
func (p *Plan) sortEdges(n *node) {
	byPriority := func(a, b int) int { return cmp.Compare(p.edges[b].spec.Priority, p.edges[a].spec.Priority) }
	slices.SortStableFunc(n.conditional, byPriority)
	slices.SortStableFunc(n.failWhen, byPriority)
}

func (b *builder) finishPlan(g *spec.Graph) {
	b.addPolicies(g)
	p := b.plan
	b.addUses(&p.groupUses, nil, p.bound.Group)
	for _, name := range g.Finally {
		if n := g.Node(name.Value); n != nil {
			p.finally = append(p.finally, n.Index)
		}
	}
	if p.bound.Output != nil {
		p.bound.Output.VisitReads(func(r eval.Read) { b.addRead(&p.outUses, r) })
	}
	var setup uses // evaluated outside of steps
	b.addUses(&setup, [][]bind.Field{p.bound.Tools, p.bound.Providers})
	p.readsInputs = p.wanted["input"] || p.wanted["inputs"] || p.wanted["branches"]
	// A graph without model nodes may still read the last result of a tool.
	p.talks = p.talks || p.wanted["last"]
	p.watched = make([]bool, len(p.nodes))
	for i := range p.nodes {
		n := &p.nodes[i]
		p.watched[i] = b.all || b.watched[n.id] || n.talk.model && n.talk.feedback
	}
}
