// script-injection: text from outside where it is code or a program's name.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/shell"
	"github.com/graphrun/graphrun/internal/analysis/taint"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

func scriptInjection() Rule {
	return Rule{
		Name: "script-injection", Group: "security", Severity: spec.Warning, needs: needNode,
		Summary: "text from outside becomes shell code or a program's name",
		Doc: "What {{ }} puts into a shell script is read as code: a quote or a $(…) in the value runs. The same holds for the script behind sh -c or python -c and for what ssh runs elsewhere, for the name of the program and the folder it runs in when a model or a server wrote them. " +
			"Pass the value by env and write \"$NAME\", or as an argument of its own in command. Numbers, booleans and values of an enum or of a pattern for the whole text (^…$) that admits only plain characters are no danger.",
		Bad: `graphrun: v1
name: greet
start: say
output: output
state:
  who: {type: string, required: true}
nodes:
  say: {kind: exec, shell: bash, script: "echo hello {{ who }}", timeout: 5s}
edges:
  - {from: say, to: END}
`,
		change: []string{`script: "echo hello {{ who }}"`, `env: {WHO: "{{ who }}"}, script: 'echo hello "$WHO"'`},
		check:  checkScriptInjection,
	}
}

func checkScriptInjection(f *facts) {
	f.toolInjection()
	for v, n := range f.graph.Nodes {
		if n.Kind.Value == "exec" {
			f.execInjection(v, n)
		}
	}
}

func (f *facts) execInjection(v int, n *spec.Node) {
	command := n.Field("command")
	code := shell.Code(command)
	uses := f.uses().OfNode(v)
	for i := range uses {
		u := &uses[i]
		switch {
		case !u.InText || taint.Harmless(u.Program.Type()) || f.taints().Fixed(u):
		case u.Field == "script", u.Field == "command" && slices.Contains(code, u.Text.Span):
			f.report(u.Span(), "%q becomes code of the script; pass it by env and write it as a variable", u.Program.Source())
		case u.Field == "command" && len(command.Items) > 0 && u.Text.Span == command.Items[0].Span && f.taints().Of(u) > taint.FromFlow:
			f.report(u.Span(), "%q chooses the program to run, and comes from %s", u.Program.Source(), f.taints().Of(u))
		case u.Field == "dir" && f.taints().Of(u) == taint.FromWorld:
			f.report(u.Span(), "%q chooses the folder to run in, and comes from %s", u.Program.Source(), f.taints().Of(u))
		}
	}
}

// toolInjection reports what becomes code in the commands of tools.
func (f *facts) toolInjection() {
	for i := range f.graph.Tools {
		if i >= len(f.bound.Tools) || f.bound.Tools[i].Name != f.graph.Tools[i].Key.Value {
			return // the tools have errors of their own
		}
		for _, kind := range []string{"exec", "mcp"} {
			command := f.graph.Tools[i].Value.Get(kind).Get("command")
			bound := boundField(boundField(&f.bound.Tools[i].Value, kind), "command")
			if command == nil || bound == nil {
				continue
			}
			code := shell.Code(command)
			for j, item := range bound.Items() {
				if t := item.Template(); t != nil && slices.Contains(code, command.Items[j].Text.Span) {
					f.templateInjection(command.Items[j].Text, t)
				}
			}
		}
	}
}

func (f *facts) templateInjection(text spec.Text, t *eval.Template) {
	for _, part := range t.Parts() {
		if part.Program == nil || taint.Harmless(part.Program.Type()) {
			continue
		}
		u := dataflow.Use{Node: -1, Edge: -1, Text: text, From: part.From, To: part.To, Program: part.Program}
		if !f.taints().Fixed(&u) {
			f.report(u.Span(), "%q becomes code of the script; pass it by env and write it as a variable", part.Program.Source())
		}
	}
}

// boundField is an entry of a map that was bound; nil when there is none.
func boundField(v *bind.Value, name string) *bind.Value {
	if v == nil || v.IsConst() {
		return nil
	}
	fields := v.Fields()
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i].Value
		}
	}
	return nil
}
