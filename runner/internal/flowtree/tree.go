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

// graphKind is the kind of nodes that run graphs.
const graphKind = "graph"

// MachineKinds returns the kinds that the machine executes itself.
func MachineKinds() []string { return []string{"fail", "human", "pass", "set", "wait"} }

// Tree is a compiled graph with the graphs that it runs.
type Tree struct {
	Graph *spec.Graph
	Plan  *machine.Plan
	// inner are the graphs of nodes ("node:graph") and tools (the name in `graph:`), as in Plan.Inner.
	inner map[string]*Tree
	// tools are the graphs that the file declares as tools, sorted.
	tools []string
	// levels is the depth of the nested graphs, counting this one; 0 without subgraphs.
	levels int
	// all are the trees of the whole flow, the outermost last. Only that one has them.
	all []*Tree
}

// All returns the trees of the flow, each once, in a stable order.
func (t *Tree) All() []*Tree { return t.all }

// Of returns the tree of a plan of the flow.
func (t *Tree) Of(plan *machine.Plan) *Tree {
	return t.all[slices.IndexFunc(t.all, func(one *Tree) bool { return one.Plan == plan })]
}

// Config says how graphs are found and changed. The zero value reads files.
type Config struct {
	// Kinds are the node kinds that can run, in addition to the machine's and graph.
	Kinds []spec.Kind
	// Load reads the files of subgraphs and texts. Without it regular files are read.
	Load func(path string) ([]byte, error)
	// Rewrite, if set, changes the graph of the node at a path before it is compiled.
	Rewrite func(path string, g *spec.Graph) *spec.Graph
	// Kept are texts that replace files, by absolute path.
	Kept map[string][]byte
}

// Build compiles a graph and its subgraphs. files are the texts that it read, by absolute path.
// After an error the tree is incomplete.
func Build(g *spec.Graph, cfg Config) (tree *Tree, files map[string][]byte, found spec.Diagnostics) {
	l := &resolver{cfg: &cfg, flows: map[string]*Tree{}, files: map[string][]byte{}}
	tree = l.resolve(g)
	tree.all = l.built
	return tree, l.files, l.found
}

// buildPlan builds the plan of a tree whose inner graphs are resolved.
func (t *Tree) buildPlan(kinds []spec.Kind) spec.Diagnostics {
	inner := map[string]*machine.Plan{}
	for key, tree := range t.inner { //lint:ignore mapiter each entry by itself
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

// Absolute returns the absolute path of a file, or the name itself if there is none.
func Absolute(name string) string {
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

// Confides reports whether a node writes a secret key, so that its output may be secret.
func (t *Tree) Confides(g *spec.Graph, node string) bool {
	n := g.Node(node)
	return n != nil && slices.ContainsFunc(g.State, func(key *spec.StateKey) bool { return key.Secret && writesKey(n, key.Name.Value) })
}

func writesKey(n *spec.Node, key string) bool {
	return slices.ContainsFunc(n.Writes.Keys, func(t spec.Text) bool { return t.Value == key }) ||
		slices.ContainsFunc(n.Writes.Exprs, func(e spec.NamedExpr) bool { return e.Name.Value == key })
}
