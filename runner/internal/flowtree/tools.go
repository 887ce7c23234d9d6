// Graphs that a file declares as tools.

package flowtree

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// Inside is the graph that a node runs in which the next part of a path stands;
// nil: there is none.
func (t *Tree) Inside(id, next string) *Tree {
	if child := t.Children[id]; child != nil {
		return child
	}
	if callsTools(t.Graph.Node(id)) {
		next, _, _ = strings.Cut(next, "[")
		for _, file := range slices.Sorted(maps.Keys(t.tools)) {
			if flow := t.Tool(id, file); flow.Graph.Node(next) != nil {
				return flow
			}
		}
	}
	return nil
}

// Tool is the graph that a node calls as a tool; nil: no tool names the file.
func (t *Tree) Tool(node, file string) *Tree {
	if own := t.called[node][file]; own != nil {
		return own
	}
	return t.tools[file]
}

// callsTools reports whether a node may call graphs as tools.
func callsTools(n *spec.Node) bool {
	return slices.Contains([]string{"agent", "tool", "tools"}, n.Kind.Value)
}

// resolveTools compiles the graphs that a file declares as tools: where graphs are rewritten,
// once more for each node that may call them.
func (l *resolver) resolveTools(g *spec.Graph, flow *Tree) {
	for i := range g.Tools {
		file := g.Tools[i].Value.Get("graph")
		if file == nil || file.Kind != spec.String {
			continue
		}
		outer := l.tool
		l.tool = true
		if child := l.child(g, file); child != nil {
			flow.tools[file.Text.Value] = child
		}
		l.tool = outer
		if l.cfg.Rewrite == nil || l.tool || l.found.HasErrors() {
			continue
		}
		for _, n := range g.Nodes {
			if !callsTools(n) {
				continue
			}
			if flow.called[n.ID.Value] == nil {
				flow.called[n.ID.Value] = map[string]*Tree{}
			}
			l.nodes = append(l.nodes, n.ID.Value)
			flow.called[n.ID.Value][file.Text.Value] = l.child(g, file)
			l.nodes = l.nodes[:len(l.nodes)-1]
		}
	}
}

// HasTools reports whether the file declares graphs as tools.
func (t *Tree) HasTools() bool { return len(t.tools) > 0 }

// OfferGraphs completes the declarations of tools that are graphs: without
// parameters they take the keys that the graph requires, without a description
// they have the graph's.
func (t *Tree) OfferGraphs(tools map[string]any) {
	for name := range tools { //lint:ignore mapiter each entry by itself
		fields, _ := tools[name].(map[string]any)
		file, _ := fields["graph"].(string)
		child := t.tools[file]
		if child == nil {
			continue
		}
		own := maps.Clone(fields) // the plan's, shared by all runs
		if _, given := own["parameters"]; !given {
			own["parameters"] = parametersOf(child.Graph)
		}
		if _, given := own["description"]; !given {
			own["description"] = child.Graph.Description.Value
		}
		tools[name] = own
	}
}

// parametersOf is the JSON Schema of what a graph takes: the keys that it
// requires, or every key when it requires none.
func parametersOf(g *spec.Graph) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, key := range g.State {
		if key.Required {
			properties[key.Name.Value] = anySchema(key.Schema)
			required = append(required, key.Name.Value)
		}
	}
	if len(required) == 0 {
		for _, key := range g.State {
			properties[key.Name.Value] = anySchema(key.Schema)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func anySchema(schema map[string]any) map[string]any {
	if schema == nil {
		return map[string]any{}
	}
	return schema
}
