// Package flowtree compiles a graph together with the graphs that it runs, and finds nodes in them.
package flowtree

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// graphKind is the kind of nodes that run graphs.
const graphKind = "graph"

// MachineKinds returns the kinds that the machine executes without a handler.
func MachineKinds() []string { return []string{"fail", "human", "pass", "set", "wait"} }

// Tree is a compiled graph with the graphs that it runs.
type Tree struct {
	Graph *spec.Graph
	Plan  *machine.Plan
	// inner are the graphs of nodes ("node:graph") and tools (the name in `graph:`), as in Plan.Inner.
	inner map[string]*Tree
	// tools are the graphs that the file declares as tools, sorted.
	tools []string
	// levels is the depth of nested graphs, including this one, or 0 without subgraphs.
	levels int
	// all are the trees of the whole flow, outermost last. Only the outermost tree has them.
	all []*Tree
}

// All returns the trees of the flow, each once, in a stable order.
func (t *Tree) All() []*Tree { return t.all }

// FindTree returns the tree of a plan of the flow.
func (t *Tree) FindTree(plan *machine.Plan) *Tree {
	return t.all[slices.IndexFunc(t.all, func(one *Tree) bool { return one.Plan == plan })]
}

// Config configures how graphs are read and rewritten. The zero value reads files.
type Config struct {
	// Kinds are the node kinds that can run, in addition to the machine's and graph.
	Kinds []spec.Kind
	// Load reads the files of subgraphs and texts. If it is nil, regular files are read.
	Load func(path string) ([]byte, error)
	// Rewrite, if set, changes the graph of the node at a path before it is compiled.
	Rewrite func(path string, g *spec.Graph) *spec.Graph
	// Kept are texts that replace files, by absolute path.
	Kept map[string][]byte
}

// Build compiles a graph and its subgraphs. It also returns the texts of the files that it read, by
// absolute path. If the findings contain errors, the tree is incomplete.
func Build(g *spec.Graph, cfg Config) (tree *Tree, files map[string][]byte, found spec.Diagnostics) {
	l := &resolver{cfg: &cfg, flows: map[string]*Tree{}, files: map[string][]byte{}}
	tree = l.resolveGraph(g)
	tree.all = l.built
	return tree, l.files, l.found
}

// buildPlan builds the plan of a tree whose inner graphs are resolved.
func (t *Tree) buildPlan(kinds []spec.Kind) spec.Diagnostics {
	inner := map[string]*machine.Plan{}
	for key, tree := range t.inner { //lint:ignore mapiter entries are independent
		inner[key] = tree.Plan
	}
	plan, found := machine.Build(t.Graph, kinds, inner)
	t.Plan = plan
	run := append(MachineKinds(), graphKind)
	for _, kind := range kinds {
		run = append(run, kind.Name)
	}
	slices.Sort(run)
	for _, n := range t.Graph.Nodes {
		if kind := n.Kind.Value; !slices.Contains(run, kind) {
			found = append(found, spec.Diagnostic{
				File: t.Graph.File, Rule: "not-yet", Severity: spec.Error, Span: n.Kind.Span,
				Message: fmt.Sprintf("nodes of kind %q can be checked and drawn, but nothing here can run them; "+
					"kinds that run: %s", kind, strings.Join(run, ", ")),
			})
		}
	}
	return found
}

// AbsolutePath returns the absolute path of a file, or the name if that fails.
func AbsolutePath(name string) string {
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}

// HasSecrets reports whether the graph, or one that it runs, has secrets.
func (t *Tree) HasSecrets() bool {
	return slices.ContainsFunc(t.all, func(one *Tree) bool {
		return len(one.Graph.Secrets) > 0 || slices.ContainsFunc(one.Graph.State, func(key *spec.StateKey) bool { return key.Secret })
	})
}

// WritesSecret reports whether a node writes a secret key, so that its output may be secret.
func (t *Tree) WritesSecret(g *spec.Graph, node string) bool {
	n := g.Node(node)
	return n != nil && slices.ContainsFunc(g.State, func(key *spec.StateKey) bool { return key.Secret && writesKey(n, key.Name.Value) })
}

func writesKey(n *spec.Node, key string) bool {
	return slices.ContainsFunc(n.Writes.Keys, func(t spec.Text) bool { return t.Value == key }) ||
		slices.ContainsFunc(n.Writes.Exprs, func(e spec.NamedExpr) bool { return e.Name.Value == key })
}

// innerTree returns the inner graph of a node that has the node next, or nil.
func (t *Tree) innerTree(n *spec.Node, next string) *Tree {
	if file := n.Field("graph"); n.Kind.Value == graphKind && file != nil {
		return t.inner[n.ID.Value+":"+file.Text.Value]
	}
	if callsTools(n) {
		next, _, _ = strings.Cut(next, "[")
		for _, file := range t.tools {
			tree := cmp.Or(t.inner[n.ID.Value+":"+file], t.inner[file])
			if tree.Graph.Node(next) != nil {
				return tree
			}
		}
	}
	return nil
}

// callsTools reports whether a node may call graphs as tools.
func callsTools(n *spec.Node) bool {
	return slices.Contains([]string{"agent", "tool", "tools"}, n.Kind.Value)
}

// resolveTools compiles the graphs that a file declares as tools. If graphs are rewritten, it compiles
// them again for each calling node.
func (l *resolver) resolveTools(g *spec.Graph, flow *Tree) {
	for i := range g.Tools {
		file := g.Tools[i].Value.Get("graph")
		if file == nil || file.Kind != spec.String {
			continue
		}
		name, outer := file.Text.Value, l.tool
		l.tool = true
		if flow.addInner(name, l.resolveChild(g, file)) {
			flow.tools = append(flow.tools, name)
		}
		l.tool = outer
		if l.cfg.Rewrite == nil || l.tool || l.found.HasErrors() {
			continue
		}
		for _, n := range g.Nodes {
			if callsTools(n) {
				l.nodes = append(l.nodes, n.ID.Value)
				flow.addInner(n.ID.Value+":"+name, l.resolveChild(g, file))
				l.nodes = l.nodes[:len(l.nodes)-1]
			}
		}
	}
	slices.Sort(flow.tools)
}

// addInner adds an inner graph unless it is nil.
func (t *Tree) addInner(key string, tree *Tree) bool {
	if tree != nil {
		t.inner[key] = tree
	}
	return tree != nil
}

// HasGraphTools reports whether the file declares graphs as tools.
func (t *Tree) HasGraphTools() bool { return len(t.tools) > 0 }

// AddGraphDefaults adds default parameters and descriptions to tools that are graphs.
func (t *Tree) AddGraphDefaults(tools map[string]any) {
	for name := range tools { //lint:ignore mapiter entries are independent
		fields, _ := tools[name].(map[string]any)
		file, _ := fields["graph"].(string)
		if !slices.Contains(t.tools, file) {
			continue
		}
		child := t.inner[file]
		own := maps.Clone(fields) // all runs share the plan's fields
		if _, given := own["parameters"]; !given {
			own["parameters"] = inputParameters(child.Graph)
		}
		if _, given := own["description"]; !given {
			own["description"] = child.Graph.Description.Value
		}
		tools[name] = own
	}
}

// inputParameters returns the JSON Schema of a graph's input: its required keys, or all keys if none is
// required.
func inputParameters(g *spec.Graph) map[string]any {
	properties, required := map[string]any{}, []any{}
	isRequired := func(key *spec.StateKey) bool { return key.Required }
	all := !slices.ContainsFunc(g.State, isRequired)
	for _, key := range g.State {
		if !all && !key.Required {
			continue
		}
		if properties[key.Name.Value] = key.Schema; key.Schema == nil {
			properties[key.Name.Value] = map[string]any{}
		}
		if key.Required {
			required = append(required, key.Name.Value)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}
