// Package flowtree compiles a graph together with the graphs that it runs, and finds nodes
// in them.
package flowtree

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// GraphKind is the kind of nodes that run graphs.
const GraphKind = "graph"

// MachineKinds are the kinds that the machine executes itself.
func MachineKinds() []string { return []string{"fail", "human", "pass", "set", "wait"} }

// Tree is a graph that is compiled, with the graphs that it runs.
type Tree struct {
	Graph *spec.Graph
	Plan  *machine.Plan
	// Children are the subgraphs, by the id of the node that runs them.
	Children map[string]*Tree
	// levels is the depth of the nested graphs, counting this one; 0 without subgraphs.
	levels int
	// tools are the graphs that are tools, by the file that the declaration names.
	tools map[string]*Tree
	// called are the same by the node that calls them, where graphs are rewritten.
	called map[string]map[string]*Tree
	// all are the trees of the whole flow, the graph itself last; byPlan finds one of them.
	// Both are the outermost tree's.
	all    []*Tree
	byPlan map[*machine.Plan]*Tree
}

// All returns the trees of the flow, each once, in an order that is always the same.
func (t *Tree) All() []*Tree { return t.all }

// Of returns the tree of a plan of the flow.
func (t *Tree) Of(plan *machine.Plan) *Tree { return t.byPlan[plan] }

// Config says how graphs are found and changed. The zero value reads files.
type Config struct {
	// Kinds are the node kinds that can run, besides the machine's and graph.
	Kinds []spec.Kind
	// Load reads the file of a subgraph, or of a text that one takes in; nil: a regular
	// file is read.
	Load func(path string) ([]byte, error)
	// Rewrite changes the graph of the node at a path before it is compiled; nil: nothing
	// does.
	Rewrite func(path string, g *spec.Graph) *spec.Graph
	// Kept are texts that stand instead of files, by absolute path.
	Kept map[string][]byte
}

// Build compiles a graph and those that it runs. files are the texts that were read, by
// absolute path. With an error among the findings the tree is incomplete.
func Build(g *spec.Graph, cfg Config) (tree *Tree, files map[string][]byte, found spec.Diagnostics) {
	l := &resolver{cfg: &cfg, flows: map[string]*Tree{}, files: map[string][]byte{}}
	tree = l.resolve(g)
	tree.all, tree.byPlan = l.built, map[*machine.Plan]*Tree{}
	for _, one := range l.built {
		tree.byPlan[one.Plan] = one
	}
	return tree, l.files, l.found
}

// compile makes the plan of a tree whose inner graphs are resolved.
func (t *Tree) compile(kinds []spec.Kind) spec.Diagnostics {
	g, inner := t.Graph, map[string]*machine.Plan{}
	for _, n := range g.Nodes {
		if child := t.Children[n.ID.Value]; child != nil {
			inner[n.ID.Value+":"+n.Field("graph").Text.Value] = child.Plan
		}
	}
	for file, tool := range t.tools { //lint:ignore mapiter each entry by itself
		inner[file] = tool.Plan
	}
	for node, tools := range t.called { //lint:ignore mapiter each entry by itself
		for file, tool := range tools { //lint:ignore mapiter each entry by itself
			if tool != nil {
				inner[node+":"+file] = tool.Plan
			}
		}
	}
	plan, found := machine.Build(g, kinds, inner)
	t.Plan = plan
	run := runnable(kinds)
	for _, n := range g.Nodes {
		if kind := n.Kind.Value; !slices.Contains(run, kind) {
			found = append(found, spec.Diagnostic{
				File: g.File, Rule: "not-yet", Severity: spec.Error, Span: n.Kind.Span,
				Message: fmt.Sprintf("nodes of kind %q can be checked and drawn, but nothing here can run them; "+
					"kinds that run: %s", kind, strings.Join(run, ", ")),
			})
		}
	}
	return found
}

func runnable(kinds []spec.Kind) []string {
	names := append(MachineKinds(), GraphKind)
	for _, kind := range kinds {
		names = append(names, kind.Name)
	}
	slices.Sort(names)
	return names
}

// Absolute makes a name good for later, when the working directory is another.
func Absolute(name string) string {
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}
