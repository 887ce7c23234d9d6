// Builds the Graph from values. Shapes were checked before: a value of a wrong
// shape reads as absent here, and only rules between values are reported.

package spec

import "time"

// builder fills one Graph.
type builder struct {
	*shaper
	graph *Graph
	// Of the nodes and edges that say nothing of it.
	nodeRare *NodeRare
	edgeRare *EdgeRare
}

func newGraph(file *File) *Graph {
	return &Graph{
		File: file, StrictState: true, Feedback: true,
		Limits:   Limits{MaxSteps: 100, OnMaxSteps: "fail", MaxConcurrency: 16},
		Parallel: Parallel{OnFailure: "fail_all", Conflict: "last_wins", Join: "auto"},
		keys:     map[string]*StateKey{},
	}
}

// build fills the graph; edges come last, those of finish behind all others.
func (b *builder) build(root *Value) {
	g := b.graph
	for i := range root.Fields {
		key, v := root.Fields[i].Key.Value, &root.Fields[i].Value
		switch key {
		case "nodes", "edges", "state", "graphs": // a file's largest parts are not kept twice
		default:
			g.settings = append(g.settings, root.Fields[i])
		}
		switch key {
		case "name":
			g.Name = textOf(v)
		case "description":
			g.Description = textOf(v)
		case "persona":
			g.Persona = textOf(v)
		case "goal":
			g.Goal = goalOf(v)
		case "start":
			g.Start = b.nodeName(v)
		case "finish":
			g.Finish = namesOf(v)
		case "output":
			g.Output = v
		case "strict_state":
			g.StrictState = boolOf(v, true)
		case "feedback_on_revisit":
			g.Feedback = boolOf(v, true)
		case "state":
			b.state(v)
		case "nodes":
			b.nodes(v)
		case "limits":
			b.limits(v)
		case "parallel":
			b.parallel(v, &g.Parallel)
		case "retry":
			g.Retry = b.retry(v)
		case "cache":
			g.Cache = cacheOf(v)
		case "pause_before":
			g.PauseBefore = namesOf(v)
		case "pause_after":
			g.PauseAfter = namesOf(v)
		case "finally":
			g.Finally = namesOf(v)
		default:
			b.services(key, v)
		}
	}
	if !g.Start.IsSet() {
		g.gaps |= gapStart
	}
	if len(g.Nodes) == 0 {
		g.gaps |= gapNodes
		if nodes := root.Get("nodes"); nodes != nil && nodes.Kind == Map {
			b.report("invalid-value", nodes.Span, "\"nodes\" must have a node at least; found none")
		}
	}
	if g.gaps&gapState != 0 {
		g.StrictState = false // any key may be one
	}
	for _, name := range g.Finally {
		if n := g.nodes[name.Value]; n != nil {
			n.Final = true
		}
	}
	b.policies(root.Get("policies"))
	b.edgeRare = &EdgeRare{}
	b.edges(root.Get("edges"))
	b.finish()
	// What points to another entry would keep the largest ones, which have been read.
	for i := range root.Fields {
		switch f := &root.Fields[i]; f.Key.Value {
		case "nodes", "edges":
			f.Value.Items, f.Value.Fields = nil, nil
		}
	}
}

// services reads the keys about models, tools and what else a run is given.
func (b *builder) services(key string, v *Value) {
	g := b.graph
	switch key {
	case "conversation":
		g.Conversation = v
	case "models":
		g.Models = named(v)
	case "providers":
		g.Providers = named(v)
	case "tools":
		g.Tools = named(v)
	case "secrets":
		g.Secrets = secretsOf(v)
	case "graphs":
		b.graphs(v)
	case "concurrency":
		g.Concurrency = concurrencyOf(v)
	case "notify":
		g.Notify = v.Items
	}
}

// nodeName reads the name of a node; a value of another shape leaves a gap.
func (b *builder) nodeName(v *Value) Text {
	if v.Kind != String {
		b.graph.gaps |= gapStart
		return Text{}
	}
	return v.Text
}

// textOf is the text of a scalar, however it is written; absent for a list,
// a map or no value.
func textOf(v *Value) Text {
	if v == nil || !v.IsScalar() || v.Kind == Null {
		return Text{}
	}
	return v.Text
}

// namesOf are the names in a string or a list of strings; values of another
// shape, which were reported, are left out.
func namesOf(v *Value) []Text {
	switch {
	case v == nil:
	case v.Kind == String:
		return []Text{v.Text}
	case v.Kind == List:
		out := make([]Text, 0, len(v.Items))
		for i := range v.Items {
			if v.Items[i].Kind == String {
				out = append(out, v.Items[i].Text)
			}
		}
		return out
	}
	return nil
}

// textsOf are the texts of a scalar or a list of them.
func textsOf(v *Value) []Text {
	if v == nil {
		return nil
	}
	if v.Kind != List {
		if t := textOf(v); t.IsSet() {
			return []Text{t}
		}
		return nil
	}
	out := make([]Text, 0, len(v.Items))
	for i := range v.Items {
		if t := textOf(&v.Items[i]); t.IsSet() {
			out = append(out, t)
		}
	}
	return out
}

// exprsOf are the entries of a map of expressions.
func exprsOf(v *Value) []NamedExpr {
	var out []NamedExpr
	for i := range v.Fields {
		if t := textOf(&v.Fields[i].Value); t.IsSet() {
			out = append(out, NamedExpr{Name: v.Fields[i].Key, Expr: t})
		}
	}
	return out
}

func boolOf(v *Value, absent bool) bool {
	if v.Kind == Bool {
		return v.bits != 0
	}
	return absent
}

func intOf(v *Value) int {
	if v.Kind == Int {
		return int(v.bits)
	}
	return 0
}

func durationOf(v *Value) time.Duration {
	d, valid := parseDuration(textOf(v).Value)
	if !valid {
		return -1 // there is one, whatever it is
	}
	return d
}

// named are the entries of a map of names, without those that are ignored.
func named(v *Value) []Field {
	var out []Field
	for _, f := range v.Fields {
		if !isExtension(f.Key.Value) {
			out = append(out, f)
		}
	}
	return out
}

func goalOf(v *Value) Goal {
	if v.Kind != Map {
		return Goal{Description: textOf(v)}
	}
	return Goal{
		Description:     textOf(v.Get("description")),
		SuccessCriteria: textsOf(v.Get("success_criteria")),
		Constraints:     textsOf(v.Get("constraints")),
	}
}

func (b *builder) limits(v *Value) {
	l := &b.graph.Limits
	l.Span, l.MaxStepsSpan, l.written = v.Span, v.Span, v.Fields
	for i := range v.Fields {
		key, v := v.Fields[i].Key.Value, &v.Fields[i].Value
		switch key {
		case "max_steps":
			l.MaxSteps, l.MaxStepsSpan = intOf(v), v.Span
		case "on_max_steps":
			l.OnMaxSteps = textOf(v).Value
		case "timeout":
			l.Timeout = durationOf(v)
		case "step_timeout":
			l.StepTimeout = durationOf(v)
		case "node_timeout":
			l.NodeTimeout = durationOf(v)
		case "max_visits":
			l.MaxVisits = intOf(v)
		case "max_concurrency":
			l.MaxConcurrency = intOf(v)
		case "max_tokens":
			l.MaxTokens = intOf(v)
		case "max_cost_usd":
			l.MaxCostUSD = number(v)
		case "max_state_bytes":
			l.MaxStateBytes = intOf(v)
		}
	}
}

// parallel fills p with what is written and keeps the rest.
func (b *builder) parallel(v *Value, p *Parallel) {
	p.Span = v.Span
	for i := range v.Fields {
		key, v := v.Fields[i].Key.Value, &v.Fields[i].Value
		switch key {
		case "on_failure":
			p.OnFailure = textOf(v).Value
		case "conflict":
			p.Conflict, p.ConflictSpan = textOf(v).Value, v.Span
		case "branch_timeout":
			p.BranchTimeout = durationOf(v)
		case "join":
			p.Join = textOf(v).Value
		}
	}
}

func concurrencyOf(v *Value) *Concurrency {
	c := &Concurrency{Group: textOf(v.Get("group")), Limit: 1, OnBusy: "wait"}
	if limit := v.Get("limit"); limit != nil {
		c.Limit = intOf(limit)
	}
	if busy := v.Get("on_busy"); busy != nil {
		c.OnBusy = textOf(busy).Value
	}
	return c
}

func cacheOf(v *Value) *Cache {
	c := &Cache{Span: v.Span}
	for i := range v.Fields {
		key, v := v.Fields[i].Key.Value, &v.Fields[i].Value
		switch {
		case key == "ttl":
			c.TTL = durationOf(v)
		case key == "version":
			c.Version = textOf(v)
		case key == "key" && v.Kind == List:
			c.Keys = namesOf(v)
		case key == "key":
			c.Key = textOf(v)
		}
	}
	return c
}

func secretsOf(v *Value) []Secret {
	var out []Secret
	for _, f := range named(v) {
		out = append(out, Secret{Name: f.Key, Env: textOf(f.Value.Get("env")), File: textOf(f.Value.Get("file")), Command: textsOf(f.Value.Get("command"))})
	}
	return out
}
