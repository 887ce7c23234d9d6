// Graphs that a file declares as tools.

package flowtree

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// innerTree returns the graph of a node that has the next part of a path, or nil.
func (t *Tree) innerTree(n *spec.Node, next string) *Tree {
	if file := n.Field("graph"); n.Kind.Value == graphKind && file != nil {
		return t.inner[n.ID.Value+":"+file.Text.Value]
	}
	if callsTools(n) {
		next, _, _ = strings.Cut(next, "[")
		for _, file := range t.tools {
			tree := t.inner[n.ID.Value+":"+file]
			if tree == nil {
				tree = t.inner[file]
			}
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

// resolveTools compiles the graphs that a file declares as tools, once more for each caller if
// graphs are rewritten.
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

// addInner adds a graph unless it is nil.
func (t *Tree) addInner(key string, tree *Tree) bool {
	if tree != nil {
		t.inner[key] = tree
	}
	return tree != nil
}

// HasTools reports whether the file declares graphs as tools.
func (t *Tree) HasTools() bool { return len(t.tools) > 0 }

// OfferGraphs adds default parameters and descriptions to tools that are graphs.
func (t *Tree) OfferGraphs(tools map[string]any) {
	for name := range tools { //lint:ignore mapiter each entry by itself
		fields, _ := tools[name].(map[string]any)
		file, _ := fields["graph"].(string)
		if !slices.Contains(t.tools, file) {
			continue
		}
		child := t.inner[file]
		own := maps.Clone(fields) // all runs share those of the plan
		if _, given := own["parameters"]; !given {
			own["parameters"] = parametersOf(child.Graph)
		}
		if _, given := own["description"]; !given {
			own["description"] = child.Graph.Description.Value
		}
		tools[name] = own
	}
}

// parametersOf returns the JSON Schema of a graph's input: its required keys, or all if none is.
func parametersOf(g *spec.Graph) map[string]any {
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
