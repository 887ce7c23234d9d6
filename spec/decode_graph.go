// Decoding graphs, edges and state keys.

package spec

import (
	"maps"
	"slices"
)

func newGraph(file *File) *Graph {
	return &Graph{
		File: file, Span: Span{0, len(file.Src)}, StrictState: true, Feedback: true,
		Limits:   Limits{MaxSteps: 100, OnMaxSteps: "fail", MaxConcurrency: 16},
		Parallel: Parallel{OnFailure: "fail_all", Conflict: "last_wins", Join: "auto"},
		nodes:    map[string]*Node{},
		keys:     map[string]*StateKey{},
		edgeIDs:  map[string]Span{},
	}
}

// readGraph reads the graph of a file, or a graph within a file. The edges of `finish` come last.
func (d *decoder) readGraph(keys []Key, root *Value, owner Text) {
	g := d.graph
	d.readObject(keys, nil, root, owner, g)
	if !g.Name.IsSet() {
		g.Name = owner // of a graph within a file
	}
	nodes, edges, state := root.Get("nodes"), root.Get("edges"), root.Get("state")
	if len(g.Nodes) == 0 && nodes != nil && nodes.Kind == Map {
		d.report("invalid-value", nodes.Span, "\"nodes\" must have a node at least; found none")
	}
	g.lacksEdges = g.lacksEdges || edges != nil && edges.Kind != List
	if state != nil && state.Kind != Map {
		g.hasGaps, g.StrictState = true, false // any name may be a state key
	}
	g.hasGaps = g.hasGaps || !g.Start.IsSet() || len(g.Nodes) == 0
	for _, name := range g.Finally {
		if n := g.nodes[name.Value]; n != nil {
			n.Final = true
		}
	}
	d.checkRetries(g.Retry)
	before := len(d.diags)
	d.policyFiles = map[string]bool{}
	d.addPolicies(root.Get("policies"), nil)
	d.setPolicyRule(before)
	for _, f := range g.Finish {
		g.Edges = append(g.Edges, &Edge{Index: len(g.Edges), Decl: -1, From: f, To: Text{Value: END, Span: f.Span}, Condition: "on_success", Span: f.Span})
	}
	for _, f := range root.Fields {
		if !hasWord("nodes edges state graphs", f.Key.Value) { // these are too large to keep twice
			g.settings = append(g.settings, f)
		}
	}
}

// completeEdge sets the defaults of an edge, checks that its keys fit together, and expands its ends.
func (d *decoder) completeEdge(e *Edge, v *Value) {
	when := findField(v.Fields, "when")
	if e.Condition == "" {
		e.Condition = "on_success"
		if when != nil {
			e.Condition = "conditional"
		}
	}
	if e.Condition == "conditional" && when == nil {
		d.report("missing-field", v.Get("condition").Span, "a conditional edge lacks the key \"when\"")
	}
	for _, row := range []struct {
		key     *Field
		allowed string
	}{{when, "conditional and on_failure"}, {findField(v.Fields, "fallback"), "llm_decide and on_success"}} {
		if row.key != nil && (row.key == when || e.Fallback) && slices.Contains(conditions, e.Condition) && !hasWord(row.allowed, e.Condition) {
			d.report("invalid-value", row.key.Key.Span, "%q has no meaning on an edge with the condition %s; allowed on %s", row.key.Key.Value, e.Condition, row.allowed)
		}
	}
	if first, taken := d.graph.edgeIDs[e.ID.Value]; taken {
		d.report("invalid-value", e.ID.Span, "the edge id %q is taken; every id stands once", e.ID.Value)
		d.addRelated(first, "first here")
	} else if e.ID.IsSet() {
		d.graph.edgeIDs[e.ID.Value] = e.ID.Span
	}
	d.expandEdge(e, v.Get("from"), v.Get("to"))
}

// expandEdge adds an edge for each source and target of a declaration, sources first.
func (d *decoder) expandEdge(e *Edge, from, to *Value) {
	g := d.graph
	sources, targets := readTexts(from, true), readTexts(to, true)
	if len(sources) == 0 || len(targets) == 0 || len(sources) < len(from.Items) || len(targets) < len(to.Items) {
		g.lacksEdges = true
	}
	for _, source := range sources {
		for _, target := range targets {
			own := e
			if len(sources)+len(targets) > 2 {
				own = new(*e)
			}
			own.From, own.To, own.Index = source, target, len(g.Edges)
			g.Edges = append(g.Edges, own)
		}
	}
}

// completeStateKey sets the schema of a state key, and checks its name and reducer.
func (d *decoder) completeStateKey(k *StateKey, f *Field) {
	name := f.Key.Value
	if slices.Contains(reservedStateKeys, name) {
		d.report("reserved-name", f.Key.At(0, len(name)), "%q can't be a state key: expressions have a name of their own", name)
	} else if slices.Contains(expressionKeywords, name) {
		d.report("reserved-name", f.Key.At(0, len(name)), "%q can't be a state key: it is a word of the expression language", name)
	}
	outside := f.Value.Get("schema") != nil
	for i := range f.Value.Fields {
		f := &f.Value.Fields[i]
		own := FindKey(stateKeywords, f.Key.Value)
		switch {
		case isExtension(f.Key.Value), own != nil && f.Key.Value != "schema" && (f.Key.Value != "required" || f.Value.Kind == Bool):
		case f.Key.Value == "schema" && f.Value.Kind == Map:
			maps.Copy(k.Schema, f.Value.Data().(map[string]any))
		case outside && (own == nil || f.Value.Kind == List):
			d.report("invalid-value", f.Key.At(0, len(f.Key.Value)), "%q stands beside \"schema\"; put it there", f.Key.Value)
		default:
			k.Schema[f.Key.Value] = f.Value.Data()
		}
	}
	reducer := k.Reducer.Value
	if k.Reducer.IsSet() && !k.HasReducerExpr() && !slices.Contains(reducers, reducer) {
		d.report("invalid-value", k.Reducer.At(0, len(reducer)), "%q is not a reducer; expected %s, or an expression over current and update", reducer, listNames(reducers)).Suggestion = findNearest(reducer, reducers)
	}
}
