// template-missing: a path that can't be there when it is read.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/spec"
)

func templateMissing() Rule {
	return Rule{
		Name: "template-missing", Group: "expressions", Severity: spec.Warning, needs: needAll,
		Summary: "a template or an expression reads a member that an edge or the run does not supply",
		Doc: "{{ path }} is an error when the path is missing. The rule looks at what the edges into a node hand over: the map of transform, or the output of the source where its shape is known; at members of an output that its schema does not list, any of a model's answer, otherwise names that nearly match a listed one; at run.input, which holds only what was given; at item, which is there only in a node with each; and at error, which is null behind a success. " +
			"Write {{ path? }} if it may be missing, or supply it on that edge.",
		Bad: `graphrun: v1
name: draft
start: plan
output: text
state:
  text: {type: string, default: ""}
nodes:
  plan: {kind: set, set: {text: "'a plan'"}}
  write: {kind: set, set: {text: "Heed: {{ input.feedback }}"}}
edges:
  - {from: plan, to: write}
  - {from: write, to: write, when: visits.write < 3, transform: {feedback: "'shorter'"}}
  - {from: write, to: END}
`,
		change: []string{"feedback }}", "feedback? }}"},
		check:  checkTemplateMissing,
	}
}

func checkTemplateMissing(f *facts) {
	f.untemplated()
	var in [][]int
	all := f.uses().All
	for i := range all {
		u := &all[i]
		// In other texts a $ may stand before a price.
		if at := strings.LastIndex(u.Text.Value[:u.From], "${{"); at >= 0 && u.Node >= 0 && f.graph.Nodes[u.Node].Kind.Value == "http" && strings.TrimSpace(u.Text.Value[at+3:u.From]) == "" {
			f.report(u.Text.At(at, at+1), "the $ before {{ stays in the text; expressions are written {{ … }}").Severity = spec.Warning
		}
		if u.Optional || !f.readsContext(u.Program) {
			continue
		}
		firm := dataflow.FirmReads(u.Program)
		for _, r := range firm {
			f.outputMember(u, r)
		}
		if u.Node < 0 {
			continue
		}
		if in == nil {
			in = f.EdgesInto()
		}
		n := f.graph.Nodes[u.Node]
		if t := u.Program.Tree(); u.Moment == dataflow.Before && t.Op == eval.TreePath && t.Path[0] == "error" && len(t.Path) > 1 {
			f.noError(u, n, in[u.Node])
		}
		for _, r := range firm {
			switch {
			case (r.Path[0] == "item" || r.Path[0] == "index") && !n.Each.IsSet() && f.keyless(r.Path[0]):
				f.report(u.SpanOf(r.Path[0]), "%q is known only in a node with each, and %q has none", r.Path[0], n.ID.Value)
			case r.Path[0] == "run" && len(r.Path) > 2 && r.Path[1] == "input":
				f.runInput(u, "run.input", r.Path[2])
			case r.Path[0] == "input" && len(r.Path) > 1 && u.Moment == dataflow.Before:
				f.inputMember(u, n, r.Path[1], in[u.Node])
			case r.Path[0] == "last" && len(r.Path) > 1 && u.InText && u.Moment == dataflow.Before && f.keyless("last"):
				f.lastSaid(u, r.Path[1])
			}
		}
	}
}

// untemplated reports templates where the text is taken as it is: persona and goal are
// said once for all that follows.
func (f *facts) untemplated() {
	goal := &f.graph.Goal
	look := func(where string, texts ...spec.Text) {
		for _, text := range texts {
			from := strings.Index(text.Value, "{{")
			if from < 0 || !strings.Contains(text.Value[from:], "}}") {
				continue
			}
			to := from + strings.Index(text.Value[from:], "}}") + 2
			f.report(text.At(from, to), "%s stands in the %s as it is: no expression is evaluated there; say it in instructions or in a prompt", text.Value[from:to], where)
		}
	}
	look("persona", f.graph.Persona)
	look("goal", append(append([]spec.Text{goal.Description}, goal.SuccessCriteria...), goal.Constraints...)...)
}

// noError reports an edge into a node that no failure precedes, so that there is
// no error to read.
func (f *facts) noError(u *dataflow.Use, n *spec.Node, in []int) {
	if n.Final {
		f.report(u.SpanOf("error"), "%q runs in finally, also when nothing has failed, and error is null then; write it with a question mark", n.ID.Value)
		return
	}
	for _, i := range in {
		e := f.graph.Edges[i]
		taken := "is taken"
		switch e.Condition {
		case "on_failure":
			continue
		case "always":
			taken = "is taken also"
		}
		d := f.report(u.SpanOf("error"), "the edge from %q %s after a success, and error is null then; write it with a question mark, or lead there by on_failure only", e.From.Value, taken)
		d.Related = append(d.Related, f.related(e.From.Span, "the edge"))
		return
	}
	if len(in) == 0 && n.Index == f.Start() {
		f.report(u.SpanOf("error"), "nothing has failed before %q, the start: error is null", n.ID.Value)
	}
}

// lastSaid reports what no node before could have said.
func (f *facts) lastSaid(u *dataflow.Use, member string) {
	speakers := []string{"llm", "agent"}
	if member == "tool_result" {
		speakers = append(speakers, "tools", "tool")
	}
	if f.flow().Anywhere {
		return
	}
	earlier := f.flow().Reverse.Reach(u.Node)
	for v, n := range f.graph.Nodes {
		speaks := slices.Contains(speakers, n.Kind.Value) || n.Kind.Value == "graph" && n.Conversation != nil
		if speaks && f.graph.Nodes[u.Node].Final {
			return // it may have spoken before the run ended
		}
		if speaks && earlier[v] && (v != u.Node || f.flow().Cyclic[v]) {
			return
		}
	}
	f.report(u.Span(), "last.%s is missing: no %s node comes before %q", member, strings.Join(speakers, " or "), f.Name(u.Node))
}

// keyless reports whether a context name is no state key of an open graph.
func (f *facts) keyless(name string) bool { return f.graph.Key(name) == nil }

// readsContext reports whether a program reads anything that the rule looks at.
func (f *facts) readsContext(p *eval.Program) bool {
	return slices.ContainsFunc(p.Reads(), func(r eval.Read) bool {
		switch r.Path[0] {
		case "item", "index", "input", "run", "last", "error", "output", "nodes":
			return true
		}
		return false
	})
}

// runInput reports a member of the run's input, by the path of that, which need not be
// given; false when there is nothing to report.
func (f *facts) runInput(u *dataflow.Use, path, name string) bool {
	switch key := f.graph.Key(name); {
	case key == nil && f.graph.StrictState:
		f.report(u.Span(), "the run's input has no %q: it is no declared state key", name)
	case key != nil && !key.Required && u.InText:
		f.report(u.Span(), "%s.%s is missing when it is not given; write %s, or %s.%s with a question mark", path, name, name, path, name)
	default:
		return false
	}
	return true
}

// inputMember reports an edge that surely hands over an input without the member, or
// may; the start has the run's input.
func (f *facts) inputMember(u *dataflow.Use, n *spec.Node, name string, in []int) {
	if slices.ContainsFunc(n.Before, func(e spec.NamedExpr) bool { return e.Name.Value == name }) {
		return
	}
	if n.Index == f.Start() && f.runInput(u, "input", name) || n.Join != nil || f.meeting(n.Index) {
		return
	}
	for _, i := range in {
		e := f.graph.Edges[i]
		source := f.graph.Node(e.From.Value)
		names, ok := f.handed(i, source)
		if !ok || slices.Contains(names, name) {
			continue
		}
		failed := ""
		if e.Condition == "always" {
			failed = " when it has failed"
		}
		d := f.report(u.Span(), "the edge from %q hands over no %q%s; write it with a question mark, or supply it by transform", source.ID.Value, "input."+name, failed)
		d.Related = append(d.Related, f.related(e.From.Span, "the edge"))
		return
	}
}

// meeting reports whether several edges may hand over an input at once.
func (f *facts) meeting(v int) bool {
	k := f.forks()
	return k == nil || k.Meets(v)
}

// handed lists the members of what an edge hands over; not ok when its shape
// is not known.
func (f *facts) handed(i int, source *spec.Node) (names []string, ok bool) {
	e := f.graph.Edges[i]
	if e.Transform != nil {
		if e.Transform.Kind != spec.Map {
			return nil, false
		}
		return keysOf(e.Transform.Fields), true
	}
	switch {
	case e.Condition == "on_failure", e.Condition == "always" && canFail(source) && !f.fallsElsewhere(source):
		return []string{"attempt", "details", "kind", "message", "node"}, true
	case e.Condition == "always" || source.Each.IsSet():
		return nil, false
	case domain.OutputSchema(source) != nil:
		return declared(source)
	}
	switch source.Kind.Value {
	case "set":
		if set := source.Field("set"); set != nil {
			names = keysOf(set.Fields)
		}
		return names, true
	case "http":
		return []string{"body", "headers", "status"}, true
	case "graph":
		return []string{"output", "quality", "state", "status"}, true
	case "wait":
		return nil, true
	case "llm":
		return []string{"content", "tool_calls"}, true
	case "exec":
		parse := text(source, "parse").Value
		return nil, parse == "text" || parse == "lines"
	}
	return nil, false
}

// fallsElsewhere reports whether a failure of a node takes other edges than those that
// always fire.
func (f *facts) fallsElsewhere(n *spec.Node) bool {
	return slices.ContainsFunc(f.edgesOut()[n.Index], func(i int) bool {
		e := f.graph.Edges[i]
		return e.Condition == "on_failure" && !e.When.IsSet()
	})
}

// declared lists the members of a node's declared output where it can have no
// others; a model's answer has those that it was asked for.
func declared(n *spec.Node) (names []string, ok bool) {
	properties, is := n.Output["properties"].(map[string]any)
	if !is || n.Output["additionalProperties"] != false && !isModel(n) {
		return nil, false
	}
	for name := range properties {
		names = append(names, name)
	}
	return names, true
}
