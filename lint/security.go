// The rules about secrets and about text from outside that becomes code or an address.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/credentials"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/shell"
	"github.com/graphrun/graphrun/internal/analysis/taint"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

func checkPlainSecret(f *facts) {
	f.reportTokens()
	for _, n := range f.graph.Nodes {
		for i := range n.Fields {
			visitTexts(&n.Fields[i].Value, n.Fields[i].Key.Value, f.checkCredentials)
		}
		f.checkPasswords(n)
	}
	for _, list := range [][]spec.Field{f.graph.Providers, f.graph.Tools} {
		for i := range list {
			visitTexts(&list[i].Value, "", f.checkCredentials)
		}
	}
	for _, key := range f.graph.State {
		if key.Default != nil {
			visitTexts(key.Default, key.Name.Value, f.checkCredentials)
		}
	}
}

// reportTokens reports keys that begin with the prefix of their issuer, in comments too.
func (f *facts) reportTokens() {
	report := func(at spec.Span) {
		f.report(at, "this looks like an API key; declare it under secrets and write {{ secrets.NAME }}")
	}
	credentials.VisitTokens(f.graph.File.Src, func(from, to int) { report(spec.Span{From: from, To: to}) })
	for _, text := range f.graph.File.Texts {
		credentials.VisitTokens(text.Src, func(from, to int) { report(text.InHost(spec.Span{From: from, To: to})) })
	}
}

// checkPasswords reports the password that a node gives a program.
func (f *facts) checkPasswords(n *spec.Node) {
	const message = "this looks like a password; declare it under secrets and give it to the program by env"
	if script := n.Field("script"); script != nil && script.Kind == spec.String {
		if from, to := credentials.FindInScript(script.Text.Value); to > 0 {
			f.report(script.Text.At(from, to), message)
		}
	}
	command := n.Field("command")
	if command == nil {
		return
	}
	args := collect(command.Items, func(v spec.Value) string { return v.Text.Value })
	if i, from, to := credentials.FindInCommand(args); to > 0 {
		f.report(command.Items[i].Text.At(from, to), message)
	}
}

// visitTexts visits every text in the value of a key, with the name of its own key.
func visitTexts(v *spec.Value, name string, visit func(text *spec.Text, name string)) {
	for i := range v.Items {
		visitTexts(&v.Items[i], name, visit)
	}
	for i := range v.Fields {
		visitTexts(&v.Fields[i].Value, v.Fields[i].Key.Value, visit)
	}
	if v.Kind == spec.String {
		visit(&v.Text, name)
	}
}

func (f *facts) checkCredentials(text *spec.Text, name string) {
	if from, to, what := credentials.Find(text.Value, name); to > from {
		f.report(text.At(from, to), "this looks like %s; declare it under secrets and write {{ secrets.NAME }}", what)
	}
}

// checkSecretLeak checks secret state keys and tools. The compiler of expressions checks secrets.X.
func checkSecretLeak(f *facts) {
	for _, part := range f.listToolParts() {
		switch { // all users of the machine can see commands, and addresses are logged
		case !part.Program.Uses("secrets"):
		case part.Field == "url":
			f.report(part.SpanOf("secrets"), "a secret reaches the address of tool %q; pass it by headers", part.tool)
		default:
			f.report(part.SpanOf("secrets"), "a secret reaches the argument list of tool %q; pass it by env", part.tool)
		}
	}
	if !slices.ContainsFunc(f.graph.State, func(key *spec.StateKey) bool { return key.Secret }) {
		return
	}
	for _, u := range f.uses().All {
		if u.Node < 0 || taint.IsSanitized(u.Program) {
			continue
		}
		name, where := f.findSecret(f.listReads(u)), f.describeAudience(u)
		if name != "" && where != "" {
			f.report(u.Span(), "the secret %q reaches %s", name, where)
		}
	}
	f.checkSecretWrites()
	f.checkSecretsGiven()
}

// findSecret returns the first secret key among the paths that are read, or "".
func (f *facts) findSecret(reads []eval.Read) string {
	for _, r := range reads {
		if key := f.graph.Key(r.Path[0]); key != nil && key.Secret {
			return r.Path[0]
		}
	}
	return ""
}

// listReads lists the reads of a use, and its reads of the input that an edge passes.
func (f *facts) listReads(u *dataflow.Use) []eval.Read {
	reads := slices.Clone(u.Program.Reads)
	for _, r := range u.Program.Reads {
		if r.Path[0] != "input" || f.has == needNode {
			continue
		}
		into, _ := f.taints().EdgesInto(u.Node)
		for _, i := range into {
			if t := f.bound.Edges[i].Transform; t != nil {
				taint.Member(t, r).VisitReads(func(read eval.Read) { reads = append(reads, read) })
			}
		}
	}
	return reads
}

// describeAudience returns who sees the value of a use, or "".
func (f *facts) describeAudience(u *dataflow.Use) string {
	n := f.graph.Nodes[u.Node]
	switch {
	case isModel(n) && slices.Contains([]string{"prompt", "instructions", "messages", "judge", "loop"}, u.Field):
		return "the prompt of " + strconv.Quote(n.ID.Value)
	case n.Kind.Value == "human" && u.Field == "prompt":
		return "the question of " + strconv.Quote(n.ID.Value) + ", where it is masked"
	case n.Kind.Value == "exec" && (u.Field == "command" || u.Field == "script"):
		return "the argument list of " + strconv.Quote(n.ID.Value) + "; pass it by env"
	}
	return ""
}

// checkSecretWrites reports open keys that take the value of a secret one.
func (f *facts) checkSecretWrites() {
	for _, w := range f.writes() {
		source := w.Value
		for _, u := range f.uses().OfNode(w.node) { // a template
			if source == nil && u.Field == "set" && u.Order == w.order {
				source = u.Program
			}
		}
		if source == nil || f.graph.State[w.Key].Secret || taint.IsSanitized(source) {
			continue
		}
		if name := f.findSecret(source.Reads); name != "" {
			f.report(w.Name.Span, "state key %q takes the secret %q but is not secret itself", w.Name.Value, name)
		}
	}
}

// checkSecretsGiven reports open keys of called graphs that take the value of a secret one.
func (f *facts) checkSecretsGiven() {
	for v, n := range f.graph.Nodes {
		g, field := f.findCalledGraph(n)
		if g == nil {
			continue
		}
		for _, in := range f.listArguments(n, field) {
			key := g.Key(in.name.Value)
			for _, u := range f.uses().OfNode(v) {
				name := f.findSecret(u.Program.Reads)
				if key != nil && !key.Secret && name != "" && u.Text.Span == in.value.Text.Span && !taint.IsSanitized(u.Program) {
					f.report(in.name.Span, "%q of the called graph takes the secret %q but is not secret itself", in.name.Value, name)
				}
			}
		}
	}
}

func checkScriptInjection(f *facts) {
	for _, part := range f.listToolParts() {
		if part.isCode {
			f.checkCode(part.Use)
		}
	}
	for v, n := range f.graph.Nodes {
		if n.Kind.Value == "exec" {
			f.checkExec(v, n.Field("command"))
		}
	}
}

func (f *facts) checkExec(v int, command *spec.Value) {
	code := shell.FindCode(command)
	for _, u := range f.uses().OfNode(v) {
		from := f.taints().Of(u)
		switch {
		case !u.InText:
		case u.Field == "script", u.Field == "command" && slices.Contains(code, u.Text.Span):
			f.checkCode(u)
		case taint.IsHarmless(u.Program.Type()) || f.taints().IsFixed(u):
		case u.Field == "command" && len(command.Items) > 0 && u.Text.Span == command.Items[0].Span && from > taint.FromFlow:
			f.report(u.Span(), "%q chooses the program to run, and comes from %s", u.Program.Source, from)
		case u.Field == "dir" && from == taint.FromWorld:
			f.report(u.Span(), "%q chooses the folder to run in, and comes from %s", u.Program.Source, from)
		}
	}
}

// checkCode reports a value that becomes code unless it is harmless.
func (f *facts) checkCode(u *dataflow.Use) {
	if !taint.IsHarmless(u.Program.Type()) && !f.taints().IsFixed(u) {
		f.report(u.Span(), "%q becomes code of the script; pass it by env and write it as a variable", u.Program.Source)
	}
}

// toolPart is a {{ }} part of a tool's command or of its server's address.
type toolPart struct {
	*dataflow.Use
	tool   string
	isCode bool // an interpreter runs it
}

// listToolParts lists the parts of all tools. It returns none if a tool has an error.
func (f *facts) listToolParts() (out []toolPart) {
	for i, tool := range f.bound.Tools {
		if tool.Name != f.graph.Tools[i].Key.Value {
			return nil
		}
		for _, kind := range tool.Value.Fields {
			for _, field := range kind.Value.Fields {
				if field.Name != "url" && field.Name != "command" {
					continue
				}
				written := f.graph.Tools[i].Value.Get(kind.Name).Get(field.Name)
				for _, use := range dataflow.InValue(field.Name, written, &field.Value) {
					out = append(out, toolPart{use, tool.Name, slices.Contains(shell.FindCode(written), use.Text.Span)})
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
		for _, u := range f.uses().OfNode(v) {
			if u.Field == "url" && u.InText && !f.taints().IsFixed(u) && !isEscaped(u.Program.Tree) {
				f.checkURLPart(u)
			}
		}
	}
}

// checkURLPart reports an unescaped value in a URL, and a whole address of a model or a server.
func (f *facts) checkURLPart(u *dataflow.Use) {
	from, source := f.taints().Of(u), u.Program.Source
	before := templatePart.Get().ReplaceAllString(u.Text.Value[:u.From], "")
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
