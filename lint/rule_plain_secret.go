// plain-secret: a credential stands in the file as it is.

package lint

import (
	"github.com/graphrun/graphrun/internal/analysis/credentials"
	"github.com/graphrun/graphrun/spec"
)

func plainSecret() Rule {
	return Rule{
		Name: "plain-secret", Group: "security", Severity: spec.Warning, needs: needNode,
		Summary: "a literal that looks like a credential",
		Doc:     "A key, token or password in the file ends up in version control, in stored runs and in logs. Declare it under secrets, from a variable or a file, and write {{ secrets.NAME }}.",
		Bad: `graphrun: v1
name: call
start: ask
output: output
nodes:
  ask: {kind: http, url: "https://example.org", headers: {Authorization: "Bearer 9f86d081884c7d659a2feaa0c55ad015"}, timeout: 5s}
edges:
  - {from: ask, to: END}
`,
		change: []string{"output: output\n", "output: output\nsecrets: {KEY: {env: API_KEY}}\n", "9f86d081884c7d659a2feaa0c55ad015", "{{ secrets.KEY }}"},
		check:  checkPlainSecret,
	}
}

func checkPlainSecret(f *facts) {
	f.tokens()
	for _, n := range f.graph.Nodes {
		for i := range n.Fields {
			f.credentials(&n.Fields[i].Value, n.Fields[i].Key.Value)
		}
		f.programs(n)
	}
	for _, list := range [][]spec.Field{f.graph.Providers, f.graph.Tools} {
		for i := range list {
			f.credentials(&list[i].Value, "")
		}
	}
	for _, key := range f.graph.State {
		if key.Default != nil {
			f.credentials(key.Default, key.Name.Value)
		}
	}
}

// tokens reports keys with a prefix of their issuer wherever they stand in the
// file: a comment is no better place.
func (f *facts) tokens() {
	told := func(span spec.Span) {
		f.report(span, "this looks like an API key; declare it under secrets and write {{ secrets.NAME }}")
	}
	credentials.Tokens(string(f.graph.File.Src), func(from, to int) { told(spec.Span{From: from, To: to}) })
	for _, text := range f.graph.File.Texts() {
		credentials.Tokens(string(text.Src), func(from, to int) { told(text.InHost(spec.Span{From: from, To: to})) })
	}
}

// programs reports the password that a node gives a program.
func (f *facts) programs(n *spec.Node) {
	told := func(at spec.Span) {
		f.report(at, "this looks like a password; declare it under secrets and give it to the program by env")
	}
	if script := n.Field("script"); script != nil && script.Kind == spec.String {
		if from, to := credentials.InScript(script.Text.Value); to > 0 {
			told(script.Text.At(from, to))
		}
	}
	command := n.Field("command")
	if command == nil {
		return
	}
	args := make([]string, len(command.Items))
	for i := range command.Items {
		args[i] = command.Items[i].Text.Value
	}
	if i, from, to := credentials.InCommand(args); to > 0 {
		told(command.Items[i].Text.At(from, to))
	}
}

// credentials looks at every text of a value; name is the key it stands under.
func (f *facts) credentials(v *spec.Value, name string) {
	for i := range v.Items {
		f.credentials(&v.Items[i], name)
	}
	for i := range v.Fields {
		f.credentials(&v.Fields[i].Value, v.Fields[i].Key.Value)
	}
	if v.Kind != spec.String {
		return
	}
	if from, to, what := credentials.In(v.Text.Value, name); to > from {
		f.report(v.Text.At(from, to), "this looks like %s; declare it under secrets and write {{ secrets.NAME }}", what)
	}
}
