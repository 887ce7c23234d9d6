// unknown-tool: a node names a tool that the file doesn't declare.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func unknownTool() Rule {
	return Rule{
		Name: "unknown-tool", Group: "models", Severity: spec.Error, needs: needNode,
		Summary: "a node names a tool that is not declared",
		Doc:     "Tools are declared under tools. A node names one as it is, or a tool of an MCP server as server.tool or server.*; only servers have tools of their own. The resources and prompts that a prompt names are those of a server too.",
		Bad: `graphrun: v1
name: sum
start: add
output: output
tools:
  add: {exec: {command: [./add.sh]}, description: Adds two numbers., parameters: {type: object}}
nodes:
  add: {kind: tool, tool: ad, args: {x: 1}}
edges:
  - {from: add, to: END}
`,
		change: []string{"tool: ad,", "tool: add,"},
		check:  checkUnknownTool,
	}
}

func checkUnknownTool(f *facts) {
	for _, n := range f.graph.Nodes {
		if n.Kind.Value == "tool" {
			f.tool(text(n, "tool"), false)
			continue
		}
		f.toolList(n.Field("tools"))
		f.serverParts(n)
		if states := n.Field("loop").Get("states"); states != nil {
			for i := range states.Fields {
				f.toolList(states.Fields[i].Value.Get("tools"))
			}
		}
	}
}

// serverParts checks the servers whose resources and prompts a prompt names.
func (f *facts) serverParts(n *spec.Node) {
	if !isModel(n) {
		return
	}
	prompt := n.Field("prompt")
	if prompt == nil {
		return
	}
	parts := []spec.Value{*prompt}
	if prompt.Kind == spec.List {
		parts = prompt.Items
	}
	for i := range parts {
		for _, key := range []string{"prompt", "resource"} {
			named := parts[i].Get(key)
			if named == nil || named.Kind != spec.String {
				continue
			}
			name, _, colon := strings.Cut(named.Text.Value, ":")
			if !strings.Contains(name, "{{") && (!colon || f.declaredTool(name).Get("mcp") == nil) {
				servers := f.servers()
				f.report(named.Text.At(0, len(name)), "%q is no server of tools; %s", name, listed("servers are", servers)).Suggestion = suggest.Closest(name, servers)
			}
		}
	}
}

// servers are the MCP servers that the file declares, sorted.
func (f *facts) servers() []string {
	all := slices.Sorted(slices.Values(keysOf(f.graph.Tools)))
	return slices.DeleteFunc(all, func(name string) bool { return f.declaredTool(name).Get("mcp") == nil })
}

// listed names what there is.
func listed(intro string, names []string) string {
	if len(names) == 0 {
		return "there is none"
	}
	return intro + " " + strings.Join(names, ", ")
}

func (f *facts) toolList(list *spec.Value) {
	if list == nil {
		return
	}
	for i := range list.Items {
		if list.Items[i].Kind == spec.String {
			f.tool(list.Items[i].Text, true)
		}
	}
}

// tool checks one reference; all allows server.*.
func (f *facts) tool(ref spec.Text, all bool) {
	if !ref.IsSet() || strings.Contains(ref.Value, "{{") {
		return
	}
	name, member, dotted := strings.Cut(ref.Value, ".")
	t := f.declaredTool(ref.Value)
	if t != nil && (all || t.Get("mcp") == nil) {
		return
	}
	if t == nil {
		t = f.declaredTool(name)
	}
	if t == nil {
		names := slices.Sorted(slices.Values(keysOf(f.graph.Tools)))
		known := "no tool is declared"
		if len(names) > 0 {
			known = "declared are " + strings.Join(names, ", ")
		}
		f.report(ref.At(0, len(name)), "%q is no declared tool; %s", name, known).Suggestion = suggest.Closest(name, names)
		return
	}
	switch server := t.Get("mcp") != nil; {
	case dotted && !server:
		f.report(ref.At(len(name), len(ref.Value)), "%q is one tool and has no %q; only MCP servers have tools of their own", name, member)
	case !dotted && server && !all:
		f.report(ref.At(0, len(ref.Value)), "%q is a server; name one of its tools, as in %s.tool", name, name)
	case dotted && member == "*" && !all:
		f.report(ref.At(len(name)+1, len(ref.Value)), "a tool node calls one tool; %q names all of the server's", ref.Value)
	}
}

func (f *facts) declaredTool(name string) *spec.Value {
	for i := range f.graph.Tools {
		if f.graph.Tools[i].Key.Value == name {
			return &f.graph.Tools[i].Value
		}
	}
	return nil
}
