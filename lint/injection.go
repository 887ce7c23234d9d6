// The rules about text from outside that becomes code or an address: script-injection,
// url-injection.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/shell"
	"github.com/graphrun/graphrun/internal/analysis/taint"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

func injectionRules() []Rule {
	return []Rule{
		{
			Name: "script-injection", Group: "security", Severity: spec.Warning, needs: needNode,
			Summary: "text from outside becomes shell code or a program's name",
			Doc: "What {{ }} puts into a shell script is read as code: a quote or a $(…) in the value runs. The same holds for the script behind sh -c or python -c and for what ssh runs elsewhere, for the name of the program and the folder it runs in when a model or a server wrote them. " +
				"Pass the value by env and write \"$NAME\", or as an argument of its own in command. Numbers, booleans and values of an enum or of a pattern for the whole text (^…$) that admits only plain characters are no danger.",
			Bad:    single("say", "output: output\nstate:\n  who: {type: string, required: true}\n", `{kind: exec, shell: bash, script: "echo hello {{ who }}", timeout: 5s}`),
			change: []string{`script: "echo hello {{ who }}"`, `env: {WHO: "{{ who }}"}, script: 'echo hello "$WHO"'`},
			check:  checkScriptInjection,
		},
		{
			Name: "url-injection", Group: "security", Severity: spec.Warning, needs: needNode,
			Summary: "text from outside stands in a URL without urlencode",
			Doc: "A value with a /, a ? or an & in it changes the path or the parameters of a request, one with an @ or a # its host. " +
				"Write {{ urlencode(value) }}, which escapes them, or put parameters into query, which does so too. A URL that begins with {{ }} is an address from outside as a whole; it is reported when a model or a server wrote it. " +
				"Numbers, booleans, secrets and values of an enum or of a pattern for the whole text (^…$) that admits only plain characters are no danger.",
			Bad:    single("ask", "output: output.body\nstate:\n  city: {type: string, required: true}\n", `{kind: http, url: "https://example.org/weather/{{ city }}", timeout: 10s}`),
			change: []string{"{{ city }}", "{{ urlencode(city) }}"},
			check:  checkURLInjection,
		},
	}
}

func checkScriptInjection(f *facts) {
	for _, part := range f.toolParts() {
		if part.isCode {
			f.checkCode(&part.Use)
		}
	}
	for v, n := range f.graph.Nodes {
		if n.Kind.Value == "exec" {
			f.checkExec(v, n.Field("command"))
		}
	}
}

func (f *facts) checkExec(v int, command *spec.Value) {
	code := shell.Code(command)
	uses := f.uses().OfNode(v)
	for i := range uses {
		u := &uses[i]
		from := f.taints().Of(u)
		switch {
		case !u.InText:
		case u.Field == "script", u.Field == "command" && slices.Contains(code, u.Text.Span):
			f.checkCode(u)
		case taint.Harmless(u.Program.Type()) || f.taints().Fixed(u):
		case u.Field == "command" && len(command.Items) > 0 && u.Text.Span == command.Items[0].Span && from > taint.FromFlow:
			f.report(u.Span(), "%q chooses the program to run, and comes from %s", u.Program.Source(), from)
		case u.Field == "dir" && from == taint.FromWorld:
			f.report(u.Span(), "%q chooses the folder to run in, and comes from %s", u.Program.Source(), from)
		}
	}
}

// checkCode reports a value that becomes code unless it is harmless.
func (f *facts) checkCode(u *dataflow.Use) {
	if !taint.Harmless(u.Program.Type()) && !f.taints().Fixed(u) {
		f.report(u.Span(), "%q becomes code of the script; pass it by env and write it as a variable", u.Program.Source())
	}
}

// toolPart is a {{ }} part of a tool's command, or of the address of its server.
type toolPart struct {
	dataflow.Use
	tool   string
	isCode bool // an interpreter runs it
}

// toolParts lists the parts of all tools. It returns none if a tool has an error.
func (f *facts) toolParts() (out []toolPart) {
	for i, tool := range f.bound.Tools {
		if tool.Name != f.graph.Tools[i].Key.Value {
			return nil
		}
		for _, kind := range tool.Value.Fields() {
			for _, field := range kind.Value.Fields() {
				if field.Name != "url" && field.Name != "command" {
					continue
				}
				written := f.graph.Tools[i].Value.Get(kind.Name).Get(field.Name)
				for _, use := range dataflow.InValue(field.Name, written, &field.Value) {
					out = append(out, toolPart{use, tool.Name, slices.Contains(shell.Code(written), use.Text.Span)})
				}
			}
		}
	}
	return out
}

func checkURLInjection(f *facts) {
	for v, n := range f.graph.Nodes {
		if n.Kind.Value != "http" {
			continue
		}
		uses := f.uses().OfNode(v)
		for i := range uses {
			if u := &uses[i]; u.Field == "url" && u.InText && !f.taints().Fixed(u) && !isEscaped(u.Program.Tree()) {
				f.checkURLPart(u)
			}
		}
	}
}

// checkURLPart reports a value in a URL that is not escaped. A value that is the whole address
// is reported only if it comes from a model or a server.
func (f *facts) checkURLPart(u *dataflow.Use) {
	from, source := f.taints().Of(u), u.Program.Source()
	before := templatePart().ReplaceAllString(u.Text.Value[:u.From], "")
	scheme, rest, absolute := strings.Cut(before, "://")
	switch part := "path"; {
	case before == "" && from < taint.FromWorld, from == taint.FromFlow:
	case before == "":
		f.report(u.Span(), "%q chooses the host of the request, and comes from %s", source, from)
	default:
		if absolute && !strings.ContainsAny(rest, "/?#") {
			part = "host"
		} else if strings.Contains(scheme+rest, "?") {
			part = "query"
		}
		call := "urlencode(" + source + ")"
		if u.Optional {
			call = "urlencode(" + source + " ?? '')"
		}
		d := f.report(u.Span(), "%q comes from %s and stands in the %s of a URL as it is; write %s", source, from, part, call)
		if !u.Optional {
			d.Suggestion = call
		}
	}
}

// templatePart matches a part of a template, also one that is not closed.
var templatePart = lazyregexp.New(`\{\{.*?(\}\}|$)`)

// isEscaped reports whether an expression yields only constants and what urlencode returns.
func isEscaped(t *eval.Tree) bool {
	switch t.Op {
	case eval.TreeConst:
		return true
	case eval.TreeCall:
		return t.Name == "urlencode"
	case eval.TreeBinary:
		return (t.Name == "+" || t.Name == "??") && isEscaped(t.Args[0]) && isEscaped(t.Args[1])
	case eval.TreeChoice:
		return isEscaped(t.Args[1]) && isEscaped(t.Args[2])
	}
	return false
}
