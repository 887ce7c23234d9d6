// Build: from a checked graph to a plan.

package machine

import (
	"cmp"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Build compiles a graph that Parse and Check found no error in. Kinds are the node
// kinds besides the built-in ones, inner the plans of the graphs that it runs, by what
// `graph:` names. The plan is nil when a finding is an error.
func Build(g *spec.Graph, kinds []spec.Kind, inner map[string]*Plan) (*Plan, spec.Diagnostics) {
	bound, found := bind.Bind(g, kinds)
	return BuildBound(g, bound, inner, found)
}

// BuildBound is Build for a graph whose expressions are compiled, with what was found
// in them.
func BuildBound(g *spec.Graph, bound *bind.Graph, inner map[string]*Plan, found spec.Diagnostics) (*Plan, spec.Diagnostics) {
	b := &builder{plan: &Plan{Graph: g, Inner: inner, keyOf: map[string]int{}}, bound: bound, found: found, watched: map[string]bool{}}
	b.checkEach(g)
	b.keys(g)
	b.nodes(g)
	b.edges(g)
	b.setup()
	if b.found.HasErrors() {
		return nil, b.found
	}
	b.finish(g)
	return b.plan, b.found
}

type builder struct {
	plan  *Plan
	bound *bind.Graph
	found spec.Diagnostics
	// all says that some expression reads visits, history or nodes of any node.
	all     bool
	watched map[string]bool
}

func (b *builder) report(rule string, span spec.Span, message string) {
	b.found = append(b.found, spec.Diagnostic{
		File: b.plan.Graph.File, Rule: rule, Severity: spec.Error, Span: span, Message: message,
	})
}

// keys compiles the declared state keys, then those that a graph without
// strict_state writes undeclared.
func (b *builder) keys(g *spec.Graph) {
	for i, decl := range g.State {
		bound := &b.bound.Keys[i]
		k := key{
			name: decl.Name.Value, schema: bound.Schema, decl: decl,
			reducer: reducerOf(decl.Reducer.Value), expr: bound.Reducer,
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

// key returns the index of a state key, making one where undeclared keys are allowed.
func (b *builder) key(name string) int {
	if i, ok := b.plan.keyOf[name]; ok {
		return i
	}
	i := len(b.plan.keys)
	b.plan.keyOf[name] = i
	b.plan.keys = append(b.plan.keys, key{name: name, reducer: reduceReplace, decl: &spec.StateKey{}})
	b.plan.initial = append(b.plan.initial, absent)
	return i
}

func (b *builder) nodes(g *spec.Graph) {
	b.plan.nodes = make([]node, len(g.Nodes))
	b.plan.sources = make([][]int, len(g.Nodes)+1)
	for i, decl := range g.Nodes {
		b.node(&b.plan.nodes[i], decl, &b.bound.Nodes[i])
	}
	if start := g.Node(g.Start.Value); start != nil {
		b.plan.start = start.Index
	}
}

// actions are those of the kinds that the machine executes itself.
var actions = map[string]action{
	"set": actSet, "pass": actPass, "fail": actFail, "wait": actWait, "human": actHuman, "graph": actGraph,
}

func (b *builder) node(n *node, decl *spec.Node, bound *bind.Node) {
	*n = node{
		id: decl.ID.Value, kind: decl.Kind.Value, act: cmp.Or(actions[decl.Kind.Value], actRun),
		set: b.assignments(bound.Set), config: bound.Config, before: bound.Before, emit: bound.Emit,
		writes: b.assignments(bound.Writes), readAll: !decl.HasReads, gotoExpr: bound.Goto, each: bound.Each, atOnce: decl.MaxConcurrency, hasEnds: decl.HasEnds,
		timeout: decl.Timeout, maxVisits: decl.MaxVisits, skips: decl.OnMaxVisits == "skip",
		final: decl.Final, all: decl.Routing == "all", schema: bound.Output, textOnly: bound.TextOnly,
		retry: decl.RetryBlocks(b.plan.Graph), retryWhen: bound.RetryWhen,
	}
	n.talk = talkingOf(b.plan.Graph, decl)
	if n.talk.model {
		n.talk.once = b.onceKeys(bound)
	}
	if n.talk.model && decl.Output != nil {
		n.asksAgain = true
		if tools := decl.Field("tools"); tools != nil && len(tools.Items) > 0 {
			n.schema = nil // the output is {content, tool_calls}: the handler checks the content
		}
	}
	b.plan.talks = b.plan.talks || n.talk.joins
	for _, name := range decl.Writes.Keys {
		n.writeKeys = append(n.writeKeys, b.key(name.Value))
	}
	for _, name := range decl.Reads {
		n.reads = append(n.reads, b.key(name.Value))
	}
	if decl.HasEnds {
		n.ends = make(map[string]int, len(decl.Ends))
		for _, end := range decl.Ends {
			n.ends[end.Label.Value] = b.target(end.Target.Value)
			n.endLabels = append(n.endLabels, end.Label.Value)
		}
	}
	for _, fields := range [][]bind.Field{bound.Config, bound.Set, bound.Before, bound.Emit, bound.Writes} {
		for i := range fields {
			n.uses |= b.usesOf(&fields[i].Value)
		}
	}
	for _, program := range [...]*eval.Program{bound.Goto, bound.Each} {
		if program != nil {
			n.uses |= b.usesOfProgram(program)
		}
	}
	b.plan.wanted |= n.uses
	if cache := cmp.Or(decl.Cache, b.plan.Graph.Cache); cache != nil && n.act == actRun {
		n.cache = b.cachePolicy(cache, decl, bound)
		if n.cache.expr != nil {
			n.uses |= b.usesOfProgram(n.cache.expr)
			b.plan.wanted |= n.uses
		}
	}
	if n.act == actGraph {
		n.graph = decl.Field("graph").Text.Value
		if n.inner, n.graph = b.plan.innerPlan(n.id, n.graph); n.inner == nil {
			n.act = actRun // an analysis runs it as one step
		}
	}
	if decl.Join != nil {
		n.joins, n.onBypass = true, cmp.Or(decl.Join.OnBypass.Value, "drop")
		b.plan.failsDeserted = b.plan.failsDeserted || n.onBypass == "fail"
		switch decl.Join.Wait {
		case "any":
			n.quorum = 1
		case "N":
			n.quorum = decl.Join.Count
		}
	}
}

func (b *builder) assignments(fields []bind.Field) []assignment {
	out := make([]assignment, len(fields))
	for i := range fields {
		out[i] = assignment{key: b.key(fields[i].Name), value: fields[i].Value}
	}
	return out
}

func (b *builder) target(id string) int {
	if n := b.plan.Graph.Node(id); n != nil {
		return n.Index
	}
	return endNode
}

func (b *builder) edges(g *spec.Graph) {
	b.plan.edges = make([]edge, len(g.Edges))
	for i, decl := range g.Edges {
		source := g.Node(decl.From.Value)
		if source == nil {
			continue
		}
		n := &b.plan.nodes[source.Index]
		e := edge{
			spec: decl, from: source.Index, to: b.target(decl.To.Value),
			when: b.bound.Edges[i].When, transform: b.bound.Edges[i].Transform,
		}
		if e.when != nil {
			e.uses |= b.usesOfProgram(e.when)
		}
		if e.transform != nil {
			e.uses |= b.usesOf(e.transform)
		}
		b.plan.wanted |= e.uses
		b.plan.edges[i] = e
		n.addEdge(i, decl)
	}
	for i := range b.plan.nodes {
		b.plan.order(&b.plan.nodes[i])
		b.plan.noteTargets(i)
	}
}

// noteTargets notes which nodes an execution of a node may lead to. Labels that only a
// run knows may be any node's.
func (p *Plan) noteTargets(i int) {
	n := &p.nodes[i]
	add := func(list *[]int, to int) bool {
		isNew := to != endNode && !slices.Contains(*list, to)
		if isNew {
			*list = append(*list, to)
		}
		return isNew
	}
	lead := func(to int, onFailure bool) {
		if add(&n.targets, to) {
			p.sources[to] = append(p.sources[to], i)
		}
		if to == endNode && !slices.Contains(p.sources[len(p.nodes)], i) {
			p.sources[len(p.nodes)] = append(p.sources[len(p.nodes)], i)
		}
		if !onFailure {
			add(&n.sound, to)
		}
	}
	for _, at := range n.out {
		lead(p.edges[at].to, p.edges[at].spec.Condition == "on_failure")
	}
	for _, label := range n.endLabels {
		lead(n.ends[label], false)
	}
	if n.gotoExpr != nil && !n.hasEnds {
		for to := range p.nodes {
			if !p.nodes[to].final {
				lead(to, false)
			}
		}
	}
}

// addEdge files an outgoing edge under the outcomes that consult it.
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

// order puts guarded edges by priority, high first, then declaration order.
func (p *Plan) order(n *node) {
	byPriority := func(a, b int) int { return cmp.Compare(p.edges[b].spec.Priority, p.edges[a].spec.Priority) }
	slices.SortStableFunc(n.conditional, byPriority)
	slices.SortStableFunc(n.failWhen, byPriority)
}

func (b *builder) finish(g *spec.Graph) {
	b.policies(g)
	p := b.plan
	p.goal, p.join = g.Goal.Description.Value, "auto"
	if parallel, ok := g.Settings()["parallel"].(map[string]any); ok && parallel["join"] == "explicit" {
		p.join = "explicit"
	}
	if b.bound.Group != nil {
		p.group = b.bound.Group
		p.wanted |= b.usesOfProgram(p.group)
	}
	for _, name := range g.Finally {
		if n := g.Node(name.Value); n != nil {
			p.finally = append(p.finally, n.Index)
		}
	}
	p.context = []string{"secrets"}
	for _, c := range contextNames() {
		p.context = append(p.context, c.name)
	}
	if b.bound.Output != nil {
		p.output, p.outUses = b.bound.Output, b.usesOf(b.bound.Output)
		p.wanted |= p.outUses
	}
	// What a tool gave last is known without a model, too, if somebody asks.
	p.talks = p.talks || p.wanted&useLast != 0
	p.watched = make([]bool, len(p.nodes))
	for i := range p.nodes {
		n := &p.nodes[i]
		p.watched[i] = b.all || b.watched[n.id] || n.talk.model && n.talk.feedback
	}
}

func (b *builder) setup() {
	b.plan.tools, b.plan.providers, b.plan.notices = b.bound.Tools, b.bound.Providers, b.bound.Notices
	for _, fields := range [][]bind.Field{b.bound.Tools, b.bound.Providers} {
		for i := range fields {
			b.plan.wanted |= b.usesOf(&fields[i].Value)
		}
	}
}

func (b *builder) checkEach(g *spec.Graph) {
	for _, n := range g.Nodes {
		if !n.Each.IsSet() {
			continue
		}
		switch kind := n.Kind.Value; kind {
		case "wait", "fail":
			b.report("invalid-value", n.Each.Span, "a "+kind+" node has no use for each")
		}
	}
}
