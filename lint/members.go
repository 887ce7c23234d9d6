// template-missing: a member that is not there when it is read.

package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func memberRules() []Rule {
	return []Rule{
		{
			Name: "template-missing", Group: "expressions", Severity: spec.Warning, needs: needAll,
			Summary: "a template or an expression reads a member that an edge or the run does not supply",
			Doc: "{{ path }} is an error when the path is missing. The rule looks at what the edges into a node hand over: the map of transform, or the output of the source where its shape is known; at members that a schema does not list, any of a model's answer, otherwise names that nearly match a listed one; at state keys in single braces; at run.input, which holds only what was given; at item, which is there only in a node with each; and at error, which is null behind a success. " +
				"Write {{ path? }} if it may be missing, or supply it on that edge.",
			Bad: startAt("plan") + `output: text
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
		},
	}
}

func checkTemplateMissing(f *facts) {
	f.checkPlainTexts()
	into := f.EdgesInto()
	for i := range f.uses().All {
		u := &f.uses().All[i]
		// In other texts a $ may stand before a price.
		if at := strings.LastIndex(u.Text.Value[:u.From], "${{"); at >= 0 && u.Node >= 0 && f.graph.Nodes[u.Node].Kind.Value == "http" && strings.TrimSpace(u.Text.Value[at+3:u.From]) == "" {
			f.report(u.Text.At(at, at+1), "the $ before {{ stays in the text; expressions are written {{ … }}")
		}
		if u.Optional {
			f.checkOptionalInput(u, into)
			continue
		}
		reader{f: f, use: u}.each(u.Program.Tree(), func(r reader, t *eval.Tree) {
			if t.Op == eval.TreePath {
				r.checkMember(t.Path)
			}
		})
		for _, r := range dataflow.FirmReads(u.Program) {
			if u.Node < 0 {
				continue
			}
			switch n := f.graph.Nodes[u.Node]; {
			case (r.Path[0] == "item" || r.Path[0] == "index") && !n.Each.IsSet() && f.graph.Key(r.Path[0]) == nil:
				f.report(u.SpanOf(r.Path[0]), "%q is known only in a node with each, and %q has none", r.Path[0], n.ID.Value)
			case len(r.Path) > 2 && r.Path[0] == "run" && r.Path[1] == "input":
				f.checkRunInput(u, "run.input", r.Path[2])
			case u.Moment == dataflow.Before && len(r.Path) > 1 && r.Path[0] == "input":
				f.checkInputMember(u, n, r.Path[1], into[u.Node])
			}
		}
		if u.Moment == dataflow.Before && needsError(u.Program.Tree()) {
			f.checkError(u, f.graph.Nodes[u.Node], into[u.Node])
		}
	}
}

// checkPlainTexts reports templates in persona and goal, which graphrun does not evaluate.
func (f *facts) checkPlainTexts() {
	check := func(where string, texts ...spec.Text) {
		for _, text := range texts {
			from := strings.Index(text.Value, "{{")
			if from < 0 || !strings.Contains(text.Value[from:], "}}") {
				continue
			}
			to := from + strings.Index(text.Value[from:], "}}") + 2
			f.report(text.At(from, to), "%s stands in the %s as it is: no expression is evaluated there; say it in instructions or in a prompt", text.Value[from:to], where)
		}
	}
	goal := &f.graph.Goal
	for _, n := range f.graph.Nodes {
		for i := range n.Fields {
			if field := &n.Fields[i]; slices.Contains([]string{"prompt", "instructions", "message", "url", "query", "body", "headers"}, field.Key.Value) {
				f.checkBraces(&field.Value)
			}
		}
	}
	check("persona", f.graph.Persona)
	check("goal", slices.Concat([]spec.Text{goal.Description}, goal.SuccessCriteria, goal.Constraints)...)
}

// checkBraces reports the name of a state key in single braces.
func (f *facts) checkBraces(v *spec.Value) {
	for i := range v.Items {
		f.checkBraces(&v.Items[i])
	}
	for i := range v.Fields {
		f.checkBraces(&v.Fields[i].Value)
	}
	text := v.Text.Value
	if v.Kind != spec.String || !strings.Contains(text, "{") {
		return
	}
	for _, at := range singleBraces().FindAllStringSubmatchIndex(text, -1) {
		if name := text[at[2]:at[3]]; f.graph.Key(name) != nil && (at[0] == 0 || text[at[0]-1] != '{') && (at[1] == len(text) || text[at[1]] != '}') {
			f.report(v.Text.At(at[0], at[1]), "{%s} stays in the text as it is; write {{ %s }}", name, name)
		}
	}
}

// singleBraces matches a name in braces.
var singleBraces = lazyregexp.New(`\{ ?(\w+)(?:\.\w+)* ?\}`)

// needsError reports whether an expression can't be evaluated without an error.
func needsError(t *eval.Tree) bool {
	switch {
	case t.Op == eval.TreePath:
		return len(t.Path) > 1 && t.Path[0] == "error"
	case t.Op == eval.TreeList, t.Op == eval.TreeCall, t.Op == eval.TreeBinary && (t.Name == "+" || t.Name == "=="):
		return slices.ContainsFunc(t.Args, needsError)
	}
	return false
}

// checkError reports a read of error in a node that no failure precedes.
func (f *facts) checkError(u *dataflow.Use, n *spec.Node, into []int) {
	if n.Final || len(into) == 0 && n.Index == f.Start() {
		f.report(u.SpanOf("error"), "%q also runs when nothing has failed, and error is null then; write it with a question mark", n.ID.Value)
		return
	}
	for _, i := range into {
		if e := f.graph.Edges[i]; e.Condition != "on_failure" {
			d := f.report(u.SpanOf("error"), "the edge from %q is taken after a success, and error is null then; write it with a question mark, or lead there by on_failure only", e.From.Value)
			d.Related = append(d.Related, f.related(e.From.Span, "the edge"))
			return
		}
	}
}

// checkRunInput reports a member of the run's input that need not be given, and whether
// there was something to report.
func (f *facts) checkRunInput(u *dataflow.Use, path, name string) bool {
	switch key := f.graph.Key(name); {
	case key == nil && f.graph.StrictState:
		f.report(u.Span(), "the run's input has no %q: it is not a declared state key", name)
	case key != nil && !key.Required && u.InText:
		f.report(u.Span(), "%s.%s is missing when it is not given; write %s, or %s.%s with a question mark", path, name, name, path, name)
	default:
		return false
	}
	return true
}

// checkInputMember reports an edge that hands over an input without a member. The start has
// the run's input.
func (f *facts) checkInputMember(u *dataflow.Use, n *spec.Node, name string, into []int) {
	if slices.ContainsFunc(n.Before, func(e spec.NamedExpr) bool { return e.Name.Value == name }) ||
		n.Index == f.Start() && f.checkRunInput(u, "input", name) ||
		n.Join != nil || f.flow().Anywhere || f.flow().Joins[n.Index] { // several edges may hand over an input at once
		return
	}
	for _, i := range into {
		e := f.graph.Edges[i]
		if has, known := f.handsOver(e, name); has || !known {
			continue
		}
		failed := ""
		if e.Condition == "always" {
			failed = " when it has failed"
		}
		d := f.report(u.Span(), "the edge from %q hands over no %q%s; write it with a question mark, or supply it by transform", e.From.Value, "input."+name, failed)
		d.Related = append(d.Related, f.related(e.From.Span, "the edge"))
		return
	}
}

// checkOptionalInput reports an optional read of a member of the input that no edge supplies
// although one supplies others by transform.
func (f *facts) checkOptionalInput(u *dataflow.Use, into [][]int) {
	t := u.Program.Tree()
	if u.Node < 0 || u.Moment != dataflow.Before || len(t.Path) != 2 || t.Path[0] != "input" || u.Node == f.Start() {
		return
	}
	var names []string
	for _, i := range into[u.Node] {
		if e := f.graph.Edges[i]; e.Transform != nil {
			names = append(names, keysOf(e.Transform.Fields)...)
		} else if has, known := f.handsOver(e, t.Path[1]); has || !known {
			return
		}
	}
	if len(names) > 0 && !slices.Contains(names, t.Path[1]) {
		d := f.report(u.SpanOfMember("input.", t.Path[1]), "no edge to %q hands over %q", f.Name(u.Node), "input."+t.Path[1])
		d.Suggestion = suggest.Closest(t.Path[1], names)
	}
}

// handsOver reports whether an edge hands over an input with a member, if that is known.
func (f *facts) handsOver(e *spec.Edge, name string) (has, known bool) {
	source := f.graph.Node(e.From.Value)
	if e.Transform != nil {
		return e.Transform.Get(name) != nil, e.Transform.Kind == spec.Map
	}
	switch {
	case e.Condition == "on_failure", e.Condition == "always" && canFail(source) && !f.hasFailureEdge(source):
		return slices.Contains([]string{"attempt", "details", "kind", "message", "node"}, name), true
	case e.Condition == "always", source.Each.IsSet():
		return false, false
	}
	_, has, allowed := bind.Yields(source, f.graph, f.childType).Field(name)
	return has, !allowed || isModel(source) && domain.OutputSchema(source) != nil || source.Kind.Value == "wait"
}

// hasFailureEdge reports whether a failure of a node takes other edges than those that
// always fire.
func (f *facts) hasFailureEdge(n *spec.Node) bool {
	return slices.ContainsFunc(f.edgesOut()[n.Index], func(i int) bool {
		e := f.graph.Edges[i]
		return e.Condition == "on_failure" && !e.When.IsSet()
	})
}

// checkMember reports a read of a member that a schema does not list: any of a model's answer,
// elsewhere only a name like one of the schema.
func (r reader) checkMember(path []string) {
	owner := r.f.outputOf(eval.Read{Path: path})
	base := 1
	switch {
	case owner != nil:
		base = 3
	case path[0] == "output" && r.use.Node >= 0:
		owner = r.f.graph.Nodes[r.use.Node]
	}
	for i := base; i < len(path); i++ {
		doc, name := r.schemaAt(path[:i]), path[i]
		names, closed := membersOf(doc)
		if closed || len(names) == 0 || slices.Contains(names, name) || name[0] == '[' {
			continue
		}
		near := suggest.Closest(name, names)
		switch from := solve.PathName(path[:i]); {
		case owner != nil && i == base && (near != "" || isModel(owner) && r.needs(path)):
			d := r.f.report(r.use.SpanOfMember(from+".", name), "the output schema of %q has no member %q; declare it there, or say additionalProperties: true", owner.ID.Value, name)
			d.Suggestion = near
		case near != "" || path[0] == "#" || path[0] == "item":
			r.f.report(r.use.SpanOfMember(".", name), "the schema of %s has no member %q", strings.TrimPrefix(from, "#."), name).Suggestion = near
		}
		return
	}
}

// needs reports whether the expression needs a value at a path.
func (r reader) needs(path []string) bool {
	return slices.ContainsFunc(dataflow.FirmReads(r.use.Program), func(read eval.Read) bool { return slices.Equal(read.Path, path) })
}

// membersOf lists the members that a schema declares, sorted. It is closed if the schema
// says itself whether there are others, so that types tell.
func membersOf(schema map[string]any) (names []string, closed bool) {
	properties, _ := schema["properties"].(map[string]any)
	for key := range schema {
		switch key {
		case "type", "properties", "required", "title", "description", "examples", "default", "$schema", "$id", "$comment":
		default:
			closed = true
		}
	}
	return slices.Sorted(maps.Keys(properties)), closed
}
